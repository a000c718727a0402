//! What the literals of a statement are: a text has the connection's collation, or the character set of its introducer.
//!
//! The parser has them in UTF-8, whatever the client wrote in; what is about bytes means those that the client sent.

use std::sync::Arc;

use super::ParamKind;
use crate::collation::Collation;
use crate::error::{ER_INVALID_CHARACTER_STRING, SqlError};
use crate::types::Charset;
use crate::value::Value;

/// Most bytes of an invalid text that a message shows.
const SHOWN: usize = 3;

/// How literals are read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Literals {
    /// `character_set_client`: of the bytes that were sent.
    pub(crate) client: Charset,
    /// `collation_connection`
    pub(crate) collation: Collation,
}

impl Literals {
    /// Of definitions and of statements without a connection.
    pub(crate) const DEFAULT: Literals = Literals { client: Charset::Utf8mb4, collation: Collation::DEFAULT };

    /// Whether each literal is what the parser makes of it.
    pub(crate) fn are_plain(self) -> bool {
        let connection = self.collation.charset();
        !self.client.is_recoded()
            && (connection == Charset::Utf8mb4 || (connection == self.client && !self.are_bytes()))
    }

    /// Whether texts are bytes: those of a connection in the character set binary.
    fn are_bytes(self) -> bool {
        self.collation == Collation::Binary
    }

    /// The value of a text without an introducer, or of a parameter.
    pub(crate) fn text(self, text: Arc<str>) -> Value {
        let connection = self.collation.charset();
        if self.are_bytes() {
            return Value::bytes(&*self.client.encode(&text));
        }
        match connection.first_outside(&text) {
            // What is not converted is not looked at.
            Some(_) if connection != self.client => Value::text(&*connection.within(&text)),
            _ => Value::Text(text),
        }
    }

    /// A literal that was taken out of a statement: a number, a text without an introducer, or one of `_binary`.
    pub(crate) fn taken_out(self, value: Value) -> Value {
        match value {
            Value::Text(text) => self.text(text),
            Value::Bytes(bytes) => Value::bytes(self.sent(&bytes)),
            other => other,
        }
    }

    /// A parameter that a client sent.
    pub(crate) fn parameter(self, value: Value) -> Value {
        match value {
            Value::Text(text) => self.text(text),
            other => other,
        }
    }

    /// The value of a variable that stands for a parameter, and its kind: a text of another character set is converted.
    pub(crate) fn of_variable(self, value: Value, collation: Collation) -> (Value, Option<ParamKind>) {
        let connection = self.collation.charset();
        match value {
            Value::Text(text) if self.are_bytes() || collation.charset() == connection => {
                (Value::Text(text), Some(ParamKind::Collated(collation)))
            }
            Value::Text(text) => (Value::text(&*connection.within(&text)), Some(ParamKind::Collated(self.collation))),
            other => {
                let kind = ParamKind::of(&other);
                (other, kind)
            }
        }
    }

    /// The value of a text or of bytes with an introducer, as the parser has it; 1300 if that are no characters.
    pub(crate) fn introduced(self, charset: Charset, literal: &Value) -> Result<Value, SqlError> {
        let bytes = match literal {
            Value::Text(text) => self.sent(text.as_bytes()),
            Value::Bytes(bytes) => self.sent(bytes),
            // What is written in digits has the bytes that they say.
            Value::Hex(bytes) => bytes.to_vec(),
            _ => return Err(SqlError::internal("an introducer stands before what is no string")),
        };
        if charset == Charset::Binary {
            return Ok(Value::bytes(bytes));
        }
        charset.decode(&bytes).map(|text| Value::text(&*text)).map_err(|at| {
            let shown: String = bytes[at..].iter().take(SHOWN).map(|byte| format!("{byte:02X}")).collect();
            SqlError::new(ER_INVALID_CHARACTER_STRING, &[&charset.name(), &shown])
        })
    }

    /// What the client sent of a literal.
    fn sent(self, bytes: &[u8]) -> Vec<u8> {
        match std::str::from_utf8(bytes) {
            Ok(text) => self.client.encode(text).into_owned(),
            Err(_) => bytes.to_vec(),
        }
    }

    /// What the values of a parameter are whose literal is of this kind. One that may be anything is a text where texts have
    /// bytes of their own: whoever wants its bytes has to ask for them.
    pub(crate) fn kind(self, kind: Option<ParamKind>) -> Option<ParamKind> {
        match kind {
            Some(ParamKind::Collated(collation)) => Some(ParamKind::Text(collation)),
            Some(ParamKind::Text(_)) if self.are_bytes() => Some(ParamKind::Binary),
            Some(ParamKind::Text(_)) => Some(ParamKind::Text(self.collation)),
            None if self.collation.charset().is_recoded() => Some(ParamKind::Text(self.collation)),
            other => other,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LATIN1: Literals = Literals { client: Charset::Latin1, collation: Collation::Latin1SwedishCi };

    #[test]
    fn bytes_are_those_that_were_sent() {
        let text = Value::text("é");
        let sent = |charset| LATIN1.introduced(charset, &text).unwrap();
        assert_eq!(sent(Charset::Binary), Value::bytes(&b"\xe9"[..]));
        assert_eq!(sent(Charset::Latin1), text);
        assert_eq!(Literals::DEFAULT.introduced(Charset::Latin1, &text).unwrap(), Value::text("Ã©"));
        assert_eq!(LATIN1.introduced(Charset::Utf8mb4, &Value::Hex((*b"\xc3\xa9").into())).unwrap(), text);
        assert_eq!(LATIN1.introduced(Charset::Utf8mb4, &text).unwrap_err().errno, 1300);
        assert_eq!(LATIN1.taken_out(Value::bytes("é".as_bytes())), Value::bytes(&b"\xe9"[..]));
        assert_eq!(LATIN1.parameter(Value::bytes("é".as_bytes())), Value::bytes("é".as_bytes()));
    }

    #[test]
    fn a_variable_is_no_text_that_was_sent() {
        let bytes = Literals { client: Charset::Latin1, collation: Collation::Binary };
        let (text, bin) = (Value::text("ğ"), Collation::Utf8mb4Bin);
        assert_eq!(bytes.of_variable(text.clone(), bin), (text.clone(), Some(ParamKind::Collated(bin))));
        assert_eq!(Literals::DEFAULT.of_variable(text.clone(), bin), (text.clone(), Some(ParamKind::Collated(bin))));
        let of_connection = Some(ParamKind::Collated(LATIN1.collation));
        assert_eq!(LATIN1.of_variable(text, bin), (Value::text("?"), of_connection));
        assert_eq!(LATIN1.of_variable(Value::Int(1), bin), (Value::Int(1), Some(ParamKind::Integer)));
        assert_eq!(bytes.kind(Some(ParamKind::Collated(bin))), Some(ParamKind::Text(bin)));
    }

    #[test]
    fn a_text_is_within_the_character_set_of_the_connection() {
        let of = |client, collation| Literals { client, collation };
        let text = |literals: Literals| literals.text("é\u{1f600}".into());
        assert_eq!(text(of(Charset::Utf8mb4, Collation::Latin1Bin)), Value::text("é?"));
        assert_eq!(text(of(Charset::Utf8mb3, Collation::Utf8mb3Bin)), Value::text("é\u{1f600}"));
        assert_eq!(text(of(Charset::Utf8mb4, Collation::Binary)), Value::bytes("é\u{1f600}".as_bytes()));
        let plain = [
            (Charset::Utf8mb4, Collation::Utf8mb4Bin, true),
            (Charset::Utf8mb3, Collation::Utf8mb3Bin, true),
            (Charset::Utf8mb4, Collation::Utf8mb3Bin, false),
            (Charset::Latin1, Collation::Latin1Bin, false),
            (Charset::Binary, Collation::Binary, false),
        ];
        for (client, collation, plain) in plain {
            assert_eq!(of(client, collation).are_plain(), plain, "{client:?} {collation:?}");
        }
    }
}
