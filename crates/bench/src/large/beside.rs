//! Clients that commit small transactions while something else runs.

use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Instant;

use anyhow::Result;
use mysql::prelude::Queryable;

use crate::contender::Contender;
use crate::readers::percentile;

const CLIENTS: u64 = 4;
/// Rows that each client updates, one after another.
const ROWS: u64 = 1000;

pub const TABLE: &str = "CREATE TABLE large.beside (id BIGINT PRIMARY KEY, k BIGINT NOT NULL)";

/// The statement that fills the table.
pub fn rows() -> String {
    let rows: Vec<String> = (0..CLIENTS * ROWS).map(|id| format!("({id},0)")).collect();
    format!("INSERT INTO large.beside VALUES {}", rows.join(","))
}

/// When commits began and ended, milliseconds since the start.
pub struct Commits(Vec<(f64, f64)>);

impl Commits {
    /// That of 99 in 100 commits is not longer.
    pub fn p99_ms(&self) -> f64 {
        self.percentile_ms(0.99)
    }

    /// That share of commits is not longer.
    pub fn percentile_ms(&self, share: f64) -> f64 {
        let mut times: Vec<f64> = self.0.iter().map(|(begun, ended)| ended - begun).collect();
        percentile(&mut times, share)
    }

    /// The longest time in which no commit ended.
    pub fn gap_ms(&self) -> f64 {
        let mut ends: Vec<f64> = self.0.iter().map(|(_, ended)| *ended).collect();
        ends.sort_by(f64::total_cmp);
        ends.windows(2).map(|pair| pair[1] - pair[0]).fold(0.0, f64::max)
    }

    /// Commits in a second.
    pub fn rate(&self) -> f64 {
        let ended = self.0.iter().map(|(_, ended)| *ended).fold(0.0, f64::max);
        self.0.len() as f64 / ended * 1e3
    }
}

/// Has clients commit until `run` ends; gives what they did, and what it returned.
pub fn beside<T>(server: &Contender, run: impl FnOnce() -> Result<T>) -> Result<(Commits, T)> {
    let ended = AtomicBool::new(false);
    let since = Instant::now();
    thread::scope(|scope| {
        let clients: Vec<_> = (0..CLIENTS)
            .map(|client| {
                let ended = &ended;
                scope.spawn(move || -> Result<Vec<(f64, f64)>> {
                    let mut conn = server.connect()?;
                    let update = conn.prep("UPDATE large.beside SET k = k + 1 WHERE id = ?")?;
                    let now = || since.elapsed().as_secs_f64() * 1e3;
                    let mut commits = Vec::new();
                    for id in (client * ROWS..(client + 1) * ROWS).cycle() {
                        if ended.load(Ordering::Relaxed) {
                            break;
                        }
                        let begun = now();
                        conn.exec_drop(&update, (id,))?;
                        commits.push((begun, now()));
                    }
                    Ok(commits)
                })
            })
            .collect();
        let ran = run();
        ended.store(true, Ordering::Relaxed);
        let mut commits = Vec::new();
        for client in clients {
            commits.extend(client.join().expect("a client does not panic")?);
        }
        Ok((Commits(commits), ran?))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_gap_is_between_ends_and_a_time_between_begin_and_end() {
        let commits = Commits(vec![(0.0, 1.0), (1.0, 9.0), (1.5, 2.0), (2.0, 3.0)]);
        assert_eq!((commits.gap_ms(), commits.p99_ms()), (6.0, 8.0));
    }
}
