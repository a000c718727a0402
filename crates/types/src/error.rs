//! The one table from what can go wrong in a statement to MySQL's errno, SQLSTATE and message.
//!
//! Outline: [`ErrorCode`] constants carry MySQL's own symbolic names; [`SqlError::new`] fills a
//! template's `{}` places in order. A [`SqlError`] is one pointer wide, so that `Result<Value, _>`
//! stays as small as a value.
//!
//! Not here: which errors roll a whole transaction back (`exec`), and the wire form of an error packet
//! (`cohort-server`).

use std::fmt::{self, Display, Write as _};
use std::ops::Deref;

/// One row of the table: number, state and message template.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ErrorCode {
    /// MySQL's error number.
    pub errno: u16,
    /// The SQLSTATE that goes with it.
    pub sqlstate: &'static str,
    /// The message, with `{}` where arguments go.
    pub template: &'static str,
}

/// What a client receives about a statement that failed.
#[derive(Clone, PartialEq, Eq)]
pub struct SqlError(Box<ErrorDetail>);

/// The parts of a [`SqlError`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ErrorDetail {
    /// MySQL's error number.
    pub errno: u16,
    /// Five ASCII characters.
    pub sqlstate: &'static str,
    /// The message in full.
    pub message: String,
}

impl SqlError {
    /// The error `code` with its template's places filled by `args`, in order. Places without an
    /// argument stay empty, arguments without a place are dropped, and long ones are cut.
    pub fn new(code: ErrorCode, args: &[&dyn Display]) -> SqlError {
        let mut message = String::with_capacity(code.template.len() + 32);
        let mut rest = code.template;
        let mut args = args.iter();
        while let Some(at) = rest.find("{}") {
            message.push_str(&rest[..at]);
            if let Some(arg) = args.next() {
                // An error says that there is no more room: the rest of the argument is left out.
                let _ = write!(Shortened { message: &mut message, room: ARGUMENT_BYTES }, "{arg}");
            }
            rest = &rest[at + 2..];
        }
        message.push_str(rest);
        SqlError(Box::new(ErrorDetail { errno: code.errno, sqlstate: code.sqlstate, message }))
    }

    /// "This version of MySQL doesn't yet support '...'" (1235).
    pub fn unsupported(what: impl Display) -> SqlError {
        SqlError::new(ER_NOT_SUPPORTED_YET, &[&what])
    }

    /// An error that is not the client's doing (1105), with what was found.
    pub fn internal(what: impl Display) -> SqlError {
        SqlError::new(ER_UNKNOWN_ERROR, &[&what])
    }

    /// Whether this is the error that `code` describes.
    pub fn is(&self, code: ErrorCode) -> bool {
        self.errno == code.errno
    }
}

/// Most of an argument that a message shows, bytes: a value may be as long as a packet.
const ARGUMENT_BYTES: usize = 512;

/// Appends what there is room for.
struct Shortened<'a> {
    message: &'a mut String,
    room: usize,
}

impl fmt::Write for Shortened<'_> {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        let shown = &text[..text.floor_char_boundary(self.room)];
        self.message.push_str(shown);
        self.room -= shown.len();
        if shown.len() < text.len() { Err(fmt::Error) } else { Ok(()) }
    }
}

impl Deref for SqlError {
    type Target = ErrorDetail;
    fn deref(&self) -> &ErrorDetail {
        &self.0
    }
}

impl Display for SqlError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ERROR {} ({}): {}", self.errno, self.sqlstate, self.message)
    }
}

impl fmt::Debug for SqlError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        Display::fmt(self, f)
    }
}

impl std::error::Error for SqlError {}

macro_rules! error_table {
    ($($name:ident = $errno:literal, $state:literal, $template:literal;)*) => {
        $(
            #[doc = concat!("`", $template, "`")]
            pub const $name: ErrorCode =
                ErrorCode { errno: $errno, sqlstate: $state, template: $template };
        )*
        /// Every row of the table.
        pub const ALL: &[(&str, ErrorCode)] = &[$((stringify!($name), $name)),*];
    };
}

error_table! {
    ER_DB_CREATE_EXISTS = 1007, "HY000", "Can't create database '{}'; database exists";
    ER_DB_DROP_EXISTS = 1008, "HY000", "Can't drop database '{}'; database doesn't exist";
    ER_DISK_FULL = 1021, "HY000", "Disk full ({}); waiting for someone to free some space...";
    ER_ERROR_ON_READ = 1024, "HY000", "Error reading file '{}' ({})";
    ER_ERROR_ON_WRITE = 1026, "HY000", "Error writing file '{}' ({})";
    ER_BINLOG_UNSAFE_STATEMENT = 1592, "HY000", "Unsafe statement written to the binary log using statement format since BINLOG_FORMAT = STATEMENT. {}";
    ER_BINLOG_UNSAFE_STATEMENT_AS_ROWS = 1592, "HY000", "Unsafe statement written to the binary log as rows, although BINLOG_FORMAT = STATEMENT. {}";
    ER_BINLOG_STMT_MODE_AND_ROW_ENGINE = 1665, "HY000", "Cannot execute statement: impossible to write to binary log since BINLOG_FORMAT = STATEMENT and at least one table uses a storage engine limited to row-based logging.{}";
    ER_INSIDE_TRANSACTION_PREVENTS_SWITCH_BINLOG_FORMAT = 1679, "HY000", "Cannot modify @@session.binlog_format inside a transaction";
    ER_INSIDE_TRANSACTION_PREVENTS_SWITCH_SQL_LOG_BIN = 1694, "HY000", "Cannot modify @@session.sql_log_bin inside a transaction";
    ER_OPTION_PREVENTS_STATEMENT = 1290, "HY000", "The MySQL server is running with the {} option so it cannot execute this statement";
    ER_NOT_KEYFILE = 1034, "HY000", "Incorrect key file for table '{}'; try to repair it";
    ER_OUTOFMEMORY = 1037, "HY001", "Out of memory; restart server and try again (needed {} bytes)";
    ER_CON_COUNT_ERROR = 1040, "08004", "Too many connections";
    ER_HANDSHAKE_ERROR = 1043, "08S01", "Bad handshake";
    ER_DBACCESS_DENIED_ERROR = 1044, "42000", "Access denied for user '{}'@'{}' to database '{}'";
    ER_ACCESS_DENIED_ERROR = 1045, "28000", "Access denied for user '{}'@'{}' (using password: {})";
    ER_NO_DB_ERROR = 1046, "3D000", "No database selected";
    ER_UNKNOWN_COM_ERROR = 1047, "08S01", "Unknown command";
    ER_BAD_NULL_ERROR = 1048, "23000", "Column '{}' cannot be null";
    ER_BAD_DB_ERROR = 1049, "42000", "Unknown database '{}'";
    ER_TABLE_EXISTS_ERROR = 1050, "42S01", "Table '{}' already exists";
    ER_BAD_TABLE_ERROR = 1051, "42S02", "Unknown table '{}'";
    ER_NON_UNIQ_ERROR = 1052, "23000", "Column '{}' in {} is ambiguous";
    ER_SERVER_SHUTDOWN = 1053, "08S01", "Server shutdown in progress";
    ER_BAD_FIELD_ERROR = 1054, "42S22", "Unknown column '{}' in '{}'";
    ER_WRONG_FIELD_WITH_GROUP = 1055, "42000", "Expression #{} of {} is not in GROUP BY clause and contains nonaggregated column '{}' which is not functionally dependent on columns in GROUP BY clause; this is incompatible with sql_mode=only_full_group_by";
    ER_WRONG_GROUP_FIELD = 1056, "42000", "Can't group on '{}'";
    ER_TOO_LONG_IDENT = 1059, "42000", "Identifier name '{}' is too long";
    ER_DUP_FIELDNAME = 1060, "42S21", "Duplicate column name '{}'";
    ER_DUP_KEYNAME = 1061, "42000", "Duplicate key name '{}'";
    ER_DUP_ENTRY = 1062, "23000", "Duplicate entry '{}' for key '{}'";
    ER_WRONG_FIELD_SPEC = 1063, "42000", "Incorrect column specifier for column '{}'";
    ER_PARSE_ERROR = 1064, "42000", "You have an error in your SQL syntax; check the manual that corresponds to your MySQL server version for the right syntax to use near '{}' at line {}";
    ER_EMPTY_QUERY = 1065, "42000", "Query was empty";
    ER_NONUNIQ_TABLE = 1066, "42000", "Not unique table/alias: '{}'";
    ER_INVALID_DEFAULT = 1067, "42000", "Invalid default value for '{}'";
    ER_MULTIPLE_PRI_KEY = 1068, "42000", "Multiple primary key defined";
    ER_TOO_MANY_KEYS = 1069, "42000", "Too many keys specified; max {} keys allowed";
    ER_TOO_MANY_KEY_PARTS = 1070, "42000", "Too many key parts specified; max {} parts allowed";
    ER_TOO_LONG_KEY = 1071, "42000", "Specified key was too long; max key length is {} bytes";
    ER_KEY_COLUMN_DOES_NOT_EXITS = 1072, "42000", "Key column '{}' doesn't exist in table";
    ER_TOO_BIG_FIELDLENGTH = 1074, "42000", "Column length too big for column '{}' (max = {}); use BLOB or TEXT instead";
    ER_WRONG_AUTO_KEY = 1075, "42000", "Incorrect table definition; there can be only one auto column and it must be defined as a key";
    ER_WRONG_SUB_KEY = 1089, "HY000", "Incorrect prefix key; the used key part isn't a string, the used length is longer than the key part, or the storage engine doesn't support unique prefix keys";
    ER_CANT_REMOVE_ALL_FIELDS = 1090, "42000", "You can't delete all columns with ALTER TABLE; use DROP TABLE instead";
    ER_CANT_DROP_FIELD_OR_KEY = 1091, "42000", "Can't DROP '{}'; check that column/key exists";
    ER_UPDATE_TABLE_USED = 1093, "HY000", "You can't specify target table '{}' for update in FROM clause";
    ER_NO_SUCH_THREAD = 1094, "HY000", "Unknown thread id: {}";
    ER_KILL_DENIED_ERROR = 1095, "HY000", "You are not owner of thread {}";
    ER_NO_TABLES_USED = 1096, "HY000", "No tables used";
    ER_TABLE_NOT_LOCKED_FOR_WRITE = 1099, "HY000", "Table '{}' was locked with a READ lock and can't be updated";
    ER_TABLE_NOT_LOCKED = 1100, "HY000", "Table '{}' was not locked with LOCK TABLES";
    ER_BLOB_CANT_HAVE_DEFAULT = 1101, "42000", "BLOB, TEXT, GEOMETRY or JSON column '{}' can't have a default value";
    ER_WRONG_DB_NAME = 1102, "42000", "Incorrect database name '{}'";
    ER_WRONG_TABLE_NAME = 1103, "42000", "Incorrect table name '{}'";
    ER_UNKNOWN_ERROR = 1105, "HY000", "{}";
    ER_UNKNOWN_TABLE = 1109, "42S02", "Unknown table '{}' in {}";
    ER_FIELD_SPECIFIED_TWICE = 1110, "42000", "Column '{}' specified twice";
    ER_INVALID_GROUP_FUNC_USE = 1111, "HY000", "Invalid use of group function";
    ER_TABLE_MUST_HAVE_COLUMNS = 1113, "42000", "A table must have at least 1 column";
    ER_RECORD_FILE_FULL = 1114, "HY000", "The table '{}' is full";
    ER_UNKNOWN_CHARACTER_SET = 1115, "42000", "Unknown character set: '{}'";
    ER_TOO_MANY_FIELDS = 1117, "HY000", "Too many columns";
    ER_TOO_BIG_ROWSIZE = 1118, "42000", "Row size too large. The maximum row size for the used table type, not counting BLOBs, is {}. This includes storage overhead, check the manual. You have to change some columns to TEXT or BLOBs";
    ER_HOST_IS_BLOCKED = 1129, "HY000", "Host '{}' is blocked because of many connection errors; unblock with 'mysqladmin flush-hosts'";
    ER_WRONG_VALUE_COUNT_ON_ROW = 1136, "21S01", "Column count doesn't match value count at row {}";
    ER_MIX_OF_GROUP_FUNC_AND_FIELDS = 1140, "42000", "In aggregated query without GROUP BY, expression #{} of {} contains nonaggregated column '{}'; this is incompatible with sql_mode=only_full_group_by";
    ER_NONEXISTING_GRANT = 1141, "42000", "There is no such grant defined for user '{}' on host '{}'";
    ER_TABLEACCESS_DENIED_ERROR = 1142, "42000", "{} command denied to user '{}'@'{}' for table '{}'";
    ER_COLUMNACCESS_DENIED_ERROR = 1143, "42000", "{} command denied to user '{}'@'{}' for column '{}' in table '{}'";
    ER_ILLEGAL_GRANT_FOR_TABLE = 1144, "42000", "Illegal GRANT/REVOKE command; please consult the manual to see which privileges can be used";
    ER_NO_SUCH_TABLE = 1146, "42S02", "Table '{}.{}' doesn't exist";
    ER_NONEXISTING_TABLE_GRANT = 1147, "42000", "There is no such grant defined for user '{}' on host '{}' on table '{}'";
    ER_SYNTAX_ERROR = 1149, "42000", "You have an error in your SQL syntax; check the manual that corresponds to your MySQL server version for the right syntax to use";
    ER_NET_PACKET_TOO_LARGE = 1153, "08S01", "Got a packet bigger than 'max_allowed_packet' bytes";
    ER_NET_PACKETS_OUT_OF_ORDER = 1156, "08S01", "Got packets out of order";
    ER_NET_READ_INTERRUPTED = 1159, "08S01", "Got timeout reading communication packets";
    ER_NET_ERROR_ON_WRITE = 1160, "08S01", "Got an error writing communication packets";
    ER_WRONG_COLUMN_NAME = 1166, "42000", "Incorrect column name '{}'";
    ER_BLOB_KEY_WITHOUT_LENGTH = 1170, "42000", "BLOB/TEXT column '{}' used in key specification without a key length";
    ER_PRIMARY_CANT_HAVE_NULL = 1171, "42000", "All parts of a PRIMARY KEY must be NOT NULL; if you need NULL in a key, use UNIQUE instead";
    ER_UPDATE_WITHOUT_KEY_IN_SAFE_MODE = 1175, "HY000", "You are using safe update mode and you tried to update a table without a WHERE that uses a KEY column";
    ER_KEY_DOES_NOT_EXITS = 1176, "42000", "Key '{}' doesn't exist in table '{}'";
    ER_CANT_DO_THIS_DURING_AN_TRANSACTION = 1179, "25000", "You are not allowed to execute this command in a transaction";
    ER_ERROR_DURING_COMMIT = 1180, "HY000", "Got error {} - '{}' during COMMIT";
    ER_LOCK_OR_ACTIVE_TRANSACTION = 1192, "HY000", "Can't execute the given command because you have active locked tables or an active transaction";
    ER_UNKNOWN_SYSTEM_VARIABLE = 1193, "HY000", "Unknown system variable '{}'";
    ER_TRANS_CACHE_FULL = 1197, "HY000", "Multi-statement transaction required more than 'max_binlog_cache_size' bytes of storage; increase this mysqld variable and try again";
    ER_TOO_MANY_USER_CONNECTIONS = 1203, "42000", "User {} already has more than 'max_user_connections' active connections";
    ER_LOCK_WAIT_TIMEOUT = 1205, "HY000", "Lock wait timeout exceeded; try restarting transaction";
    ER_WRONG_ARGUMENTS = 1210, "HY000", "Incorrect arguments to {}";
    ER_LOCK_DEADLOCK = 1213, "40001", "Deadlock found when trying to get lock; try restarting transaction";
    ER_WRONG_USAGE = 1221, "HY000", "Incorrect usage of {} and {}";
    ER_CANT_UPDATE_WITH_READLOCK = 1223, "HY000", "Can't execute the query because you have a conflicting read lock";
    ER_SPECIFIC_ACCESS_DENIED_ERROR = 1227, "42000", "Access denied; you need (at least one of) the {} privilege(s) for this operation";
    ER_LOCAL_VARIABLE = 1228, "HY000", "Variable '{}' is a SESSION variable and can't be used with SET GLOBAL";
    ER_GLOBAL_VARIABLE = 1229, "HY000", "Variable '{}' is a GLOBAL variable and should be set with SET GLOBAL";
    ER_WRONG_VALUE_FOR_VAR = 1231, "42000", "Variable '{}' can't be set to the value of '{}'";
    ER_WRONG_TYPE_FOR_VAR = 1232, "42000", "Incorrect argument type to variable '{}'";
    ER_CANT_USE_OPTION_HERE = 1234, "42000", "Incorrect usage/placement of '{}'";
    ER_NOT_SUPPORTED_YET = 1235, "42000", "This version of MySQL doesn't yet support '{}'";
    ER_MASTER_FATAL_ERROR_READING_BINLOG = 1236, "HY000", "{}";
    ER_INCORRECT_GLOBAL_LOCAL_VAR = 1238, "HY000", "Variable '{}' is a {} variable";
    ER_OPERAND_COLUMNS = 1241, "21000", "Operand should contain {} column(s)";
    ER_SUBQUERY_NO_1_ROW = 1242, "21000", "Subquery returns more than 1 row";
    ER_UNKNOWN_STMT_HANDLER = 1243, "HY000", "Unknown prepared statement handler ({}) given to {}";
    ER_ILLEGAL_REFERENCE = 1247, "42S22", "Reference '{}' not supported ({})";
    ER_DERIVED_MUST_HAVE_ALIAS = 1248, "42000", "Every derived table must have its own alias";
    ER_CLIENT_DOES_NOT_SUPPORT_PROTOCOL = 1251, "08004", "Client does not support authentication protocol requested by server; consider upgrading MySQL client";
    ER_COLLATION_CHARSET_MISMATCH = 1253, "42000", "COLLATION '{}' is not valid for CHARACTER SET '{}'";
    ER_WARN_DATA_OUT_OF_RANGE = 1264, "22003", "Out of range value for column '{}' at row {}";
    ER_INVALID_JSON_TEXT = 3140, "22032", "Invalid JSON text: \"{}\" at position {} in value for column '{}'.";
    ER_INVALID_JSON_TEXT_IN_PARAM = 3141, "22032", "Invalid JSON text in argument {} to function {}: \"{}\" at position {}.";
    ER_INVALID_JSON_PATH = 3143, "42000", "Invalid JSON path expression. The error is around character position {}.";
    ER_INVALID_JSON_CHARSET = 3144, "22032", "Cannot create a JSON value from a string with CHARACTER SET '{}'.";
    ER_INVALID_TYPE_FOR_JSON = 3146, "22032", "Invalid data type for JSON data in argument {} to function {}; a JSON string or JSON type is required.";
    ER_INVALID_JSON_PATH_WILDCARD = 3149, "42000", "In this situation, path expressions may not contain the * and ** tokens or an array range.";
    ER_JSON_USED_AS_KEY = 3152, "42000", "JSON column '{}' supports indexing only via generated columns on a specified JSON path.";
    ER_JSON_VACUOUS_PATH = 3153, "42000", "The path expression '$' is not allowed in this context.";
    ER_JSON_BAD_ONE_OR_ALL_ARG = 3154, "42000", "The oneOrAll argument to {} may take these values: 'one' or 'all'.";
    ER_NUMERIC_JSON_VALUE_OUT_OF_RANGE = 3155, "22003", "Out of range JSON value for CAST to {} from column {} at row {}";
    ER_INVALID_JSON_VALUE_FOR_CAST = 3156, "22018", "Invalid JSON value for CAST to {} from column {} at row {}";
    ER_JSON_DOCUMENT_TOO_DEEP = 3157, "22032", "The JSON document exceeds the maximum depth.";
    ER_JSON_DOCUMENT_NULL_KEY = 3158, "22032", "JSON documents may not contain NULL member names.";
    ER_INVALID_JSON_PATH_ARRAY_CELL = 3165, "42000", "A path expression is not a path to a cell in an array.";
    ER_INVALID_JSON_TYPE = 3853, "22032", "Invalid JSON type in argument {} to function {}; an {} is required.";
    ER_DEFAULT_VAL_GENERATED_VARIABLES = 3772, "HY000", "Default value expression of column '{}' cannot refer user or system variables.";
    ER_DEFAULT_AS_VAL_GENERATED = 3773, "HY000", "DEFAULT function cannot be used with default value expressions";
    ER_DUPLICATED_VALUE_IN_TYPE = 1291, "HY000", "Column '{}' has duplicated value '{}' in {}";
    ER_ILLEGAL_VALUE_FOR_TYPE = 1367, "22007", "Illegal {} '{}' value found during parsing";
    ER_TOO_BIG_SET = 1097, "HY000", "Too many strings for column {} and {}";
    ER_TOO_MANY_TABLES = 1116, "HY000", "Too many tables; MySQL can only use {} tables in a join";
    ER_TOO_LONG_SET_ENUM_VALUE = 3505, "HY000", "Too long enumeration/set value for column {}.";
    WARN_DATA_TRUNCATED = 1265, "01000", "Data truncated for column '{}' at row {}";
    ER_TOO_MANY_ROWS = 1172, "42000", "Result consisted of more than one row";
    ER_WRONG_NUMBER_OF_COLUMNS_IN_SELECT = 1222, "21000", "The used SELECT statements have a different number of columns";
    ER_SP_UNDECLARED_VAR = 1327, "42000", "Undeclared variable: {}";
    ER_SP_FETCH_NO_DATA = 1329, "02000", "No data - zero rows fetched, selected, or processed";
    ER_MISPLACED_INTO = 3954, "42000", "Misplaced INTO clause, INTO is not allowed inside subqueries, and must be placed at end of UNION clauses.";
    ER_TOO_BIG_FOR_UNCOMPRESS = 1256, "HY000", "Uncompressed data size too large; the maximum size is {} (probably, length of uncompressed data was corrupted)";
    ER_ZLIB_Z_DATA_ERROR = 1259, "HY000", "ZLIB: Input data corrupted";
    WARN_OPTION_IGNORED = 1618, "HY000", "<{}> option ignored";
    ER_AES_INVALID_IV = 1882, "HY000", "The initialization vector supplied to {} is too short. Must be at least {} bytes long";
    ER_REGEXP_INDEX_OUTOFBOUNDS_ERROR = 3686, "HY000", "Index out of bounds in regular expression search.";
    ER_REGEXP_INVALID_CAPTURE_GROUP_NAME = 3887, "HY000", "A capture group has an invalid name.";
    ER_CUT_VALUE_GROUP_CONCAT = 1260, "HY000", "Row {} was cut by GROUP_CONCAT()";
    ER_AGGREGATE_ORDER_FOR_UNION = 3028, "HY000", "Expression #{} of ORDER BY contains aggregate function and applies to a UNION";
    ER_AGGREGATE_ORDER_NON_AGG_QUERY = 3029, "HY000", "Expression #{} of ORDER BY contains aggregate function and applies to the result of a non-aggregated query";
    ER_WINDOW_NO_SUCH_WINDOW = 3579, "HY000", "Window name '{}' is not defined.";
    ER_WINDOW_CIRCULARITY_IN_WINDOW_GRAPH = 3580, "HY000", "There is a circularity in the window dependency graph.";
    ER_WINDOW_NO_CHILD_PARTITIONING = 3581, "HY000", "A window which depends on another cannot define partitioning.";
    ER_WINDOW_NO_INHERIT_FRAME = 3582, "HY000", "Window '{}' has a frame definition, so cannot be referenced by another window.";
    ER_WINDOW_NO_REDEFINE_ORDER_BY = 3583, "HY000", "Window '{}' cannot inherit '{}' since both contain an ORDER BY clause.";
    ER_WINDOW_FRAME_START_ILLEGAL = 3584, "HY000", "Window '{}': frame start cannot be UNBOUNDED FOLLOWING.";
    ER_WINDOW_FRAME_END_ILLEGAL = 3585, "HY000", "Window '{}': frame end cannot be UNBOUNDED PRECEDING.";
    ER_WINDOW_FRAME_ILLEGAL = 3586, "HY000", "Window '{}': frame start or end is negative, NULL or of non-integral type";
    ER_WINDOW_RANGE_FRAME_ORDER_TYPE = 3587, "HY000", "Window '{}' with RANGE N PRECEDING/FOLLOWING frame requires exactly one ORDER BY expression, of numeric or temporal type";
    ER_WINDOW_RANGE_FRAME_TEMPORAL_TYPE = 3588, "HY000", "Window '{}' with RANGE frame has ORDER BY expression of datetime type. Only INTERVAL bound value allowed.";
    ER_WINDOW_RANGE_FRAME_NUMERIC_TYPE = 3589, "HY000", "Window '{}' with RANGE frame has ORDER BY expression of numeric type, INTERVAL bound value not allowed.";
    ER_WINDOW_RANGE_BOUND_NOT_CONSTANT = 3590, "HY000", "Window '{}' has a non-constant frame bound.";
    ER_WINDOW_DUPLICATE_NAME = 3591, "HY000", "Window '{}' is defined twice.";
    ER_WINDOW_ILLEGAL_ORDER_BY = 3592, "HY000", "Window '{}': ORDER BY or PARTITION BY uses legacy position indication which is not supported, use expression.";
    ER_WINDOW_INVALID_WINDOW_FUNC_USE = 3593, "HY000", "You cannot use the window function '{}' in this context.'";
    ER_WINDOW_INVALID_WINDOW_FUNC_ALIAS_USE = 3594, "HY000", "You cannot use the alias '{}' of an expression containing a window function in this context.'";
    ER_WINDOW_NESTED_WINDOW_FUNC_USE_IN_WINDOW_SPEC = 3595, "HY000", "You cannot nest a window function in the specification of window '{}'.";
    ER_WINDOW_ROWS_INTERVAL_USE = 3596, "HY000", "Window '{}': INTERVAL can only be used with RANGE frames.";
    ER_FIELD_IN_GROUPING_NOT_GROUP_BY = 3602, "HY000", "Argument #{} of GROUPING function is not in GROUP BY";
    ER_CANT_AGGREGATE_2COLLATIONS = 1267, "HY000", "Illegal mix of collations ({}) and ({}) for operation '{}'";
    ER_CANT_AGGREGATE_3COLLATIONS = 1270, "HY000", "Illegal mix of collations ({}), ({}), ({}) for operation '{}'";
    ER_CANT_AGGREGATE_NCOLLATIONS = 1271, "HY000", "Illegal mix of collations for operation '{}'";
    ER_WARN_USING_OTHER_HANDLER = 1266, "HY000", "Using storage engine {} for table '{}'";
    ER_UNKNOWN_COLLATION = 1273, "HY000", "Unknown collation: '{}'";
    ER_CANT_CREATE_THREAD = 1135, "HY000", "Can't create a new thread ({}); if you are not out of available memory, you can consult the manual for a possible OS-dependent bug";

    ER_WRONG_NAME_FOR_INDEX = 1280, "42000", "Incorrect index name '{}'";
    ER_UNKNOWN_STORAGE_ENGINE = 1286, "42000", "Unknown storage engine '{}'";
    ER_UNKNOWN_EXPLAIN_FORMAT = 1791, "HY000", "Unknown EXPLAIN format name: '{}'";
    ER_TRUNCATED_WRONG_VALUE = 1292, "22007", "Truncated incorrect {} value: '{}'";
    ER_REVOKE_GRANTS = 1269, "HY000", "Can't revoke all privileges for one or more of the requested users";
    ER_WRONG_VALUE = 1292, "22007", "Incorrect {} value: '{}'";
    ER_WRONG_VALUE_FOR_COLUMN = 1292, "22007", "Incorrect {} value: '{}' for column '{}' at row {}";
    ER_INVALID_ON_UPDATE = 1294, "HY000", "Invalid ON UPDATE clause for '{}' column";
    ER_UNSUPPORTED_PS = 1295, "HY000", "This command is not supported in the prepared statement protocol yet";
    ER_UNKNOWN_TIME_ZONE = 1298, "HY000", "Unknown or incorrect time zone: '{}'";
    ER_INVALID_CHARACTER_STRING = 1300, "HY000", "Invalid {} character string: '{}'";
    ER_WARN_ALLOWED_PACKET_OVERFLOWED = 1301, "HY000", "Result of {}() was larger than max_allowed_packet ({}) - truncated";
    ER_SP_DOES_NOT_EXIST = 1305, "42000", "{} {} does not exist";
    ER_QUERY_INTERRUPTED = 1317, "70100", "Query execution was interrupted";
    ER_NO_DEFAULT_FOR_FIELD = 1364, "HY000", "Field '{}' doesn't have a default value";
    ER_DIVISION_BY_ZERO = 1365, "22012", "Division by 0";
    ER_TRUNCATED_WRONG_VALUE_FOR_FIELD = 1366, "HY000", "Incorrect {} value: '{}' for column '{}' at row {}";
    ER_UNKNOWN_TARGET_BINLOG = 1373, "HY000", "Target log not found in binlog index";
    ER_NO_BINARY_LOGGING = 1381, "HY000", "You are not using binary logging";
    ER_CANNOT_USER = 1396, "HY000", "Operation {} failed for {}";
    ER_XAER_NOTA = 1397, "XAE04", "XAER_NOTA: Unknown XID";
    ER_XAER_INVAL = 1398, "XAE05", "XAER_INVAL: Invalid arguments (or unsupported command)";
    ER_XAER_RMFAIL = 1399, "XAE07", "XAER_RMFAIL: The command cannot be executed when global transaction is in the  {} state";
    ER_XAER_OUTSIDE = 1400, "XAE09", "XAER_OUTSIDE: Some work is done outside global transaction";
    ER_XAER_RMERR = 1401, "XAE03", "XAER_RMERR: Fatal error occurred in the transaction branch - check your data for consistency";
    ER_XA_RBROLLBACK = 1402, "XA100", "XA_RBROLLBACK: Transaction branch was rolled back";
    ER_DATA_TOO_LONG = 1406, "22001", "Data too long for column '{}' at row {}";
    ER_CANT_CREATE_USER_WITH_GRANT = 1410, "42000", "You are not allowed to create a user with GRANT";
    ER_WRONG_VALUE_FOR_TYPE = 1411, "HY000", "Incorrect {} value: '{}' for function {}";
    ER_TABLE_DEF_CHANGED = 1412, "HY000", "Table definition has changed, please retry transaction";
    ER_TOO_BIG_SCALE = 1425, "42000", "Too big scale {} specified for column '{}'. Maximum is {}.";
    ER_TOO_BIG_PRECISION = 1426, "42000", "Too-big precision {} specified for '{}'. Maximum is {}.";
    ER_M_BIGGER_THAN_D = 1427, "42000", "For float(M,D), double(M,D) or decimal(M,D), M must be >= D (column '{}').";
    ER_STACK_OVERRUN_NEED_MORE = 1436, "HY000", "Thread stack overrun: the statement nests too deeply";
    ER_TOO_BIG_DISPLAYWIDTH = 1439, "42000", "Display width out of range for column '{}' (max = {})";
    ER_XAER_DUPID = 1440, "XAE08", "XAER_DUPID: The XID already exists";
    ER_PS_MANY_PARAM = 1390, "HY000", "Prepared statement contains too many placeholders";
    ER_DATETIME_FUNCTION_OVERFLOW = 1441, "22008", "Datetime function: {} field overflow";
    ER_MAX_PREPARED_STMT_COUNT_REACHED = 1461, "42000", "Can't create more than {} statements (current value: {})";
    ER_NON_GROUPING_FIELD_USED = 1463, "42000", "Non-grouping field '{}' is used in {} clause";
    ER_AUTOINC_READ_FAILED = 1467, "HY000", "Failed to read auto-increment value from storage engine";
    ER_WRONG_PARAMCOUNT_TO_NATIVE_FCT = 1582, "42000", "Incorrect parameter count in the call to native function '{}'";
    ER_WRONG_PARAMETERS_TO_NATIVE_FCT = 1583, "42000", "Incorrect parameters in the call to native function '{}'";
    ER_DUP_ENTRY_AUTOINCREMENT_CASE = 1569, "23000", "ALTER TABLE causes auto_increment resequencing, resulting in duplicate entry '{}' for key '{}'";
    ER_WRONG_CONSTANT = 1525, "HY000", "Incorrect {} value: '{}'";
    ER_XA_RBDEADLOCK = 1614, "XA102", "XA_RBDEADLOCK: Transaction branch was rolled back: deadlock was detected";
    ER_VARIABLE_IS_READONLY = 1621, "HY000", "{} variable '{}' is read-only. Use {} to assign the value";
    ER_UNKNOWN_LOCALE = 1649, "HY000", "Unknown locale: '{}'";
    ER_DATA_OUT_OF_RANGE = 1690, "22003", "{} value is out of range in '{}'";
    ER_INNODB_ONLINE_LOG_TOO_BIG = 1799, "HY000", "Creating index '{}' required more than 'innodb_online_alter_log_max_size' bytes of modification log. Please try again.";
    ER_UNKNOWN_ALTER_ALGORITHM = 1800, "HY000", "Unknown ALGORITHM '{}'";
    ER_UNKNOWN_ALTER_LOCK = 1801, "HY000", "Unknown LOCK type '{}'";
    ER_ALTER_OPERATION_NOT_SUPPORTED = 1845, "0A000", "{} is not supported for this operation. Try {}.";
    ER_ALTER_OPERATION_NOT_SUPPORTED_REASON = 1846, "0A000", "{} is not supported. Reason: {}. Try {}.";
    ER_CONSTRAINT_NOT_FOUND = 3940, "HY000", "Constraint '{}' does not exist.";
    ER_INVALID_USE_OF_NULL = 1138, "22004", "Invalid use of NULL value";
    ER_BINLOG_UNSAFE_SYSTEM_FUNCTION = 1674, "HY000", "Statement is unsafe because it uses a system function that may return a different value on the replica.";
    ER_CANT_EXECUTE_IN_READ_ONLY_TRANSACTION = 1792, "25006", "Cannot execute statement in a READ ONLY transaction.";
    ER_ERROR_WHEN_EXECUTING_COMMAND = 1220, "HY000", "Error when executing command {}: {}";
    ER_VARIABLE_NOT_SETTABLE_IN_TRANSACTION = 1766, "HY000", "The system variable {} cannot be set when there is an ongoing transaction.";
    ER_CANT_DO_IMPLICIT_COMMIT_IN_TRX_WHEN_GTID_NEXT_IS_SET = 1778, "HY000", "Cannot execute statements with implicit commit inside a transaction when @@SESSION.GTID_NEXT == '{}'.";
    ER_GTID_MODE_ON_REQUIRES_ENFORCE_GTID_CONSISTENCY_ON = 1779, "HY000", "GTID_MODE = ON requires ENFORCE_GTID_CONSISTENCY = ON.";
    ER_GTID_MODE_CAN_ONLY_CHANGE_ONE_STEP_AT_A_TIME = 1788, "HY000", "The value of @@GLOBAL.GTID_MODE can only be changed one step at a time: OFF <-> OFF_PERMISSIVE <-> ON_PERMISSIVE <-> ON. Also note that this value must be stepped up or down simultaneously on all servers. See the Manual for instructions.";
    ER_CANT_SET_GTID_PURGED_WHEN_GTID_MODE_IS_OFF = 1839, "HY000", "@@GLOBAL.GTID_PURGED can only be set when @@GLOBAL.GTID_MODE = ON.";
    ER_CANT_RESET_MASTER = 3190, "HY000", "RESET MASTER is not allowed because {}.";
    ER_CANT_SET_GTID_PURGED_DUE_SETS_CONSTRAINTS = 3546, "HY000", "@@GLOBAL.GTID_PURGED cannot be changed: {}";
    ER_FLUSH_MASTER_BINLOG_CLOSED = 1186, "HY000", "Binlog closed, cannot RESET MASTER";
    ER_CANT_SET_GTID_NEXT_TO_GTID_WHEN_GTID_MODE_IS_OFF = 1781, "HY000", "@@SESSION.GTID_NEXT cannot be set to UUID:NUMBER when @@GLOBAL.GTID_MODE = OFF.";
    ER_CANT_SET_GTID_NEXT_TO_ANONYMOUS_WHEN_GTID_MODE_IS_ON = 1782, "HY000", "@@SESSION.GTID_NEXT cannot be set to ANONYMOUS when @@GLOBAL.GTID_MODE = ON.";
    ER_GTID_MODE_OFF = 3062, "HY000", "Cannot {} when GTID_MODE = OFF.";
    ER_CANT_SET_GTID_NEXT_WHEN_OWNING_GTID = 1790, "HY000", "@@SESSION.GTID_NEXT cannot be changed by a client that owns a GTID. The client owns {}. Ownership is released on COMMIT or ROLLBACK.";
    ER_GTID_NEXT_TYPE_UNDEFINED_GTID = 1837, "HY000", "When @@SESSION.GTID_NEXT is set to a GTID, you must explicitly set it to a different value after a COMMIT or ROLLBACK. Please check GTID_NEXT variable manual page for detailed explanation. Current @@SESSION.GTID_NEXT is '{}'.";
    ER_MALFORMED_GTID_SET_SPECIFICATION = 1772, "HY000", "Malformed GTID set specification '{}'.";
    ER_MALFORMED_PACKET = 1835, "HY000", "Malformed communication packet: {}";
    ER_CANT_CHANGE_TX_CHARACTERISTICS = 1568, "25001", "Transaction characteristics can't be changed while a transaction is in progress";
    ER_PLUGIN_IS_NOT_LOADED = 1524, "HY000", "Plugin '{}' is not loaded";
    ER_GTID_UNSAFE_CREATE_SELECT = 1786, "HY000", "Statement violates GTID consistency: CREATE TABLE ... SELECT.";
    ER_WRONG_STRING_LENGTH = 1470, "HY000", "String '{}' is too long for {} (should be no longer than {})";
    ER_NOT_VALID_PASSWORD = 1819, "HY000", "Your password does not satisfy the current policy requirements";
    ER_MUST_CHANGE_PASSWORD = 1820, "HY000", "You must reset your password using ALTER USER statement before executing this statement.";
    ER_SP_DOES_NOT_EXIST_SAVEPOINT = 1305, "42000", "SAVEPOINT {} does not exist";
    ER_PARSE_ERROR_IN_DIGEST_FN = 3676, "HY000", "Could not parse argument to digest function: \"{}\".";
    ER_REGEXP_ILLEGAL_ARGUMENT = 3685, "HY000", "Illegal argument to a regular expression.";
    ER_REGEXP_RULE_SYNTAX = 3688, "HY000", "Syntax error in regular expression on line {}, character {}.";
    ER_REGEXP_BAD_ESCAPE_SEQUENCE = 3689, "HY000", "Unrecognized escape sequence in regular expression.";
    ER_REGEXP_UNIMPLEMENTED = 3690, "HY000", "The regular expression contains a feature that is not implemented in this library version.";
    ER_REGEXP_MISMATCHED_PAREN = 3691, "HY000", "Mismatched parenthesis in regular expression.";
    ER_REGEXP_BAD_INTERVAL = 3692, "HY000", "Incorrect description of a {min,max} interval.";
    ER_REGEXP_MISSING_CLOSE_BRACKET = 3696, "HY000", "The regular expression contains an unclosed bracket expression.";
    ER_REGEXP_INVALID_RANGE = 3697, "HY000", "The regular expression contains an [x-y] character range where x comes after y.";
    ER_REGEXP_PATTERN_TOO_BIG = 3700, "HY000", "The regular expression pattern exceeds limits on size or complexity.";
    ER_QUERY_TIMEOUT = 3024, "HY000", "Query execution was interrupted, maximum statement execution time exceeded";
    ER_USER_LOCK_WRONG_NAME = 3057, "42000", "Incorrect user-level lock name '{}'.";
    ER_USER_LOCK_DEADLOCK = 3058, "HY000", "Deadlock found when trying to get user-level lock; try rolling back transaction/releasing locks and restarting lock acquisition.";
    ER_FIELD_IN_ORDER_NOT_SELECT = 3065, "HY000", "Expression #{} of ORDER BY clause is not in SELECT list, references column '{}' which is not in SELECT list; this is incompatible with {}";
    ER_INVALID_ARGUMENT_FOR_LOGARITHM = 3020, "2201E", "Invalid argument for logarithm";
    ER_LOCK_NOWAIT = 3572, "HY000", "Statement aborted because lock(s) could not be acquired immediately and NOWAIT is set.";
    ER_SECURE_TRANSPORT_REQUIRED = 3159, "HY000", "Connections using insecure transport are prohibited while --require_secure_transport=ON.";
    ER_DA_SSL_LIBRARY_ERROR = 3888, "HY000", "Failed to set up SSL because of the following SSL library error: {}";
    ER_MANDATORY_ROLE = 3628, "HY000", "The role {} is a mandatory role and can't be revoked or dropped. The restriction can be lifted by excluding the role identifier from the global variable mandatory_roles.";
    ER_CREDENTIALS_CONTRADICT_TO_HISTORY = 3638, "HY000", "Cannot use these credentials for '{}@{}' because they contradict the password history policy";
    ER_INCORRECT_CURRENT_PASSWORD = 3891, "HY000", "Incorrect current password. Specify the correct password which has to be replaced.";
    ER_MISSING_CURRENT_PASSWORD = 3892, "HY000", "Current password needs to be specified in the REPLACE clause in order to change it.";
    ER_CURRENT_PASSWORD_NOT_REQUIRED = 3893, "HY000", "Do not specify the current password while changing it for other users.";
    ER_USER_ACCESS_DENIED_FOR_USER_ACCOUNT_BLOCKED_BY_PASSWORD_LOCK = 3955, "HY000", "Access denied for user '{}'@'{}'. Account is blocked for {} day(s) ({} day(s) remaining) due to {} consecutive failed logins.";
    ER_INVALID_USER_ATTRIBUTE_JSON = 3982, "HY000", "The user attribute must be a valid JSON object";
    ER_USER_LIMIT_REACHED = 1226, "42000", "User '{}' has exceeded the '{}' resource (current value: {})";
    ER_TABLENAME_NOT_ALLOWED_HERE = 1250, "42000", "Table '{}' from one of the SELECTs cannot be used in {}";
    ER_WARN_DEPRECATED_JSON_TABLE_ON_ERROR_ON_EMPTY = 1287, "HY000", "Specifying an ON EMPTY clause after the ON ERROR clause in a JSON_TABLE column definition is deprecated syntax and will be removed in a future release. Specify ON EMPTY before ON ERROR instead.";
    ER_NON_UPDATABLE_TABLE = 1288, "HY000", "The target table {} of the {} is not updatable";
    ER_VIEW_WRONG_LIST = 1353, "HY000", "In definition of view, derived table or common table expression, SELECT list and column names list have different column counts";
    ER_MULTI_UPDATE_KEY_CONFLICT = 1706, "HY000", "Primary key/partition key update is not allowed since the table is updated both as '{}' and '{}'.";
    ER_WARN_PURGE_LOG_IN_USE = 1867, "HY000", "file {} was not purged because it was being read by {} thread(s), purged only {} out of {} files.";
    ER_MUST_CHANGE_PASSWORD_LOGIN = 1862, "HY000", "Your password has expired. To log in you must change it using a client that supports expired passwords.";
    ER_ACCOUNT_HAS_BEEN_LOCKED = 3118, "HY000", "Access denied for user '{}'@'{}'. Account is locked.";
    ER_UNKNOWN_AUTHID = 3523, "HY000", "Unknown authorization ID {}";
    ER_ROLE_NOT_GRANTED = 3530, "HY000", "{} is not granted to {}";
    ER_OPTIMIZER_HINT_SYNTAX = 1064, "42000", "Optimizer hint syntax error near '{}' at line {}";
    ER_BAD_MAX_EXECUTION_TIME = 1064, "42000", "Unsupported MAX_EXECUTION_TIME near '{}' at line {}";
    ER_WARN_UNSUPPORTED_MAX_EXECUTION_TIME = 3125, "HY000", "MAX_EXECUTION_TIME hint is supported by top-level standalone SELECT statements only";
    ER_WARN_CONFLICTING_HINT = 3126, "HY000", "Hint {} is ignored as conflicting/duplicated";
    ER_WARN_UNKNOWN_QB_NAME = 3127, "HY000", "Query block name {} is not found for {} hint";
    ER_UNRESOLVED_HINT_NAME = 3128, "HY000", "Unresolved name {} for {} hint";
    ER_NOT_HINTABLE_VARIABLE = 3637, "HY000", "Variable '{}' cannot be set using SET_VAR hint.";
    ER_UNRESOLVED_TABLE_LOCK = 3568, "HY000", "Unresolved table name {} in locking clause.";
    ER_DUPLICATE_TABLE_LOCK = 3569, "HY000", "Table {} appears in multiple locking clauses.";
    ER_CTE_RECURSIVE_REQUIRES_UNION = 3573, "HY000", "Recursive Common Table Expression '{}' should contain a UNION";
    ER_CTE_RECURSIVE_REQUIRES_NONRECURSIVE_FIRST = 3574, "HY000", "Recursive Common Table Expression '{}' should have one or more non-recursive query blocks followed by one or more recursive ones";
    ER_CTE_RECURSIVE_FORBIDS_AGGREGATION = 3575, "HY000", "Recursive Common Table Expression '{}' can contain neither aggregation nor window functions in recursive query block";
    ER_CTE_RECURSIVE_FORBIDS_JOIN_ORDER = 3576, "HY000", "In recursive query block of Recursive Common Table Expression '{}', the recursive table must neither be in the right argument of a LEFT JOIN, nor be forced to be non-first with join order hints";
    ER_CTE_RECURSIVE_REQUIRES_SINGLE_REFERENCE = 3577, "HY000", "In recursive query block of Recursive Common Table Expression '{}', the recursive table must be referenced only once, and not in any subquery";
    ER_ILLEGAL_PRIVILEGE_LEVEL = 3619, "HY000", "Illegal privilege level specified for {}";
    ER_CTE_MAX_RECURSION_DEPTH = 3636, "HY000", "Recursive query aborted after {} iterations. Try increasing @@cte_max_recursion_depth to a larger value.";
    ER_MISSING_JSON_TABLE_VALUE = 3665, "22035", "Missing value for JSON_TABLE column '{}'";
    ER_WRONG_JSON_TABLE_VALUE = 3666, "2203F", "Can't store an array or an object in the scalar JSON_TABLE column '{}'";
    ER_TF_MUST_HAVE_ALIAS = 3667, "42000", "Every table function must have an alias";
    ER_TF_FORBIDDEN_JOIN_TYPE = 3668, "HY000", "INNER or LEFT JOIN must be used for LATERAL references made by '{}'";
    ER_JT_VALUE_OUT_OF_RANGE = 3669, "22003", "Value is out of range for JSON_TABLE's column '{}'";
    ER_JT_MAX_NESTED_PATH = 3670, "42000", "More than supported {} NESTED PATHs were found in JSON_TABLE '{}'";
    ER_ROLE_GRANTED_TO_ITSELF = 4027, "HY000", "User account {} is directly or indirectly granted to the role {}. The GRANT would create a loop";
    ER_BACKUP_LOCK_IS_ACTIVE = 4145, "HY000", "Can't execute the command as you have a BACKUP STAGE active";
    ER_BACKUP_NOT_RUNNING = 4146, "HY000", "You must start backup with \"BACKUP STAGE START\"";
    ER_BACKUP_WRONG_STAGE = 4147, "HY000", "Backup stage '{}' is same or before current backup stage '{}'";
    ER_BACKUP_UNKNOWN_STAGE = 4149, "HY000", "Unknown backup stage: '{}'. Stage should be one of START, FLUSH, BLOCK_DDL, BLOCK_COMMIT or END";
    ER_CLIENT_INTERACTION_TIMEOUT = 4031, "HY000", "The client was disconnected by the server because of inactivity. See wait_timeout and interactive_timeout for configuring this behavior.";
    ER_GLOBAL_CONN_LIMIT = 4081, "HY000", "Connection closed. Global connection memory limit {} bytes exceeded. Consumed {} bytes.";
    ER_INNODB_MAX_ROW_VERSION = 4092, "HY000", "Maximum row versions reached for table {}. No more columns can be added or dropped instantly. Please use COPY/INPLACE.";
    ER_CONN_LIMIT = 4082, "HY000", "Connection closed. Connection memory limit {} bytes exceeded. Consumed {} bytes.";
}

#[cfg(test)]
mod tests;
