//! Takes fields from bytes that nobody has vouched for.

/// An event's body is not what its type says.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{what} at byte {at} of the event's body")]
pub struct DecodeError {
    /// What was found.
    pub what: &'static str,
    /// Offset in the body, bytes.
    pub at: usize,
}

/// Walks through a slice; every step checks that it stays inside.
#[derive(Clone, Debug)]
pub(super) struct Fields<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl<'a> Fields<'a> {
    pub(super) fn new(bytes: &'a [u8]) -> Fields<'a> {
        Fields { bytes, at: 0 }
    }

    /// Bytes taken so far.
    pub(super) fn at(&self) -> usize {
        self.at
    }

    pub(super) fn is_at_end(&self) -> bool {
        self.at == self.bytes.len()
    }

    /// An error at the present place.
    pub(super) fn error(&self, what: &'static str) -> DecodeError {
        DecodeError { what, at: self.at }
    }

    pub(super) fn take(&mut self, len: usize) -> Result<&'a [u8], DecodeError> {
        let end = self.at.checked_add(len).ok_or_else(|| self.error("length too long"))?;
        let taken = self.bytes.get(self.at..end).ok_or_else(|| self.error("bytes cut off"))?;
        self.at = end;
        Ok(taken)
    }

    /// A length-encoded number of bytes, and those.
    pub(super) fn take_counted(&mut self) -> Result<&'a [u8], DecodeError> {
        let len = self.lenenc_len()?;
        self.take(len)
    }

    /// What has not been taken yet.
    pub(super) fn peek(&self) -> &'a [u8] {
        &self.bytes[self.at..]
    }

    pub(super) fn rest(&mut self) -> &'a [u8] {
        let rest = &self.bytes[self.at..];
        self.at = self.bytes.len();
        rest
    }

    /// The rest, as text.
    pub(super) fn rest_text(&mut self) -> String {
        String::from_utf8_lossy(self.rest()).into_owned()
    }

    pub(super) fn array<const N: usize>(&mut self) -> Result<[u8; N], DecodeError> {
        let mut array = [0; N];
        array.copy_from_slice(self.take(N)?);
        Ok(array)
    }

    pub(super) fn u8(&mut self) -> Result<u8, DecodeError> {
        Ok(self.take(1)?[0])
    }

    pub(super) fn u16(&mut self) -> Result<u16, DecodeError> {
        self.array().map(u16::from_le_bytes)
    }

    pub(super) fn u32(&mut self) -> Result<u32, DecodeError> {
        self.array().map(u32::from_le_bytes)
    }

    pub(super) fn u64(&mut self) -> Result<u64, DecodeError> {
        self.array().map(u64::from_le_bytes)
    }

    /// A little-endian integer of up to eight bytes.
    pub(super) fn uint_le(&mut self, len: usize) -> Result<u64, DecodeError> {
        Ok(self.take(len)?.iter().rev().fold(0, |value, byte| value << 8 | u64::from(*byte)))
    }

    pub(super) fn lenenc(&mut self) -> Result<u64, DecodeError> {
        match self.u8()? {
            byte @ 0..=0xfa => Ok(u64::from(byte)),
            0xfc => self.uint_le(2),
            0xfd => self.uint_le(3),
            0xfe => self.uint_le(8),
            _ => Err(DecodeError { what: "not a length-encoded integer", at: self.at - 1 }),
        }
    }

    pub(super) fn lenenc_len(&mut self) -> Result<usize, DecodeError> {
        let value = self.lenenc()?;
        usize::try_from(value).map_err(|_| self.error("length too long"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lengths_are_read_in_each_of_their_forms() {
        let cases: [(&[u8], u64); 6] = [
            (&[0], 0),
            (&[0xfa], 0xfa),
            (&[0xfc, 1, 2], 0x201),
            (&[0xfd, 1, 2, 3], 0x3_0201),
            (&[0xfe, 1, 2, 3, 4, 5, 6, 7, 8], 0x0807_0605_0403_0201),
            (&[0xfe, 0, 0, 0, 0, 0, 0, 0, 0x80], 1 << 63),
        ];
        for (bytes, expected) in cases {
            let mut fields = Fields::new(bytes);
            assert_eq!((fields.lenenc().ok(), fields.at), (Some(expected), bytes.len()));
            assert!(Fields::new(&bytes[..bytes.len() - 1]).lenenc().is_err(), "{bytes:?} cut off");
        }
        for byte in [0xfb, 0xff] {
            let refused = Fields { bytes: &[1, byte], at: 1 }.lenenc();
            assert_eq!(refused.map_err(|error| error.at), Err(1));
        }
    }
}
