//! Passwords in the texts of statements about accounts, which nobody else is to see.

use std::borrow::Cow;
use std::ops::Range;

use super::lexer::{Kind, Lexer};
use crate::types::SqlMode;

/// What stands for a password, as with MySQL.
const SECRET: &[u8] = b"<secret>";

/// `sql` without the passwords of CREATE USER, ALTER USER, SET PASSWORD and GRANT, also where it is not well formed.
pub fn without_passwords(sql: &[u8], sql_mode: SqlMode) -> Cow<'_, [u8]> {
    rest_without_passwords(sql, 0, sql_mode)
}

/// As [`without_passwords`], from `offset` on, which is at most the length of `sql`: what stands before it says where
/// passwords are. One that it is inside of is not shown either.
pub(super) fn rest_without_passwords(sql: &[u8], offset: usize, sql_mode: SqlMode) -> Cow<'_, [u8]> {
    let mut secrets = secrets(sql, sql_mode);
    secrets.retain(|secret| secret.end > offset);
    if secrets.is_empty() {
        return Cow::Borrowed(&sql[offset..]);
    }
    let mut shown = Vec::with_capacity(sql.len());
    let mut at = offset;
    for secret in secrets {
        shown.extend_from_slice(&sql[at..secret.start.max(at)]);
        shown.extend_from_slice(SECRET);
        at = secret.end;
    }
    shown.extend_from_slice(&sql[at..]);
    Cow::Owned(shown)
}

/// Where the passwords are.
fn secrets(sql: &[u8], sql_mode: SqlMode) -> Vec<Range<usize>> {
    const BEGINNINGS: [&[u8]; 4] = [b"CREATE", b"ALTER", b"SET", b"GRANT"];
    let is = |bytes: &[u8], word: &[u8]| bytes.eq_ignore_ascii_case(word);
    let mut lexer = Lexer::new(sql, sql_mode);
    let first = lexer.next();
    let begins = first.is_some_and(|first| BEGINNINGS.iter().any(|word| is(first.bytes(sql), word)));
    let mut secrets = Vec::new();
    // After IDENTIFIED or PASSWORD the strings that a BY, AS, REPLACE, = or ( comes before.
    let (mut of_account, mut expects) = (false, false);
    for lexeme in lexer.take_while(|_| begins) {
        let bytes = lexeme.bytes(sql);
        match lexeme.kind {
            Kind::Text | Kind::Bytes if expects => secrets.push(lexeme.start..lexeme.end),
            Kind::Word if is(bytes, b"IDENTIFIED") || is(bytes, b"PASSWORD") => of_account = true,
            _ => {}
        }
        let before_secret =
            [&b"BY"[..], b"AS", b"REPLACE"].iter().any(|word| is(bytes, word)) || matches!(bytes, b"=" | b":=" | b"(");
        expects = of_account && (before_secret || (expects && is(bytes, b"PASSWORD")));
    }
    secrets
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_rest_of_a_statement_begins_where_it_says() {
        let sql = b"CREATE TABLE t (a INT) PASSWORD='long enough' x";
        let rest =
            |offset| String::from_utf8_lossy(&rest_without_passwords(sql, offset, SqlMode::DEFAULT)).into_owned();
        assert_eq!(rest(23), "PASSWORD=<secret> x");
        assert_eq!(rest(34), "<secret> x", "inside of the password");
        assert_eq!(rest(46), "x");
    }

    #[test]
    fn passwords_are_not_shown_and_all_else_is() {
        for (sql, shown) in [
            (
                "CREATE USER a IDENTIFIED BY 'pw', b IDENTIFIED WITH x AS 'h' c",
                "CREATE USER a IDENTIFIED BY <secret>, b IDENTIFIED WITH x AS <secret> c",
            ),
            (
                "/* x */ alter user 'a'@'h' identified by \"p\\\"w\" expire",
                "/* x */ alter user 'a'@'h' identified by <secret> expire",
            ),
            ("SET PASSWORD FOR 'a' = PASSWORD('pw')", "SET PASSWORD FOR 'a' = PASSWORD(<secret>)"),
            ("set password='pw'", "set password=<secret>"),
            ("SET PASSWORD = 'pw' REPLACE 'old'", "SET PASSWORD = <secret> REPLACE <secret>"),
            ("ALTER USER a IDENTIFIED BY 'pw' REPLACE 'old'", "ALTER USER a IDENTIFIED BY <secret> REPLACE <secret>"),
            (
                "GRANT ALL ON *.* TO a IDENTIFIED BY PASSWORD 'pw'",
                "GRANT ALL ON *.* TO a IDENTIFIED BY PASSWORD <secret>",
            ),
            ("CREATE USR a IDENTIFIED BY 'not closed", "CREATE USR a IDENTIFIED BY <secret>"),
            ("SET @a = 'text'", "SET @a = 'text'"),
            ("SELECT 'IDENTIFIED BY', password = 'x'", "SELECT 'IDENTIFIED BY', password = 'x'"),
        ] {
            assert_eq!(String::from_utf8_lossy(&without_passwords(sql.as_bytes(), SqlMode::DEFAULT)), shown);
        }
    }
}
