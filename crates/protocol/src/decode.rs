//! Bounds-checked reading of the protocol's primitive types.

/// A packet that does not follow the format; the text says which part of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("malformed packet: {0}")]
pub struct Malformed(pub &'static str);

/// Reads a packet from front to back. Every method fails rather than read past the end.
#[derive(Clone, Copy, Debug)]
pub struct Decoder<'a> {
    rest: &'a [u8],
}

impl<'a> Decoder<'a> {
    /// Reads `bytes`.
    pub fn new(bytes: &'a [u8]) -> Self {
        Decoder { rest: bytes }
    }

    /// What has not been read yet.
    pub fn rest(&self) -> &'a [u8] {
        self.rest
    }

    /// Whether everything has been read.
    pub fn is_empty(&self) -> bool {
        self.rest.is_empty()
    }

    /// The next `count` bytes.
    pub fn bytes(&mut self, count: usize, what: &'static str) -> Result<&'a [u8], Malformed> {
        let (head, rest) = self.rest.split_at_checked(count).ok_or(Malformed(what))?;
        self.rest = rest;
        Ok(head)
    }

    fn array<const N: usize>(&mut self, what: &'static str) -> Result<[u8; N], Malformed> {
        let (head, rest) = self.rest.split_first_chunk::<N>().ok_or(Malformed(what))?;
        self.rest = rest;
        Ok(*head)
    }

    /// One byte.
    pub fn u8(&mut self, what: &'static str) -> Result<u8, Malformed> {
        Ok(self.array::<1>(what)?[0])
    }

    /// Two bytes, little end first.
    pub fn u16(&mut self, what: &'static str) -> Result<u16, Malformed> {
        Ok(u16::from_le_bytes(self.array(what)?))
    }

    /// Four bytes, little end first.
    pub fn u32(&mut self, what: &'static str) -> Result<u32, Malformed> {
        Ok(u32::from_le_bytes(self.array(what)?))
    }

    /// Eight bytes, little end first.
    pub fn u64(&mut self, what: &'static str) -> Result<u64, Malformed> {
        Ok(u64::from_le_bytes(self.array(what)?))
    }

    /// Everything up to the next zero byte, which is skipped.
    pub fn nul_terminated(&mut self, what: &'static str) -> Result<&'a [u8], Malformed> {
        let at = self.rest.iter().position(|byte| *byte == 0).ok_or(Malformed(what))?;
        let text = &self.rest[..at];
        self.rest = &self.rest[at + 1..];
        Ok(text)
    }

    /// As [`Decoder::nul_terminated`], or all that is left when no zero byte follows.
    pub fn nul_terminated_or_rest(&mut self) -> &'a [u8] {
        self.nul_terminated("string").unwrap_or_else(|_| std::mem::take(&mut self.rest))
    }

    /// An integer of 1, 3, 4 or 9 bytes.
    pub fn length_encoded_int(&mut self, what: &'static str) -> Result<u64, Malformed> {
        match self.u8(what)? {
            first @ 0..=0xfa => Ok(u64::from(first)),
            0xfc => Ok(u64::from(self.u16(what)?)),
            0xfd => {
                let [a, b, c] = self.array(what)?;
                Ok(u64::from(u32::from_le_bytes([a, b, c, 0])))
            }
            0xfe => self.u64(what),
            _ => Err(Malformed(what)),
        }
    }

    /// Bytes with their length, an integer of variable size, before them.
    pub fn length_encoded_bytes(&mut self, what: &'static str) -> Result<&'a [u8], Malformed> {
        let length = self.length_encoded_int(what)?;
        self.bytes(usize::try_from(length).map_err(|_| Malformed(what))?, what)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_integer_width_is_read() {
        let mut input = Decoder::new(&[7, 0xfc, 1, 2, 0xfd, 1, 2, 3, 0xfe, 1, 2, 3, 4, 5, 6, 7, 8]);
        assert_eq!(input.length_encoded_int("a"), Ok(7));
        assert_eq!(input.length_encoded_int("b"), Ok(0x0201));
        assert_eq!(input.length_encoded_int("c"), Ok(0x03_0201));
        assert_eq!(input.length_encoded_int("d"), Ok(0x0807_0605_0403_0201));
        assert!(input.is_empty());
    }

    #[test]
    fn lengths_beyond_the_packet_are_refused() {
        assert_eq!(Decoder::new(&[5, 1, 2]).length_encoded_bytes("x"), Err(Malformed("x")));
        let endless = [0xfe, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1];
        assert_eq!(Decoder::new(&endless).length_encoded_bytes("x"), Err(Malformed("x")));
        assert_eq!(Decoder::new(&[0xfb]).length_encoded_int("x"), Err(Malformed("x")));
        assert_eq!(Decoder::new(b"abc").nul_terminated("x"), Err(Malformed("x")));
        assert_eq!(Decoder::new(&[1, 2, 3]).u32("x"), Err(Malformed("x")));
    }
}
