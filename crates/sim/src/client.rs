//! A client's session in a thread of its own, which runs only while the simulator waits for it: statements are
//! blocking code, and one that waits for a lock keeps its stack.
//!
//! Concurrency: of all threads one runs at a time. [`Client::execute`] and [`Client::go_on`] return when the session
//! has answered or waits for a lock; a wait that is over ([`Client::wait_is_over`]) goes no further than to say so
//! before [`Client::go_on`].

use std::sync::Arc;
use std::sync::mpsc::{self, Receiver, Sender};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use cohort_io::sync::Mutex;
use cohort_sql::error::SqlError;
use cohort_sql::session::{Interrupt, StandIn, StatementResult};
use cohort_sql::{Database, SessionState, Value};
use cohort_txn::blocking_hook::{BlockingHook, set_blocking_hook};
use cohort_txn::{RestsOn, Transaction};

use crate::rows::Rows;

/// What a statement gave.
pub struct Answered {
    pub rows: Vec<Vec<Value>>,
    /// How many rows it changed or found.
    pub affected: u64,
    /// What is to be committed.
    pub commit: Option<Transaction>,
}

/// What a statement came to. Its client gets it when what it rests on is durable ([`Client::rests_on`]).
pub type Answer = Result<Answered, SqlError>;

/// What a session's thread has come to.
enum Event {
    Waits,
    /// Its wait is over.
    Ready,
    Answered(Box<Answer>),
}

enum Job {
    Execute { sql: String, now: u64 },
    Rollback,
}

/// What a session is doing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    Idle,
    /// It waits for a lock.
    Waiting,
    /// It has its lock, or will not get it, and waits for its turn.
    Ready,
}

/// A session; dropping it is the end of its connection.
pub struct Client {
    state: State,
    jobs: Option<Sender<Job>>,
    events: Receiver<Event>,
    turns: Sender<()>,
    interrupt: Arc<Interrupt>,
    rests_on: RestsOn,
    thread: Option<JoinHandle<()>>,
}

/// Reports waits to the simulator, and takes turns from it.
struct Baton {
    events: Sender<Event>,
    turns: Mutex<Receiver<()>>,
}

impl BlockingHook for Baton {
    fn begin_wait(&self) {
        self.send(Event::Waits);
    }

    fn end_wait(&self) {
        self.send(Event::Ready);
        // Without a simulator the session comes to its end.
        let _ = self.turns.lock().recv();
    }
}

impl Baton {
    fn send(&self, event: Event) {
        // As above.
        let _ = self.events.send(event);
    }
}

impl Client {
    /// A session of `database` whose lock waits last until the simulator ends them. It may compress what it logs.
    pub fn new(database: Arc<Database>, compresses_binlog: bool) -> Client {
        let mut session = session_state();
        session.compresses_binlog = compresses_binlog;
        let interrupt = session.interrupt();
        let rests_on = session.rests_on().clone();
        let (jobs, orders) = mpsc::channel();
        let (reported, events) = mpsc::channel();
        let (turns, taken) = mpsc::channel();
        // A panic prints whose it is.
        let name = thread::current().name().unwrap_or("simulation").to_owned();
        let body = move || {
            let baton = Arc::new(Baton { events: reported, turns: Mutex::new(taken) });
            set_blocking_hook(baton.clone());
            for job in orders {
                let answer = match job {
                    Job::Execute { sql, now } => {
                        session.interrupt().reset();
                        session.fixed_now_us = Some(now_us(now));
                        execute(&database, &mut session, &sql)
                    }
                    Job::Rollback => {
                        session.rollback();
                        session.rests_on().forget();
                        Ok(Answered { rows: Vec::new(), affected: 0, commit: None })
                    }
                };
                baton.send(Event::Answered(Box::new(answer)));
            }
        };
        let thread = thread::Builder::new().name(name).spawn(body).expect("a simulator has few threads");
        Client { state: State::Idle, jobs: Some(jobs), events, turns, interrupt, rests_on, thread: Some(thread) }
    }

    /// What its last answer rests on.
    pub fn rests_on(&self) -> &RestsOn {
        &self.rests_on
    }

    /// What it is doing.
    pub fn state(&self) -> State {
        self.state
    }

    /// Begins a statement; `None` when it waits.
    ///
    /// # Panics
    /// When one is running.
    pub fn execute(&mut self, sql: &str, now: u64) -> Option<Answer> {
        self.begin(Job::Execute { sql: sql.to_owned(), now })
    }

    /// Takes the open transaction back, if there is one, without a word to its client.
    pub fn rollback(&mut self) {
        self.begin(Job::Rollback);
    }

    fn begin(&mut self, job: Job) -> Option<Answer> {
        assert_eq!(self.state, State::Idle);
        self.jobs.as_ref().expect("until it is dropped").send(job).expect("the session's thread runs");
        self.run()
    }

    /// Lets a session that is ready go on; `None` when it waits again.
    pub fn go_on(&mut self) -> Option<Answer> {
        assert_eq!(self.state, State::Ready);
        self.turns.send(()).expect("the session's thread runs");
        self.run()
    }

    fn run(&mut self) -> Option<Answer> {
        match self.events.recv().expect("a session does not panic") {
            Event::Answered(answer) => {
                self.state = State::Idle;
                Some(*answer)
            }
            Event::Waits => {
                self.state = State::Waiting;
                None
            }
            Event::Ready => unreachable!("it was not waiting"),
        }
    }

    /// Takes note of a lock that others left to it.
    pub fn wait_is_over(&mut self) -> bool {
        let over = self.state == State::Waiting && self.interrupt.is_granted();
        if over {
            self.end_wait();
        }
        over
    }

    /// Ends its wait as a timeout does.
    pub fn expire_wait(&mut self) {
        self.interrupt.expire_wait();
        self.end_wait();
    }

    /// Ends its wait as KILL QUERY does.
    pub fn kill_query(&mut self) {
        self.interrupt.kill();
        self.end_wait();
    }

    fn end_wait(&mut self) {
        assert!(matches!(self.events.recv(), Ok(Event::Ready)), "its wait was ended");
        self.state = State::Ready;
    }
}

impl Drop for Client {
    fn drop(&mut self) {
        if self.state == State::Waiting {
            self.kill_query();
        }
        while self.state == State::Ready {
            drop(self.go_on());
            if self.state == State::Waiting {
                self.kill_query();
            }
        }
        drop(self.jobs.take());
        let ended = self.thread.take().map(JoinHandle::join);
        assert!(thread::panicking() || matches!(ended, Some(Ok(()))), "a session panicked");
    }
}

/// What time it is for statements at turn `now`, microseconds since 1970.
pub fn now_us(now: u64) -> i64 {
    1_700_000_000_000_000 + now as i64
}

fn session_state() -> SessionState {
    let mut state = SessionState::new();
    state.database = Some("sim".into());
    state.row_lock_timeout = Duration::MAX;
    state.table_lock_timeout = Duration::MAX;
    state
}

fn execute(database: &Database, state: &mut SessionState, sql: &str) -> Answer {
    let mut rows = Rows::default();
    let outcome = database.execute(state, &StandIn, sql.as_bytes(), &mut rows)?;
    let affected = match outcome.result {
        StatementResult::Done { affected, .. } => affected,
        StatementResult::Rows => 0,
    };
    Ok(Answered { rows: rows.0, affected, commit: outcome.commit })
}
