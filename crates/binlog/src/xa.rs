//! Names of XA transactions.

use std::fmt;

/// The name that a client gave an XA transaction. In order of format id, gtrid and bqual.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct XaId {
    format_id: u32,
    gtrid: Box<[u8]>,
    bqual: Box<[u8]>,
}

impl XaId {
    /// Most bytes of a gtrid, and of a bqual.
    pub const PART_BYTES_MAX: usize = 64;
    /// The format id of names that give none.
    pub const DEFAULT_FORMAT_ID: u32 = 1;
    /// The largest format id: readers take it as signed.
    pub const FORMAT_ID_MAX: u32 = i32::MAX as u32;

    /// A name; `None` when a part of it is too long or too large.
    pub fn new(gtrid: &[u8], bqual: &[u8], format_id: u32) -> Option<XaId> {
        let fits = |part: &[u8]| part.len() <= XaId::PART_BYTES_MAX;
        let sound = fits(gtrid) && fits(bqual) && format_id <= XaId::FORMAT_ID_MAX;
        sound.then(|| XaId { format_id, gtrid: gtrid.into(), bqual: bqual.into() })
    }

    /// Which scheme the name follows; the server does not look into it.
    pub fn format_id(&self) -> u32 {
        self.format_id
    }

    /// The global transaction's part.
    pub fn gtrid(&self) -> &[u8] {
        &self.gtrid
    }

    /// The branch's part.
    pub fn bqual(&self) -> &[u8] {
        &self.bqual
    }
}

/// As the statements in the binlog have it: `X'6162',X'',1`.
impl fmt::Display for XaId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for part in [&self.gtrid, &self.bqual] {
            f.write_str("X'")?;
            part.iter().try_for_each(|byte| write!(f, "{byte:02x}"))?;
            f.write_str("',")?;
        }
        write!(f, "{}", self.format_id)
    }
}
