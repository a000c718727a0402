use super::*;

fn lexemes(sql: &str) -> Vec<(Kind, &str)> {
    Lexer::new(sql.as_bytes(), SqlMode::DEFAULT).map(|l| (l.kind, &sql[l.start..l.end])).collect()
}

fn texts(sql: &str) -> Vec<&str> {
    lexemes(sql).into_iter().map(|(_, text)| text).collect()
}

#[test]
fn comments_and_space_vanish() {
    assert_eq!(texts("select -- x\n 1 # y\n /* z */ +2"), ["select", "1", "+", "2"]);
    assert_eq!(texts("1--2"), ["1", "-", "-", "2"]);
    assert_eq!(texts("1 --"), ["1"]);
    assert_eq!(texts("/* never ends"), Vec::<&str>::new());
}

#[test]
fn version_comments_are_read_and_mariadb_ones_are_not() {
    assert_eq!(texts("a /*!40101 b */ c /*!99999 d */ e /*M! f */ g /*! h */"), ["a", "b", "c", "e", "g", "h"]);
    assert_eq!(texts("/*!40100 SET @@SQL_MODE='' */"), ["SET", "@@SQL_MODE", "=", "''"]);
    assert_eq!(texts("/*! a 'b' */ 'c' /*! _utf8mb4 */"), ["a", "'b' */ 'c'", "_utf8mb4"]);
}

#[test]
fn numbers_names_and_points_are_distinguished() {
    assert_eq!(
        lexemes("1 1.5 .5 1e5 1.e-3 1a 1e t.1 0x41 0xZZ"),
        [
            (Kind::Number, "1"),
            (Kind::Number, "1.5"),
            (Kind::Number, ".5"),
            (Kind::Number, "1e5"),
            (Kind::Number, "1.e-3"),
            (Kind::Word, "1a"),
            (Kind::Word, "1e"),
            (Kind::Word, "t"),
            (Kind::Operator, "."),
            (Kind::Number, "1"),
            (Kind::Bytes, "0x41"),
            (Kind::Word, "0xZZ"),
        ]
    );
}

#[test]
fn strings_end_at_their_own_quote_and_join_their_neighbours() {
    assert_eq!(
        texts(r#"'it''s' , "a\"b" , 'a' 'b' , _binary'x' , N'y'"#),
        ["'it''s'", ",", r#""a\"b""#, ",", "'a' 'b'", ",", "_binary'x'", ",", "N'y'"]
    );
    assert_eq!(texts("'never ends"), ["'never ends"]);
}

#[test]
fn variables_keep_their_scope_and_quotes() {
    assert_eq!(texts("@a.b @`x y` @@session.sql_mode @@`max`"), ["@a.b", "@`x y`", "@@session.sql_mode", "@@`max`"]);
}

#[test]
fn any_bytes_lex_to_their_end() {
    for seed in 0..2000_u32 {
        let mut state = seed.wrapping_mul(2_654_435_761) | 1;
        let bytes: Vec<u8> = (0..40)
            .map(|_| {
                state ^= state << 13;
                state ^= state >> 17;
                state ^= state << 5;
                b"'\"`\\/*!-# \0@?.;0x1e9ab<>=:|&\xff\xc3"[state as usize % 30]
            })
            .collect();
        let mut end = 0;
        for lexeme in Lexer::new(&bytes, SqlMode::DEFAULT) {
            assert!(lexeme.start >= end && lexeme.end > lexeme.start && lexeme.end <= bytes.len(), "{bytes:?}");
            end = lexeme.end;
        }
    }
}
