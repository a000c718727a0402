//! Transactions that expose a server that loses, invents or reorders something.
//!
//! *List-append*: every append puts a number used nowhere else at the end of a list, so that a list that was read
//! shows which transactions came before, and in which order. *Bank*: transfers between accounts of two
//! engines leave the sum as it was, and a token in a table of each. Lists and accounts with an even number
//! are in the first engine, the others in the second. *Predicates*: items are put at places and stay there, and
//! ranges of places are read, so that a range shows which puts came before it and which did not. *Probes* look for tokens that others are just leaving, and are
//! rolled back: what they were answered must hold nevertheless.

use cohort_io::SeededRandom;
use cohort_sql::Value;

/// Lists there are.
pub const LISTS: u64 = 6;
/// Accounts there are.
pub const ACCOUNTS: u64 = 8;
/// What each holds at the beginning.
pub const OPENING_BALANCE: i64 = 100;

/// Places that items are put at.
pub const PLACES: u64 = 12;

/// A statement of a transaction.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Step {
    /// Puts an element at the end of a list.
    Append {
        list: u64,
        /// Used nowhere else.
        element: u64,
    },
    /// Reads a list.
    Read { list: u64, read: ReadKind },
    /// Puts an item at a place.
    Put {
        /// The engine, 0 or 1.
        engine: u64,
        /// Used nowhere else.
        item: u64,
        place: u64,
    },
    /// Reads the items of a range of places.
    Range {
        /// The engine, 0 or 1.
        engine: u64,
        /// The first place.
        from: u64,
        /// The last place.
        to: u64,
        read: ReadKind,
        /// Through the index over places instead of the rows.
        by_index: bool,
    },
    /// Locks an account and reads it.
    LockAccount { account: u64 },
    /// Changes the balance of an account.
    Move {
        account: u64,
        /// By how much.
        amount: i64,
    },
    /// Leaves the transaction's number in one engine's table of tokens.
    Token {
        /// The engine, 0 or 1.
        engine: u64,
        /// The transaction's number.
        token: u64,
    },
    /// Finds out whether another transaction's token is there.
    Probe {
        /// The engine, 0 or 1.
        engine: u64,
        /// That transaction's number.
        token: u64,
        how: Probe,
    },
    /// Reads the sum of the accounts of one engine.
    Sum {
        /// The engine, 0 or 1.
        engine: u64,
        /// Through the index over balances instead of the rows.
        by_index: bool,
    },
}

/// How a list is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReadKind {
    /// From the transaction's snapshot.
    Plain,
    Shared,
    /// `FOR UPDATE`
    Exclusive,
}

/// What shows that a token is there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Probe {
    /// That it cannot be inserted.
    Insert,
    /// How many rows a DELETE removes.
    Delete,
    /// A locking read.
    Lock,
}

impl ReadKind {
    fn sql(self) -> &'static str {
        match self {
            ReadKind::Plain => "",
            ReadKind::Shared => " FOR SHARE",
            ReadKind::Exclusive => " FOR UPDATE",
        }
    }
}

/// What a kind of transaction promises.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shape {
    /// Appends and locking reads: strictly serialisable.
    Locking,
    /// Appends and plain reads under SERIALIZABLE: strictly serialisable.
    Serializable,
    /// Plain reads only: of one snapshot, which has everything acknowledged before.
    Snapshot,
    /// Appends and plain reads under REPEATABLE READ: what it read may be older than what it appends to.
    Mixed,
    /// Moves money.
    Transfer,
    /// Reads all accounts in one snapshot.
    Audit,
    /// Looks for tokens, and is rolled back.
    Probe,
}

/// A transaction to run.
#[derive(Clone, Debug)]
pub struct Script {
    /// What is promised for it.
    pub shape: Shape,
    /// Its statements.
    pub steps: Vec<Step>,
    /// Without BEGIN and COMMIT; of one statement then.
    pub autocommit: bool,
    /// Rolled back where others commit.
    pub rolled_back: bool,
}

impl Script {
    /// Transaction number `id`.
    pub fn new(random: &SeededRandom, id: u64) -> Script {
        let shape = match random.below(14) {
            0..=2 => Shape::Locking,
            3 => Shape::Snapshot,
            4 => Shape::Mixed,
            5..=8 => Shape::Transfer,
            9 => Shape::Audit,
            10..=11 => Shape::Serializable,
            _ => Shape::Probe,
        };
        let steps = match shape {
            Shape::Transfer => transfer(random, id),
            Shape::Audit => (0..2).map(|engine| Step::Sum { engine, by_index: random.below(2) == 0 }).collect(),
            Shape::Probe => (0..1 + random.below(3)).map(|number| probe(random, id, number)).collect(),
            _ => (0..1 + random.below(4)).map(|number| list_step(random, shape, id * 8 + number)).collect(),
        };
        let autocommit = shape != Shape::Probe && steps.len() == 1 && random.below(2) == 0;
        let rolled_back = shape == Shape::Probe || !autocommit && random.below(10) == 0;
        Script { shape, steps, autocommit, rolled_back }
    }

    /// Whether a rollback or a crash may leave no trace of it, since there is none.
    pub fn is_read_only(&self) -> bool {
        self.steps.iter().all(|step| {
            matches!(step, Step::Read { .. } | Step::Range { .. } | Step::LockAccount { .. } | Step::Sum { .. })
        })
    }
}

fn transfer(random: &SeededRandom, id: u64) -> Vec<Step> {
    let account = random.below(ACCOUNTS);
    let other = (account + 1 + random.below(ACCOUNTS - 1)) % ACCOUNTS;
    let amount = random.below(50) as i64;
    let mut steps = vec![
        Step::Move { account, amount: -amount },
        Step::Move { account: other, amount },
        Step::Token { engine: 0, token: id },
        Step::Token { engine: 1, token: id },
    ];
    // Statements of a transaction in any order, so that either engine comes first.
    for at in (1..steps.len()).rev() {
        steps.swap(at, random.below(at as u64 + 1) as usize);
    }
    if random.below(2) == 0 {
        steps.insert(0, Step::LockAccount { account });
    }
    steps
}

/// The tokens of a transaction's probes differ: none of them finds what another one did.
fn probe(random: &SeededRandom, id: u64, number: u64) -> Step {
    let token = id.max(12) - 1 - 4 * number - random.below(4);
    let how = match random.below(3) {
        0 => Probe::Insert,
        1 => Probe::Delete,
        _ => Probe::Lock,
    };
    Step::Probe { engine: random.below(2), token, how }
}

/// A read or a change of a list, or of items.
fn list_step(random: &SeededRandom, shape: Shape, element: u64) -> Step {
    let locking = if random.below(2) == 0 { ReadKind::Shared } else { ReadKind::Exclusive };
    let read = match (shape, random.below(2)) {
        (Shape::Snapshot, _) | (Shape::Mixed | Shape::Serializable, 0) => Some(ReadKind::Plain),
        (Shape::Locking, 0) => Some(locking),
        _ => None,
    };
    if random.below(2) == 0 {
        let list = random.below(LISTS);
        return match read {
            Some(read) => Step::Read { list, read },
            None => Step::Append { list, element },
        };
    }
    let (engine, place) = (random.below(2), random.below(PLACES));
    match read {
        Some(read) => {
            let to = place + random.below(PLACES / 2);
            Step::Range { engine, from: place, to, read, by_index: random.below(3) > 0 }
        }
        None => Step::Put { engine, item: element, place },
    }
}

/// The statements that make the tables and their first rows.
pub fn schema() -> Vec<String> {
    let mut statements = vec!["CREATE DATABASE sim".to_owned(), "USE sim".to_owned()];
    for (number, engine) in ["LOGGED", "redb"].iter().enumerate() {
        statements.extend([
            format!("CREATE TABLE lists{number} (id BIGINT PRIMARY KEY, v VARCHAR(8000) NOT NULL) ENGINE={engine}"),
            format!(
                "CREATE TABLE accounts{number} (id BIGINT PRIMARY KEY, balance BIGINT NOT NULL, KEY (balance)) \
                 ENGINE={engine}"
            ),
            format!("CREATE TABLE tokens{number} (id BIGINT PRIMARY KEY) ENGINE={engine}"),
            format!(
                "CREATE TABLE items{number} (id BIGINT PRIMARY KEY, place BIGINT NOT NULL, KEY (place)) \
                 ENGINE={engine}"
            ),
        ]);
    }
    for list in 0..LISTS {
        statements.push(format!("INSERT INTO lists{} VALUES ({list}, '')", list % 2));
    }
    for account in 0..ACCOUNTS {
        statements.push(format!("INSERT INTO accounts{} VALUES ({account}, {OPENING_BALANCE})", account % 2));
    }
    statements
}

/// The tables, all with `id` first.
pub const TABLES: [&str; 8] = ["lists0", "lists1", "accounts0", "accounts1", "tokens0", "tokens1", "items0", "items1"];

impl Step {
    /// The statement.
    pub fn sql(&self) -> String {
        match self {
            Step::Append { list, element } => {
                format!("UPDATE lists{} SET v = CONCAT(v, ' ', {element}) WHERE id = {list}", list % 2)
            }
            Step::Read { list, read } => {
                format!("SELECT v FROM lists{} WHERE id = {list}{}", list % 2, read.sql())
            }
            Step::Put { engine, item, place } => format!("INSERT INTO items{engine} VALUES ({item}, {place})"),
            Step::Range { engine, from, to, read, by_index } => {
                let place = if *by_index { "place" } else { "place + 0" };
                format!("SELECT id FROM items{engine} WHERE {place} BETWEEN {from} AND {to}{}", read.sql())
            }
            Step::LockAccount { account } => {
                format!("SELECT balance FROM accounts{} WHERE id = {account} FOR UPDATE", account % 2)
            }
            Step::Move { account, amount } => {
                format!("UPDATE accounts{} SET balance = balance + {amount} WHERE id = {account}", account % 2)
            }
            Step::Token { engine, token } => format!("INSERT INTO tokens{engine} VALUES ({token})"),
            Step::Probe { engine, token, how } => match how {
                Probe::Insert => format!("INSERT INTO tokens{engine} VALUES ({token})"),
                Probe::Delete => format!("DELETE FROM tokens{engine} WHERE id = {token}"),
                Probe::Lock => format!("SELECT id FROM tokens{engine} WHERE id = {token} FOR SHARE"),
            },
            Step::Sum { engine, by_index: false } => format!("SELECT SUM(balance) FROM accounts{engine}"),
            Step::Sum { engine, by_index: true } => {
                format!("SELECT SUM(balance) FROM accounts{engine} WHERE balance > -1000000")
            }
        }
    }
}

/// The elements of a list, in order.
pub fn elements(value: &Value) -> Vec<u64> {
    let text = value.to_string();
    text.split_whitespace().map(|element| element.parse().unwrap_or(u64::MAX)).collect()
}
