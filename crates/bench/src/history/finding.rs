//! Sets what was measured beside what was published.
//!
//! Every sentence is made from the figures of the run at hand: none says how a run will end.

use std::fmt::Display;

use crate::chart::thousands;
use crate::history::plan::{Contestant, Engine, Entrant, Experiment, entrant};
use crate::history::result::{Outcome, Point, Series};

/// Within this factor of the published figure, ours counts as the same.
const ABOUT: f64 = 1.25;
/// Growth up to this factor counts as none.
const FLAT: f64 = 1.3;
/// With the processors at work for this share of the time, more clients cannot bring more.
const BUSY: f64 = 0.85;

/// The lock that gives transactions their place in the binlog, as our server calls it.
const BINLOG_LOCK: &str = "binlog order";

/// A published figure, ours, and a sentence on the difference.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finding {
    pub what: String,
    /// What was published.
    pub published: String,
    /// What was measured here.
    pub ours: String,
    /// How they differ, and what of it the figures explain.
    pub remark: String,
}

/// Everything that was published about an experiment, beside its outcome. What could not be measured because
/// a contestant is absent is left out.
pub fn findings(outcome: &Outcome) -> Vec<Finding> {
    let view = View { outcome };
    let found = match outcome.experiment {
        Experiment::WriteLoad => view.write_load(),
        Experiment::BinlogCost => view.binlog_cost(),
        Experiment::GroupCommit => view.group_commit(),
        Experiment::HandOff => view.hand_off(),
    };
    found.into_iter().flatten().collect()
}

struct View<'a> {
    outcome: &'a Outcome,
}

impl<'a> View<'a> {
    fn point(&self, contestant: Contestant, clients: u32) -> Option<&'a Point> {
        self.outcome.of(contestant)?.at(clients)
    }

    fn entrant(&self, entrant: Entrant, clients: u32) -> Option<&'a Point> {
        self.point(Contestant::new(entrant), clients)
    }

    /// How many times the throughput of `slow` that of `fast` is, against a published figure.
    fn times(&self, fast: Entrant, slow: Entrant, clients: u32, published: Option<f64>) -> Option<Finding> {
        let (quick, lame) = (self.entrant(fast, clients)?, self.entrant(slow, clients)?);
        let ratio = quick.throughput() / lame.throughput();
        let why = || format!("{}; {}", self.limit(fast, quick), self.limit(slow, lame));
        Some(Finding {
            what: format!("{fast} against {slow}, {clients} clients"),
            published: published.map_or_else(|| "–".to_owned(), |published| format!("{published}x")),
            ours: format!("{} ({} : {}/s)", times(ratio), thousands(quick.throughput()), thousands(lame.throughput())),
            remark: match published {
                Some(published) => compared(ratio, published, why),
                None => sentence(&why()),
            },
        })
    }

    /// What keeps a server from doing more.
    fn limit(&self, name: impl Display, point: &Point) -> String {
        let percent = point.busy() * 100.0;
        if point.busy() >= BUSY {
            let cost = point.server_us();
            format!(
                "{name} and its clients keep the processors {percent:.0} % busy, {cost:.0} µs of the server for each \
                 transaction, so that these are the limit"
            )
        } else if self.outcome.experiment.in_memory() {
            format!("{name} and its clients keep the processors {percent:.0} % busy, its threads wait for each other")
        } else {
            let sync = self.outcome.sync_us;
            format!(
                "{name} and its clients keep the processors {percent:.0} % busy and wait the rest of the time, where \
                 one sync takes some {sync:.0} µs"
            )
        }
    }

    fn write_load(&self) -> Vec<Option<Finding>> {
        use entrant::*;
        let Some(clients) = self.outcome.clients_up_to(30) else {
            return Vec::new();
        };
        vec![
            self.times(PLUGIN104, MYSQL50, clients, Some(6.1)),
            self.fewer_syncs(clients),
            self.syncs_at_any_concurrency(),
            self.times(JOURNAL, PLUGIN104, clients, None),
            self.times(REAL_MYSQL55, MYSQL50, clients, None),
        ]
    }

    fn fewer_syncs(&self, clients: u32) -> Option<Finding> {
        let engine = |entrant| self.entrant(entrant, clients)?.syncs_per_commit(|syncs| syncs.engine);
        let (broken, mended) = (engine(entrant::MYSQL50)?, engine(entrant::PLUGIN104)?);
        let saved = 1.0 - mended / broken;
        Some(Finding {
            what: format!("engine syncs for each commit, mysql50 to plugin104, {clients} clients"),
            published: "2.00 → 0.26 (−87 %)".to_owned(),
            ours: format!("{broken:.2} → {mended:.2} (−{:.0} %)", saved * 100.0),
            remark: compared(1.0 / (1.0 - saved).max(0.001), 1.0 / 0.13, || {
                format!("a sync of plugin104 is shared by {:.1} flushes on average here", 2.0 / mended.max(0.001))
            }),
        })
    }

    fn syncs_at_any_concurrency(&self) -> Option<Finding> {
        let range = |entrant| {
            let series = self.outcome.entrant(entrant)?;
            let all: Option<Vec<f64>> =
                series.points.iter().map(|point| point.syncs_per_commit(|syncs| syncs.engine)).collect();
            let all = all?;
            Some((all.iter().copied().fold(f64::MAX, f64::min), all.iter().copied().fold(0.0, f64::max)))
        };
        let (with, without) = (range(entrant::MYSQL50)?, range(entrant::MYSQL50_WITHOUT_XA)?);
        let is =
            |(low, high): (f64, f64), expected: f64| (low - expected).abs() < 0.05 && (high - expected).abs() < 0.05;
        let remark = if is(with, 2.0) && is(without, 1.0) {
            "As published.".to_owned()
        } else {
            "Not as published: what else is synced than a prepare and a commit has to be looked for.".to_owned()
        };
        Some(Finding {
            what: "engine syncs for each commit of mysql50 at any number of clients".to_owned(),
            published: "2 (1 without XA)".to_owned(),
            ours: format!("{:.2} to {:.2} ({:.2} to {:.2} without XA)", with.0, with.1, without.0, without.1),
            remark,
        })
    }

    fn binlog_cost(&self) -> Vec<Option<Finding>> {
        use entrant::*;
        let Some(clients) = self.outcome.clients_up_to(32) else {
            return Vec::new();
        };
        vec![
            self.cost_of_binlog(MYSQL50, clients, Some(0.53)),
            self.cost_of_binlog(PLUGIN104, clients, Some(0.06)),
            self.times(PLUGIN104, MYSQL50, clients, Some(1.95)),
            self.syncs_of_transactions(clients),
            self.hottest_lock(),
            self.cost_of_binlog(JOURNAL, clients, None),
            self.cost_of_binlog(REAL_MYSQL55, clients, None),
        ]
    }

    fn cost_of_binlog(&self, entrant: Entrant, clients: u32, published: Option<f64>) -> Option<Finding> {
        let contestant = Contestant::new(entrant);
        let with = self.point(contestant, clients)?;
        let without = self.point(contestant.without_binlog(), clients)?;
        let cost = 1.0 - with.throughput() / without.throughput();
        let why = || {
            let off = format!("{entrant} without a binlog");
            format!("{}; {}", self.limit(entrant, with), self.limit(off, without))
        };
        let remark = match published {
            // Ten points more or less are the same.
            Some(published) if (cost - published).abs() <= 0.1 => "About as published.".to_owned(),
            Some(published) if cost < published => format!("Less than published: {}.", why()),
            Some(_) => format!("More than published: {}.", why()),
            None => sentence(&why()),
        };
        Some(Finding {
            what: format!("cost of the binlog for {entrant}, {clients} clients"),
            published: published.map_or_else(|| "–".to_owned(), percent),
            ours: format!(
                "{} ({} : {}/s)",
                percent(cost),
                thousands(with.throughput()),
                thousands(without.throughput())
            ),
            remark,
        })
    }

    fn syncs_of_transactions(&self, clients: u32) -> Option<Finding> {
        let of = |entrant| self.entrant(entrant, clients)?.syncs_per_commit(|syncs| syncs.of_commits());
        let (broken, mended) = (of(entrant::MYSQL50)?, of(entrant::PLUGIN104)?);
        Some(Finding {
            what: format!("syncs for each transaction, mysql50 to plugin104, {clients} clients"),
            published: "about 2 → about 0.5".to_owned(),
            ours: format!("{broken:.2} → {mended:.2}"),
            remark: compared(broken / mended.max(0.001), 4.0, || {
                format!("a sync of plugin104 is shared by {:.1} flushes on average here", 2.0 / mended.max(0.001))
            }),
        })
    }

    /// The lock of mysql50 that was waited for longest, against that of the binlog, over all runs.
    fn hottest_lock(&self) -> Option<Finding> {
        let locks = &self.outcome.entrant(entrant::MYSQL50)?.locks;
        let hottest = locks.first()?;
        let binlog: Vec<_> = locks.iter().filter(|lock| lock.lock == BINLOG_LOCK).collect();
        let (waits, waited_ns) =
            binlog.iter().fold((0, 0), |(waits, ns), lock| (waits + lock.waits, ns + lock.wait_ns));
        let seconds = |ns: u64| ns as f64 / 1e9;
        let remark = match hottest.wait_ns.checked_div(waited_ns) {
            _ if hottest.lock != "prepare_commit_mutex" => {
                format!("Another lock is the hottest here: {} of {}.", hottest.lock, hottest.caller)
            }
            None => "It is the hottest here too; nobody waited for that of the binlog.".to_owned(),
            Some(times) => format!("It is the hottest here too, {times}x that of the binlog."),
        };
        Some(Finding {
            what: "hottest lock of mysql50 by time waited for it, all numbers of clients".to_owned(),
            published: "prepare_commit_mutex, about 1000x the lock of the binlog".to_owned(),
            ours: format!(
                "{} {:.2} s in {} waits; the binlog’s {:.2} s in {waits}",
                hottest.lock,
                seconds(hottest.wait_ns),
                thousands(hottest.waits as f64),
                seconds(waited_ns)
            ),
            remark,
        })
    }

    fn group_commit(&self) -> Vec<Option<Finding>> {
        use entrant::*;
        let Some(most) = self.outcome.clients().last().copied() else {
            return Vec::new();
        };
        let clients = self.outcome.clients_up_to(32).unwrap_or(most);
        let few = self.outcome.clients_up_to(4).unwrap_or(most);
        vec![
            self.flat(MYSQL50, few, clients),
            self.flat(REAL_MYSQL55, few, clients),
            self.growth(&[MYSQL56, MYSQL57, MARIADB, REAL_MYSQL56, REAL_MARIADB1011], most),
            self.commit_flush(Engine::RocksDb, clients),
            self.commit_flush(Engine::Redb, clients),
            self.engines_alike(clients),
            self.journal_and_the_best(Engine::RocksDb),
            self.journal_and_the_best(Engine::Redb),
        ]
    }

    /// Throughput of one entrant with `most` clients by that with `few`, which was published to be the same.
    fn flat(&self, entrant: Entrant, few: u32, most: u32) -> Option<Finding> {
        let (last, first) = (self.entrant(entrant, most)?, self.entrant(entrant, few)?);
        let growth = last.throughput() / first.throughput();
        Some(Finding {
            what: format!("{entrant}: {most} clients against {few}"),
            published: "flat".to_owned(),
            ours: times(growth),
            remark: if growth <= FLAT {
                "Flat here too.".to_owned()
            } else {
                format!("Not flat here: {}.", self.limit(entrant, first))
            },
        })
    }

    /// Throughput with `most` clients by that of one client, which was published to grow.
    fn growth(&self, entrants: &[Entrant], most: u32) -> Option<Finding> {
        let fewest = *self.outcome.clients().first()?;
        let known = entrants.iter().filter_map(|&entrant| {
            let (last, first) = (self.entrant(entrant, most)?, self.entrant(entrant, fewest)?);
            Some((entrant, last, last.throughput() / first.throughput()))
        });
        let known: Vec<_> = known.collect();
        let (slowest, point, least) = *known.iter().min_by(|a, b| a.2.total_cmp(&b.2))?;
        let all = known.iter().map(|(entrant, _, by)| format!("{entrant} {}", times(*by)));
        Some(Finding {
            what: format!("growth from {fewest} to {most} clients"),
            published: "5.6 and MariaDB scale".to_owned(),
            ours: all.collect::<Vec<_>>().join(", "),
            remark: if least > FLAT {
                format!("All of them scale here, {slowest} least: {}.", self.limit("it", point))
            } else {
                format!("Not all of them scale here: {}.", self.limit(slowest, point))
            },
        })
    }

    fn commit_flush(&self, engine: Engine, clients: u32) -> Option<Finding> {
        let on = |entrant| Contestant { engine, ..Contestant::new(entrant) };
        let with = self.point(on(entrant::MARIADB), clients)?;
        let without = self.point(on(entrant::MARIADB_WITHOUT_COMMIT_FLUSH), clients)?;
        let gain = without.throughput() / with.throughput();
        let remark = if gain > 1.05 {
            "It costs visibly here too.".to_owned()
        } else {
            format!("It hardly costs here: {}.", self.limit("mariadb without it", without))
        };
        Some(Finding {
            what: format!("mariadb without the commit flush against with it, {}, {clients} clients", engine.title()),
            published: "the flush costs visibly".to_owned(),
            ours: times(gain),
            remark,
        })
    }

    fn engines_alike(&self, clients: u32) -> Option<Finding> {
        let contestant = Contestant::new(entrant::MARIADB_WITHOUT_COMMIT_FLUSH);
        let rocksdb = self.point(contestant, clients)?;
        let redb = self.point(Contestant { engine: Engine::Redb, ..contestant }, clients)?;
        let ratio = redb.throughput() / rocksdb.throughput();
        Some(Finding {
            what: format!("redb against RocksDB without the commit flush, {clients} clients"),
            published: "two engines perform alike".to_owned(),
            ours: times(ratio),
            remark: compared(ratio, 1.0, || {
                let syncs = |point: &Point| point.syncs_per_commit(|syncs| syncs.engine).unwrap_or_default();
                let (redb_syncs, rocksdb_syncs) = (syncs(redb), syncs(rocksdb));
                format!(
                    "redb’s file is synced {redb_syncs:.2} times for each transaction, RocksDB’s log {rocksdb_syncs:.2} \
                     times; {}; {}",
                    self.limit("redb", redb),
                    self.limit("RocksDB", rocksdb)
                )
            }),
        })
    }

    fn journal_and_the_best(&self, engine: Engine) -> Option<Finding> {
        let journal = Contestant { engine, ..Contestant::new(entrant::JOURNAL) };
        let leads = lead(self.outcome, journal)?;
        let ahead: Vec<String> = leads
            .iter()
            .map(|lead| format!("{} at {} (then {})", times(lead.ratio), lead.clients, lead.next))
            .collect();
        Some(Finding {
            what: format!("journal against the best other protocol with a binlog, {}", engine.title()),
            published: "–".to_owned(),
            ours: ahead.join(", "),
            remark: match leads.iter().find(|lead| lead.ratio <= 1.0) {
                None => "It is ahead at every number of clients.".to_owned(),
                Some(behind) => {
                    let point = self.point(journal, behind.clients)?;
                    format!("At {} clients {}.", behind.clients, self.limit("it", point))
                }
            },
        })
    }

    fn hand_off(&self) -> Vec<Option<Finding>> {
        use entrant::*;
        let Some(most) = self.outcome.clients().last().copied() else {
            return Vec::new();
        };
        vec![
            self.times(MARIADB, MARIADB_NAIVE, most, Some(1.5)),
            self.group_size(most),
            self.base(most),
            self.times(JOURNAL, MARIADB, most, None),
            self.times(JOURNAL, REAL_MARIADB1011, most, None),
        ]
    }

    /// Members of a group: only in groups of several is there anything to hand on.
    fn group_size(&self, clients: u32) -> Option<Finding> {
        let size = |entrant| {
            let each = self.entrant(entrant, clients)?.syncs_per_commit(|syncs| syncs.binlog)?;
            Some(1.0 / each.max(0.001))
        };
        let (leader, next) = (size(entrant::MARIADB)?, size(entrant::MARIADB_NAIVE)?);
        Some(Finding {
            what: format!("members of a group, mariadb and mariadb-naive, {clients} clients"),
            published: "–".to_owned(),
            ours: format!("{leader:.1} and {next:.1}"),
            remark: if leader.min(next) < 2.0 {
                "Where most groups have one member there is no hand-off whose cost could show.".to_owned()
            } else {
                "Groups have several members, so that the hand-off between them shows.".to_owned()
            },
        })
    }

    fn base(&self, clients: u32) -> Option<Finding> {
        let naive = self.entrant(entrant::MARIADB_NAIVE, clients)?;
        Some(Finding {
            what: format!("signal-the-next, {clients} clients"),
            published: "about 25,000/s on the machine of its time".to_owned(),
            ours: format!("{}/s", thousands(naive.throughput())),
            remark: sentence(&self.limit("mariadb-naive", naive)),
        })
    }
}

/// How far a contestant is ahead of the next best one on the same engine.
#[derive(Debug, Clone, PartialEq)]
pub struct Lead {
    pub clients: u32,
    /// Its throughput by that of the next best.
    pub ratio: f64,
    /// The next best.
    pub next: Contestant,
}

/// The lead of `contestant` over every other rung of our server with the same engine and the same
/// binlog setting, for each number of clients; peers are servers of their own and are left out. `None` if
/// there is nobody else.
pub fn lead(outcome: &Outcome, contestant: Contestant) -> Option<Vec<Lead>> {
    let own = outcome.of(contestant)?;
    let same = |series: &&Series| {
        let other = series.contestant;
        other != contestant
            && !other.entrant.is_peer()
            && other.engine == contestant.engine
            && other.binlog == contestant.binlog
    };
    let others: Vec<&Series> = outcome.series.iter().filter(same).collect();
    let leads = own.points.iter().filter_map(|point| {
        let at = |series: &&Series| Some((series.contestant, series.at(point.clients)?.throughput()));
        let (next, best) = others.iter().filter_map(at).max_by(|a, b| a.1.total_cmp(&b.1))?;
        Some(Lead { clients: point.clients, ratio: point.throughput() / best, next })
    });
    let leads: Vec<Lead> = leads.collect();
    (!leads.is_empty()).then_some(leads)
}

/// A sentence on two figures of which both are multiples of something.
fn compared(ours: f64, published: f64, why: impl Fn() -> String) -> String {
    let factor = ours / published;
    if (1.0 / ABOUT..=ABOUT).contains(&factor) {
        "About as published.".to_owned()
    } else if factor > 1.0 {
        format!("More than published: {}.", why())
    } else {
        format!("Less than published: {}.", why())
    }
}

fn times(ratio: f64) -> String {
    format!("{ratio:.2}x")
}

fn percent(share: f64) -> String {
    format!("{:.0} %", share * 100.0).replace('-', "−")
}

fn sentence(text: &str) -> String {
    format!("{text}.")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_difference_is_reported_with_its_direction() {
        let why = || "because".to_owned();
        assert_eq!(compared(6.0, 6.1, why), "About as published.");
        assert_eq!(compared(12.0, 6.1, why), "More than published: because.");
        assert_eq!(compared(2.0, 6.1, why), "Less than published: because.");
    }
}
