//! Optimizer hints: of `/*+ ... */` after SELECT the time limit is obeyed. To the lexer they are comments.

use std::time::Duration;

/// `MAX_EXECUTION_TIME(milliseconds)` of the outermost SELECT; none if that is 0, as in MySQL.
pub(crate) fn max_execution_time(sql: &[u8]) -> Option<Duration> {
    let sql = sql.trim_ascii_start();
    let (word, rest) = sql.split_at_checked(b"SELECT".len())?;
    if !word.eq_ignore_ascii_case(b"SELECT") {
        return None;
    }
    let hints = rest.trim_ascii_start().strip_prefix(b"/*+")?;
    let end = hints.windows(2).position(|two| two == b"*/")?;
    let hints = String::from_utf8_lossy(&hints[..end]).to_ascii_uppercase();
    let (_, limit) = hints.split_once("MAX_EXECUTION_TIME")?;
    let (limit, _) = limit.trim_start().strip_prefix('(')?.split_once(')')?;
    let limit = limit.trim().parse().ok().filter(|limit| *limit > 0)?;
    Some(Duration::from_millis(limit))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_hint_of_the_outermost_select_counts() {
        let limit = |sql: &str| max_execution_time(sql.as_bytes()).map(|limit| limit.as_millis());
        assert_eq!(limit("SELECT /*+ MAX_EXECUTION_TIME(1000) */ 1"), Some(1000));
        assert_eq!(limit(" select/*+ NO_INDEX(t) max_execution_time ( 20 ) */ 1"), Some(20));
        assert_eq!(limit("SELECT /*+ MAX_EXECUTION_TIME(0) */ 1"), None);
        assert_eq!(limit("SELECT /*+ MAX_EXECUTION_TIME(x) */ 1"), None);
        assert_eq!(limit("SELECT /* MAX_EXECUTION_TIME(5) */ 1"), None);
        assert_eq!(limit("SELECT 1 /*+ MAX_EXECUTION_TIME(5) */"), None);
        assert_eq!(limit("SELECT /*+ MAX_EXECUTION_TIME(5"), None);
        assert_eq!(limit("SELEC"), None);
        assert_eq!(limit("SELÉCT /*+ MAX_EXECUTION_TIME(5) */"), None);
    }
}
