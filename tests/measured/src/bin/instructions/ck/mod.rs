//! The fewest sound checks, in straight-line code, for one message each: what a decoder that knows
//! only this message would do. With `CHECKED = false` the same without a check, for bytes that are
//! known to be right.

pub mod by_hand;

pub const MAGIC: [u8; 14] = *b"DOTNET_IPC_V1\0";

/// Bytes from which pieces are taken at the front.
#[derive(Clone, Copy)]
pub struct Bytes<'a, const CHECKED: bool>(pub &'a [u8]);

impl<'a, const CHECKED: bool> Bytes<'a, CHECKED> {
    #[inline(always)]
    pub fn chunk<const N: usize>(&mut self) -> Option<&'a [u8; N]> {
        if CHECKED {
            let (chunk, rest) = self.0.split_first_chunk::<N>()?;
            self.0 = rest;
            Some(chunk)
        } else {
            // SAFETY: only for bytes that hold the message.
            unsafe {
                let chunk = &*self.0.as_ptr().cast::<[u8; N]>();
                self.0 = self.0.get_unchecked(N..);
                Some(chunk)
            }
        }
    }

    #[inline(always)]
    pub fn take(&mut self, n: usize) -> Option<&'a [u8]> {
        let (taken, rest) = if CHECKED {
            self.0.split_at_checked(n)?
        } else {
            // SAFETY: only for bytes that hold the message.
            unsafe { self.0.split_at_unchecked(n) }
        };
        self.0 = rest;
        Some(taken)
    }

    #[inline(always)]
    pub fn u32(&mut self) -> Option<u32> {
        self.chunk().map(|bytes| u32::from_le_bytes(*bytes))
    }

    /// The units of a string without its NUL; `None` inside where it is absent.
    #[inline(always)]
    pub fn string(&mut self) -> Option<Option<&'a [u8]>> {
        let count = self.u32()?;
        if count == 0 {
            return Some(None);
        }
        let units = self.take(count as usize * 2)?;
        match units.split_last_chunk::<2>() {
            Some((text, [0, 0])) => Some(Some(text)),
            Some((text, _)) if !CHECKED => Some(Some(text)),
            _ => None,
        }
    }

    /// The bytes of an array of items of `N` bytes.
    #[inline(always)]
    pub fn array<const N: usize>(&mut self) -> Option<&'a [u8]> {
        let count = self.u32()?;
        self.take(count as usize * N)
    }
}

/// The payload of a message that is all of `bytes`.
#[inline(always)]
pub fn payload<const CHECKED: bool>(bytes: &[u8], command: u16) -> Option<Bytes<'_, CHECKED>> {
    let len = bytes.len();
    let mut rest = Bytes::<CHECKED>(bytes);
    let header = rest.chunk::<20>()?;
    if CHECKED {
        let word = |at: usize| u64::from_le_bytes(*header[at..].first_chunk().unwrap());
        let magic = |at: usize| u64::from_le_bytes(*MAGIC[at..].first_chunk().unwrap());
        let size = u16::from_le_bytes([header[14], header[15]]);
        let is_magic = word(0) == magic(0) && word(6) == magic(6);
        if !is_magic
            || usize::from(size) != len
            || u16::from_be_bytes([header[16], header[17]]) != command
        {
            return None;
        }
    }
    Some(rest)
}

/// Where bytes are written; the room was checked before.
pub struct Room<'a>(pub &'a mut [u8]);

impl Room<'_> {
    #[inline(always)]
    pub fn put<const N: usize>(&mut self, bytes: [u8; N]) {
        let (place, rest) = std::mem::take(&mut self.0).split_first_chunk_mut::<N>().unwrap();
        *place = bytes;
        self.0 = rest;
    }

    #[inline(always)]
    pub fn bytes(&mut self, bytes: &[u8]) {
        let (place, rest) = std::mem::take(&mut self.0).split_at_mut(bytes.len());
        place.copy_from_slice(bytes);
        self.0 = rest;
    }

    #[inline(always)]
    pub fn header(&mut self, command: u16, size: usize) {
        self.put(MAGIC);
        self.put((size as u16).to_le_bytes());
        self.put(command.to_be_bytes());
        self.put([0; 2]);
    }

    /// A string whose text was counted before.
    #[inline(always)]
    pub fn string(&mut self, text: Option<&str>) {
        let Some(text) = text else { return self.put([0; 4]) };
        let count = units(text);
        self.put((count as u32 + 1).to_le_bytes());
        let (place, rest) = std::mem::take(&mut self.0).split_at_mut(count * 2);
        if count == text.len() {
            for (pair, byte) in place.chunks_exact_mut(2).zip(text.bytes()) {
                pair.copy_from_slice(&[byte, 0]);
            }
        } else {
            for (pair, unit) in place.chunks_exact_mut(2).zip(text.encode_utf16()) {
                pair.copy_from_slice(&unit.to_le_bytes());
            }
        }
        self.0 = rest;
        self.put([0; 2]);
    }
}

/// How many units a text has.
#[inline(always)]
pub fn units(text: &str) -> usize {
    if text.is_ascii() { text.len() } else { text.encode_utf16().count() }
}

/// How many bytes a string takes.
#[inline(always)]
pub fn string_len(text: Option<&str>) -> usize {
    text.map_or(4, |text| 4 + 2 * (units(text) + 1))
}

/// The front of the buffer, where there is room for `len` bytes.
#[inline(always)]
pub fn room(buffer: &mut [u8], len: usize) -> Option<Room<'_>> {
    (len <= 65_535).then_some(())?;
    buffer.get_mut(..len).map(Room)
}
