//! Dates, times and time zones.
/// d
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Date { year: u16, month: u8, day: u8 }
/// dt
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DateTime { packed: i64, fsp: u8 }
/// ts
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Timestamp { micros: i64, fsp: u8 }
/// t
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Time { micros: i64, fsp: u8 }
/// A fixed offset from UTC.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TimeZone { /// Seconds east of UTC.
    pub offset_seconds: i32 }
