//! Statements as trees of text that can be made smaller.

/// A piece of a statement.
#[derive(Clone, Debug)]
pub enum Part {
    Text(String),
    /// One after another.
    All(Vec<Part>),
    /// What may be left out.
    Optional(Box<Part>),
    /// What something shorter may stand for.
    Or(Box<Part>, String),
}

impl From<&str> for Part {
    fn from(text: &str) -> Part {
        Part::Text(text.to_owned())
    }
}

impl From<String> for Part {
    fn from(text: String) -> Part {
        Part::Text(text)
    }
}

/// Puts parts together.
#[macro_export]
macro_rules! parts {
    ($($part:expr),* $(,)?) => { $crate::part::Part::All(vec![$($crate::part::Part::from($part)),*]) };
}

impl Part {
    pub fn optional(self) -> Part {
        Part::Optional(Box::new(self))
    }

    pub fn or(self, shorter: impl Into<String>) -> Part {
        Part::Or(Box::new(self), shorter.into())
    }

    pub fn sql(&self) -> String {
        match self {
            Part::Text(text) => text.clone(),
            Part::All(parts) => parts.iter().map(Part::sql).collect(),
            Part::Optional(part) | Part::Or(part, _) => part.sql(),
        }
    }

    /// The same with one thing less.
    pub fn smaller(&self) -> Vec<Part> {
        match self {
            Part::Text(_) => Vec::new(),
            Part::All(parts) => {
                let mut found = Vec::new();
                for (at, part) in parts.iter().enumerate() {
                    for smaller in part.smaller() {
                        let mut copy = parts.clone();
                        copy[at] = smaller;
                        found.push(Part::All(copy));
                    }
                }
                found
            }
            Part::Optional(part) => {
                let kept = part.smaller().into_iter().map(Part::optional);
                std::iter::once(Part::from("")).chain(kept).collect()
            }
            Part::Or(part, shorter) => {
                let kept = part.smaller().into_iter().map(|part| part.or(shorter.clone()));
                std::iter::once(Part::from(shorter.as_str())).chain(kept).collect()
            }
        }
    }
}
