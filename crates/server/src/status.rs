//! Status counters of connections and statements.
//!
//! Not here: what the commit path, the journal and the engines count; `session::show::status` lists them beside these.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

use crate::sysvars::same;

macro_rules! counters {
    ($($field:ident = $name:literal, $meaning:literal;)*) => {
        /// Counters and levels; all are plain atomics.
        #[derive(Debug)]
        pub struct Counters {
            $(#[doc = $meaning] pub $field: AtomicU64,)*
            /// Statements by kind, in the order of [`STATEMENT_KINDS`].
            pub statements: [AtomicU64; STATEMENT_KINDS.len()],
            start: Instant,
        }

        /// Names and meanings of what [`Counters::list`] lists, statements by kind not among them.
        #[cfg(test)]
        pub const COUNTERS: &[(&str, &str)] =
            &[$(($name, $meaning),)* ("Uptime", "Seconds since the server started.")];

        impl Counters {
            /// All zero; the uptime counts from now.
            pub fn new() -> Counters {
                Counters {
                    $($field: AtomicU64::new(0),)*
                    statements: std::array::from_fn(|_| AtomicU64::new(0)),
                    start: Instant::now(),
                }
            }

            /// Names and values.
            pub fn list(&self) -> Vec<(String, u64)> {
                let mut list = vec![$(($name.to_owned(), self.$field.load(Ordering::Relaxed))),*];
                list.extend(by_kind(&self.statements));
                list.push(("Uptime".to_owned(), self.uptime_s()));
                list
            }
        }
    };
}

counters! {
    aborted_clients = "Aborted_clients", "Connections that ended without COM_QUIT.";
    aborted_connects = "Aborted_connects", "Connections that did not get past the handshake.";
    audit_events = "Audit_log_events", "Entries of the audit log.";
    audit_events_lost = "Audit_log_events_lost", "Entries that could not be written to the audit log.";
    bytes_received = "Bytes_received", "Bytes from all clients.";
    bytes_sent = "Bytes_sent", "Bytes to all clients.";
    delayed_logins = "Connection_control_delay_generated", "Logins delayed after wrong passwords.";
    connections = "Connections", "Connections accepted or refused.";
    refused_max_connections = "Connection_errors_max_connections", "Connections refused with error 1040.";
    internal_errors = "Connection_errors_internal", "Connections or workers that the system had no thread for.";
    handed_over = "Cohort_replies_handed_over", "OKs of commits given to the commit path to send.";
    logins_waiting = "Cohort_logins_waiting", "Logins that wait after wrong passwords.";
    lost_replies = "Cohort_replies_lost", "Replies of commits that the client did not take.";
    panics = "Cohort_session_panics", "Connections ended because of a defect of the server.";
    max_used_connections = "Max_used_connections", "Most connections at a time.";
    prepared_statements = "Prepared_stmt_count", "Prepared statements that are open.";
    queries = "Queries", "Statements, those inside of the server included.";
    questions = "Questions", "Statements from clients.";
    slow_queries = "Slow_queries", "Statements that took longer than long_query_time.";
    tls_accepts = "Ssl_accepts", "Connections that asked for TLS.";
    tls_finished_accepts = "Ssl_finished_accepts", "Connections that were encrypted.";
    threads_connected = "Threads_connected", "Connections that are open.";
    threads_created = "Threads_created", "Workers started so far.";
    threads_running = "Threads_running", "Connections that execute something.";
}

impl Default for Counters {
    fn default() -> Self {
        Counters::new()
    }
}

impl Counters {
    /// Seconds since the start.
    pub fn uptime_s(&self) -> u64 {
        self.start.elapsed().as_secs()
    }
}

/// Adds one.
pub fn count(counter: &AtomicU64) {
    counter.fetch_add(1, Ordering::Relaxed);
}

/// Adds `amount`.
pub fn add(counter: &AtomicU64, amount: u64) {
    counter.fetch_add(amount, Ordering::Relaxed);
}

/// Takes one from a level.
pub fn uncount(level: &AtomicU64) {
    level.fetch_sub(1, Ordering::Relaxed);
}

/// A kind of statement or command that `Com_...` counts.
#[derive(Debug)]
pub struct StatementKind {
    /// What follows `Com_`.
    pub name: &'static str,
    /// The words a statement begins with; empty for commands of the protocol.
    words: &'static [&'static str],
}

const fn kind(name: &'static str, words: &'static [&'static str]) -> StatementKind {
    StatementKind { name, words }
}

/// Every kind; of two that fit, the first counts.
#[rustfmt::skip]
pub const STATEMENT_KINDS: &[StatementKind] = &[
    kind("select", &["select"]),
    kind("update", &["update"]),
    kind("insert", &["insert"]),
    kind("delete", &["delete"]),
    kind("replace", &["replace"]),
    kind("begin", &["begin"]),
    kind("commit", &["commit"]),
    kind("rollback_to_savepoint", &["rollback", "to"]),
    kind("rollback", &["rollback"]),
    kind("begin", &["start"]),
    kind("savepoint", &["savepoint"]),
    kind("release_savepoint", &["release"]),
    kind("set_option", &["set"]),
    kind("change_db", &["use"]),
    kind("create_table", &["create", "table"]),
    kind("create_db", &["create", "database"]),
    kind("create_db", &["create", "schema"]),
    kind("create_user", &["create", "user"]),
    kind("create_index", &["create"]),
    kind("drop_table", &["drop", "table"]),
    kind("drop_db", &["drop", "database"]),
    kind("drop_db", &["drop", "schema"]),
    kind("drop_user", &["drop", "user"]),
    kind("dealloc_sql", &["drop", "prepare"]),
    kind("drop_index", &["drop"]),
    kind("alter_user", &["alter", "user"]),
    kind("alter_table", &["alter"]),
    kind("truncate", &["truncate"]),
    kind("show", &["show"]),
    kind("explain", &["explain"]),
    kind("kill", &["kill"]),
    kind("flush", &["flush"]),
    kind("grant", &["grant"]),
    kind("lock_tables", &["lock"]),
    kind("unlock_tables", &["unlock"]),
    kind("prepare_sql", &["prepare"]),
    kind("execute_sql", &["execute"]),
    kind("dealloc_sql", &["deallocate"]),
    kind("other", &[]),
    kind("stmt_prepare", &[]),
    kind("stmt_execute", &[]),
    kind("stmt_close", &[]),
    kind("stmt_reset", &[]),
    kind("stmt_send_long_data", &[]),
];

/// A place in [`STATEMENT_KINDS`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KindIndex(usize);

impl KindIndex {
    /// The kind of a statement, by its first words.
    pub fn of_statement(sql: &[u8]) -> KindIndex {
        let mut words = Words(sql);
        let first = words.next().unwrap_or_default();
        let second = words.next().unwrap_or_default();
        let fits = |kind: &StatementKind| match kind.words {
            [] => kind.name == "other",
            [one] => first.eq_ignore_ascii_case(one.as_bytes()),
            [one, two, ..] => first.eq_ignore_ascii_case(one.as_bytes()) && second.eq_ignore_ascii_case(two.as_bytes()),
        };
        let index = STATEMENT_KINDS.iter().position(fits).unwrap_or(0);
        KindIndex::named(STATEMENT_KINDS[index].name)
    }

    /// The first kind called `name`, which the compiler finds.
    ///
    /// # Panics
    /// When there is none.
    pub const fn named(name: &str) -> KindIndex {
        let mut index = 0;
        while !same(STATEMENT_KINDS[index].name.as_bytes(), name.as_bytes()) {
            index += 1;
        }
        KindIndex(index)
    }
}

/// What the server counts, and what it counts for one session as well: SHOW SESSION STATUS has that, and FLUSH STATUS begins
/// it anew.
#[derive(Debug)]
pub struct Tally {
    server: Arc<Counters>,
    questions: AtomicU64,
    slow_queries: AtomicU64,
    bytes_received: AtomicU64,
    bytes_sent: AtomicU64,
    statements: [AtomicU64; STATEMENT_KINDS.len()],
}

impl Tally {
    /// Nothing yet, of a session of `server`.
    pub fn new(server: Arc<Counters>) -> Tally {
        Tally {
            server,
            questions: AtomicU64::new(0),
            slow_queries: AtomicU64::new(0),
            bytes_received: AtomicU64::new(0),
            bytes_sent: AtomicU64::new(0),
            statements: std::array::from_fn(|_| AtomicU64::new(0)),
        }
    }

    /// The server's.
    pub fn server(&self) -> &Counters {
        &self.server
    }

    /// A statement or command of this kind; PREPARE and DEALLOCATE PREPARE count as those of the protocol too.
    pub fn statement(&self, kind: KindIndex) {
        count(&self.statements[kind.0]);
        count(&self.server.statements[kind.0]);
        match STATEMENT_KINDS[kind.0].name {
            "prepare_sql" => self.statement(const { KindIndex::named("stmt_prepare") }),
            "dealloc_sql" => self.statement(const { KindIndex::named("stmt_close") }),
            _ => {}
        }
    }

    /// A statement of a client has ended.
    pub fn question(&self, slow: bool) {
        count(&self.questions);
        count(&self.server.questions);
        count(&self.server.queries);
        if slow {
            count(&self.slow_queries);
            count(&self.server.slow_queries);
        }
    }

    /// Bytes from the client.
    pub fn received(&self, bytes: usize) {
        add(&self.bytes_received, bytes as u64);
        add(&self.server.bytes_received, bytes as u64);
    }

    /// Bytes to the client.
    pub fn sent(&self, bytes: usize) {
        add(&self.bytes_sent, bytes as u64);
        add(&self.server.bytes_sent, bytes as u64);
    }

    /// Names and values of the session's own.
    pub fn list(&self) -> Vec<(String, u64)> {
        let now = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        let mut list = by_kind(&self.statements);
        for (name, counter) in [
            ("Bytes_received", &self.bytes_received),
            ("Bytes_sent", &self.bytes_sent),
            ("Queries", &self.questions),
            ("Questions", &self.questions),
            ("Slow_queries", &self.slow_queries),
        ] {
            list.push((name.to_owned(), now(counter)));
        }
        list
    }

    /// FLUSH STATUS: the session's counters are zero again, those of the server go on; the most connections at a time are
    /// counted from now.
    pub fn flush(&self) {
        let counters = [&self.questions, &self.slow_queries, &self.bytes_received, &self.bytes_sent];
        for counter in counters.into_iter().chain(&self.statements) {
            counter.store(0, Ordering::Relaxed);
        }
        let connected = self.server.threads_connected.load(Ordering::Relaxed);
        self.server.max_used_connections.store(connected, Ordering::Relaxed);
    }
}

/// `Com_...` and values.
fn by_kind(statements: &[AtomicU64; STATEMENT_KINDS.len()]) -> Vec<(String, u64)> {
    let kinds = STATEMENT_KINDS.iter().zip(statements).enumerate();
    // Two rows with one name count into the first of them.
    let counted = kinds.filter(|(index, (kind, _))| KindIndex::named(kind.name) == KindIndex(*index));
    counted.map(|(_, (kind, count))| (format!("Com_{}", kind.name), count.load(Ordering::Relaxed))).collect()
}

/// The words of a statement; comments and space lie between them.
struct Words<'a>(&'a [u8]);

impl<'a> Words<'a> {
    fn skip_space(&mut self) {
        loop {
            self.0 = self.0.trim_ascii_start();
            let end = match self.0 {
                [b'/', b'*', b'!', ..] => return,
                [b'/', b'*', rest @ ..] => rest.windows(2).position(|two| two == b"*/").map(|at| at + 4),
                [b'#', ..] | [b'-', b'-', ..] => self.0.iter().position(|byte| *byte == b'\n'),
                [b'(', ..] => Some(1),
                _ => return,
            };
            self.0 = end.map_or(&[], |end| &self.0[end..]);
        }
    }
}

impl<'a> Iterator for Words<'a> {
    type Item = &'a [u8];
    fn next(&mut self) -> Option<&'a [u8]> {
        self.skip_space();
        let end = self.0.iter().position(|byte| !byte.is_ascii_alphabetic()).unwrap_or(self.0.len());
        let (word, rest) = self.0.split_at(end);
        self.0 = rest;
        Some(word)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn statements_are_known_by_their_first_words() {
        for (sql, name) in [
            (&b"select 1"[..], "select"),
            (b" /* c */ UPDATE t", "update"),
            (b"(SELECT 1)", "select"),
            (b"-- c\nrollback to s", "rollback_to_savepoint"),
            (b"ROLLBACK", "rollback"),
            (b"START TRANSACTION", "begin"),
            (b"create unique index", "create_index"),
            (b"CREATE SCHEMA x", "create_db"),
            (b"", "other"),
            (b"/* open", "other"),
            (b"\xff\xfe", "other"),
        ] {
            assert_eq!(KindIndex::of_statement(sql), KindIndex::named(name), "{}", name);
        }
    }

    #[test]
    fn a_kind_with_two_spellings_is_one_counter() {
        let tally = Tally::new(Arc::default());
        tally.statement(KindIndex::of_statement(b"BEGIN"));
        tally.statement(KindIndex::of_statement(b"START TRANSACTION"));
        let begins = |list: Vec<(String, u64)>| list.into_iter().filter(|(name, _)| name == "Com_begin").collect();
        let two: Vec<_> = begins(tally.server().list());
        assert_eq!(two, [("Com_begin".to_owned(), 2)]);
        assert_eq!(begins(tally.list()), two);
    }

    #[test]
    fn a_flush_begins_the_counters_of_the_session_alone() {
        let server = Arc::<Counters>::default();
        let (tally, other) = (Tally::new(server.clone()), Tally::new(server.clone()));
        server.threads_connected.store(2, Ordering::Relaxed);
        server.max_used_connections.store(9, Ordering::Relaxed);
        let questions = |tally: &Tally| {
            let list = tally.list();
            list.iter().find(|(name, _)| name == "Questions").map(|(_, count)| *count)
        };
        tally.question(true);
        other.question(false);
        tally.flush();
        tally.sent(7);
        assert_eq!((questions(&tally), questions(&other)), (Some(0), Some(1)));
        assert_eq!(server.questions.load(Ordering::Relaxed), 2);
        assert_eq!(server.max_used_connections.load(Ordering::Relaxed), 2);
        assert!(tally.list().contains(&("Bytes_sent".to_owned(), 7)));
    }
}
