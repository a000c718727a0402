//! The workload: several sessions by turns, both engines, DDL, rotation, checkpoints, large transactions, XA.

use super::clients::Do::{
    self, Begin, Checkpoint, Commit, Look, Make, RollBack, Rotate, Together, Upkeep, XaCommitOnePhase, XaPrepare,
    XaStart,
};
use super::state::Change::{
    self, Add, AddIndex, Comment, CommitXa, Create, Database, Delete, Drop, DropIndex, Insert, Move, Rebuild,
    RollBackXa, Swap, Truncate,
};
use super::state::{State, xa_name};

/// Bytes of a row of the large transaction.
const LARGE: usize = 40_000;

/// A row in both tables of a pair.
fn both(tables: [&'static str; 2], id: i64) -> Vec<Change> {
    tables.map(|table| Insert(table, id, 30)).to_vec()
}

const ACCOUNTS: [&str; 2] = ["a0", "a1"];
const ROWS: [&str; 2] = ["t0", "t1"];
/// No DDL touches these: transactions that stay open or prepared have them.
const WIDE: [&str; 2] = ["w0", "w1"];

fn transaction(session: usize, changes: Vec<Change>) -> impl Iterator<Item = (usize, Do)> {
    let statements = changes.into_iter().map(Make);
    std::iter::once(Begin).chain(statements).chain([Commit]).map(move |what| (session, what))
}

fn xa(session: usize, name: &str, changes: Vec<Change>, end: fn(String) -> Do) -> impl Iterator<Item = (usize, Do)> {
    let begin = XaStart(xa_name(name));
    let end = end(xa_name(name));
    std::iter::once(begin).chain(changes.into_iter().map(Make)).chain([end]).map(move |what| (session, what))
}

/// Four transactions at the same time: two of both engines, one of each.
fn four(first: i64) -> Do {
    Together(vec![
        both(ROWS, first),
        vec![Insert("t0", first + 1, 30), Add("a0", 1, 1)],
        vec![Insert("t1", first + 2, 30), Add("a1", 1, 1)],
        both(WIDE, first + 3),
    ])
}

/// What is crashed at every operation.
pub fn script() -> Vec<(usize, Do)> {
    let mut script = vec![(0, Make(Database))];
    for pair in [ACCOUNTS, ROWS, WIDE] {
        script.extend([0, 1].map(|engine| (0, Make(Create(pair[engine], engine)))));
    }
    script.extend(transaction(1, [both(ACCOUNTS, 1), both(ACCOUNTS, 2)].concat()));
    // Two at a time, of both engines, around one of its own; a snapshot that stays; one that is rolled back at the end,
    // and one that a crash ends.
    script.extend([
        (1, Begin),
        (2, Begin),
        (1, Make(Insert("t0", 10, 30))),
        (2, Make(Add("a0", 1, -10))),
        (1, Make(Insert("t1", 10, 30))),
        (3, Make(Insert("t1", 11, 30))),
        (2, Make(Add("a1", 1, 10))),
        (2, Make(Insert("t0", 12, 30))),
        (4, Begin),
        (4, Look("a0")),
        (1, Commit),
        (5, Begin),
        (5, Make(Insert("w0", 13, 30))),
        (5, Make(Insert("w1", 13, 30))),
        (2, Commit),
        (6, Begin),
        (6, Make(Insert("w1", 14, 30))),
        (0, Checkpoint),
        (3, Make(Insert("t0", 15, 30))),
    ]);
    // Larger than a journal segment, a step of the binlog, a layer, a memtable.
    script.extend(transaction(1, (20..28).map(|id| Insert(WIDE[id as usize % 2], id, LARGE)).collect()));
    script.push((0, Upkeep));
    script.extend(xa(1, "committed", both(WIDE, 30), XaPrepare));
    script.extend(xa(2, "rolled back", both(WIDE, 31), XaPrepare));
    script.extend([
        (0, Make(AddIndex("t0"))),
        (0, Rotate),
        (3, Make(Insert("t0", 32, 30))),
        (1, Make(CommitXa(xa_name("committed")))),
        (3, Make(RollBackXa(xa_name("rolled back")))),
    ]);
    script.extend(xa(2, "one phase", both(WIDE, 33), XaCommitOnePhase));
    script.extend(xa(2, "left", both(WIDE, 34), XaPrepare));
    script.extend([(0, four(40)), (4, Look("a0")), (0, Upkeep), (0, Checkpoint)]);
    script.extend([0, 1].map(|engine| (0, Make(Create(["s0", "s1"][engine], engine)))));
    script.extend(transaction(1, both(["s0", "s1"], 50)));
    script.extend([
        (0, Make(Truncate("s0"))),
        (1, Make(Insert("s0", 51, 30))),
        (0, Make(AddIndex("t1"))),
        (0, Make(Comment("a1", "accounts"))),
        (0, Make(Rebuild("t1"))),
        (0, Make(Move("s1", 0))),
        (0, Make(Move("s0", 1))),
        (1, Make(Insert("s1", 54, 30))),
        (0, Make(DropIndex("t0"))),
        (0, Make(Swap("s0", "s1"))),
        (1, Make(Insert("s0", 53, 30))),
        (0, Make(Drop("s1"))),
    ]);
    script.extend(transaction(1, vec![Insert("t0", 52, 30), Delete("w0", 20), Delete("w1", 21), Delete("t1", 11)]));
    script.extend([(0, four(60)), (4, Look("a0")), (4, Commit), (5, RollBack), (0, Rotate)]);
    script.extend(xa(3, "also left", both(ROWS, 70), XaPrepare));
    script.extend([(0, Upkeep), (0, Checkpoint)]);
    script.extend(transaction(2, [both(ROWS, 71), vec![Add("a0", 2, 5), Add("a1", 2, -5)]].concat()));
    script
}

/// What is done on what a crash left: decides the prepared transactions, and goes on.
pub fn afterwards(found: &State) -> Vec<(usize, Do)> {
    let mut script = Vec::new();
    if !found.database {
        script.push((0, Make(Database)));
    }
    script.extend([0, 1].map(|engine| (0, Make(Create(["g0", "g1"][engine], engine)))));
    script.extend(transaction(1, both(["g0", "g1"], 1)));
    for (at, name) in found.prepared.keys().enumerate() {
        let decided = if at % 2 == 0 { CommitXa(name.clone()) } else { RollBackXa(name.clone()) };
        script.push((1, Make(decided)));
    }
    let at_once = (2..5).map(|id| both(["g0", "g1"], id)).collect();
    script.extend([(0, Together(at_once)), (0, Make(AddIndex("g1"))), (0, Upkeep), (0, Checkpoint), (0, Rotate)]);
    script.extend(xa(2, "afterwards", both(["g0", "g1"], 5), XaPrepare));
    script.extend(transaction(1, both(["g0", "g1"], 6)));
    script
}
