//! The entry: statements in, results and transactions to commit out.
//!
//! Outline of [`Database::execute`]: take the literals out of the statement; find its plan by what is
//! left, or parse and plan it; open the session's transaction if none is; lock the tables; run; on an
//! error take back what the statement did. Statements that are not planned go through
//! [`Database::run_utility`]; the ones about transactions are in [`transactions`] and [`xa`].
//!
//! Invariants
//! 1. A plan runs only against the versions of its tables that it was made for: they are looked at again once
//!    they are locked, and the statement is planned anew if one changed.
//! 2. A statement that fails leaves no change. After 1213 the whole transaction is gone.
//! 3. Every read on behalf of a session notes in [`SessionState::rests_on`] what it saw in flight.

mod create_rows;
pub(crate) mod hints;
pub(crate) mod named;
mod plans;
mod preparable;
mod statement_format;
pub(crate) mod transactions;
mod upkeep;
pub(crate) mod xa;

use std::borrow::Cow;
use std::sync::Arc;

use cohort_binlog::QueryContext;
use cohort_engine::Direction;
use cohort_txn::{Isolation, LockMode, MetadataMode, MetadataName, Read, Store};

use crate::ast;
pub use crate::catalog::store::KeyValue;
use crate::catalog::store::{CATALOG_ENGINE, Catalog, CatalogStore, system_key};
use crate::catalog::system;
use crate::catalog::table::prefix_range;
use crate::codec::RowOffsets;
use crate::collation::Collation;
use crate::ddl;
use crate::error::{
    ER_INVALID_CHARACTER_STRING, ER_LOCK_DEADLOCK, ER_QUERY_INTERRUPTED, ER_QUERY_TIMEOUT, ER_TABLE_DEF_CHANGED,
    ER_WRONG_ARGUMENTS, SqlError,
};
use crate::exec::context::Statement;
use crate::exec::failure::{lock_failed, read_failed};
use crate::exec::subquery::Nested;
use crate::exec::{self, Run};
use crate::expr::ParamKind;
use crate::memory::{LEXEME_BYTES, PLANNED_COLUMN_BYTES, value_bytes};
use crate::parse::fingerprint::{self, Fingerprint};
use crate::parse::{self, Parsed, VariableName};
use crate::plan::share::Constants;
use crate::plan::{self, Collected, Plan, PlanContext, PlanKind};
use crate::session::gtid_next::Admission;
use crate::session::locked_tables;
use crate::session::meaning::Meaning;
use crate::session::row_counts::PreparedCounts;
use crate::session::xa::XaState;
use crate::session::{DiagnosticLevel, Environment, Outcome, ResultSink, SessionState, StatementResult};
use crate::stack;
use crate::types::{ResultColumn, SqlMode};
use crate::value::Value;
use hints::HintedVariables;
use plans::PlanCache;

/// The databases of one data directory: catalog, plans and the store below.
pub struct Database {
    pub(crate) store: Arc<Store>,
    pub(crate) catalog: CatalogStore,
    plans: PlanCache,
    prepared_counts: PreparedCounts,
}

/// A key of the system area with its new value; `None` removes it.
pub type SystemEntry = (Vec<u8>, Option<Vec<u8>>);

/// A prepared statement; it outlives changes of the schema and of its parameters' kinds (it is planned anew when
/// needed).
pub struct Prepared {
    plan: arc_swap::ArcSwap<PreparedPlan>,
    sql: Arc<[u8]>,
    /// The variables in it.
    variables: Vec<VariableName>,
    meaning: Meaning,
    param_count: usize,
    lexemes: usize,
    /// What it takes in memory, about.
    bytes: usize,
    columns: Vec<ResultColumn>,
}

/// A plan, and the kinds of parameters and variables it was made for; a parameter that was NULL so far may be
/// anything.
struct PreparedPlan {
    plan: Arc<Plan>,
    kinds: Vec<Option<ParamKind>>,
    variables: Vec<Option<ParamKind>>,
    /// It was made without the values of SET_VAR, and cannot be run.
    lacks_hinted: bool,
}

impl PreparedPlan {
    /// Whether the plan is the one for these parameters and kinds of variables.
    fn is_for(&self, given: Given<'_>, variables: &[Option<ParamKind>]) -> bool {
        let fits =
            |(at, known): (usize, &Option<ParamKind>)| (given.kind_of)(at).is_none_or(|kind| Some(kind) == *known);
        self.variables == variables && self.kinds.iter().enumerate().all(fits)
    }

    /// The kinds of these parameters, where one is NULL the kind it had before.
    fn kinds_of(&self, given: Given<'_>) -> Vec<Option<ParamKind>> {
        self.kinds.iter().enumerate().map(|(at, known)| (given.kind_of)(at).or(*known)).collect()
    }
}

/// The parameters that a prepared statement is given.
#[derive(Clone, Copy)]
struct Given<'a> {
    values: &'a [Value],
    /// The kind of each; `None` if it is NULL.
    kind_of: &'a dyn Fn(usize) -> Option<ParamKind>,
}

impl Prepared {
    /// How many parameters it takes.
    pub fn param_count(&self) -> usize {
        self.param_count
    }

    /// What it takes in memory, bytes: for [`MemoryUse::keep`](crate::memory::MemoryUse::keep).
    pub fn memory_bytes(&self) -> usize {
        self.bytes
    }

    /// The columns of its result as it was prepared; empty if it gives none or they are not known yet.
    pub fn columns(&self) -> &[ResultColumn] {
        &self.columns
    }
}

/// Statistics for SHOW STATUS.
#[derive(Clone, Copy, Debug, Default)]
pub struct DatabaseStats {
    /// Statements whose plan was found.
    pub plan_cache_hits: u64,
    /// Statements that were parsed and planned.
    pub plan_cache_misses: u64,
    /// Plans kept.
    pub plan_cache_entries: u64,
}

/// The parameters of one run.
#[derive(Clone, Copy)]
pub(crate) struct Params<'a> {
    values: &'a [Value],
    rows: usize,
    row_params: usize,
    /// The statement's text.
    sql: &'a [u8],
    /// What that meant when it was prepared; `None` if it was not.
    meaning: Option<&'a Meaning>,
}

impl<'a> Params<'a> {
    pub(crate) fn of(values: &'a [Value], sql: &'a [u8]) -> Params<'a> {
        Params { values, rows: 1, row_params: 0, sql, meaning: None }
    }

    pub(crate) fn values(self) -> &'a [Value] {
        self.values
    }

    pub(crate) fn sql(self) -> &'a [u8] {
        self.sql
    }

    pub(crate) fn meaning(self) -> Option<&'a Meaning> {
        self.meaning
    }

    /// The same, run as it was meant.
    pub(crate) fn as_meant(self) -> Params<'a> {
        Params { meaning: None, ..self }
    }
}

impl Database {
    /// Reads the catalog of `store` and erases what a crash left behind.
    pub fn open(store: Arc<Store>) -> Result<Arc<Database>, SqlError> {
        let catalog = CatalogStore::open(store.clone())?;
        Ok(Arc::new(Database {
            store,
            catalog,
            plans: PlanCache::default(),
            prepared_counts: PreparedCounts::default(),
        }))
    }

    /// The store below.
    pub fn store(&self) -> &Arc<Store> {
        &self.store
    }

    /// Runs one statement (see [`crate::parse::split_statement`] for several). After an error the
    /// statement's changes are taken back; after 1213 the transaction is too. The answer waits for what
    /// [`SessionState::rests_on`] notes, an error too.
    pub fn execute(
        &self,
        session: &mut SessionState,
        env: &dyn Environment,
        sql: &[u8],
        sink: &mut dyn ResultSink,
    ) -> Result<Outcome, SqlError> {
        session.have_locks(&self.store);
        let mut scratch = std::mem::take(&mut session.scratch);
        let outcome = self.execute_with(&mut scratch, session, env, sql, sink);
        scratch.end();
        session.scratch = scratch;
        note_error(session, outcome)
    }

    fn execute_with(
        &self,
        scratch: &mut Fingerprint,
        session: &mut SessionState,
        env: &dyn Environment,
        sql: &[u8],
        sink: &mut dyn ResultSink,
    ) -> Result<Outcome, SqlError> {
        plans::begin_key(session, session.literals(), session.database.as_deref(), &mut scratch.key);
        let planned = fingerprint::take(sql, session.sql_mode, &session.memory, scratch);
        if !planned.inspect_err(|_| session.begin_diagnostics(false))? {
            let parsed = parse::parse(sql, session.sql_mode, &session.memory, None, &kind_of(session, env));
            let parsed = parsed.inspect_err(|_| session.begin_diagnostics(false))?;
            return stack::with_room_for_statement(parsed.lexemes, || {
                self.run_utility(&parsed.statement, Params::of(&[], sql), session, env, sink)
            });
        }
        scratch.type_variables(sql, &kind_of(session, env));
        let literals = session.literals();
        if !literals.are_plain() {
            scratch.params.iter_mut().for_each(|value| *value = literals.taken_out(std::mem::take(value)));
        }
        stack::with_room_for_statement(scratch.marks.len(), || self.execute_planned(scratch, session, env, sql, sink))
    }

    fn execute_planned(
        &self,
        scratch: &Fingerprint,
        session: &mut SessionState,
        env: &dyn Environment,
        sql: &[u8],
        sink: &mut dyn ResultSink,
    ) -> Result<Outcome, SqlError> {
        session.begin_diagnostics(scratch.counts_diagnostics(sql));
        let mut hinted = HintedVariables::default();
        let outcome = self.execute_hinted(&mut hinted, scratch, session, env, sql, sink);
        hinted.end(session, env);
        outcome
    }

    fn execute_hinted(
        &self,
        hinted: &mut HintedVariables,
        scratch: &Fingerprint,
        session: &mut SessionState,
        env: &dyn Environment,
        sql: &[u8],
        sink: &mut dyn ResultSink,
    ) -> Result<Outcome, SqlError> {
        // It is read under the mode that its text was sent under.
        let sql_mode = session.sql_mode;
        let params =
            Params { values: &scratch.params, rows: scratch.rows, row_params: scratch.row_params, sql, meaning: None };
        let mut known = self.plans.find(&scratch.key);
        loop {
            let plan = match known.take() {
                Some(plan) => {
                    hinted.begin(plan.hints(), session, env);
                    plan
                }
                None => {
                    let statement = parse::parse_fingerprint(sql, scratch, sql_mode)?;
                    let hints = statement.hints();
                    hinted.begin(hints.as_ref().and_then(|hints| hints.get()), session, env);
                    let plan = self.plan(statement, session)?;
                    self.plans.keep(&scratch.key, &plan);
                    plan
                }
            };
            if let Some(outcome) = self.run_plan(&plan, params, session, env, sink)? {
                return Ok(outcome);
            }
        }
    }

    pub(crate) fn plan(&self, statement: ast::Statement, session: &SessionState) -> Result<Arc<Plan>, SqlError> {
        self.plan_as(&Meaning::now(session), Constants::All, statement, session)
    }

    /// Plans a statement whose text meant this, as if these of its constants were known.
    pub(crate) fn plan_as(
        &self,
        meaning: &Meaning,
        constants: Constants,
        statement: ast::Statement,
        session: &SessionState,
    ) -> Result<Arc<Plan>, SqlError> {
        let (catalog, collected) = (self.catalog.current(), Collected::default());
        let cx = Database::plan_context(&catalog, meaning.database.as_deref(), session, &collected);
        planned(statement, &PlanContext { literals: meaning.literals(), constants, ..cx }, session)
    }

    pub(crate) fn plan_context<'a>(
        catalog: &'a Catalog,
        database: Option<&'a str>,
        session: &'a SessionState,
        collected: &'a Collected,
    ) -> PlanContext<'a> {
        PlanContext {
            catalog,
            database,
            sql_mode: session.sql_mode,
            literals: session.literals(),
            group_concat_max_len: session.group_concat_max_len,
            holder: &session.holder,
            commons: None,
            changed: &[],
            reads_renamed: false,
            only_reads: false,
            constants: Constants::All,
            pushes_conditions: session.pushes_conditions,
            collected,
        }
    }

    /// Parses and plans a statement with `?` parameters; 1295 for what cannot be prepared.
    pub fn prepare(&self, session: &mut SessionState, env: &dyn Environment, sql: &[u8]) -> Result<Prepared, SqlError> {
        let prepared = self.prepare_quietly(session, env, sql);
        if let Err(error) = &prepared {
            session.begin_diagnostics(false);
            session.push_diagnostic(DiagnosticLevel::Error, error.clone());
        }
        let open = session.transaction.as_ref();
        session.memory.end_statement(open.map_or(0, |open| open.transaction.memory_bytes()));
        prepared
    }

    fn prepare_quietly(&self, session: &SessionState, env: &dyn Environment, sql: &[u8]) -> Result<Prepared, SqlError> {
        let parsed = parse::parse(sql, session.sql_mode, &session.memory, Some(&[]), &kind_of(session, env))?;
        preparable::check(&parsed.statement)?;
        stack::with_room_for_statement(parsed.lexemes, || self.prepare_parsed(parsed, session, env, sql))
    }

    fn prepare_parsed(
        &self,
        parsed: Parsed,
        session: &SessionState,
        env: &dyn Environment,
        sql: &[u8],
    ) -> Result<Prepared, SqlError> {
        let variables = parsed.variables.iter().map(kind_of(session, env)).collect();
        let plan = self.plan(parsed.statement, session)?;
        let columns = match &plan.kind {
            PlanKind::Utility(statement) => self.utility_columns(statement, session, env),
            _ => plan.columns.clone(),
        };
        // The plan has columns of its own.
        let column_bytes = 2 * columns.iter().map(ResultColumn::memory_bytes).sum::<usize>();
        Ok(Prepared {
            sql: Arc::from(sql),
            variables: parsed.variables,
            meaning: Meaning::now(session),
            param_count: parsed.param_count,
            lexemes: parsed.lexemes,
            bytes: parsed.lexemes * LEXEME_BYTES + sql.len() + column_bytes,
            columns,
            plan: arc_swap::ArcSwap::from_pointee(PreparedPlan {
                lacks_hinted: plan.hints().is_some_and(|hints| !hints.variables.is_empty()),
                plan,
                kinds: vec![None; parsed.param_count],
                variables,
            }),
        })
    }

    /// Runs a prepared statement with parameters that the client sent; 1210 if their number is wrong.
    pub fn execute_prepared(
        &self,
        session: &mut SessionState,
        env: &dyn Environment,
        prepared: &Prepared,
        params: &[Value],
        sink: &mut dyn ResultSink,
    ) -> Result<Outcome, SqlError> {
        session.have_locks(&self.store);
        let literals = session.literals();
        let converted: Vec<Value>;
        let values = if literals.are_plain() {
            params
        } else {
            converted = params.iter().map(|value| literals.parameter(value.clone())).collect();
            &converted
        };
        let given = Given { values, kind_of: &|at| ParamKind::of(&values[at]) };
        let outcome = stack::with_room_for_statement(prepared.lexemes, || {
            self.execute_prepared_quietly(session, env, prepared, given, sink)
        });
        note_error(session, outcome)
    }

    fn execute_prepared_quietly(
        &self,
        session: &mut SessionState,
        env: &dyn Environment,
        prepared: &Prepared,
        given: Given<'_>,
        sink: &mut dyn ResultSink,
    ) -> Result<Outcome, SqlError> {
        let params = given.values;
        if params.len() != prepared.param_count {
            session.begin_diagnostics(false);
            return Err(SqlError::new(ER_WRONG_ARGUMENTS, &[&"EXECUTE"]));
        }
        session.memory.hold(params.iter().map(value_bytes).sum())?;
        let known = prepared.plan.load_full();
        let PlanKind::Utility(statement) = &known.plan.kind else {
            return session.in_database(prepared.meaning.database.as_ref(), |session| {
                self.execute_planned_anew(known, session, env, prepared, given, sink)
            });
        };
        let params = Params { meaning: Some(&prepared.meaning), ..Params::of(params, &prepared.sql) };
        let outcome = self.run_utility(statement, params, session, env, sink)?;
        if let ast::Statement::Ddl(change) = statement
            && let ast::Ddl::DropDatabase { name, .. } = &**change
        {
            // The session's own, which need not be that of the statement.
            session.leave_database(name);
        }
        Ok(outcome)
    }

    /// Runs a plan, which may have to be made anew.
    fn execute_planned_anew(
        &self,
        known: Arc<PreparedPlan>,
        session: &mut SessionState,
        env: &dyn Environment,
        prepared: &Prepared,
        given: Given<'_>,
        sink: &mut dyn ResultSink,
    ) -> Result<Outcome, SqlError> {
        session.begin_diagnostics(prepared.variables.iter().any(VariableName::counts_diagnostics));
        let mut hinted = HintedVariables::default();
        hinted.begin(known.plan.hints(), session, env);
        let outcome = self.execute_prepared_hinted(known, session, env, prepared, given, sink);
        hinted.end(session, env);
        outcome
    }

    fn execute_prepared_hinted(
        &self,
        mut known: Arc<PreparedPlan>,
        session: &mut SessionState,
        env: &dyn Environment,
        prepared: &Prepared,
        given: Given<'_>,
        sink: &mut dyn ResultSink,
    ) -> Result<Outcome, SqlError> {
        let variables: Vec<_> = prepared.variables.iter().map(kind_of(session, env)).collect();
        loop {
            let is_current = known.plan.is_current() && !known.plan.is_stale() && !known.lacks_hinted;
            if is_current && known.is_for(given, &variables) {
                self.plans.count_hit();
            } else {
                let kinds = known.kinds_of(given);
                let plan = self.plan_prepared(prepared, &kinds, &variables, session, env)?;
                known = Arc::new(PreparedPlan { plan, kinds, variables: variables.clone(), lacks_hinted: false });
                prepared.plan.store(known.clone());
            }
            let params = Params { meaning: Some(&prepared.meaning), ..Params::of(given.values, &prepared.sql) };
            if let Some(outcome) = self.run_plan(&known.plan, params, session, env, sink)? {
                return Ok(outcome);
            }
        }
    }

    /// The plan of a prepared statement for parameters of these kinds.
    fn plan_prepared(
        &self,
        prepared: &Prepared,
        kinds: &[Option<ParamKind>],
        variables: &[Option<ParamKind>],
        session: &SessionState,
        env: &dyn Environment,
    ) -> Result<Arc<Plan>, SqlError> {
        let meaning = &prepared.meaning;
        let mut key = Vec::new();
        plans::begin_key(session, meaning.literals(), meaning.database.as_deref(), &mut key);
        plans::end_prepared_key(&mut key, meaning.sql_mode, &prepared.sql, kinds.iter().chain(variables));
        if let Some(plan) = self.plans.find(&key) {
            return Ok(plan);
        }
        let kind_of = kind_of(session, env);
        let parsed = parse::parse(&prepared.sql, meaning.sql_mode, &session.memory, Some(kinds), &kind_of)?;
        let plan = self.plan_as(meaning, Constants::All, parsed.statement, session)?;
        self.plans.keep(&key, &plan);
        Ok(plan)
    }

    /// Runs a plan in the session's transaction. `None` if the catalog changed before the tables were
    /// locked: nothing was done.
    pub(crate) fn run_plan(
        &self,
        plan: &Plan,
        params: Params<'_>,
        session: &mut SessionState,
        env: &dyn Environment,
        sink: &mut dyn ResultSink,
    ) -> Result<Option<Outcome>, SqlError> {
        if let PlanKind::Utility(_) = &plan.kind {
            return Err(SqlError::internal("a statement without a plan was run as one"));
        }
        plan.needs.check(&session.holder)?;
        if plan.kind.writes() && session.admit_change()? == Admission::Skip {
            session.row_count.set(0);
            return Ok(Some(Outcome::ok()));
        }
        if !may_run(plan, session)? {
            return Ok(None);
        }
        // FOR UPDATE is refused as well: what it locks is to be changed.
        let changes = plan.locks_for_change();
        if changes {
            session.may_change_server()?;
        }
        if plan.kind.writes() {
            env.begin_update()?;
        }
        if plan.kind.writes() || !plan.uses.is_empty() {
            xa::may_work(session)?;
        }
        if changes {
            transactions::may_write(session.reads_only())?;
        }
        let mut open = self.open_transaction(session)?;
        let hinted = plan.hints().and_then(|hints| hints.max_execution_time).filter(|limit| !limit.is_zero());
        let limit = hinted.or(session.max_execution_time);
        if let (PlanKind::Select(_), Some(limit)) = (&plan.kind, limit) {
            session.interrupt_ref().begin_time_limit(limit);
        }
        let (savepoint, counts) = (open.transaction.start_statement(), session.row_counts.mark());
        let result = self.run_locked(plan, params, &mut open, session, env, sink);
        match &result {
            Ok(_) => session.row_counts.drop_mark(counts),
            Err(_) => session.row_counts.back_to(counts),
        }
        match result {
            Ok(Some(result)) => {
                open.transaction.events().end_statement();
                self.end_statement(open, result, session).map(Some)
            }
            Ok(None) => {
                session.transaction = Some(open);
                Ok(None)
            }
            Err(error) => {
                if error.is(ER_LOCK_DEADLOCK) {
                    session.interrupt_ref().watch(None);
                    if let Some(xa) = &mut session.xa {
                        xa.state = XaState::Lost;
                    }
                    return Err(error);
                }
                open.transaction.rollback_to(&savepoint);
                transactions::after_failure(open, session);
                Err(error)
            }
        }
    }

    fn run_locked(
        &self,
        plan: &Plan,
        params: Params<'_>,
        open: &mut crate::session::OpenTransaction,
        session: &SessionState,
        env: &dyn Environment,
        sink: &mut dyn ResultSink,
    ) -> Result<Option<StatementResult>, SqlError> {
        let transaction = &mut open.transaction;
        let unlocked = transaction.metadata_count();
        if plan.locks_for_change() {
            let (name, mode) = (MetadataName::Global, MetadataMode::IntentionExclusive);
            transaction.lock_metadata(&name, mode, session.table_lock_timeout).map_err(lock_failed)?;
        }
        for (table, mode) in plan.metadata_locks() {
            let name = MetadataName::Table(table.def.id);
            transaction.lock_metadata(&name, mode, session.table_lock_timeout).map_err(lock_failed)?;
        }
        if !plan.is_current() {
            // The names mean other tables now.
            transaction.take_back_metadata(unlocked);
            return Ok(None);
        }
        plan.show_warnings(session);
        // A plain read of a transaction at SERIALIZABLE, and what changes read: what is written must follow from what is
        // true when it is ordered.
        let in_transaction = open.explicit || !session.autocommit;
        let locks_reads = match transaction.isolation() {
            Isolation::ReadCommitted => locks_committed(&plan.kind),
            Isolation::RepeatableRead => plan.kind.writes(),
            Isolation::Serializable => plan.kind.writes() || in_transaction,
        };
        let by_snapshot = matches!(plan.kind, PlanKind::Select(_)) && !locks_reads;
        for table in plan.uses.iter().filter(|used| by_snapshot && used.by_snapshot).map(|used| &used.table) {
            if !transaction.pin_view(table.engine) || transaction.take_snapshot() < table.since_order {
                return Err(SqlError::new(ER_TABLE_DEF_CHANGED, &[]));
            }
        }
        let as_text = statement_format::logged_as_text(plan, params, transaction, session)?;
        let statement = Statement::new(session, env, plan.kind.writes()).ignoring(ignores(&plan.kind));
        let statement = statement.within(transaction.owner());
        if plan.kind.writes() && transaction.is_logged() {
            use crate::expr::StatementContext;
            let seconds = statement.now_us() / 1_000_000;
            let events = transaction.events();
            events.set_timestamp(u32::try_from(seconds).unwrap_or(u32::MAX));
            events.set_rows_query(session.log_rows_query.then(|| as_sent(session, params.sql)).as_deref());
            events.set_compression(session.compresses_binlog.then_some(session.compression_level));
            if events.is_empty() || as_text.is_some() {
                events.set_context(&query_context(session, env), session.database.as_deref().unwrap_or(""));
            }
        }
        let nested = Nested::of(plan);
        let logs_rows = transaction.is_logged() && as_text.is_none();
        let mut run = Run {
            transaction,
            session,
            catalog: &self.catalog,
            statement: &statement,
            params: params.values,
            outer: &[],
            nested: &nested,
            rows: params.rows,
            row_params: params.row_params,
            offsets: RowOffsets::default(),
            logs_rows,
            locks_reads,
            found_rows: None,
            steps: 0,
            profile: session.profile.as_ref(),
        };
        let result = exec::run(plan, &mut run, sink)?;
        if let Some(mut inputs) = as_text {
            inputs.insert_id = statement.first_made_id.get();
            run.transaction.events().statement(&as_sent(session, params.sql), &inputs);
            run.check_transaction()?;
        }
        Ok(Some(result))
    }

    /// Statistics for SHOW STATUS.
    pub fn stats(&self) -> DatabaseStats {
        self.plans.stats()
    }

    /// The value of a key of the system area (accounts and the like), newest version.
    pub fn system_get(&self, key: &[u8]) -> Result<Option<Vec<u8>>, SqlError> {
        let mut value = Vec::new();
        let mut transaction = self.store.begin();
        let found =
            transaction.get(CATALOG_ENGINE, Read::Current, &system_key(key), &mut value).map_err(read_failed)?;
        Ok(found.then_some(value))
    }

    /// All entries of the system area whose key starts with `prefix`, in key order.
    pub fn system_scan(&self, prefix: &[u8]) -> Result<Vec<KeyValue>, SqlError> {
        let mut transaction = self.store.begin();
        let range = prefix_range(&system_key(prefix));
        let mut scan =
            transaction.scan(CATALOG_ENGINE, Read::Current, &range, Direction::Forward).map_err(read_failed)?;
        let skipped = system_key(b"").len();
        let mut entries = Vec::new();
        while let Some(entry) = scan.next().map_err(read_failed)? {
            entries.push((entry.key[skipped..].to_vec(), entry.value.to_vec()));
        }
        Ok(entries)
    }

    /// The columns of a table; `None` if there is no such table.
    pub fn column_names(&self, database: &str, table: &str) -> Option<Vec<String>> {
        let catalog = self.catalog.current();
        let table = catalog.table(database, table).ok()?;
        Some(table.def.columns.iter().map(|column| column.name.clone()).collect())
    }

    /// Sets (`Some`) or removes keys of the system area in one transaction and waits until that is
    /// durable. With `logged` the change is a QUERY event of the binlog, unless the session does not log.
    pub fn system_put(
        &self,
        session: &SessionState,
        changes: &[SystemEntry],
        logged: Option<(&dyn Environment, &str)>,
    ) -> Result<(), SqlError> {
        let mut transaction = session.begin(&self.store);
        for (key, value) in changes {
            let key = system_key(key);
            transaction.lock(CATALOG_ENGINE, &key, LockMode::Exclusive).map_err(lock_failed)?;
            match value {
                Some(value) => transaction.put(CATALOG_ENGINE, &key, value),
                None => transaction.delete(CATALOG_ENGINE, &key),
            }
        }
        match logged {
            Some((env, sql)) => {
                let database = session.database.as_deref().unwrap_or("");
                let (context, now_us) = (query_context(session, env), session.now_us());
                ddl::log_query(&mut transaction, session, &context, database, sql, now_us);
            }
            None => transaction.set_binlog(false),
        }
        if !transaction.has_writes() {
            return Ok(());
        }
        session.commit(&self.store, transaction)
    }
}

/// The error of a plan that does not go with what its session has locked; false if it has to be planned anew first.
pub(crate) fn may_run(plan: &Plan, session: &SessionState) -> Result<bool, SqlError> {
    if !session.locked_tables.is_empty() {
        // What is locked is named by what it is now.
        if !plan.is_current() {
            return Ok(false);
        }
        for used in plan.uses.iter().filter(|used| !system::is_one(&used.table)) {
            locked_tables::check_use(&session.locked_tables, used.table.def.id, &used.known_as, used.written)?;
        }
    }
    if plan.locks_for_change() {
        session.may_change()?;
    }
    Ok(true)
}

/// What variables are at present; `None` if they are NULL or not known.
fn kind_of<'a>(
    session: &'a SessionState,
    env: &'a dyn Environment,
) -> impl Fn(&VariableName) -> Option<ParamKind> + 'a {
    |name| match name {
        VariableName::User(name) => match session.collation_of_variable(name) {
            Some(collation) => Some(ParamKind::Text(collation)),
            None => ParamKind::of(&session.user_variable(name)),
        },
        VariableName::System(scope, name) => match ParamKind::of(&env.variable(session, *scope, name).ok()?) {
            Some(ParamKind::Text(_)) => Some(ParamKind::Text(Collation::Utf8mb3GeneralCi)),
            kind => kind,
        },
    }
}

/// Keeps the error of a failed statement for SHOW WARNINGS and SHOW ERRORS.
fn note_error(session: &mut SessionState, outcome: Result<Outcome, SqlError>) -> Result<Outcome, SqlError> {
    let overdue = session.interrupt_ref().end_time_limit();
    let outcome = match outcome {
        Err(error) if overdue && error.is(ER_QUERY_INTERRUPTED) => Err(SqlError::new(ER_QUERY_TIMEOUT, &[])),
        outcome => outcome,
    };
    if let Err(error) = &outcome {
        session.row_count.set(-1);
        session.note_failure_under_gtid(error);
        session.push_diagnostic(DiagnosticLevel::Error, error.clone());
    }
    let open = session.transaction.as_ref();
    session.memory.end_statement(open.map_or(0, |open| open.transaction.memory_bytes()));
    outcome
}

/// Whether rows that a statement only reads are locked at READ COMMITTED. InnoDB leaves the locks out in those that copy rows,
/// and in an UPDATE of one table.
fn locks_committed(kind: &PlanKind) -> bool {
    match kind {
        PlanKind::Insert(insert) => matches!(insert.source, plan::InsertRows::Values(_)),
        PlanKind::UpdateJoined(_) | PlanKind::Delete(_) | PlanKind::DeleteJoined(_) => true,
        PlanKind::Update(_) | PlanKind::Select(_) | PlanKind::Utility(_) => false,
    }
}

/// Whether the statement turns errors of single rows into warnings.
fn ignores(kind: &PlanKind) -> bool {
    match kind {
        PlanKind::Insert(insert) => insert.ignore,
        PlanKind::Update(update) => update.ignore,
        PlanKind::UpdateJoined(update) => update.ignore,
        PlanKind::Delete(delete) => delete.ignore,
        PlanKind::DeleteJoined(delete) => delete.ignore,
        PlanKind::Select(_) | PlanKind::Utility(_) => false,
    }
}

/// The text of a statement that goes into the binlog.
pub(crate) fn text(sql: &[u8]) -> Result<&str, SqlError> {
    std::str::from_utf8(sql).map_err(|error| {
        let bad = sql.get(error.valid_up_to()).copied().unwrap_or_default();
        SqlError::new(ER_INVALID_CHARACTER_STRING, &[&"utf8mb4", &format_args!("\\x{bad:02X}")])
    })
}

/// A statement in the bytes of its client, which are those of the binlog.
fn as_sent<'a>(session: &SessionState, sql: &'a [u8]) -> Cow<'a, [u8]> {
    match std::str::from_utf8(sql) {
        Ok(sql) => session.client.charset().encode(sql),
        Err(_) => Cow::Borrowed(sql),
    }
}

/// What a replica must know of the session to run its statements alike.
pub(crate) fn query_context(session: &SessionState, env: &dyn Environment) -> QueryContext {
    QueryContext {
        // The protocol has four bytes for it.
        thread_id: env.connection_id() as u32,
        // A replica takes an engine of its own for one of ours.
        sql_mode: session.sql_mode.without(SqlMode::NO_ENGINE_SUBSTITUTION).bits(),
        client_charset: session.client.id(),
        connection_collation: session.collation.id(),
        server_collation: session.server_collation.id(),
        time_zone: session.time_zone.to_string(),
        ..QueryContext::default()
    }
}

/// Whether the session's next transaction is under this isolation; used where one begins.
fn isolation_of(session: &mut SessionState) -> Isolation {
    session.next_isolation.take().unwrap_or(session.isolation)
}

/// Plans a statement, and counts what a few words of it may name many of: columns.
fn planned(statement: ast::Statement, cx: &PlanContext<'_>, session: &SessionState) -> Result<Arc<Plan>, SqlError> {
    let plan = plan::plan(statement, cx)?;
    session.memory.hold(plan.columns.len() * PLANNED_COLUMN_BYTES)?;
    Ok(Arc::new(plan))
}

#[cfg(test)]
mod tests;
