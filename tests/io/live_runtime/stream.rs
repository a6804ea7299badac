//! A nettrace stream, parsed far enough to see that nothing is missing: its objects follow one
//! another up to the last byte.

/// `Nettrace`, and the length and name of the serializer.
const HEAD: &[u8] = b"Nettrace\x14\0\0\0!FastSerialization.1";
const TRACE_LEN: usize = 48;
const BEGIN_PRIVATE_OBJECT: u8 = 5;
const END_OBJECT: u8 = 6;
const NULL_REFERENCE: u8 = 1;

/// The state of a stream. Blocks are checked as they arrive, and not kept: a stream may be long.
#[derive(Default)]
pub(super) struct Stream {
    /// What is not yet checked, which begins at `at` of the stream.
    rest: Vec<u8>,
    at: u64,
    blocks: u64,
    ended: bool,
}

impl Stream {
    pub(super) fn take(&mut self, bytes: &[u8]) {
        self.rest.extend_from_slice(bytes);
        let mut gone = 0;
        while let Some(len) = self.object(gone) {
            gone += len;
        }
        self.rest.drain(..gone);
        self.at += gone as u64;
    }

    pub(super) fn len(&self) -> u64 {
        self.at + self.rest.len() as u64
    }

    pub(super) fn blocks(&self) -> u64 {
        self.blocks
    }

    /// The length of what begins at `from` of the rest; `None` if it is incomplete.
    fn object(&mut self, from: usize) -> Option<usize> {
        let (bytes, at) = (&self.rest[from..], self.at + from as u64);
        let u32_at = |index: usize| {
            Some(u32::from_le_bytes(bytes.get(index..index + 4)?.try_into().unwrap()) as usize)
        };
        if at == 0 {
            assert_eq!(bytes.get(..HEAD.len())?, HEAD);
            return Some(HEAD.len());
        }
        let first = *bytes.first()?;
        assert!(!self.ended, "{} bytes behind the end", bytes.len());
        if first == NULL_REFERENCE {
            self.ended = true;
            return Some(1);
        }
        // BeginPrivateObject twice, no type of the type, version, least version, name.
        assert_eq!(
            bytes.get(..3)?,
            [BEGIN_PRIVATE_OBJECT, BEGIN_PRIVATE_OBJECT, NULL_REFERENCE],
            "at {at}"
        );
        let name_len = u32_at(11)?;
        assert!(name_len < 64, "at {at}: a name of {name_len} bytes");
        let (name, payload) = (bytes.get(15..15 + name_len)?, 16 + name_len);
        let end = if name == b"Trace" {
            payload + TRACE_LEN
        } else {
            // Blocks are aligned to four bytes of the stream.
            let padding = (at + payload as u64 + 4).wrapping_neg() % 4;
            payload + 4 + usize::try_from(padding).unwrap() + u32_at(payload)?
        };
        assert_eq!(*bytes.get(end)?, END_OBJECT, "at {at}: {}", String::from_utf8_lossy(name));
        self.blocks += 1;
        Some(end + 1)
    }

    /// Fails unless the last byte of the stream was its end.
    #[track_caller]
    pub(super) fn assert_whole(&self) {
        assert!(
            self.ended,
            "the stream is cut at {}, with {} blocks before",
            self.len(),
            self.blocks
        );
    }
}
