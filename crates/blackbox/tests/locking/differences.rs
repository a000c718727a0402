//! Compares what one step brought on both servers, and knows where they may differ.

use anyhow::Result;

use crate::claims::Claims;
use crate::generate::{LEVELS, Plan};
use crate::side::{Answer, Side};
use crate::statement::{Effect, Lock, Statement};

/// Everything about a step that matters to its comparison.
pub struct Scene<'a> {
    pub plan: &'a Plan,
    pub session: usize,
    /// `None` for an interrupt.
    pub statement: Option<&'a Statement>,
    /// Who waited before.
    pub waiting: &'a [usize],
    /// A step has let several in at once, and not all of them have answered in it.
    pub raced: bool,
    /// InnoDB keeps deleted records for a reader.
    pub unpurged: bool,
    pub ours: &'a [(usize, Answer)],
    pub theirs: &'a [(usize, Answer)],
    /// Who waits now.
    pub we_wait: &'a [usize],
    pub they_wait: &'a [usize],
    /// What was claimed before the step.
    pub claims: &'a Claims,
    /// Where rows are looked up.
    pub side: &'a mut Side,
}

/// What a comparison says.
#[derive(Debug)]
pub enum Verdict {
    Same,
    Documented(&'static str),
    Undocumented(Difference),
}

/// What differs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Difference {
    /// A short name of its kind.
    pub kind: String,
    /// Other sessions wait; whom both answered, they answered alike.
    pub only_waits: bool,
}

/// A difference that may be, and why.
struct Documented {
    reason: &'static str,
    applies: fn(&mut Scene<'_>) -> Result<bool>,
}

/// Why a run may end in another way after a step that let several in.
pub const RACED: &str = "several sessions were let in at once, and which comes first is chance";

/// Each ends the run: what follows would be compared in vain.
const DOCUMENTED: &[Documented] = &[
    Documented {
        reason: "a deadlock has another victim: InnoDB takes the transaction that changed least, we the one that closes the cycle",
        applies: |scene| Ok(has_victim(scene.ours) && has_victim(scene.theirs)),
    },
    Documented {
        reason: RACED,
        applies: |scene| {
            let mut answers = scene.ours.iter().chain(scene.theirs);
            let races = scene.waiting.len() > 1 && answers.any(|(session, _)| scene.waiting.contains(session));
            Ok(races || scene.raced)
        },
    },
    Documented {
        reason: "InnoDB locks a deleted record, and the gap before it, as long as a snapshot could read it",
        applies: |scene| Ok(scene.unpurged && scene.we_wait != scene.they_wait),
    },
    Documented {
        reason: "InnoDB waits for a lock of more than was asked for: the whole gap around it, a record after it or one that does not match",
        applies: only_they_wait_needlessly,
    },
    Documented {
        reason: "a session waits on both servers, but in InnoDB for a lock of more than was asked for, and so at another row",
        applies: |scene| Ok(scene.claims.has_needless_wait()),
    },
    Documented {
        reason: "InnoDB follows only one of those that a statement waits for, and finds a deadlock with another one later",
        applies: |scene| {
            let waits = scene.they_wait.contains(&scene.session);
            let connection = scene.side.connection_of(scene.session);
            Ok(has_victim(scene.ours) && waits && scene.side.status()?.is_deadlocked(connection))
        },
    },
    Documented {
        reason: "below REPEATABLE READ, a statement that waited finds with us what was committed meanwhile before the row it waited for",
        applies: |scene| Ok(scene.we_wait == scene.they_wait && only_finds_more(scene)),
    },
    Documented {
        reason: "below REPEATABLE READ, InnoDB does not lock the index entry of a row that the transaction itself has changed",
        applies: |scene| {
            let waits = scene.they_wait.contains(&scene.session) || has_victim(scene.theirs);
            let Some(statement) = scene.statement.filter(|_| !waits && scene.plan.levels[scene.session] < 2) else {
                return Ok(false);
            };
            let stops = scene.we_wait.contains(&scene.session) || has_victim(scene.ours);
            Ok(stops && scene.claims.has_changed_all(scene.side, scene.session, statement)?)
        },
    },
    Documented {
        reason: "a row that is refused for a duplicate leaves a lock on its other keys, which in InnoDB goes with the row",
        applies: |scene| {
            let they_wait = scene.they_wait.iter().all(|they| scene.we_wait.contains(they));
            let only_we = scene.we_wait.iter().find(|we| !scene.they_wait.contains(we));
            Ok(they_wait && only_we.is_some_and(|session| scene.claims.has_insert_in_vain(*session)))
        },
    },
    Documented {
        reason: "UPDATE below REPEATABLE READ does not wait for a row that does not match as it is committed; in InnoDB it does \
                 where it sorts, and for points of the primary key",
        applies: passes_what_is_not_committed,
    },
    Documented {
        reason: "InnoDB finds a deadlock where it need not wait: it locks more than was asked for",
        applies: only_they_deadlock_needlessly,
    },
    Documented {
        reason: "the only holder of a shared lock makes it exclusive at once; in InnoDB it queues after those who wait for \
                 it, which is a deadlock",
        applies: upgrades_before_who_waits,
    },
];

fn has_victim(answers: &[(usize, Answer)]) -> bool {
    answers.iter().any(|(_, answer)| *answer == Answer::Error(1213))
}

/// Whether statements that waited, below REPEATABLE READ, have found all that InnoDB found and more, and nothing else differs.
fn only_finds_more(scene: &Scene<'_>) -> bool {
    scene.ours.iter().zip(scene.theirs).all(|((session, ours), (_, theirs))| {
        let waited = scene.waiting.contains(session) && scene.plan.levels[*session] < 2;
        ours == theirs
            || match (ours, theirs) {
                (Answer::Rows(ours), Answer::Rows(theirs)) => waited && theirs.iter().all(|row| ours.contains(row)),
                (Answer::Done(ours), Answer::Done(theirs)) => waited && ours > theirs,
                _ => false,
            }
    })
}

fn only_they_wait_needlessly(scene: &mut Scene<'_>) -> Result<bool> {
    if has_victim(scene.ours) || has_victim(scene.theirs) {
        return Ok(false);
    }
    let only_they: Vec<usize> = scene.they_wait.iter().copied().filter(|they| !scene.we_wait.contains(they)).collect();
    let only_we = scene.we_wait.iter().any(|we| !scene.they_wait.contains(we));
    for session in &only_they {
        if has_conflict(scene, *session)?
            && !is_refused(scene, *session)?
            && !passes_and_waits_elsewhere(scene, *session)?
            && !ends_before_it_would_wait(scene, *session)?
        {
            return Ok(false);
        }
    }
    Ok(!only_they.is_empty() && !only_we)
}

/// Whether an UPDATE that passes rows which do not match as they are committed waits in InnoDB at a row that nobody claimed.
fn passes_and_waits_elsewhere(scene: &mut Scene<'_>, session: usize) -> Result<bool> {
    match scene.statement {
        Some(statement)
            if session == scene.session && scene.plan.levels[session] < 2 && statement.sql.starts_with("UPDATE") =>
        {
            scene.claims.waits_needlessly(scene.side, session, statement)
        }
        _ => Ok(false),
    }
}

/// Whether a statement with a LIMIT waits in InnoDB at a row that nobody claimed, and here has found all it wants before
/// it came to one that somebody did.
fn ends_before_it_would_wait(scene: &mut Scene<'_>, session: usize) -> Result<bool> {
    match scene.statement {
        Some(statement) if session == scene.session && statement.sql.contains(" LIMIT ") => {
            scene.claims.waits_at_unclaimed(scene.side, session)
        }
        _ => Ok(false),
    }
}

/// Whether we have refused a statement for a row that is committed, before it came to what it would have to wait for.
fn is_refused(scene: &mut Scene<'_>, session: usize) -> Result<bool> {
    let refused = scene.ours.contains(&(session, Answer::Error(1062)));
    match scene.statement.filter(|_| refused && session == scene.session) {
        Some(statement) => scene.claims.is_refused(scene.side, session, statement),
        None => Ok(false),
    }
}

fn passes_what_is_not_committed(scene: &mut Scene<'_>) -> Result<bool> {
    let session = scene.session;
    let only_they = scene.they_wait.contains(&session) && !scene.we_wait.contains(&session);
    let Some(statement) = scene.statement.filter(|_| only_they && scene.plan.levels[session] < 2) else {
        return Ok(false);
    };
    let path = scene.side.path_of(&statement.sql)?;
    let is_point = || {
        let column = scene.plan.shape.columns[0];
        statement.sql.contains(&format!("{column} = ")) || statement.sql.contains(&format!("{column} IN"))
    };
    let by_rows = path.key.as_deref() == Some("PRIMARY");
    Ok(statement.sql.starts_with("UPDATE") && by_rows && (statement.sql.contains("ORDER BY") || is_point()))
}

fn only_they_deadlock_needlessly(scene: &mut Scene<'_>) -> Result<bool> {
    if has_victim(scene.ours) || !has_victim(scene.theirs) {
        return Ok(false);
    }
    let session = scene.session;
    if !scene.we_wait.contains(&session) {
        return Ok(!has_conflict(scene, session)?);
    }
    // It waits for somebody; a deadlock it is if somebody waits for it as well.
    let Some(statement) = scene.statement else { return Ok(false) };
    for other in scene.waiting {
        let Some(pending) = scene.claims.pending(*other) else { continue };
        if scene.claims.conflict(scene.side, session, statement, *other)?
            && scene.claims.conflict(scene.side, *other, pending, session)?
        {
            return Ok(false);
        }
    }
    Ok(true)
}

/// Whether the step's statement locks what its session has locked, and InnoDB ends one who waits for that session.
fn upgrades_before_who_waits(scene: &mut Scene<'_>) -> Result<bool> {
    if has_victim(scene.ours) {
        return Ok(false);
    }
    let victims = scene.theirs.iter().filter(|(_, answer)| *answer == Answer::Error(1213));
    for (victim, _) in victims.clone() {
        let Some(pending) = scene.claims.pending(*victim).filter(|_| *victim != scene.session) else {
            return Ok(false);
        };
        if !scene.claims.conflict(scene.side, *victim, pending, scene.session)? {
            return Ok(false);
        }
    }
    let others = scene.theirs.iter().filter(|(_, answer)| *answer != Answer::Error(1213));
    Ok(victims.count() > 0 && others.eq(scene.ours))
}

/// Whether what a session wants to do contradicts what another one has claimed.
fn has_conflict(scene: &mut Scene<'_>, session: usize) -> Result<bool> {
    let own = scene.statement.filter(|_| session == scene.session);
    let Some(statement) = own.or_else(|| scene.claims.pending(session)) else { return Ok(false) };
    // Whoever ended in this step claims nothing any more.
    let ends = scene.statement.is_some_and(|statement| statement.effect == Effect::End);
    for other in 0..scene.plan.levels.len() {
        if other != session
            && !(ends && other == scene.session)
            && scene.claims.conflict(scene.side, session, statement, other)?
        {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Compares what both servers did.
pub fn judge(mut scene: Scene<'_>) -> Result<Verdict> {
    let Some(difference) = difference(&scene) else { return Ok(Verdict::Same) };
    for documented in DOCUMENTED {
        if (documented.applies)(&mut scene)? {
            return Ok(Verdict::Documented(documented.reason));
        }
    }
    Ok(Verdict::Undocumented(difference))
}

fn difference(scene: &Scene<'_>) -> Option<Difference> {
    let theirs = |session| scene.theirs.iter().find(|(other, _)| *other == session).map(|(_, answer)| answer);
    let only_waits = scene.ours.iter().all(|(session, ours)| {
        theirs(*session).is_none_or(|theirs| ours == theirs || may_differ(scene, *session, ours, theirs))
    });
    let kind = kind_of_difference(scene)?;
    Some(Difference { kind, only_waits })
}

fn kind_of_difference(scene: &Scene<'_>) -> Option<String> {
    let verb = |session: usize| match scene.statement {
        Some(statement) if session == scene.session => statement.sql.split(' ').next().unwrap_or_default(),
        _ => "a statement that waited",
    };
    let level = |session: usize| LEVELS[scene.plan.levels[session]];
    if let Some(session) = scene.they_wait.iter().find(|session| !scene.we_wait.contains(session)) {
        return Some(format!("{} at {}: InnoDB waits, we do not", verb(*session), level(*session)));
    }
    if let Some(session) = scene.we_wait.iter().find(|session| !scene.they_wait.contains(session)) {
        return Some(format!("{} at {}: we wait, InnoDB does not", verb(*session), level(*session)));
    }
    // Both have answered the same sessions, once each.
    for ((session, ours), (_, theirs)) in scene.ours.iter().zip(scene.theirs) {
        if ours == theirs || may_differ(scene, *session, ours, theirs) {
            continue;
        }
        let what = match (ours, theirs) {
            (Answer::Rows(ours), Answer::Rows(theirs)) => {
                let sorted = |rows: &Vec<Vec<String>>| {
                    let mut rows = rows.clone();
                    rows.sort();
                    rows
                };
                if sorted(ours) == sorted(theirs) { "another order".to_owned() } else { "other rows".to_owned() }
            }
            (Answer::Done(_), Answer::Done(_)) => "another number of rows affected".to_owned(),
            (Answer::Error(ours), Answer::Error(theirs)) => format!("error {ours}, InnoDB {theirs}"),
            (Answer::Error(ours), _) => format!("error {ours}, InnoDB none"),
            (_, Answer::Error(theirs)) => format!("no error, InnoDB {theirs}"),
            _ => "an answer of another kind".to_owned(),
        };
        return Some(format!("{} at {}: {what}", verb(*session), level(*session)));
    }
    None
}

/// READ UNCOMMITTED reads as READ COMMITTED does: what InnoDB shows of others' changes is not compared.
fn may_differ(scene: &Scene<'_>, session: usize, ours: &Answer, theirs: &Answer) -> bool {
    let plain =
        scene.statement.is_some_and(|statement| matches!(statement.effect, Effect::Finds { lock: Lock::Plain, .. }));
    let rows = matches!((ours, theirs), (Answer::Rows(_), Answer::Rows(_)));
    session == scene.session && plain && rows && scene.plan.levels[session] == 0
}
