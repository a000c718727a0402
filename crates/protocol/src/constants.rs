//! The numbers of the protocol, under the names the field gives them.

/// Capability flags: what client and server agree on in the handshake.
pub mod capability {
    /// Always set.
    pub const LONG_PASSWORD: u32 = 1;
    /// An OK for an UPDATE counts the rows found, not those changed.
    pub const FOUND_ROWS: u32 = 1 << 1;
    /// Column flags take two bytes.
    pub const LONG_FLAG: u32 = 1 << 2;
    /// The handshake response names a database.
    pub const CONNECT_WITH_DB: u32 = 1 << 3;
    /// Blanks may stand before a function's parenthesis.
    pub const IGNORE_SPACE: u32 = 1 << 8;
    /// The protocol of 4.1 and later; there is no other here.
    pub const PROTOCOL_41: u32 = 1 << 9;
    /// The client gets `interactive_timeout` instead of `wait_timeout`.
    pub const INTERACTIVE: u32 = 1 << 10;
    /// The client asks to go on in TLS.
    pub const SSL: u32 = 1 << 11;
    /// The client knows the status flags of transactions.
    pub const TRANSACTIONS: u32 = 1 << 13;
    /// 20-byte challenges.
    pub const SECURE_CONNECTION: u32 = 1 << 15;
    /// Several statements in one COM_QUERY.
    pub const MULTI_STATEMENTS: u32 = 1 << 16;
    /// Several results for one COM_QUERY.
    pub const MULTI_RESULTS: u32 = 1 << 17;
    /// Several results for one COM_STMT_EXECUTE.
    pub const PS_MULTI_RESULTS: u32 = 1 << 18;
    /// The handshake names an authentication plugin.
    pub const PLUGIN_AUTH: u32 = 1 << 19;
    /// The handshake response carries attributes of the program.
    pub const CONNECT_ATTRS: u32 = 1 << 20;
    /// The length of the authentication response is a length-encoded integer.
    pub const PLUGIN_AUTH_LENENC_CLIENT_DATA: u32 = 1 << 21;
    /// OK packets can carry changes of the session's state.
    pub const SESSION_TRACK: u32 = 1 << 23;
    /// The client can set a new password where the old one has expired.
    pub const CAN_HANDLE_EXPIRED_PASSWORDS: u32 = 1 << 22;
    /// Result sets end with an OK packet, not an EOF packet.
    pub const DEPRECATE_EOF: u32 = 1 << 24;

    /// Everything this server offers.
    pub const OFFERED: u32 = LONG_PASSWORD
        | FOUND_ROWS
        | LONG_FLAG
        | CONNECT_WITH_DB
        | IGNORE_SPACE
        | PROTOCOL_41
        | INTERACTIVE
        | TRANSACTIONS
        | SECURE_CONNECTION
        | MULTI_STATEMENTS
        | MULTI_RESULTS
        | PS_MULTI_RESULTS
        | PLUGIN_AUTH
        | CONNECT_ATTRS
        | PLUGIN_AUTH_LENENC_CLIENT_DATA
        | CAN_HANDLE_EXPIRED_PASSWORDS
        | SESSION_TRACK
        | DEPRECATE_EOF;
}

/// Status flags in OK and EOF packets.
pub mod status {
    /// A transaction is open.
    pub const IN_TRANS: u16 = 0x0001;
    /// Autocommit is on.
    pub const AUTOCOMMIT: u16 = 0x0002;
    /// Another result follows.
    pub const MORE_RESULTS_EXISTS: u16 = 0x0008;
    /// Backslash is an ordinary character in strings.
    pub const NO_BACKSLASH_ESCAPES: u16 = 0x0200;
    /// The open transaction is READ ONLY.
    pub const IN_TRANS_READONLY: u16 = 0x2000;
    /// The OK packet carries changes of the session's state.
    pub const SESSION_STATE_CHANGED: u16 = 0x4000;
}

/// Kinds of session state change in an OK packet.
pub mod session_track {
    /// A system variable has a new value.
    pub const SYSTEM_VARIABLES: u8 = 0;
    /// The default database changed.
    pub const SCHEMA: u8 = 1;
    /// Transactions were committed.
    pub const GTIDS: u8 = 3;
}

/// Commands: the first byte of a client's packet.
pub mod command {
    /// Close the connection.
    pub const QUIT: u8 = 0x01;
    /// Change the default database.
    pub const INIT_DB: u8 = 0x02;
    /// Statements as text.
    pub const QUERY: u8 = 0x03;
    /// The columns of a table, the old way.
    pub const FIELD_LIST: u8 = 0x04;
    /// Several kinds of FLUSH, a bit for each.
    pub const REFRESH: u8 = 0x07;
    /// One line about the server.
    pub const STATISTICS: u8 = 0x09;
    /// End another connection.
    pub const PROCESS_KILL: u8 = 0x0c;
    /// Is anybody there?
    pub const PING: u8 = 0x0e;
    /// Log in again.
    pub const CHANGE_USER: u8 = 0x11;
    /// Send the binlog from a position on.
    pub const BINLOG_DUMP: u8 = 0x12;
    /// A replica says who it is.
    pub const REGISTER_SLAVE: u8 = 0x15;
    /// Prepare a statement.
    pub const STMT_PREPARE: u8 = 0x16;
    /// Execute a prepared statement.
    pub const STMT_EXECUTE: u8 = 0x17;
    /// A piece of a long parameter.
    pub const STMT_SEND_LONG_DATA: u8 = 0x18;
    /// Forget a prepared statement; has no reply.
    pub const STMT_CLOSE: u8 = 0x19;
    /// Drop a prepared statement's long parameters and cursor.
    pub const STMT_RESET: u8 = 0x1a;
    /// Turn multi-statements on or off.
    pub const SET_OPTION: u8 = 0x1b;
    /// Rows from a cursor.
    pub const STMT_FETCH: u8 = 0x1c;
    /// Send the binlog's transactions that are not in a set.
    pub const BINLOG_DUMP_GTID: u8 = 0x1e;
    /// Make the session as new.
    pub const RESET_CONNECTION: u8 = 0x1f;
}

/// Column flags in a column definition.
pub mod column_flag {
    /// Never NULL.
    pub const NOT_NULL: u16 = 1;
    /// Part of the primary key.
    pub const PRI_KEY: u16 = 2;
    /// Part of a unique key.
    pub const UNIQUE_KEY: u16 = 4;
    /// Part of a non-unique key.
    pub const MULTIPLE_KEY: u16 = 8;
    /// BLOB or TEXT.
    pub const BLOB: u16 = 16;
    /// Unsigned.
    pub const UNSIGNED: u16 = 32;
    /// Shown with zeros before it.
    pub const ZEROFILL: u16 = 64;
    /// Binary collation, or a computed number.
    pub const BINARY: u16 = 128;
    /// ENUM.
    pub const ENUM: u16 = 256;
    /// AUTO_INCREMENT.
    pub const AUTO_INCREMENT: u16 = 512;
    /// SET.
    pub const SET: u16 = 2048;
    /// No default value, although NOT NULL.
    pub const NO_DEFAULT_VALUE: u16 = 4096;
    /// Set to the present time by an UPDATE.
    pub const ON_UPDATE_NOW: u16 = 8192;
    /// A number.
    pub const NUM: u16 = 32768;
}

/// The collation of columns that are bytes or numbers.
pub const BINARY_COLLATION: u16 = 63;
