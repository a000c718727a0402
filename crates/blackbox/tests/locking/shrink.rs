//! Makes a run that fails smaller, as long as it fails in the same way.

use anyhow::Result;

use crate::differences::Difference;
use crate::generate::Plan;
use crate::run::{Outcome, Pair, Trial};

/// How often a plan is run again, at most.
const TRIES: usize = 120;

/// The smallest plan that was found, and its run.
pub fn shrink(pair: &mut Pair, plan: &Plan, failed: Trial) -> Result<(Plan, Trial)> {
    let Outcome::Differs(difference) = &failed.outcome else { return Ok((plan.clone(), failed)) };
    let difference = difference.clone();
    let taken = |plan: &Plan, trial: &Trial| Plan {
        steps: trial.taken.iter().map(|step| plan.steps[*step].clone()).collect(),
        ..plan.clone()
    };
    let (mut best, mut trial) = (taken(plan, &failed), failed);
    let mut tries = 0;
    // Steps in pieces that become smaller, then rows.
    let mut size = best.steps.len().div_ceil(2);
    while size > 0 && tries < TRIES {
        let mut at = 0;
        while at < best.steps.len() && tries < TRIES {
            let mut smaller = best.clone();
            smaller.steps.drain(at..(at + size).min(smaller.steps.len()));
            tries += 1;
            match same_failure(pair, &smaller, &difference)? {
                Some(run) => (best, trial) = (taken(&smaller, &run), run),
                None => at += size,
            }
        }
        size /= 2;
    }
    let mut at = 0;
    while at < best.rows.len() && best.rows.len() > 1 && tries < TRIES {
        let mut smaller = best.clone();
        smaller.rows.remove(at);
        tries += 1;
        match same_failure(pair, &smaller, &difference)? {
            Some(run) => (best, trial) = (smaller, run),
            None => at += 1,
        }
    }
    Ok((best, trial))
}

fn same_failure(pair: &mut Pair, plan: &Plan, difference: &Difference) -> Result<Option<Trial>> {
    let trial = pair.run(plan)?;
    Ok(matches!(&trial.outcome, Outcome::Differs(found) if found == difference).then_some(trial))
}
