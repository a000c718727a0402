//! Medians over the rounds of a case.

use serde::{Deserialize, Serialize};

use crate::schedule::Run;

/// Medians of one server over all rounds of a case.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Medians {
    /// Transactions per second.
    pub throughput: f64,
    /// 99th percentile of the latency, milliseconds.
    pub p99_ms: f64,
    /// CPU time of the server for each transaction, microseconds.
    pub server_us: f64,
}

impl Medians {
    /// Of `runs`, of which there must be one at least.
    pub fn of<'a>(runs: impl Iterator<Item = &'a Run> + Clone) -> Medians {
        Medians {
            throughput: median(runs.clone().map(|run| run.figures.throughput)),
            p99_ms: median(runs.clone().map(|run| run.figures.p99_ms)),
            server_us: median(runs.map(|run| run.server_us)),
        }
    }
}

/// The middle value, or the mean of the two in the middle; there must be one at least.
pub(crate) fn median(values: impl Iterator<Item = f64>) -> f64 {
    let mut values: Vec<f64> = values.collect();
    assert!(!values.is_empty(), "a median needs values");
    values.sort_by(f64::total_cmp);
    let middle = values.len() / 2;
    if values.len() % 2 == 1 { values[middle] } else { (values[middle - 1] + values[middle]) / 2.0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_median_stands_in_the_middle() {
        assert_eq!(median([3.0, 9.0, 1.0].into_iter()), 3.0);
        assert_eq!(median([4.0, 1.0, 2.0, 9.0].into_iter()), 3.0);
    }
}
