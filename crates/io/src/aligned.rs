//! Memory that a direct write accepts.

use std::alloc::{Layout, alloc_zeroed, dealloc, handle_alloc_error};
use std::ops::{Deref, DerefMut};
use std::ptr::NonNull;

/// The unit of direct writes in bytes: offsets, lengths and addresses are multiples of it.
pub const BLOCK: usize = 4096;

/// A growable buffer whose memory starts at a multiple of [`BLOCK`]. It dereferences to the bytes
/// put in so far.
pub struct AlignedBuf {
    memory: NonNull<u8>,
    capacity: usize,
    len: usize,
}

// SAFETY: the buffer owns its memory alone, as a `Vec<u8>` does.
unsafe impl Send for AlignedBuf {}
// SAFETY: shared references only read.
unsafe impl Sync for AlignedBuf {}

impl AlignedBuf {
    /// An empty buffer without memory.
    pub const fn new() -> AlignedBuf {
        AlignedBuf { memory: NonNull::dangling(), capacity: 0, len: 0 }
    }

    /// An empty buffer with room for at least `bytes`.
    pub fn with_capacity(bytes: usize) -> AlignedBuf {
        let mut buf = AlignedBuf::new();
        buf.reserve(bytes);
        buf
    }

    /// Bytes it can hold before it must grow; a multiple of [`BLOCK`].
    pub fn capacity(&self) -> usize {
        self.capacity
    }

    /// Forgets the content, keeps the memory.
    pub fn clear(&mut self) {
        self.len = 0;
    }

    /// Makes room for `more` bytes after the present ones.
    ///
    /// # Panics
    /// When the size overflows or the system has no memory, as `Vec` does.
    pub fn reserve(&mut self, more: usize) {
        let needed = self.len.checked_add(more).expect("buffer size fits the address space");
        if needed <= self.capacity {
            return;
        }
        let wanted = needed.max(self.capacity.saturating_mul(2));
        let capacity = wanted.checked_next_multiple_of(BLOCK).expect("buffer size fits the address space");
        let layout = Self::memory_layout(capacity);
        // SAFETY: the layout's size is not zero, because `needed` is above the old capacity.
        let Some(memory) = NonNull::new(unsafe { alloc_zeroed(layout) }) else { handle_alloc_error(layout) };
        // SAFETY: both areas are valid for `len` bytes and distinct.
        unsafe { memory.copy_from_nonoverlapping(self.memory, self.len) };
        self.free();
        self.memory = memory;
        self.capacity = capacity;
    }

    /// Appends `bytes`.
    pub fn extend_from_slice(&mut self, bytes: &[u8]) {
        self.reserve(bytes.len());
        // SAFETY: `reserve` made room for these bytes after `len`, and `bytes` is not in this buffer
        // because it is borrowed mutably.
        unsafe {
            self.memory.add(self.len).as_ptr().copy_from_nonoverlapping(bytes.as_ptr(), bytes.len());
        }
        self.len += bytes.len();
    }

    /// Cuts or extends with zeros, to `len` bytes.
    pub fn resize(&mut self, len: usize) {
        if len > self.len {
            self.reserve(len - self.len);
            // SAFETY: the bytes from the old to the new length lie within the capacity.
            unsafe { self.memory.add(self.len).as_ptr().write_bytes(0, len - self.len) };
        }
        self.len = len;
    }

    /// Extends with zeros to a multiple of [`BLOCK`].
    pub fn pad_to_block(&mut self) {
        self.resize(self.len.next_multiple_of(BLOCK));
    }

    fn memory_layout(capacity: usize) -> Layout {
        Layout::from_size_align(capacity, BLOCK).expect("buffer size fits the address space")
    }

    fn free(&mut self) {
        if self.capacity > 0 {
            // SAFETY: allocated in `reserve` with the same layout, and not freed since.
            unsafe { dealloc(self.memory.as_ptr(), Self::memory_layout(self.capacity)) };
            self.capacity = 0;
        }
    }
}

impl Drop for AlignedBuf {
    fn drop(&mut self) {
        self.free();
    }
}

impl Default for AlignedBuf {
    fn default() -> AlignedBuf {
        AlignedBuf::new()
    }
}

impl Deref for AlignedBuf {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        // SAFETY: the first `len` bytes are initialised; a dangling pointer goes with `len` 0.
        unsafe { std::slice::from_raw_parts(self.memory.as_ptr(), self.len) }
    }
}

impl DerefMut for AlignedBuf {
    fn deref_mut(&mut self) -> &mut [u8] {
        // SAFETY: as in `deref`, and the borrow is exclusive.
        unsafe { std::slice::from_raw_parts_mut(self.memory.as_ptr(), self.len) }
    }
}

impl std::fmt::Debug for AlignedBuf {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "AlignedBuf({} of {} bytes)", self.len, self.capacity)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_stays_aligned_while_it_grows() {
        let mut buf = AlignedBuf::new();
        for round in 0..100u32 {
            buf.extend_from_slice(&[round as u8; 777]);
            assert_eq!(buf.as_ptr() as usize % BLOCK, 0);
        }
        for (round, chunk) in buf.chunks(777).enumerate() {
            assert!(chunk.iter().all(|byte| usize::from(*byte) == round));
        }
    }

    #[test]
    fn padding_of_a_reused_buffer_is_zero() {
        let mut buf = AlignedBuf::with_capacity(BLOCK);
        buf.extend_from_slice(&[0xff; BLOCK]);
        buf.clear();
        buf.extend_from_slice(b"short");
        buf.pad_to_block();
        assert_eq!(buf.len(), BLOCK);
        assert!(buf[5..].iter().all(|byte| *byte == 0));
    }
}
