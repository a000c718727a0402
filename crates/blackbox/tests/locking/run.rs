//! Runs a plan on both servers in lock step, and compares them after each step.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use anyhow::{Result, ensure};

use crate::claims::Claims;
use crate::differences::{self, Difference, Scene, Verdict};
use crate::generate::{Action, LEVELS, Plan};
use crate::side::{Answer, Side};
use crate::statement::{Effect, Statement};

/// Both servers.
pub struct Pair {
    pub ours: Side,
    pub theirs: Side,
}

/// What came of a run.
#[derive(Debug)]
pub enum Outcome {
    Same,
    /// A documented difference ended it.
    Ended(&'static str),
    /// An undocumented one did.
    Differs(Difference),
}

/// One run of a plan.
#[derive(Debug)]
pub struct Trial {
    pub outcome: Outcome,
    pub transcript: String,
    /// How many steps were compared, and how many statements waited.
    pub compared: u64,
    pub waits: u64,
    /// How many statements were left out since the servers would find their rows by different indexes.
    pub left_out: u64,
    /// The steps that were taken.
    pub taken: BTreeSet<usize>,
    /// See [`Scene::raced`].
    raced: bool,
}

impl Outcome {
    /// A difference that no documentation could excuse.
    fn wrong(kind: impl Into<String>) -> Outcome {
        Outcome::Differs(Difference { kind: kind.into(), only_waits: false })
    }
}

impl Pair {
    /// Runs `plan`.
    pub fn run(&mut self, plan: &Plan) -> Result<Trial> {
        self.prepare(plan)?;
        let mut trial = Trial {
            outcome: Outcome::Same,
            transcript: heading(plan),
            compared: 0,
            waits: 0,
            left_out: 0,
            taken: BTreeSet::new(),
            raced: false,
        };
        let mut claims = Claims::new(plan, &mut self.theirs)?;
        for (number, step) in plan.steps.iter().enumerate() {
            let waits = self.ours.is_busy(step.session);
            let statement = match &step.action {
                Action::Interrupt if waits => None,
                // A savepoint that is older than everything is a savepoint to InnoDB as well, but one that gives up locks.
                Action::Say(statement)
                    if statement.effect == Effect::Savepoint && !claims.has_touched(step.session) =>
                {
                    continue;
                }
                Action::Say(statement) if !waits => Some(statement),
                _ => continue,
            };
            if let Some(statement) = statement.filter(|statement| statement.has_path())
                && !self.same_path(&statement.sql)?
            {
                trial.left_out += 1;
                continue;
            }
            trial.taken.insert(number);
            if !self.step(plan, step.session, statement, &mut claims, &mut trial)? {
                self.give_up()?;
                return Ok(trial);
            }
        }
        self.finish(plan, &mut claims, &mut trial)?;
        Ok(trial)
    }

    fn prepare(&mut self, plan: &Plan) -> Result<()> {
        for (side, engine) in [(&mut self.ours, plan.engine), (&mut self.theirs, "InnoDB")] {
            side.open(plan.levels.len())?;
            for session in 0..plan.levels.len() {
                for sql in plan.setting(session) {
                    let answers = side.step(session, &sql)?;
                    ensure!(answers == [(session, Answer::Done(0))], "{:?}: {sql}: {answers:?}", side.kind);
                }
            }
            let insert = format!("INSERT INTO t VALUES {}", plan.rows.join(", "));
            for sql in ["USE d", "DROP TABLE IF EXISTS t", &plan.shape.create(engine), &insert] {
                let answer = side.control(sql)?;
                ensure!(matches!(answer, Answer::Done(_)), "{:?}: {sql}: {answer:?}", side.kind);
            }
        }
        Ok(())
    }

    /// Whether both servers find the rows of a statement in the same range of the same index: what is locked follows from
    /// that.
    fn same_path(&mut self, sql: &str) -> Result<bool> {
        // Planning a locking read of a single row would lock it.
        let sql = sql.trim_end_matches(" FOR UPDATE").trim_end_matches(" LOCK IN SHARE MODE");
        let (ours, theirs) = (self.ours.path_of(sql)?, self.theirs.path_of(sql)?);
        let bounds = ours.bounds.is_none() || theirs.bounds.is_none() || ours.bounds == theirs.bounds;
        Ok(!theirs.several && ours.sorts == theirs.sorts && (theirs.key.is_none() || ours.key == theirs.key && bounds))
    }

    /// Takes one step, and says whether the run goes on.
    fn step(
        &mut self,
        plan: &Plan,
        session: usize,
        statement: Option<&Statement>,
        claims: &mut Claims,
        trial: &mut Trial,
    ) -> Result<bool> {
        let waiting = self.ours.busy();
        let unpurged = self.theirs.status()?.history > 0;
        let mut both = [Vec::new(), Vec::new()];
        for (side, answers) in [&mut self.theirs, &mut self.ours].into_iter().zip(&mut both) {
            *answers = match statement {
                Some(statement) => side.step(session, &statement.sql)?,
                None => side.interrupt(session)?,
            };
        }
        if plan.impatient == Some(session) && self.ours.is_busy(session) && self.theirs.is_busy(session) {
            for (side, answers) in [&mut self.theirs, &mut self.ours].into_iter().zip(&mut both) {
                answers.extend(side.until_answered(session)?);
                answers.sort_by_key(|(session, _)| *session);
            }
        }
        let [theirs, ours] = both;
        let what = statement.map_or("(interrupted)", |statement| &statement.sql);
        trial.compared += 1;
        trial.waits += u64::from(self.ours.is_busy(session));
        writeln!(trial.transcript, "{:3} {}: {what}", trial.compared, name(session))?;
        let (we_wait, they_wait) = (self.ours.busy(), self.theirs.busy());
        let scene = Scene {
            plan,
            session,
            statement,
            waiting: &waiting,
            raced: trial.raced,
            unpurged,
            ours: &ours,
            theirs: &theirs,
            we_wait: &we_wait,
            they_wait: &they_wait,
            claims,
            side: &mut self.theirs,
        };
        let verdict = differences::judge(scene)?;
        if matches!(verdict, Verdict::Same) {
            let let_in = waiting.iter().filter(|session| !we_wait.contains(session)).count();
            trial.raced |= let_in > 0 && let_in < waiting.len();
            write!(trial.transcript, "{}", shown("      ", &ours, &we_wait, &waiting))?;
            claims.note(&mut self.theirs, session, statement, &theirs)?;
            return Ok(true);
        }
        write!(trial.transcript, "{}", shown("      Cohort  ", &ours, &we_wait, &waiting))?;
        write!(trial.transcript, "{}", shown("      InnoDB  ", &theirs, &they_wait, &waiting))?;
        match verdict {
            Verdict::Documented(reason) => trial.outcome = Outcome::Ended(reason),
            Verdict::Undocumented(difference) => {
                write!(trial.transcript, "{}", self.locks()?)?;
                trial.outcome = Outcome::Differs(difference);
            }
            Verdict::Same => {}
        }
        Ok(false)
    }

    /// What InnoDB has locked.
    pub fn locks(&mut self) -> Result<String> {
        let mut text = "    locks of InnoDB:\n".to_owned();
        for (connection, locks) in self.theirs.status()?.locks {
            if let Some(session) = self.theirs.session_of(connection) {
                let locks: Vec<String> = locks.iter().map(ToString::to_string).collect();
                writeln!(text, "        {}: {}", name(session), locks.join("; "))?;
            }
        }
        Ok(text)
    }

    /// Ends every transaction, and compares what the tables hold.
    fn finish(&mut self, plan: &Plan, claims: &mut Claims, trial: &mut Trial) -> Result<()> {
        let commit = Statement::new("COMMIT", Effect::End);
        let mut left: BTreeSet<usize> = (0..plan.levels.len()).collect();
        while let Some(session) = left.iter().copied().find(|session| !self.ours.is_busy(*session)) {
            left.remove(&session);
            if !self.step(plan, session, Some(&commit), claims, trial)? {
                return self.give_up();
            }
        }
        if !left.is_empty() {
            trial.outcome = Outcome::wrong(format!("sessions {left:?} wait for nobody"));
            return self.give_up();
        }
        let all = "SELECT * FROM t";
        let (ours, theirs) = (sorted(self.ours.control(all)?), sorted(self.theirs.control(all)?));
        if ours != theirs && trial.raced {
            trial.outcome = Outcome::Ended(differences::RACED);
        } else if ours != theirs {
            writeln!(trial.transcript, "    at the end\n    Cohort  {ours:?}\n    InnoDB  {theirs:?}")?;
            trial.outcome = Outcome::wrong("the tables differ at the end");
            return Ok(());
        }
        for index in plan.shape.indexes {
            let by_index = sorted(self.ours.control(&format!(
                "SELECT * FROM t FORCE INDEX ({}) ORDER BY {}",
                index.name, plan.shape.columns[index.columns[0]]
            ))?);
            if by_index != ours {
                writeln!(trial.transcript, "    by index {}\n    {by_index:?}, not {ours:?}", index.name)?;
                trial.outcome = Outcome::wrong("an index is not its table");
            }
        }
        Ok(())
    }

    /// Ends the sessions of a run that cannot go on.
    fn give_up(&mut self) -> Result<()> {
        self.ours.hang_up()?;
        self.theirs.hang_up()
    }
}

/// The name of a session.
pub fn name(session: usize) -> char {
    char::from(b'A' + u8::try_from(session).unwrap_or(0))
}

fn heading(plan: &Plan) -> String {
    let mut text = format!("    {}\n    rows {}\n", plan.shape.create(plan.engine), plan.rows.join(", "));
    for (session, level) in plan.levels.iter().enumerate() {
        let _ = writeln!(text, "    {}: {}", name(session), LEVELS[*level]);
    }
    text
}

/// What a step brought, a line each.
pub fn shown(who: &str, answers: &[(usize, Answer)], waiting: &[usize], before: &[usize]) -> String {
    let mut text = String::new();
    for (session, answer) in answers {
        let answer = match answer {
            Answer::Rows(rows) => rows.iter().map(|row| format!("({})", row.join(","))).collect::<Vec<_>>().join(" "),
            Answer::Done(affected) => format!("affected {affected}"),
            Answer::Error(errno) => format!("error {errno}"),
        };
        let _ = writeln!(text, "  {who}{}: {}", name(*session), if answer.is_empty() { "no rows" } else { &answer });
    }
    for session in waiting.iter().filter(|session| !before.contains(session)) {
        let _ = writeln!(text, "  {who}{}: waits", name(*session));
    }
    text
}

fn sorted(answer: Answer) -> Answer {
    match answer {
        Answer::Rows(mut rows) => {
            rows.sort();
            Answer::Rows(rows)
        }
        other => other,
    }
}
