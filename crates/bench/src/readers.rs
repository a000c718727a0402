//! What readers of the binlog get, and what they cost commits: `cohort-bench readers`.
//!
//! # Outline
//! * [`follower`] is a reader that looks at no more than each event's header;
//! * [`files`] reads old files, and begins anywhere in them by GTID;
//! * [`load`] lets clients commit beside readers, beside PURGE and SHOW BINARY LOGS;
//! * [`latency`] is the time from a commit's OK to its event at a live reader;
//! * [`semi_sync`] has commits wait for a real replica, beside MariaDB's that do.
//!
//! Readers run in this process, so that they take processor time of the machine that is measured.

use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use anyhow::{Context, Result};
use serde::{Deserialize, Serialize};

use crate::machine::Machine;
use crate::medians::median;
use crate::schedule::Effort;

pub mod files;
pub mod follower;
pub mod latency;
pub mod load;
pub mod semi_sync;

/// Which part is measured.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub enum Part {
    /// Old files.
    Files,
    /// Commits beside readers and administration.
    Load,
    /// From a commit's OK to its event at a reader.
    Latency,
    /// Commits that wait for a replica.
    SemiSync,
}

impl Part {
    /// All of them, in the order they are measured in.
    pub const ALL: [Part; 4] = [Part::Load, Part::Latency, Part::SemiSync, Part::Files];
}

/// What a figure should be.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Wanted {
    AtLeast(f64),
    AtMost(f64),
}

/// A figure beside what it should be.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Goal {
    pub name: String,
    /// Median over the rounds, or what `name` says.
    pub found: f64,
    pub unit: String,
    pub wanted: Wanted,
    /// What it was made of, for people.
    pub detail: String,
}

impl Goal {
    /// A figure of one measurement.
    pub fn new(name: impl Into<String>, found: f64, unit: &str, wanted: Wanted, detail: impl Into<String>) -> Goal {
        Goal { name: name.into(), found, unit: unit.to_owned(), wanted, detail: detail.into() }
    }

    /// The median of figures of several rounds, of which there must be one at least.
    pub fn median(name: impl Into<String>, rounds: &[f64], unit: &str, wanted: Wanted, detail: &str) -> Goal {
        let found = median(rounds.iter().copied());
        let rounds: Vec<String> = rounds.iter().map(|figure| format!("{figure:.2}")).collect();
        Goal::new(name, found, unit, wanted, format!("{detail}; rounds {}", rounds.join(", ")))
    }

    /// Whether it is what it should be.
    pub fn reached(&self) -> bool {
        match self.wanted {
            Wanted::AtLeast(least) => self.found >= least,
            Wanted::AtMost(most) => self.found <= most,
        }
    }
}

/// How much is measured.
#[derive(Debug, Clone)]
pub struct Plan<'a> {
    pub effort: Effort,
    pub parts: Vec<Part>,
    /// Length of the binlog that is read and begun in, bytes.
    pub log_bytes: u64,
    /// Options of our server besides those of full durability.
    pub options: &'a [String],
}

/// Everything a run found.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Report {
    pub machine: Machine,
    pub goals: Vec<Goal>,
}

/// Measures the parts of `plan` one after another; each starts servers of its own.
pub fn measure(plan: &Plan<'_>) -> Result<Report> {
    let mut goals = Vec::new();
    for part in &plan.parts {
        let found = match part {
            Part::Files => files::measure(plan),
            Part::Load => load::measure(plan),
            Part::Latency => latency::measure(plan),
            Part::SemiSync => semi_sync::measure(plan),
        };
        for goal in found.with_context(|| format!("{part:?}"))? {
            eprint!("{}", line(&goal));
            goals.push(goal);
        }
    }
    Ok(Report { machine: Machine::here()?, goals })
}

impl Report {
    /// The table for people.
    pub fn table(&self) -> String {
        let Machine { date, processor, processors, memory_bytes, kernel, command } = &self.machine;
        let mut text = format!("{date}  {processor}, {processors} processors, {} GB, {kernel}\n", memory_bytes >> 30);
        // Writing to a string does not fail.
        let _ = writeln!(text, "{command}\n");
        self.goals.iter().for_each(|goal| text.push_str(&line(goal)));
        text
    }

    /// Writes `NAME.json` and `NAME.txt` into `folder`.
    pub fn write(&self, folder: &Path, name: &str) -> Result<()> {
        fs::create_dir_all(folder).with_context(|| format!("cannot create {}", folder.display()))?;
        fs::write(folder.join(format!("{name}.json")), serde_json::to_string_pretty(self)?)?;
        Ok(fs::write(folder.join(format!("{name}.txt")), self.table())?)
    }
}

fn line(goal: &Goal) -> String {
    let wanted = match goal.wanted {
        Wanted::AtLeast(least) => format!("≥ {least}"),
        Wanted::AtMost(most) => format!("≤ {most}"),
    };
    let verdict = if goal.reached() { "ok" } else { "MISS" };
    format!("{:<52}{:>10.2} {:<5}{wanted:>8}  {verdict:<4}  {}\n", goal.name, goal.found, goal.unit, goal.detail)
}

/// Of values in any order, the one that this share of them is not above; there must be one at least.
pub(crate) fn percentile(values: &mut [f64], share: f64) -> f64 {
    values.sort_by(f64::total_cmp);
    let at = (values.len() as f64 * share).ceil() as usize;
    values[at.clamp(1, values.len()) - 1]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_percentile_is_one_of_the_values() {
        let mut hundred: Vec<f64> = (1..=100).rev().map(f64::from).collect();
        assert_eq!(percentile(&mut hundred, 0.99), 99.0);
        assert_eq!(percentile(&mut [5.0], 0.99), 5.0);
    }

    #[test]
    fn a_goal_is_reached_from_its_own_side() {
        let goal = |wanted| Goal::new("x", 2.0, "s", wanted, "").reached();
        assert!(goal(Wanted::AtLeast(2.0)) && goal(Wanted::AtMost(2.0)));
        assert!(!goal(Wanted::AtLeast(2.1)) && !goal(Wanted::AtMost(1.9)));
    }
}
