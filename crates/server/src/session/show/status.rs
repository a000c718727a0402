//! SHOW STATUS: a status variable is a row of a table, with its meaning and how it is read.
//!
//! Outline: [`TABLE`] has the variables that commit path, journal, binlog and plan cache are read for; those that the
//! server counts itself are [`Counters`](crate::status::Counters); engines name theirs ([`Engine::stats`]).
//! `docs/status-variables.md` is made from the table.
//!
//! [`Engine::stats`]: cohort_engine::Engine::stats

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};

use cohort_binlog::{AckStats, BinlogPosition, GtidSet};
use cohort_io::SyncStats;
use cohort_journal::JournalStats;
use cohort_sql::Value;
use cohort_sql::database::DatabaseStats;
use cohort_sql::expr::VariableScope;
use cohort_sql::session::{SessionState, ShowTable};
use cohort_txn::{CommitStats, Histogram};

use super::text;
use crate::server::Server;
use crate::session::environment::SessionEnvironment;

/// What the rows are read from, all at one moment.
struct Sources<'a> {
    server: &'a Server,
    commit: &'a CommitStats,
    /// Waits, deadlocks, timeouts.
    locks: [u64; 3],
    plans: DatabaseStats,
    /// Threads, and those that are idle.
    pool: (usize, usize),
    journal: Option<JournalStats>,
    binlog: SyncStats,
    acks: AckStats,
    coordinator: Option<SyncStats>,
}

impl<'a> Sources<'a> {
    fn of(server: &'a Server) -> Sources<'a> {
        let store = server.store();
        Sources {
            server,
            commit: store.commit_stats(),
            locks: store.lock_stats(),
            plans: server.database.stats(),
            pool: server.pool.threads(),
            journal: store.journal().map(|journal| journal.stats()),
            binlog: store.binlog().stats(),
            acks: store.binlog().acks().stats(),
            coordinator: store.coordinator_log(),
        }
    }
}

/// How a row is read; `None` where the server has no such thing as it runs.
#[derive(Clone, Copy)]
enum Read {
    Value(fn(&Sources<'_>) -> Option<u64>),
    /// Two variables: `_source_` is `_master_` in the second.
    SemiSync(fn(&AckStats) -> String),
    /// Three variables: `_count`, `_sum` and `_histogram`.
    Histogram(for<'a> fn(&'a CommitStats) -> &'a Histogram),
}

struct StatusVariable {
    name: &'static str,
    #[cfg_attr(not(test), expect(dead_code, reason = "the page of the documentation is made from it"))]
    meaning: &'static str,
    read: Read,
}

const fn row(name: &'static str, meaning: &'static str, read: fn(&Sources<'_>) -> Option<u64>) -> StatusVariable {
    StatusVariable { name, meaning, read: Read::Value(read) }
}

const fn histogram(
    name: &'static str,
    meaning: &'static str,
    read: for<'a> fn(&'a CommitStats) -> &'a Histogram,
) -> StatusVariable {
    StatusVariable { name, meaning, read: Read::Histogram(read) }
}

const fn semi_sync(name: &'static str, meaning: &'static str, read: fn(&AckStats) -> String) -> StatusVariable {
    StatusVariable { name, meaning, read: Read::SemiSync(read) }
}

fn now(counter: &AtomicU64) -> Option<u64> {
    Some(counter.load(Ordering::Relaxed))
}

pub(super) fn status_table(
    environment: &SessionEnvironment,
    session: &SessionState,
    scope: VariableScope,
) -> ShowTable {
    let mut list = list(&environment.server);
    list.extend(snapshot_rows(&environment.server, session.snapshot_at().filter(|_| scope != VariableScope::Global)));
    if scope != VariableScope::Global {
        let own: HashMap<String, u64> = environment.tally.list().into_iter().collect();
        for (name, value) in &mut list {
            if let Some(own) = own.get(name) {
                *value = own.to_string();
            }
        }
    }
    let tls = environment.process.socket().tls().filter(|_| scope != VariableScope::Global);
    list.push(("Ssl_cipher".to_owned(), tls.map(|tls| tls.cipher.clone()).unwrap_or_default()));
    list.push(("Ssl_version".to_owned(), tls.map(|tls| tls.version.to_owned()).unwrap_or_default()));
    list.sort();
    let rows = list.into_iter().map(|(name, value)| vec![Value::text(name), Value::text(value)]).collect();
    ShowTable { columns: vec![("Variable_name", text(64)), ("Value", text(2048))], rows }
}

/// Where the session's consistent snapshot ends in the binlog, or else the newest one.
fn snapshot_rows(server: &Server, pinned: Option<&(BinlogPosition, GtidSet)>) -> [(String, String); 3] {
    let store = server.store();
    let (position, gtids) = pinned.cloned().unwrap_or_else(|| store.executed());
    let values = match store.log_bin() {
        true => [store.binlog().file_name(position.file_number), position.offset.to_string(), gtids.to_string()],
        false => [String::new(), "0".to_owned(), String::new()],
    };
    let mut values = values.into_iter();
    SNAPSHOT_ROWS.map(|(name, _)| (name.to_owned(), values.next().unwrap_or_default()))
}

/// Names and meanings.
const SNAPSHOT_ROWS: [(&str, &str); 3] = [
    (
        "Binlog_snapshot_file",
        "Binlog file in which the snapshot of START TRANSACTION WITH CONSISTENT SNAPSHOT ends; of other sessions the current one.",
    ),
    ("Binlog_snapshot_position", "Offset at which it ends there."),
    ("Binlog_snapshot_gtid_executed", "GTIDs of everything in the snapshot."),
];

/// Every variable that is not one of the server's own counters.
#[rustfmt::skip]
const TABLE: &[StatusVariable] = &[
    row("Binlog_commits", "Transactions written to the binlog.", |from| now(&from.commit.binlog_commits)),
    row("Binlog_file_bytes", "Bytes written to binlog files.", |from| Some(from.binlog.bytes)),
    row("Binlog_file_syncs", "Syncs of binlog files.", |from| Some(from.binlog.syncs)),
    row("Binlog_file_writes", "Writes to binlog files.", |from| Some(from.binlog.writes)),
    row("Binlog_group_commits", "Cohorts with at least one transaction for the binlog.", |from| now(&from.commit.binlog_group_commits)),
    row("Cohort_deadlocks", "Transactions rolled back to end a deadlock.", |from| Some(from.locks[1])),
    row("Cohort_inline_cohorts", "Cohorts laid out by a session that was alone.", |from| now(&from.commit.inline_cohorts)),
    row("Cohort_lock_wait_timeouts", "Lock waits that ended with error 1205.", |from| Some(from.locks[2])),
    row("Cohort_plan_cache_entries", "Plans that are kept.", |from| Some(from.plans.plan_cache_entries)),
    row("Cohort_plan_cache_hits", "Statements that a kept plan served.", |from| Some(from.plans.plan_cache_hits)),
    row("Cohort_plan_cache_misses", "Statements that were planned.", |from| Some(from.plans.plan_cache_misses)),
    histogram("Cohort_size", "Transactions of a cohort.", |commit| &commit.cohort_size),
    histogram("Commit_apply_us", "Microseconds to apply a cohort to binlog file and engines.", |commit| &commit.apply_us),
    histogram("Commit_layout_us", "Microseconds to lay a cohort out.", |commit| &commit.layout_us),
    histogram("Commit_queue_us", "Microseconds from joining the queue to being taken from it.", |commit| &commit.queue_us),
    histogram("Commit_reply_us", "Microseconds to hand out a cohort's replies.", |commit| &commit.reply_us),
    histogram("Commit_write_us", "Microseconds to write a cohort.", |commit| &commit.write_us),
    row("Coordinator_log_bytes", "Bytes written to tc.log (commit_protocol=tc-mmap).", |from| Some(from.coordinator?.bytes)),
    row("Coordinator_log_syncs", "Syncs of tc.log (commit_protocol=tc-mmap).", |from| Some(from.coordinator?.syncs)),
    row("Coordinator_log_writes", "Writes to tc.log (commit_protocol=tc-mmap).", |from| Some(from.coordinator?.writes)),
    row("Created_tmp_disk_tables", "Times that groups, distinct rows, a join, a set operation, a window or a table of WITH had more than memory is for.", |from| now(&from.server.temporary_files.tables)),
    row("Created_tmp_files", "Temporary files that were made.", |from| now(&from.server.temporary_files.files)),
    row("Global_connection_memory", "Bytes that all connections hold; see global_connection_memory_limit.", |from| Some(from.server.memory.used())),
    row("Handler_commit", "Transactions acknowledged.", |from| now(&from.commit.commits)),
    row("Innodb_row_lock_waits", "Times that a statement waited for a row or a range.", |from| Some(from.locks[0])),
    row("Journal_bytes", "Bytes of records written.", |from| Some(from.journal.as_ref()?.log.bytes)),
    row("Journal_checkpoint_lsn", "Where recovery would begin.", |from| Some(from.journal.as_ref()?.checkpoint_lsn)),
    row("Journal_checkpoints_refused", "1 while an engine refuses to sync, so that no checkpoint can be taken.", |from| from.journal.as_ref().map(|_| u64::from(from.server.store().checkpoint_refusal().is_some()))),
    row("Journal_disk_bytes", "Bytes of all segments.", |from| Some(from.journal.as_ref()?.disk_bytes)),
    row("Journal_durable_lsn", "Everything before it is on stable storage.", |from| Some(from.journal.as_ref()?.durable_lsn)),
    row("Journal_next_lsn", "Where the next record begins.", |from| Some(from.journal.as_ref()?.next_lsn)),
    row("Journal_records", "Records laid out.", |from| Some(from.journal.as_ref()?.records)),
    row("Journal_segments", "Segments, prepared ones included.", |from| Some(from.journal.as_ref()?.segments)),
    row("Journal_syncs", "Syncs of records; a write that is durable when it returns counts as one.", |from| Some(from.journal.as_ref()?.log.syncs)),
    row("Journal_upkeep_syncs", "Syncs to prepare segments and to take checkpoints.", |from| Some(from.journal.as_ref()?.upkeep.syncs)),
    row("Journal_upkeep_writes", "Writes to prepare segments and to take checkpoints.", |from| Some(from.journal.as_ref()?.upkeep.writes)),
    row("Journal_writes", "Writes of records.", |from| Some(from.journal.as_ref()?.log.writes)),
    semi_sync("Rpl_semi_sync_source_clients", "Replicas that acknowledge what they get.", |acks| acks.replicas.to_string()),
    semi_sync("Rpl_semi_sync_source_get_ack", "Acknowledgements that came.", |acks| acks.received.to_string()),
    semi_sync("Rpl_semi_sync_source_no_times", "How often replication became asynchronous.", |acks| acks.times_off.to_string()),
    semi_sync("Rpl_semi_sync_source_no_tx", "Transactions that were not acknowledged in time.", |acks| acks.unacknowledged.to_string()),
    semi_sync("Rpl_semi_sync_source_request_ack", "Acknowledgements that were asked for.", |acks| acks.requests.to_string()),
    semi_sync("Rpl_semi_sync_source_status", "ON while commits wait for replicas, OFF while replication is asynchronous.", |acks| if acks.on { "ON" } else { "OFF" }.to_owned()),
    semi_sync("Rpl_semi_sync_source_tx_avg_wait_time", "Microseconds of a wait, on average.", |acks| acks.wait_us.checked_div(acks.waits).unwrap_or(0).to_string()),
    semi_sync("Rpl_semi_sync_source_tx_wait_time", "Microseconds of all waits.", |acks| acks.wait_us.to_string()),
    semi_sync("Rpl_semi_sync_source_tx_waits", "Waits, each for a whole cohort.", |acks| acks.waits.to_string()),
    semi_sync("Rpl_semi_sync_source_wait_sessions", "Cohorts that wait.", |acks| acks.waiting.to_string()),
    semi_sync("Rpl_semi_sync_source_yes_tx", "Transactions that were acknowledged in time.", |acks| acks.acknowledged.to_string()),
    row("Sort_merge_passes", "Times that sorted runs were merged from temporary files.", |from| now(&from.server.temporary_files.merge_passes)),
    row("Threadpool_idle_threads", "Workers that wait for a command.", |from| Some(from.pool.1 as u64)),
    row("Threadpool_threads", "Workers.", |from| Some(from.pool.0 as u64)),
];

/// What MySQL 5.5 and MariaDB name it.
fn old_name(name: &str) -> String {
    name.replace("_source_", "_master_")
}

/// Names and values, sorted by name.
fn list(server: &Server) -> Vec<(String, String)> {
    let from = Sources::of(server);
    let mut list: Vec<(String, String)> = Vec::new();
    for row in TABLE {
        let mut put = |suffix, value| list.push((format!("{}{suffix}", row.name), value));
        match row.read {
            Read::Value(read) => {
                if let Some(value) = read(&from) {
                    put("", value.to_string());
                }
            }
            Read::SemiSync(read) => {
                let value = read(&from.acks);
                put("", value.clone());
                list.push((old_name(row.name), value));
            }
            Read::Histogram(read) => {
                let histogram = read(from.commit);
                put("_count", histogram.count().to_string());
                put("_sum", histogram.sum().to_string());
                put("_histogram", histogram.to_line());
            }
        }
    }
    list.extend(server.counters.list().into_iter().map(|(name, value)| (name, value.to_string())));
    for engine in server.store().engines() {
        let stats = engine.stats().into_iter();
        list.extend(stats.map(|(stat, value)| (format!("{}_{stat}", engine.name()), value.to_string())));
    }
    list.sort();
    list
}

#[cfg(test)]
mod tests {
    use std::fmt::Write as _;

    use super::*;
    use crate::status::{COUNTERS, STATEMENT_KINDS};

    /// `docs/status-variables.md`
    fn page() -> String {
        let mut rows: Vec<(String, &str)> = Vec::new();
        for row in TABLE {
            match row.read {
                Read::Value(_) => rows.push((format!("`{}`", row.name), row.meaning)),
                Read::SemiSync(_) => rows.push((format!("`{}`, `{}`", row.name, old_name(row.name)), row.meaning)),
                Read::Histogram(_) => {
                    rows.push((format!("`{0}_count`, `{0}_sum`, `{0}_histogram`", row.name), row.meaning));
                }
            }
        }
        rows.extend(COUNTERS.iter().map(|(name, meaning)| (format!("`{name}`"), *meaning)));
        rows.extend(STATEMENT_KINDS.iter().map(|kind| (format!("`Com_{}`", kind.name), "Statements of this kind.")));
        rows.extend(SNAPSHOT_ROWS.iter().map(|(name, meaning)| (format!("`{name}`"), *meaning)));
        rows.push(("`Ssl_cipher`".to_owned(), "Cipher of this connection; empty if it is not encrypted."));
        rows.push(("`Ssl_version`".to_owned(), "Version of TLS of this connection; empty if it is not encrypted."));
        rows.sort();
        rows.dedup();
        let mut page = String::from(
            "# Status variables\n\n\
             What `SHOW STATUS` lists. Counters begin at zero when the server starts. Each engine adds its own, which begin\n\
             with its name; `SHOW ENGINE name STATUS` lists those alone. A histogram has a count for each power of two.\n\n\
             | variable | meaning |\n| --- | --- |\n",
        );
        for (name, meaning) in rows {
            writeln!(page, "| {name} | {meaning} |").expect("a string takes everything");
        }
        page
    }

    #[test]
    fn the_page_lists_what_there_is() {
        assert!(TABLE.is_sorted_by(|left, right| left.name < right.name));
        assert!(TABLE.iter().all(|row| row.meaning.ends_with('.')));
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/status-variables.md");
        if std::env::var_os("COHORT_RECORD").is_some() {
            std::fs::write(path, page()).expect("the page can be written");
        }
        let written = std::fs::read_to_string(path).expect("the page is there");
        assert!(written == page(), "docs/status-variables.md is old: run this test with COHORT_RECORD=1");
    }
}
