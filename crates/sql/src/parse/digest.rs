//! The normalised text of a statement: what STATEMENT_DIGEST_TEXT gives.
//!
//! It is made of lexemes, not of the tree, as MySQL does it: keywords in capital letters, names in backquotes, a `?` for
//! each value, and one for a list of them. A keyword with several spellings has one, which is MySQL's choice
//! (`DISTINCTROW`, `SQL_TSI_DAY`). A digest has room for so many bytes: a token takes
//! two, a name two more and its own. What follows the first one that has no room is left out.

use std::sync::Arc;

use super::lexer::{Kind, Lexeme, Lexer};
use super::parse;
use crate::error::{ER_EMPTY_QUERY, ER_PARSE_ERROR, SqlError};
use crate::memory::MemoryUse;
use crate::types::SqlMode;

/// Bytes of a token.
const TOKEN: usize = 2;

/// A part of the text.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Token {
    Keyword(&'static str),
    Sign(Box<str>),
    Name(Box<str>),
    /// `?`
    Value,
    /// `?, ...`
    Values,
    /// `(?)`
    Row,
    /// `(?) /* , ... */`
    Rows,
    /// `(...)`
    WideRow,
    /// `(...) /* , ... */`
    WideRows,
    /// `IN (...)`
    In,
}

impl Token {
    fn size(&self) -> usize {
        match self {
            Token::Name(name) => 2 * TOKEN + name.len(),
            _ => TOKEN,
        }
    }

    fn is_sign(&self, sign: &str) -> bool {
        matches!(self, Token::Sign(own) if **own == *sign)
    }

    /// Whether an expression follows, so that a sign after it belongs to a number.
    fn begins_expression(&self) -> bool {
        const SIGNS: [&str; 13] = ["(", ",", "||", "&&", "|", "&", "<<", ">>", "+", "-", "*", "/", "%"];
        const KEYWORDS: [&str; 23] = [
            "AND", "AT", "BETWEEN", "CASE", "DEFAULT", "DIV", "ELSEIF", "ENDS", "EVERY", "IF", "INTERVAL", "LIKE",
            "MOD", "NOT", "OR", "RETURN", "RLIKE", "SELECT", "STARTS", "UNTIL", "WHEN", "WHILE", "XOR",
        ];
        match self {
            Token::Sign(sign) => SIGNS.contains(&&**sign) || **sign == *"^",
            Token::Keyword(keyword) => KEYWORDS.contains(keyword),
            _ => false,
        }
    }

    /// Whether NULL is a value after it, not a part of a definition or of IS NULL.
    fn takes_null(&self) -> bool {
        const KEYWORDS: [&str; 10] =
            ["ALL", "BY", "DISTINCTROW", "ELSE", "ESCAPE", "HAVING", "ON", "THEN", "WHERE", "VALUES"];
        match self {
            Token::Keyword("NOT") => false,
            Token::Keyword(keyword) => self.begins_expression() || KEYWORDS.contains(keyword),
            Token::Sign(sign) => {
                matches!(&**sign, "=" | "!=" | "<" | ">" | "<=" | ">=" | "<=>" | ":=") || self.begins_expression()
            }
            _ => false,
        }
    }
}

impl std::fmt::Display for Token {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Token::Keyword(keyword) => f.write_str(keyword),
            Token::Sign(sign) => f.write_str(sign),
            Token::Name(name) => write!(f, "`{name}`"),
            Token::Value => f.write_str("?"),
            Token::Values => f.write_str("?, ..."),
            Token::Row => f.write_str("(?)"),
            Token::Rows => f.write_str("(?) /* , ... */"),
            Token::WideRow => f.write_str("(...)"),
            Token::WideRows => f.write_str("(...) /* , ... */"),
            Token::In => f.write_str("IN (...)"),
        }
    }
}

/// A syntax error if the text is no statement. One that this server reads and does not have is one.
pub(crate) fn check(sql: &[u8], sql_mode: SqlMode) -> Result<(), SqlError> {
    let memory = MemoryUse::new(Arc::default());
    match parse(sql, sql_mode, &memory, None, &|_| None) {
        Err(error) if error.is(ER_PARSE_ERROR) || error.is(ER_EMPTY_QUERY) => Err(error),
        _ => Ok(()),
    }
}

/// Lexemes of a text.
pub(crate) fn lexemes(sql: &[u8], sql_mode: SqlMode) -> usize {
    Lexer::new(sql, sql_mode).count()
}

/// The normalised text of a statement, made of so many bytes of tokens at most.
pub(crate) fn text(sql: &[u8], sql_mode: SqlMode, room: usize) -> String {
    let mut digest = Digest { sql, sql_mode, tokens: Vec::new(), room };
    let mut lexemes = Lexer::new(sql, sql_mode).peekable();
    let mut last = None;
    while let Some(lexeme) = lexemes.next() {
        if lexeme.kind == Kind::Semicolon && lexemes.peek().is_none() {
            break;
        }
        if digest.add(lexeme, last).is_none() {
            break;
        }
        last = Some(lexeme);
    }
    let mut text = String::new();
    for (at, token) in digest.tokens.iter().enumerate() {
        // A variable follows its `@` at once.
        if at > 0 && !digest.tokens[at - 1].is_sign("@") {
            text.push(' ');
        }
        text += &token.to_string();
    }
    text
}

struct Digest<'a> {
    sql: &'a [u8],
    sql_mode: SqlMode,
    tokens: Vec<Token>,
    /// Bytes that are left.
    room: usize,
}

impl Digest<'_> {
    /// Adds a lexeme; `None` if there is no more room.
    fn add(&mut self, lexeme: Lexeme, last: Option<Lexeme>) -> Option<()> {
        let bytes = lexeme.bytes(self.sql);
        match lexeme.kind {
            Kind::Number | Kind::Bytes => self.number(),
            Kind::Param => self.value(),
            Kind::Text => self.texts(bytes),
            Kind::Variable => self.variable(bytes),
            Kind::QuotedName => self.push(Token::Name(unquoted(bytes))),
            Kind::Semicolon => self.push(Token::Sign(";".into())),
            Kind::Operator => self.operator(bytes),
            Kind::Word => {
                let after_point = last.is_some_and(|last| last.bytes(self.sql) == b"." && last.end == lexeme.start);
                let rest = &self.sql[lexeme.end..];
                let is_name = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'$' | 0x80..);
                let before_point = rest.first() == Some(&b'.') && rest.get(1).is_some_and(is_name);
                let keyword =
                    if after_point || before_point { None } else { keyword(bytes, rest.first() == Some(&b'(')) };
                match keyword {
                    Some("NULL") if self.tokens.last().is_none_or(Token::takes_null) => self.value(),
                    Some(keyword) => self.push(Token::Keyword(keyword)),
                    None => self.push(Token::Name(String::from_utf8_lossy(bytes).into())),
                }
            }
        }
    }

    fn push(&mut self, token: Token) -> Option<()> {
        self.room = self.room.checked_sub(token.size())?;
        self.tokens.push(token);
        Some(())
    }

    fn pop(&mut self, count: usize) {
        let kept = self.tokens.len() - count;
        self.room += self.tokens.drain(kept..).map(|token| token.size()).sum::<usize>();
    }

    /// The last token but so many. As in MySQL, none that stands before a name.
    fn last_but(&self, back: usize) -> Option<&Token> {
        self.tokens.iter().rev().take_while(|token| !matches!(token, Token::Name(_))).nth(back)
    }

    fn number(&mut self) -> Option<()> {
        // Signs before it belong to it, where an expression begins.
        while let (Some(sign), Some(before)) = (self.last_but(0), self.last_but(1))
            && (sign.is_sign("-") || sign.is_sign("+"))
            && before.begins_expression()
        {
            self.pop(1);
        }
        self.value()
    }

    fn value(&mut self) -> Option<()> {
        let follows = matches!(self.last_but(1), Some(Token::Value | Token::Values));
        if follows && self.last_but(0).is_some_and(|token| token.is_sign(",")) {
            self.pop(2);
            return self.push(Token::Values);
        }
        self.push(Token::Value)
    }

    /// One string or several, perhaps with a character set before them.
    fn texts(&mut self, bytes: &[u8]) -> Option<()> {
        if bytes[0] == b'_' {
            self.push(Token::Keyword("(_charset)"))?;
        }
        // Strings that follow each other are values by themselves.
        (0..Lexer::strings_of(bytes, self.sql_mode)).try_for_each(|_| self.value())
    }

    /// `@name` is a value after its sign, `@@scope.name` names after theirs.
    fn variable(&mut self, bytes: &[u8]) -> Option<()> {
        self.push(Token::Sign("@".into()))?;
        let Some(system) = bytes.strip_prefix(b"@@") else {
            return match bytes.get(1) {
                Some(b'`') => self.push(Token::Name(unquoted(&bytes[1..]))),
                Some(_) => self.value(),
                None => Some(()),
            };
        };
        self.push(Token::Sign("@".into()))?;
        for (at, part) in system.split(|byte| *byte == b'.').enumerate() {
            if at > 0 {
                self.push(Token::Sign(".".into()))?;
            }
            match keyword(part, false).filter(|_| at == 0) {
                Some(keyword) => self.push(Token::Keyword(keyword))?,
                None => self.push(Token::Name(unquoted(part)))?,
            }
        }
        Some(())
    }

    fn operator(&mut self, bytes: &[u8]) -> Option<()> {
        match bytes {
            b"<>" => self.push(Token::Sign("!=".into())),
            b")" => self.close(),
            _ => self.push(Token::Sign(String::from_utf8_lossy(bytes).into())),
        }
    }

    /// `)`, which may end a row of values.
    fn close(&mut self) -> Option<()> {
        let (single, open) = (self.last_but(0), self.last_but(1).is_some_and(|token| token.is_sign("(")));
        let (row, rows) = match single {
            Some(Token::Value) if open => (Token::Row, Token::Rows),
            Some(Token::Values) if open => (Token::WideRow, Token::WideRows),
            _ => return self.push(Token::Sign(")".into())),
        };
        self.pop(2);
        let follows = self.last_but(1).is_some_and(|token| *token == row || *token == rows);
        if follows && self.last_but(0).is_some_and(|token| token.is_sign(",")) {
            self.pop(2);
            return self.push(rows);
        }
        if self.last_but(0) == Some(&Token::Keyword("IN")) {
            self.pop(1);
            return self.push(Token::In);
        }
        self.push(row)
    }
}

/// A name without its quotes.
fn unquoted(bytes: &[u8]) -> Box<str> {
    let text = String::from_utf8_lossy(bytes);
    match text.chars().next() {
        Some(quote @ ('`' | '"')) => {
            let inner = text.strip_prefix(quote).unwrap_or_default();
            let inner = inner.strip_suffix(quote).unwrap_or(inner);
            inner.replace(&format!("{quote}{quote}"), &quote.to_string()).into()
        }
        _ => text.into(),
    }
}

/// How a keyword is written, if a word is one; some are only before a parenthesis.
fn keyword(word: &[u8], called: bool) -> Option<&'static str> {
    let word = std::str::from_utf8(word).ok()?.to_ascii_uppercase();
    if let Ok(at) = SPELLINGS.binary_search_by_key(&word.as_str(), |(other, _)| other) {
        return Some(SPELLINGS[at].1);
    }
    if called && let Ok(at) = CALLED.binary_search_by_key(&word.as_str(), |(name, _)| name) {
        return Some(CALLED[at].1);
    }
    KEYWORDS.binary_search(&word.as_str()).ok().map(|at| KEYWORDS[at])
}

/// Keywords that are written in another way, in order.
#[rustfmt::skip]
const SPELLINGS: &[(&str, &str)] = &[
    ("ANY", "SOME"), ("BIGINT", "INT8"), ("CHAR", "CHARACTER"), ("COLUMNS", "FIELDS"), ("CURRENT_DATE", "CURDATE"),
    ("CURRENT_TIME", "CURTIME"), ("CURRENT_TIMESTAMP", "NOW"), ("DATABASE", "SCHEMA"), ("DATABASES", "SCHEMAS"),
    ("DAY", "SQL_TSI_DAY"), ("DEC", "DECIMAL"), ("DESCRIBE", "EXPLAIN"), ("DISTINCT", "DISTINCTROW"),
    ("DOUBLE", "FLOAT8"), ("FLOAT", "FLOAT4"), ("GEOMCOLLECTION", "GEOMETRYCOLLECTION"), ("HOUR", "SQL_TSI_HOUR"),
    ("INT", "INTEGER"), ("INT1", "TINYINT"), ("INT2", "SMALLINT"), ("INT3", "MIDDLEINT"), ("INT4", "INTEGER"),
    ("IO_THREAD", "RELAY_THREAD"), ("LOCALTIME", "NOW"), ("LOCALTIMESTAMP", "NOW"), ("MEDIUMINT", "MIDDLEINT"),
    ("MINUTE", "SQL_TSI_MINUTE"), ("MONTH", "SQL_TSI_MONTH"), ("NDB", "NDBCLUSTER"), ("QUARTER", "SQL_TSI_QUARTER"),
    ("REGEXP", "RLIKE"), ("SECOND", "SQL_TSI_SECOND"), ("SQL_TSI_WEEK", "WEEK"), ("SQL_TSI_YEAR", "YEAR"),
    ("USER", "SYSTEM_USER"), ("VARCHAR", "VARCHARACTER"),
];

/// Names of functions that are keywords before a parenthesis, in order, and how they are written.
#[rustfmt::skip]
const CALLED: &[(&str, &str)] = &[
    ("ADDDATE", "ADDDATE"), ("BIT_AND", "BIT_AND"), ("BIT_OR", "BIT_OR"), ("BIT_XOR", "BIT_XOR"), ("CAST", "CAST"),
    ("COUNT", "COUNT"), ("CURDATE", "CURDATE"), ("CURTIME", "CURTIME"), ("DATE_ADD", "DATE_ADD"),
    ("DATE_SUB", "DATE_SUB"), ("EXTRACT", "EXTRACT"), ("GROUP_CONCAT", "GROUP_CONCAT"),
    ("JSON_ARRAYAGG", "JSON_ARRAYAGG"), ("JSON_OBJECTAGG", "JSON_OBJECTAGG"), ("MAX", "MAX"), ("MID", "SUBSTRING"),
    ("MIN", "MIN"), ("NOW", "NOW"), ("POSITION", "POSITION"), ("SESSION_USER", "SYSTEM_USER"), ("STD", "STDDEV_POP"),
    ("STDDEV", "STDDEV_POP"), ("STDDEV_POP", "STDDEV_POP"), ("STDDEV_SAMP", "STDDEV_SAMP"),
    ("ST_COLLECT", "ST_COLLECT"), ("SUBDATE", "SUBDATE"), ("SUBSTR", "SUBSTRING"), ("SUBSTRING", "SUBSTRING"),
    ("SUM", "SUM"), ("SYSTEM_USER", "SYSTEM_USER"), ("TRIM", "TRIM"), ("VARIANCE", "VAR_POP"),
    ("VAR_POP", "VAR_POP"), ("VAR_SAMP", "VAR_SAMP"),
];

/// The other keywords of MySQL 8.0, in order.
#[rustfmt::skip]
const KEYWORDS: &[&str] = &[
    "ACCESSIBLE", "ACCOUNT", "ACTION", "ACTIVE", "ADD", "ADMIN", "AFTER", "AGAINST", "AGGREGATE", "ALGORITHM", "ALL",
    "ALTER", "ALWAYS", "ANALYZE", "AND", "ARRAY", "AS", "ASC", "ASCII", "ASENSITIVE",
    "ASSIGN_GTIDS_TO_ANONYMOUS_TRANSACTIONS", "AT", "ATTRIBUTE", "AUTHENTICATION", "AUTOEXTEND_SIZE",
    "AUTO_INCREMENT", "AVG", "AVG_ROW_LENGTH", "BACKUP", "BEFORE", "BEGIN", "BETWEEN", "BINARY", "BINLOG", "BIT",
    "BLOB", "BLOCK", "BOOL", "BOOLEAN", "BOTH", "BTREE", "BUCKETS", "BULK", "BY", "BYTE", "CACHE", "CALL", "CASCADE",
    "CASCADED", "CASE", "CATALOG_NAME", "CHAIN", "CHALLENGE_RESPONSE", "CHANGE", "CHANGED", "CHANNEL", "CHARACTER",
    "CHARSET", "CHECK", "CHECKSUM", "CIPHER", "CLASS_ORIGIN", "CLIENT", "CLONE", "CLOSE", "COALESCE", "CODE",
    "COLLATE", "COLLATION", "COLUMN", "COLUMN_FORMAT", "COLUMN_NAME", "COMMENT", "COMMIT", "COMMITTED", "COMPACT",
    "COMPLETION", "COMPONENT", "COMPRESSED", "COMPRESSION", "CONCURRENT", "CONDITION", "CONNECTION", "CONSISTENT",
    "CONSTRAINT", "CONSTRAINT_CATALOG", "CONSTRAINT_NAME", "CONSTRAINT_SCHEMA", "CONTAINS", "CONTEXT", "CONTINUE",
    "CONVERT", "CPU", "CREATE", "CROSS", "CUBE", "CUME_DIST", "CURRENT", "CURRENT_USER", "CURSOR", "CURSOR_NAME",
    "DATA", "DATAFILE", "DATE", "DATETIME", "DAY_HOUR", "DAY_MICROSECOND", "DAY_MINUTE", "DAY_SECOND", "DEALLOCATE",
    "DECIMAL", "DECLARE", "DEFAULT", "DEFAULT_AUTH", "DEFINER", "DEFINITION", "DELAYED", "DELAY_KEY_WRITE", "DELETE",
    "DENSE_RANK", "DESC", "DESCRIPTION", "DETERMINISTIC", "DIAGNOSTICS", "DIRECTORY", "DISABLE", "DISCARD", "DISK",
    "DISTINCTROW", "DIV", "DO", "DROP", "DUAL", "DUMPFILE", "DUPLICATE", "DYNAMIC", "EACH", "ELSE", "ELSEIF", "EMPTY",
    "ENABLE", "ENCLOSED", "ENCRYPTION", "END", "ENDS", "ENFORCED", "ENGINE", "ENGINES", "ENGINE_ATTRIBUTE", "ENUM",
    "ERROR", "ERRORS", "ESCAPE", "ESCAPED", "EVENT", "EVENTS", "EVERY", "EXCEPT", "EXCHANGE", "EXCLUDE", "EXECUTE",
    "EXISTS", "EXIT", "EXPANSION", "EXPIRE", "EXPLAIN", "EXPORT", "EXTENDED", "EXTENT_SIZE", "FACTOR",
    "FAILED_LOGIN_ATTEMPTS", "FALSE", "FAST", "FAULTS", "FETCH", "FIELDS", "FILE", "FILE_BLOCK_SIZE", "FILTER",
    "FINISH", "FIRST", "FIRST_VALUE", "FIXED", "FLOAT4", "FLOAT8", "FLUSH", "FOLLOWING", "FOLLOWS", "FOR", "FORCE",
    "FOREIGN", "FORMAT", "FOUND", "FROM", "FULL", "FULLTEXT", "FUNCTION", "GENERAL", "GENERATED", "GEOMETRY",
    "GEOMETRYCOLLECTION", "GET", "GET_FORMAT", "GET_MASTER_PUBLIC_KEY", "GET_SOURCE_PUBLIC_KEY", "GLOBAL", "GRANT",
    "GRANTS", "GROUP", "GROUPING", "GROUPS", "GROUP_REPLICATION", "GTID_ONLY", "HANDLER", "HASH", "HAVING", "HELP",
    "HIGH_PRIORITY", "HISTOGRAM", "HISTORY", "HOST", "HOSTS", "HOUR_MICROSECOND", "HOUR_MINUTE", "HOUR_SECOND",
    "IDENTIFIED", "IF", "IGNORE", "IGNORE_SERVER_IDS", "IMPORT", "IN", "INACTIVE", "INDEX", "INDEXES", "INFILE",
    "INITIAL", "INITIAL_SIZE", "INITIATE", "INNER", "INOUT", "INSENSITIVE", "INSERT", "INSERT_METHOD", "INSTALL",
    "INSTANCE", "INT8", "INTEGER", "INTERSECT", "INTERVAL", "INTO", "INVISIBLE", "INVOKER", "IO", "IO_AFTER_GTIDS",
    "IO_BEFORE_GTIDS", "IPC", "IS", "ISOLATION", "ISSUER", "ITERATE", "JOIN", "JSON", "JSON_TABLE", "JSON_VALUE",
    "KEY", "KEYRING", "KEYS", "KEY_BLOCK_SIZE", "KILL", "LAG", "LANGUAGE", "LAST", "LAST_VALUE", "LATERAL", "LEAD",
    "LEADING", "LEAVE", "LEAVES", "LEFT", "LESS", "LEVEL", "LIKE", "LIMIT", "LINEAR", "LINES", "LINESTRING", "LIST",
    "LOAD", "LOCAL", "LOCK", "LOCKED", "LOCKS", "LOGFILE", "LOGS", "LONG", "LONGBLOB", "LONGTEXT", "LOOP",
    "LOW_PRIORITY", "MASTER", "MASTER_AUTO_POSITION", "MASTER_BIND", "MASTER_COMPRESSION_ALGORITHMS",
    "MASTER_CONNECT_RETRY", "MASTER_DELAY", "MASTER_HEARTBEAT_PERIOD", "MASTER_HOST", "MASTER_LOG_FILE",
    "MASTER_LOG_POS", "MASTER_PASSWORD", "MASTER_PORT", "MASTER_PUBLIC_KEY_PATH", "MASTER_RETRY_COUNT", "MASTER_SSL",
    "MASTER_SSL_CA", "MASTER_SSL_CAPATH", "MASTER_SSL_CERT", "MASTER_SSL_CIPHER", "MASTER_SSL_CRL",
    "MASTER_SSL_CRLPATH", "MASTER_SSL_KEY", "MASTER_SSL_VERIFY_SERVER_CERT", "MASTER_TLS_CIPHERSUITES",
    "MASTER_TLS_VERSION", "MASTER_USER", "MASTER_ZSTD_COMPRESSION_LEVEL", "MATCH", "MAXVALUE",
    "MAX_CONNECTIONS_PER_HOUR", "MAX_QUERIES_PER_HOUR", "MAX_ROWS", "MAX_SIZE", "MAX_UPDATES_PER_HOUR",
    "MAX_USER_CONNECTIONS", "MEDIUM", "MEDIUMBLOB", "MEDIUMTEXT", "MEMBER", "MEMORY", "MERGE", "MESSAGE_TEXT",
    "MICROSECOND", "MIDDLEINT", "MIGRATE", "MINUTE_MICROSECOND", "MINUTE_SECOND", "MIN_ROWS", "MOD", "MODE",
    "MODIFIES", "MODIFY", "MULTILINESTRING", "MULTIPOINT", "MULTIPOLYGON", "MUTEX", "MYSQL_ERRNO", "NAME", "NAMES",
    "NATIONAL", "NATURAL", "NCHAR", "NDBCLUSTER", "NESTED", "NETWORK_NAMESPACE", "NEVER", "NEXT", "NO", "NODEGROUP",
    "NONE", "NOT", "NOWAIT", "NO_WAIT", "NO_WRITE_TO_BINLOG", "NTH_VALUE", "NTILE", "NULL", "NULLS", "NUMERIC",
    "NVARCHAR", "OF", "OFF", "OFFSET", "OJ", "OLD", "ON", "ONE", "ONLY", "OPEN", "OPTIMIZE", "OPTIMIZER_COSTS",
    "OPTION", "OPTIONAL", "OPTIONALLY", "OPTIONS", "OR", "ORDER", "ORDINALITY", "ORGANIZATION", "OUT", "OUTER",
    "OUTFILE", "OVER", "OWNER", "PACK_KEYS", "PAGE", "PARSER", "PARTIAL", "PARTITION", "PARTITIONING", "PARTITIONS",
    "PASSWORD", "PASSWORD_LOCK_TIME", "PATH", "PERCENT_RANK", "PERSIST", "PERSIST_ONLY", "PHASE", "PLUGIN", "PLUGINS",
    "PLUGIN_DIR", "POINT", "POLYGON", "PORT", "PRECEDES", "PRECEDING", "PRECISION", "PREPARE", "PRESERVE", "PREV",
    "PRIMARY", "PRIVILEGES", "PRIVILEGE_CHECKS_USER", "PROCEDURE", "PROCESS", "PROCESSLIST", "PROFILE", "PROFILES",
    "PROXY", "PURGE", "QUERY", "QUICK", "RANDOM", "RANGE", "RANK", "READ", "READS", "READ_ONLY", "READ_WRITE", "REAL",
    "REBUILD", "RECOVER", "RECURSIVE", "REDO_BUFFER_SIZE", "REDUNDANT", "REFERENCE", "REFERENCES", "REGISTRATION",
    "RELAY", "RELAYLOG", "RELAY_LOG_FILE", "RELAY_LOG_POS", "RELAY_THREAD", "RELEASE", "RELOAD", "REMOVE", "RENAME",
    "REORGANIZE", "REPAIR", "REPEAT", "REPEATABLE", "REPLACE", "REPLICA", "REPLICAS", "REPLICATE_DO_DB",
    "REPLICATE_DO_TABLE", "REPLICATE_IGNORE_DB", "REPLICATE_IGNORE_TABLE", "REPLICATE_REWRITE_DB",
    "REPLICATE_WILD_DO_TABLE", "REPLICATE_WILD_IGNORE_TABLE", "REPLICATION", "REQUIRE", "REQUIRE_ROW_FORMAT",
    "REQUIRE_TABLE_PRIMARY_KEY_CHECK", "RESET", "RESIGNAL", "RESOURCE", "RESPECT", "RESTART", "RESTORE", "RESTRICT",
    "RESUME", "RETAIN", "RETURN", "RETURNED_SQLSTATE", "RETURNING", "RETURNS", "REUSE", "REVOKE", "RIGHT", "RLIKE",
    "ROLE", "ROLLBACK", "ROLLUP", "ROTATE", "ROUTINE", "ROW", "ROWS", "ROW_COUNT", "ROW_FORMAT", "ROW_NUMBER",
    "RTREE", "SAVEPOINT", "SCHEDULE", "SCHEMA", "SCHEMAS", "SCHEMA_NAME", "SECONDARY", "SECONDARY_ENGINE",
    "SECONDARY_ENGINE_ATTRIBUTE", "SECONDARY_LOAD", "SECONDARY_UNLOAD", "SECOND_MICROSECOND", "SECURITY", "SELECT",
    "SENSITIVE", "SEPARATOR", "SERIAL", "SERIALIZABLE", "SERVER", "SESSION", "SET", "SHARE", "SHOW", "SHUTDOWN",
    "SIGNAL", "SIGNED", "SIMPLE", "SKIP", "SLAVE", "SLOW", "SMALLINT", "SNAPSHOT", "SOCKET", "SOME", "SONAME",
    "SOUNDS", "SOURCE", "SOURCE_AUTO_POSITION", "SOURCE_BIND", "SOURCE_COMPRESSION_ALGORITHMS",
    "SOURCE_CONNECTION_AUTO_FAILOVER", "SOURCE_CONNECT_RETRY", "SOURCE_DELAY", "SOURCE_HEARTBEAT_PERIOD",
    "SOURCE_HOST", "SOURCE_LOG_FILE", "SOURCE_LOG_POS", "SOURCE_PASSWORD", "SOURCE_PORT", "SOURCE_PUBLIC_KEY_PATH",
    "SOURCE_RETRY_COUNT", "SOURCE_SSL", "SOURCE_SSL_CA", "SOURCE_SSL_CAPATH", "SOURCE_SSL_CERT", "SOURCE_SSL_CIPHER",
    "SOURCE_SSL_CRL", "SOURCE_SSL_CRLPATH", "SOURCE_SSL_KEY", "SOURCE_SSL_VERIFY_SERVER_CERT",
    "SOURCE_TLS_CIPHERSUITES", "SOURCE_TLS_VERSION", "SOURCE_USER", "SOURCE_ZSTD_COMPRESSION_LEVEL", "SPATIAL",
    "SPECIFIC", "SQL", "SQLEXCEPTION", "SQLSTATE", "SQLWARNING", "SQL_AFTER_GTIDS", "SQL_AFTER_MTS_GAPS",
    "SQL_BEFORE_GTIDS", "SQL_BIG_RESULT", "SQL_BUFFER_RESULT", "SQL_CALC_FOUND_ROWS", "SQL_NO_CACHE",
    "SQL_SMALL_RESULT", "SQL_THREAD", "SQL_TSI_DAY", "SQL_TSI_HOUR", "SQL_TSI_MINUTE", "SQL_TSI_MONTH",
    "SQL_TSI_QUARTER", "SQL_TSI_SECOND", "SRID", "SSL", "STACKED", "START", "STARTING", "STARTS", "STATS_AUTO_RECALC",
    "STATS_PERSISTENT", "STATS_SAMPLE_PAGES", "STATUS", "STOP", "STORAGE", "STORED", "STRAIGHT_JOIN", "STREAM",
    "STRING", "SUBCLASS_ORIGIN", "SUBJECT", "SUBPARTITION", "SUBPARTITIONS", "SUPER", "SUSPEND", "SWAPS", "SWITCHES",
    "SYSDATE", "SYSTEM", "TABLE", "TABLES", "TABLESPACE", "TABLE_CHECKSUM", "TABLE_NAME", "TEMPORARY", "TEMPTABLE",
    "TERMINATED", "TEXT", "THAN", "THEN", "THREAD_PRIORITY", "TIES", "TIME", "TIMESTAMP", "TIMESTAMPADD",
    "TIMESTAMPDIFF", "TINYBLOB", "TINYINT", "TINYTEXT", "TLS", "TO", "TRAILING", "TRANSACTION", "TRIGGER", "TRIGGERS",
    "TRUE", "TRUNCATE", "TYPE", "TYPES", "UNBOUNDED", "UNCOMMITTED", "UNDEFINED", "UNDO", "UNDOFILE",
    "UNDO_BUFFER_SIZE", "UNICODE", "UNINSTALL", "UNION", "UNIQUE", "UNKNOWN", "UNLOCK", "UNREGISTER", "UNSIGNED",
    "UNTIL", "UPDATE", "UPGRADE", "URL", "USAGE", "USE", "USER_RESOURCES", "USE_FRM", "USING", "UTC_DATE", "UTC_TIME",
    "UTC_TIMESTAMP", "VALIDATION", "VALUE", "VALUES", "VARBINARY", "VARCHARACTER", "VARIABLES", "VARYING", "VCPU",
    "VIEW", "VIRTUAL", "VISIBLE", "WAIT", "WARNINGS", "WEEK", "WEIGHT_STRING", "WHEN", "WHERE", "WHILE", "WINDOW",
    "WITH", "WITHOUT", "WORK", "WRAPPER", "WRITE", "X509", "XA", "XID", "XML", "XOR", "YEAR", "YEAR_MONTH",
    "ZEROFILL", "ZONE",
];

#[cfg(test)]
mod tests;
