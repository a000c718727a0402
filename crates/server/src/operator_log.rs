//! Messages for the operator, on standard error, one line each.

use std::fmt::Display;
use std::time::SystemTime;

use cohort_sql::types::temporal::DateTime;

/// Something worth knowing.
pub fn note(message: impl Display) {
    write("Note", &message);
}

/// Something that may become a problem.
pub fn warning(message: impl Display) {
    write("Warning", &message);
}

/// Something that went wrong.
pub fn error(message: impl Display) {
    write("Error", &message);
}

fn write(level: &str, message: &dyn Display) {
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    let time = DateTime::from_micros(now.as_micros() as i64, 3);
    let time = time.map(|time| time.to_string()).unwrap_or_default();
    eprintln!("{} [{level}] {message}", time.replace(' ', "T") + "Z");
}
