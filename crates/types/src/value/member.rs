//! What an ENUM or SET column holds: a number, and the text that it stands for.

/// A value of an ENUM or SET.
#[derive(Debug, PartialEq, Eq)]
pub struct Member {
    /// Of an ENUM the place in its list, from 1, and 0 for the empty text that stands for an error; of a SET one bit an
    /// element.
    pub number: u64,
    /// What is shown.
    pub text: Box<str>,
}

impl Member {
    /// What stands for an error in an ENUM, and for nothing in a SET.
    pub fn none() -> Member {
        Member { number: 0, text: "".into() }
    }
}
