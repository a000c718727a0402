//! Optimizer hints: `/*+ hint ... */` after SELECT, INSERT, REPLACE, UPDATE or DELETE, with nothing but space before it.
//!
//! To the lexer hints are comments. The descent takes note of the query blocks as they begin and end, and reads the comment
//! that follows the word; at the end of the statement [`Collected::finish`] knows all names of blocks, and gives each block
//! its hints ([`Hints`]). What comes after an error of a comment is left out, as in MySQL: the hints before it hold.
//!
//! Warnings come in MySQL's order: of comments as they are read, then of the hints of blocks, inner ones first.

use std::collections::HashMap;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use super::cursor::Cursor;
use super::literal;
use crate::ast::{
    BlockHints, BlockRef, Hints, IndexLevel, OrderHint, OrderHintKind, Query, SetVariable, Statement, TableHints,
};
use crate::error::{
    ER_BAD_MAX_EXECUTION_TIME, ER_OPTIMIZER_HINT_SYNTAX, ER_WARN_CONFLICTING_HINT, ER_WARN_UNKNOWN_QB_NAME,
    ER_WARN_UNSUPPORTED_MAX_EXECUTION_TIME, ErrorCode, SqlError,
};
use crate::types::SqlMode;
use crate::value::Value;

/// The longest that all hints of a statement may be, bytes: a longer comment is read as one that is wrong.
const MAX_BYTES: usize = 256 << 10;

/// The comment with hints that follows the word which ends at `from`: where its contents begin and end.
pub(super) fn comment_after(sql: &[u8], from: usize) -> Option<(usize, usize)> {
    let rest = sql.get(from..)?;
    let space = rest.iter().take_while(|byte| byte.is_ascii_whitespace() || **byte == 0x0b).count();
    let body = rest[space..].strip_prefix(b"/*+")?;
    let start = from + space + 3;
    let end = body.windows(2).position(|two| two == b"*/").map_or(sql.len(), |end| start + end);
    Some((start, end))
}

/// A table as a hint names it, and the query block if it says so.
type Named = (String, Option<String>);

/// One hint.
enum Hint {
    QbName(String),
    MaxExecutionTime(u32),
    SetVar(SetVariable),
    /// RESOURCE_GROUP
    Nothing,
    /// About the order of relations.
    Order(OrderHintKind, Option<String>, Vec<Named>),
    /// About relations; about the block if there are none.
    Tables(String, Option<String>, Vec<Named>),
    /// About indexes of a relation; about all of them if there are none.
    Indexes(IndexLevel, Named, Vec<String>),
    /// About how a subquery is evaluated, with its strategies.
    Subquery(String, Option<String>, String),
}

/// What is read of the blocks of a statement while it is parsed.
#[derive(Default)]
pub(super) struct Collected {
    of: Arc<OnceLock<Hints>>,
    /// The hints of each block.
    blocks: Vec<Vec<Hint>>,
    /// Which block begins there: an attempt that is taken back has read it already.
    by_start: HashMap<usize, usize>,
    /// The blocks in the order in which they end.
    ended: Vec<usize>,
    warnings: Vec<SqlError>,
    /// Bytes of comments so far.
    bytes: usize,
}

impl Cursor<'_> {
    /// The query block whose word was just read.
    pub(super) fn begin_block(&mut self) -> BlockRef {
        let word = self.at.checked_sub(1).and_then(|at| self.marks.get(at)).map(|mark| mark.lexeme);
        let start = word.map_or(0, |word| word.start);
        let at = self.hints.by_start.get(&start).copied().unwrap_or_else(|| {
            let hints = word.map(|word| self.read_hints(word.end)).unwrap_or_default();
            self.hints.blocks.push(hints);
            let at = self.hints.blocks.len() - 1;
            self.hints.by_start.insert(start, at);
            at
        });
        BlockRef { of: self.hints.of.clone(), at }
    }

    /// The query block is read.
    pub(super) fn end_block(&mut self, block: &BlockRef) {
        self.hints.ended.push(block.at);
    }

    /// The hints of INSERT, whose word was just read: they are those of the query that the rows come from.
    pub(super) fn insert_hints(&mut self) -> InsertHints {
        let word = self.at.checked_sub(1).and_then(|at| self.marks.get(at)).map(|mark| mark.lexeme);
        InsertHints(word.map(|word| self.read_hints(word.end)).unwrap_or_default())
    }

    /// Gives INSERT's hints to a block: to that of the query, or to one by itself.
    pub(super) fn end_insert(&mut self, InsertHints(hints): InsertHints, query: Option<&Query>) -> BlockRef {
        let none = BlockRef { of: self.hints.of.clone(), at: usize::MAX };
        if hints.is_empty() {
            return none;
        }
        let block = query.and_then(|query| query.body.outermost_block());
        match block.and_then(|block| self.hints.blocks.get_mut(block.at)) {
            Some(known) => {
                known.splice(0..0, hints);
            }
            None => {
                self.hints.blocks.push(hints);
                self.hints.ended.push(self.hints.blocks.len() - 1);
            }
        }
        none
    }

    fn read_hints(&mut self, from: usize) -> Vec<Hint> {
        let Some((start, end)) = comment_after(self.sql, from) else { return Vec::new() };
        let Collected { warnings, bytes, .. } = &mut self.hints;
        *bytes += end - start;
        let mut warn = |code: ErrorCode, at: usize| {
            let line = 1 + self.sql[..at].iter().filter(|byte| **byte == b'\n').count();
            let rest = String::from_utf8_lossy(&self.sql[at..self.sql.len().min(at + 400)]);
            let near: String = rest.chars().take(80).collect();
            warnings.push(SqlError::new(code, &[&near.trim_end_matches(['\0', ';']), &line]));
        };
        if *bytes > MAX_BYTES {
            warn(ER_OPTIMIZER_HINT_SYNTAX, start);
            return Vec::new();
        }
        let mut reader = Reader { sql: self.sql, at: start, end, sql_mode: self.sql_mode };
        let mut hints = Vec::new();
        loop {
            match reader.hint() {
                Ok(hint) => hints.push(hint),
                Err(Wrong::Time(at)) => warn(ER_BAD_MAX_EXECUTION_TIME, at),
                Err(Wrong::Syntax(at)) => {
                    warn(ER_OPTIMIZER_HINT_SYNTAX, at);
                    return hints;
                }
            }
            if reader.peek().1 == Token::End {
                return hints;
            }
        }
    }

    /// All names are known: gives the blocks of the statement their hints, if there are any.
    pub(super) fn finish_hints(&mut self, statement: &Statement) {
        let collected = std::mem::take(&mut self.hints);
        let of = collected.of.clone();
        if !collected.warnings.is_empty() || collected.blocks.iter().any(|hints| !hints.is_empty()) {
            let outermost = match statement {
                Statement::Select(query) => query.body.outermost_block().map(|block| block.at),
                _ => None,
            };
            // It is filled once: a statement is read once.
            let _ = of.set(collected.finish(outermost));
        }
    }
}

/// The hints of an INSERT that is being read.
pub(super) struct InsertHints(Vec<Hint>);

impl Collected {
    fn finish(self, outermost: Option<usize>) -> Hints {
        let Collected { mut blocks, ended, warnings, .. } = self;
        let names = (0..blocks.len()).map(|at| format!("select#{}", at + 1));
        let mut hints = Hints {
            blocks: names.map(|name| BlockHints { name, ..BlockHints::default() }).collect(),
            warnings,
            ..Hints::default()
        };
        let mut known = Known { named: Vec::new(), subqueries: Vec::new() };
        for at in ended {
            for hint in blocks.get_mut(at).map(std::mem::take).unwrap_or_default() {
                known.take(hint, at, outermost == Some(at), &mut hints);
            }
        }
        hints
    }
}

/// What is known of the blocks so far.
struct Known {
    /// Names that QB_NAME gave.
    named: Vec<(String, usize)>,
    /// Blocks with a hint about how they are evaluated as subqueries.
    subqueries: Vec<usize>,
}

impl Known {
    /// The block that a hint of the block `at` is about; a warning if there is none of this name.
    fn block(&self, name: Option<&str>, at: usize, hint: &str, hints: &mut Hints) -> Option<usize> {
        let Some(name) = name else { return Some(at) };
        let found = self.named.iter().find(|(known, _)| known.eq_ignore_ascii_case(name)).map(|(_, at)| *at);
        if found.is_none() {
            hints.warnings.push(SqlError::new(ER_WARN_UNKNOWN_QB_NAME, &[&quoted(name), &hint]));
        }
        found
    }

    /// Takes a hint of the block `at`.
    fn take(&mut self, hint: Hint, at: usize, outermost: bool, hints: &mut Hints) {
        let conflict = |shown: String| SqlError::new(ER_WARN_CONFLICTING_HINT, &[&shown]);
        match hint {
            Hint::Nothing => {}
            Hint::QbName(name) => {
                let same = |(known, of): &(String, usize)| known.eq_ignore_ascii_case(&name) || *of == at;
                if self.named.iter().any(same) {
                    hints.warnings.push(conflict(format!("QB_NAME({})", quoted(&name))));
                    return;
                }
                hints.blocks[at].name.clone_from(&name);
                self.named.push((name, at));
            }
            Hint::MaxExecutionTime(_) if !outermost => {
                hints.warnings.push(SqlError::new(ER_WARN_UNSUPPORTED_MAX_EXECUTION_TIME, &[]));
            }
            Hint::MaxExecutionTime(milliseconds) if hints.max_execution_time.is_some() => {
                hints.warnings.push(conflict(format!("MAX_EXECUTION_TIME({milliseconds})")));
            }
            Hint::MaxExecutionTime(milliseconds) => {
                hints.max_execution_time = Some(Duration::from_millis(u64::from(milliseconds)));
            }
            Hint::SetVar(variable) => hints.variables.push(variable),
            Hint::Order(kind, block, tables) => {
                let listed: Vec<String> = tables.iter().map(|(table, of)| shown_table(table, of.as_deref())).collect();
                let shown = format!("{}({} {})", kind.name(), shown_block(block.as_deref()), listed.join(","));
                let Some(of) = self.block(block.as_deref(), at, kind.name(), hints) else { return };
                let mut own = Vec::with_capacity(tables.len());
                for (table, named) in tables {
                    let Some(place) = self.block(named.as_deref(), of, kind.name(), hints) else { return };
                    // Those of other blocks are read where their block is.
                    if place == of {
                        own.push(table);
                    }
                }
                let fixed = kind == OrderHintKind::Fixed;
                let clashes = |known: &OrderHint| {
                    fixed || known.kind == OrderHintKind::Fixed || (known.kind == kind && kind != OrderHintKind::Order)
                };
                if hints.blocks[of].order.iter().any(clashes) {
                    hints.warnings.push(conflict(shown));
                    return;
                }
                hints.blocks[of].order.push(OrderHint { kind, tables: own, shown });
            }
            Hint::Subquery(name, block, strategies) => {
                let Some(of) = self.block(block.as_deref(), at, &name, hints) else { return };
                if self.subqueries.contains(&of) {
                    let shown = format!("{name}({} {strategies})", shown_block(block.as_deref()));
                    hints.warnings.push(conflict(shown));
                    return;
                }
                self.subqueries.push(of);
            }
            Hint::Tables(name, block, tables) => {
                if tables.is_empty() {
                    if let Some(of) = self.block(block.as_deref(), at, &name, hints) {
                        hints.blocks[of].whole.push(name);
                    }
                    return;
                }
                for (table, named) in tables {
                    let block = block.as_deref().or(named.as_deref());
                    let Some(of) = self.block(block, at, &name, hints) else { return };
                    let plain = |name: &str| name.strip_prefix("NO_").unwrap_or(name).to_owned();
                    let on = of_table(&mut hints.blocks[of].tables, &table);
                    if on.whole.iter().any(|known| plain(known) == plain(&name)) {
                        let shown = format!("{name}({} )", shown_table(&table, named.as_deref()));
                        hints.warnings.push(conflict(shown));
                        continue;
                    }
                    on.whole.push(name.clone());
                }
            }
            Hint::Indexes(level, (table, block), indexes) => {
                let Some(of) = self.block(block.as_deref(), at, &level.to_string(), hints) else { return };
                let on = of_table(&mut hints.blocks[of].tables, &table);
                let wanted = match indexes.is_empty() {
                    true => vec![None],
                    false => indexes.into_iter().map(Some).collect(),
                };
                for index in wanted {
                    let same = |known: &Option<String>| match (known, &index) {
                        (Some(known), Some(index)) => known.eq_ignore_ascii_case(index),
                        _ => true,
                    };
                    if on.indexes.iter().any(|(known, of)| known.conflicts(level) && same(of)) {
                        let index = index.as_deref().map(|index| format!(" {}", quoted(index))).unwrap_or_default();
                        let shown = format!("{level}({}{index} )", shown_table(&table, block.as_deref()));
                        hints.warnings.push(conflict(shown));
                        continue;
                    }
                    on.indexes.push((level, index));
                }
            }
        }
    }
}

/// The hints on a table, which has none yet if it is new.
fn of_table<'h>(tables: &'h mut Vec<TableHints>, name: &str) -> &'h mut TableHints {
    let at = tables.iter().position(|known| known.table == name).unwrap_or_else(|| {
        tables.push(TableHints { table: name.to_owned(), whole: Vec::new(), indexes: Vec::new() });
        tables.len() - 1
    });
    &mut tables[at]
}

/// A name in backticks.
pub(crate) fn quoted(name: &str) -> String {
    format!("`{}`", name.replace('`', "``"))
}

fn shown_block(name: Option<&str>) -> String {
    name.map(|name| format!("@{}", quoted(name))).unwrap_or_default()
}

fn shown_table(name: &str, block: Option<&str>) -> String {
    quoted(name) + &shown_block(block)
}

/// What stands in a comment with hints.
#[derive(Clone, Debug, PartialEq)]
enum Token {
    /// A word, or a name in quotes.
    Name(String),
    Number(String),
    Text(String),
    /// `@name`
    Block(String),
    Other(u8),
    End,
}

/// Where and how a hint is wrong.
enum Wrong {
    Syntax(usize),
    Time(usize),
}

/// Reads the hints of one comment.
struct Reader<'a> {
    sql: &'a [u8],
    at: usize,
    /// The end of the comment.
    end: usize,
    sql_mode: SqlMode,
}

/// Whether a byte is part of a word.
fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'$' || byte >= 0x80
}

impl Reader<'_> {
    fn rest(&self) -> &[u8] {
        &self.sql[self.at..self.end]
    }

    /// The next token and where it begins.
    fn next(&mut self) -> (usize, Token) {
        while self.rest().first().is_some_and(|byte| byte.is_ascii_whitespace() || *byte == 0x0b) {
            self.at += 1;
        }
        let start = self.at;
        let token = match self.rest().first().copied() {
            None => Token::End,
            Some(b'@') => {
                self.at += 1;
                match self.name() {
                    Some(name) => Token::Block(name),
                    None => Token::Other(b'@'),
                }
            }
            Some(quote @ (b'\'' | b'"')) if quote == b'\'' || !self.sql_mode.contains(SqlMode::ANSI_QUOTES) => {
                self.text(quote)
            }
            Some(byte) if byte.is_ascii_digit() => self.number(),
            Some(byte) => match self.name() {
                Some(name) => Token::Name(name),
                None => {
                    self.at += 1;
                    Token::Other(byte)
                }
            },
        };
        (start, token)
    }

    fn peek(&mut self) -> (usize, Token) {
        let at = self.at;
        let token = self.next();
        self.at = at;
        token
    }

    /// A word, or a name in quotes; an empty name is none.
    fn name(&mut self) -> Option<String> {
        let first = *self.rest().first()?;
        let quoted = first == b'`' || (first == b'"' && self.sql_mode.contains(SqlMode::ANSI_QUOTES));
        let length = match quoted {
            true => quoted_length(self.rest(), first, false)?,
            false => self.rest().iter().take_while(|byte| is_word(**byte)).count(),
        };
        let name = literal::name(&self.rest()[..length]).ok().filter(|name| !name.is_empty())?;
        self.at += length;
        Some(name)
    }

    /// Digits with a point and an exponent, or followed by K, M or G; a word that begins with a digit is a name.
    fn number(&mut self) -> Token {
        let rest = self.rest();
        let mut length = rest.iter().take_while(|byte| byte.is_ascii_digit()).count();
        let mut after = rest.get(length).copied();
        if after == Some(b'.') {
            length += 1 + rest[length + 1..].iter().take_while(|byte| byte.is_ascii_digit()).count();
            after = rest.get(length).copied();
        }
        let is_end = |at: usize| rest.get(at).is_none_or(|byte| !is_word(*byte));
        if matches!(after, Some(b'K' | b'k' | b'M' | b'm' | b'G' | b'g')) && is_end(length + 1) {
            length += 1;
        } else if !is_end(length) {
            let length = rest.iter().take_while(|byte| is_word(**byte)).count().max(1);
            let name = String::from_utf8_lossy(&rest[..length]).into_owned();
            self.at += length;
            return Token::Name(name);
        }
        let number = String::from_utf8_lossy(&rest[..length]).into_owned();
        self.at += length;
        Token::Number(number)
    }

    /// A string; an empty one, and one that does not end, is none.
    fn text(&mut self, quote: u8) -> Token {
        let escapes = !self.sql_mode.contains(SqlMode::NO_BACKSLASH_ESCAPES);
        let text = quoted_length(self.rest(), quote, escapes).and_then(|length| {
            let text = literal::text(&self.rest()[..length], self.sql_mode).ok()?;
            self.at += length;
            Some(text)
        });
        match text {
            Some(Value::Text(text)) if !text.is_empty() => Token::Text(text.to_string()),
            _ => Token::Other(quote),
        }
    }

    fn expect(&mut self, byte: u8) -> Result<usize, Wrong> {
        match self.next() {
            (at, Token::Other(found)) if found == byte => Ok(at),
            (at, _) => Err(Wrong::Syntax(at)),
        }
    }

    fn expect_name(&mut self) -> Result<String, Wrong> {
        match self.next() {
            (_, Token::Name(name)) => Ok(name),
            (at, _) => Err(Wrong::Syntax(at)),
        }
    }

    /// `@name` if it is next.
    fn block(&mut self) -> Option<String> {
        let (_, Token::Block(name)) = self.peek() else { return None };
        self.next();
        Some(name)
    }

    /// Whether this byte is next; steps over it then.
    fn takes(&mut self, byte: u8) -> bool {
        let seen = self.peek().1 == Token::Other(byte);
        if seen {
            self.next();
        }
        seen
    }

    /// `name(arguments)`
    fn hint(&mut self) -> Result<Hint, Wrong> {
        let (at, token) = self.next();
        let Token::Name(name) = token else { return Err(Wrong::Syntax(at)) };
        let name = name.to_ascii_uppercase();
        let level = IndexLevel::named(&name);
        let order = match name.as_str() {
            "JOIN_ORDER" => Some(OrderHintKind::Order),
            "JOIN_PREFIX" => Some(OrderHintKind::Prefix),
            "JOIN_SUFFIX" => Some(OrderHintKind::Suffix),
            "JOIN_FIXED_ORDER" => Some(OrderHintKind::Fixed),
            _ => None,
        };
        let of_tables = matches!(
            name.strip_prefix("NO_").unwrap_or(&name),
            "BKA" | "BNL" | "HASH_JOIN" | "MERGE" | "DERIVED_CONDITION_PUSHDOWN"
        );
        let of_subqueries = matches!(name.as_str(), "SEMIJOIN" | "NO_SEMIJOIN" | "SUBQUERY");
        let alone = matches!(name.as_str(), "MAX_EXECUTION_TIME" | "QB_NAME" | "SET_VAR" | "RESOURCE_GROUP");
        if level.is_none() && order.is_none() && !of_tables && !of_subqueries && !alone {
            return Err(Wrong::Syntax(at));
        }
        self.expect(b'(')?;
        let hint = if let Some(level) = level {
            let (table, indexes) = self.table_with_indexes()?;
            Hint::Indexes(level, table, indexes)
        } else if let Some(kind) = order {
            let block = self.block();
            let tables = if kind == OrderHintKind::Fixed { Vec::new() } else { self.tables(block.is_some())? };
            Hint::Order(kind, block, tables)
        } else if of_tables {
            let block = self.block();
            let tables = self.tables(block.is_some())?;
            Hint::Tables(name, block, tables)
        } else if of_subqueries {
            let block = self.block();
            let strategies = self.strategies(name == "SUBQUERY")?;
            Hint::Subquery(name, block, strategies)
        } else {
            return self.alone(&name);
        };
        self.expect(b')')?;
        Ok(hint)
    }

    /// The rest of a hint that is about no part of a query.
    fn alone(&mut self, name: &str) -> Result<Hint, Wrong> {
        let hint = match name {
            "MAX_EXECUTION_TIME" => {
                let (at, token) = self.next();
                let Token::Number(number) = token else { return Err(Wrong::Syntax(at)) };
                if !number.bytes().all(|byte| byte.is_ascii_digit()) {
                    return Err(Wrong::Syntax(at));
                }
                let end = self.expect(b')')?;
                return number.parse().map(Hint::MaxExecutionTime).map_err(|_| Wrong::Time(end));
            }
            "QB_NAME" => Hint::QbName(self.expect_name()?),
            "SET_VAR" => {
                let name = self.expect_name()?;
                self.expect(b'=')?;
                let (value, shown) = self.value()?;
                let shown = format!("SET_VAR({name}={shown}) ");
                Hint::SetVar(SetVariable { name: name.to_ascii_lowercase(), value, shown })
            }
            _ => {
                self.expect_name()?;
                Hint::Nothing
            }
        };
        self.expect(b')')?;
        Ok(hint)
    }

    /// What SET_VAR sets a variable to, and how it is shown.
    fn value(&mut self) -> Result<(Value, String), Wrong> {
        let (at, token) = self.next();
        let value = match &token {
            Token::Name(name) => Value::text(name.clone()),
            Token::Text(text) => Value::text(text.clone()),
            Token::Number(number) => {
                let (digits, shift) = match number.as_bytes().last().map(u8::to_ascii_uppercase) {
                    Some(b'K') => (&number[..number.len() - 1], 10),
                    Some(b'M') => (&number[..number.len() - 1], 20),
                    Some(b'G') => (&number[..number.len() - 1], 30),
                    _ => (number.as_str(), 0),
                };
                match digits.parse::<u64>().ok().and_then(|value| value.checked_mul(1 << shift)) {
                    Some(value) => i64::try_from(value).map_or(Value::UInt(value), Value::Int),
                    None if shift == 0 => literal::number(digits.as_bytes(), false).map_err(|_| Wrong::Syntax(at))?,
                    None => return Err(Wrong::Syntax(at)),
                }
            }
            _ => return Err(Wrong::Syntax(at)),
        };
        let shown = match token {
            Token::Name(shown) | Token::Number(shown) => shown,
            Token::Text(text) => format!("'{}'", text.replace('\'', "''")),
            _ => String::new(),
        };
        Ok((value, shown))
    }

    /// `[table[@block] [, table[@block]] ...]`; where the hint names a block, tables do not.
    fn tables(&mut self, in_block: bool) -> Result<Vec<Named>, Wrong> {
        let mut tables = Vec::new();
        if matches!(self.peek().1, Token::Name(_)) {
            loop {
                let name = self.expect_name()?;
                let block = if in_block { None } else { self.block() };
                tables.push((name, block));
                if !self.takes(b',') {
                    break;
                }
            }
        }
        Ok(tables)
    }

    /// `{table[@block] | @block table} [index [, index] ...]`
    fn table_with_indexes(&mut self) -> Result<(Named, Vec<String>), Wrong> {
        let before = self.block();
        let table = self.expect_name()?;
        let block = before.or_else(|| self.block());
        let mut indexes = Vec::new();
        if matches!(self.peek().1, Token::Name(_)) {
            loop {
                indexes.push(self.expect_name()?);
                if !self.takes(b',') {
                    break;
                }
            }
        }
        Ok(((table, block), indexes))
    }

    /// `[strategy [, strategy] ...]`, or one of those of SUBQUERY.
    fn strategies(&mut self, of_subquery: bool) -> Result<String, Wrong> {
        let known: &[&str] = match of_subquery {
            true => &["MATERIALIZATION", "INTOEXISTS"],
            false => &["DUPSWEEDOUT", "FIRSTMATCH", "LOOSESCAN", "MATERIALIZATION"],
        };
        if !of_subquery && self.peek().1 == Token::Other(b')') {
            return Ok(String::new());
        }
        let mut strategies: Vec<&str> = Vec::new();
        loop {
            let (at, token) = self.next();
            let Token::Name(name) = token else { return Err(Wrong::Syntax(at)) };
            let strategy = known.iter().find(|known| known.eq_ignore_ascii_case(&name));
            strategies.push(strategy.ok_or(Wrong::Syntax(at))?);
            if of_subquery || !self.takes(b',') {
                return Ok(strategies.join(", "));
            }
        }
    }
}

/// How long the quoted run at the start of `text` is, its quotes included.
fn quoted_length(text: &[u8], quote: u8, escapes: bool) -> Option<usize> {
    let mut at = 1;
    loop {
        match *text.get(at)? {
            byte if byte == quote && text.get(at + 1) == Some(&quote) => at += 2,
            byte if byte == quote => return Some(at + 1),
            b'\\' if escapes => at += 2,
            _ => at += 1,
        }
    }
}

#[cfg(test)]
mod tests;
