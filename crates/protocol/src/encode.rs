//! Writing of the protocol's primitive types.

/// Appends an integer in 1, 3, 4 or 9 bytes.
pub fn put_length_encoded_int(out: &mut Vec<u8>, value: u64) {
    let bytes = value.to_le_bytes();
    match value {
        0..=0xfa => out.push(bytes[0]),
        0xfb..=0xffff => {
            out.push(0xfc);
            out.extend_from_slice(&bytes[..2]);
        }
        0x1_0000..=0xff_ffff => {
            out.push(0xfd);
            out.extend_from_slice(&bytes[..3]);
        }
        _ => {
            out.push(0xfe);
            out.extend_from_slice(&bytes);
        }
    }
}

/// Appends bytes with their length before them.
pub fn put_length_encoded_bytes(out: &mut Vec<u8>, bytes: &[u8]) {
    put_length_encoded_int(out, bytes.len() as u64);
    out.extend_from_slice(bytes);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::decode::Decoder;

    #[test]
    fn integers_at_the_edges_of_each_width_come_back() {
        for value in [0, 0xfa, 0xfb, 0xffff, 0x1_0000, 0xff_ffff, 0x100_0000, u64::MAX] {
            let mut out = Vec::new();
            put_length_encoded_int(&mut out, value);
            let mut input = Decoder::new(&out);
            assert_eq!(input.length_encoded_int("value"), Ok(value));
            assert!(input.is_empty(), "{value} left bytes behind");
        }
    }
}
