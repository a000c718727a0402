//! What has to be seen of the protocols, held against what was measured.

use crate::history::finding::lead;
use crate::history::plan::{Contestant, Engine, Entrant, Experiment, entrant};
use crate::history::result::{History, KernelCount, Outcome};

/// Counts at the system call may hold a sync or two that belong to no commit.
const EXACT: f64 = 0.03;

/// Something that has to be seen.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Claim {
    pub what: String,
    /// What was measured; empty if nothing was.
    pub measured: String,
    /// Whether it was seen; `None` if it was not measured.
    pub held: Option<bool>,
}

/// Every claim, those that could not be checked included.
pub fn claims(history: &History) -> Vec<Claim> {
    use entrant::*;
    let group = history.outcome(Experiment::GroupCommit);
    let write = history.outcome(Experiment::WriteLoad);
    let scaling = [MYSQL56, MYSQL57, MARIADB, MARIADB_WITHOUT_COMMIT_FLUSH];
    let mut claims = vec![
        claim("mysql50 is flat: 32 clients at most 1.3x of 4", group.and_then(flat)),
        claim("mysql50 needs 2 engine syncs and 1 of the binlog for each commit", serial(history, MYSQL50, 2.0)),
        claim("without XA 1 engine sync and 1 of the binlog", serial(history, MYSQL50_WITHOUT_XA, 1.0)),
        claim("plugin104 at 30 connections at least 4x mysql50, sync_binlog=0", write.and_then(mended)),
        claim("and with at least 80 % fewer engine syncs", write.and_then(fewer)),
    ];
    for entrant in scaling {
        let what = format!("{entrant} under 0.5 syncs for each commit at 32 clients");
        claims.push(claim(&what, shared(history, entrant)));
    }
    for engine in [Engine::RocksDb, Engine::Redb] {
        let what = format!("mariadb without the commit flush beats it with, {}", engine.title());
        claims.push(claim(&what, group.and_then(|outcome| without_flush(outcome, engine))));
    }
    let hand_off = history.outcome(Experiment::HandOff);
    claims.push(claim("leader-does-all beats signal-the-next on a RAM disk", hand_off.and_then(leader)));
    for experiment in Experiment::ALL {
        let outcome = history.outcome(experiment);
        let engines = outcome.map(Outcome::engines).unwrap_or_default();
        for engine in engines {
            let what = format!(
                "journal beats every rung at every number of clients: {}, {}",
                name(experiment),
                engine.title()
            );
            claims.push(claim(&what, outcome.and_then(|outcome| ahead(outcome, engine))));
        }
    }
    claims.push(claim("the hottest lock of mysql50 is prepare_commit_mutex", group.and_then(hottest)));
    claims
}

/// An experiment as the page calls it.
pub fn name(experiment: Experiment) -> &'static str {
    match experiment {
        Experiment::WriteLoad => "mysqlslap writes",
        Experiment::BinlogCost => "sysbench read/write",
        Experiment::GroupCommit => "sysbench update_non_index",
        Experiment::HandOff => "prepared REPLACE",
    }
}

fn claim(what: &str, seen: Option<(String, bool)>) -> Claim {
    let (measured, held) = seen.map_or((String::new(), None), |(measured, held)| (measured, Some(held)));
    Claim { what: what.to_owned(), measured, held }
}

fn ratio(outcome: &Outcome, fast: Contestant, slow: Contestant, clients: u32) -> Option<f64> {
    Some(outcome.of(fast)?.at(clients)?.throughput() / outcome.of(slow)?.at(clients)?.throughput())
}

fn flat(outcome: &Outcome) -> Option<(String, bool)> {
    let series = outcome.entrant(entrant::MYSQL50)?;
    let growth = series.at(32)?.throughput() / series.at(4)?.throughput();
    Some((format!("{growth:.2}x"), growth <= 1.3))
}

fn serial(history: &History, entrant: Entrant, engine: f64) -> Option<(String, bool)> {
    let contestant = Contestant::new(entrant);
    let counts: Vec<&KernelCount> = history.kernel.iter().filter(|count| count.contestant == contestant).collect();
    let each = counts.iter().map(|count| {
        let (synced, written) = (count.per_commit(count.engine), count.per_commit(count.binlog));
        (count.clients, synced, written)
    });
    let each: Vec<(u32, f64, f64)> = each.collect();
    let exact = |&(_, synced, written): &(u32, f64, f64)| {
        (synced - engine).abs() <= EXACT * engine && (written - 1.0).abs() <= EXACT
    };
    let reported: Vec<String> =
        each.iter().map(|(clients, synced, written)| format!("{synced:.2} + {written:.2} at {clients}")).collect();
    (!each.is_empty()).then(|| (reported.join(", "), each.iter().all(exact)))
}

fn mended(outcome: &Outcome) -> Option<(String, bool)> {
    let (plugin104, mysql50) = (Contestant::new(entrant::PLUGIN104), Contestant::new(entrant::MYSQL50));
    let ratio = ratio(outcome, plugin104, mysql50, 30)?;
    Some((format!("{ratio:.2}x"), ratio >= 4.0))
}

fn fewer(outcome: &Outcome) -> Option<(String, bool)> {
    let engine = |entrant| outcome.entrant(entrant)?.at(30)?.syncs_per_commit(|syncs| syncs.engine);
    let saved = 1.0 - engine(entrant::PLUGIN104)? / engine(entrant::MYSQL50)?;
    Some((format!("−{:.0} %", saved * 100.0), saved >= 0.8))
}

fn shared(history: &History, entrant: Entrant) -> Option<(String, bool)> {
    let count = history.kernel(Contestant::new(entrant), 32)?;
    let each = count.per_commit(count.logs());
    Some((format!("{each:.2}"), each < 0.5))
}

fn without_flush(outcome: &Outcome, engine: Engine) -> Option<(String, bool)> {
    let on = |entrant| Contestant { engine, ..Contestant::new(entrant) };
    let (without, with) = (on(entrant::MARIADB_WITHOUT_COMMIT_FLUSH), on(entrant::MARIADB));
    let each =
        outcome.clients().into_iter().filter_map(|clients| Some((clients, ratio(outcome, without, with, clients)?)));
    let each: Vec<(u32, f64)> = each.collect();
    let reported: Vec<String> = each.iter().map(|(clients, ratio)| format!("{ratio:.2}x at {clients}")).collect();
    (!each.is_empty()).then(|| (reported.join(", "), each.iter().all(|(_, ratio)| *ratio > 1.0)))
}

fn leader(outcome: &Outcome) -> Option<(String, bool)> {
    let most = *outcome.clients().last()?;
    let (leader, next) = (Contestant::new(entrant::MARIADB), Contestant::new(entrant::MARIADB_NAIVE));
    let ratio = ratio(outcome, leader, next, most)?;
    Some((format!("{ratio:.2}x at {most}"), ratio > 1.0))
}

fn ahead(outcome: &Outcome, engine: Engine) -> Option<(String, bool)> {
    let leads = lead(outcome, Contestant { engine, ..Contestant::new(entrant::JOURNAL) })?;
    let reported: Vec<String> =
        leads.iter().map(|lead| format!("{:.2}x at {} ({})", lead.ratio, lead.clients, lead.next)).collect();
    Some((reported.join(", "), leads.iter().all(|lead| lead.ratio > 1.0)))
}

fn hottest(outcome: &Outcome) -> Option<(String, bool)> {
    let hottest = outcome.entrant(entrant::MYSQL50)?.locks.first()?;
    let reported = format!("{}, waited for {:.1} s in all", hottest.lock, hottest.wait_ns as f64 / 1e9);
    Some((reported, hottest.lock == "prepare_commit_mutex"))
}
