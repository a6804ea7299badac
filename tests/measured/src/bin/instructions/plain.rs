//! A plain client: owned values, a `Vec` that grows, every read checked where it is.

pub struct Reader<'a>(pub &'a [u8]);

impl Reader<'_> {
    pub fn u8(&mut self) -> Option<u8> {
        let (byte, rest) = self.0.split_first()?;
        self.0 = rest;
        Some(*byte)
    }

    pub fn u16(&mut self) -> Option<u16> {
        self.take(2)?.try_into().ok().map(u16::from_le_bytes)
    }

    pub fn u32(&mut self) -> Option<u32> {
        self.take(4)?.try_into().ok().map(u32::from_le_bytes)
    }

    pub fn u64(&mut self) -> Option<u64> {
        self.take(8)?.try_into().ok().map(u64::from_le_bytes)
    }

    pub fn take(&mut self, n: usize) -> Option<&[u8]> {
        let (taken, rest) = self.0.split_at_checked(n)?;
        self.0 = rest;
        Some(taken)
    }

    pub fn string(&mut self) -> Option<Option<String>> {
        let count = self.u32()? as usize;
        let Some(last) = count.checked_sub(1) else { return Some(None) };
        let units: Vec<u16> = self
            .take(count * 2)?
            .chunks_exact(2)
            .map(|unit| u16::from_le_bytes([unit[0], unit[1]]))
            .collect();
        (units[last] == 0).then_some(())?;
        Some(Some(String::from_utf16(&units[..last]).ok()?))
    }

    pub fn list<T>(&mut self, mut item: impl FnMut(&mut Self) -> Option<T>) -> Option<Vec<T>> {
        let count = self.u32()?;
        let mut items = Vec::new();
        for _ in 0..count {
            items.push(item(self)?);
        }
        Some(items)
    }
}

/// The payload of a message that is all of `bytes`.
pub fn payload(bytes: &[u8], command: u16) -> Option<Reader<'_>> {
    let mut reader = Reader(bytes);
    if reader.take(14)? != b"DOTNET_IPC_V1\0" || usize::from(reader.u16()?) != bytes.len() {
        return None;
    }
    (reader.take(2)? == command.to_be_bytes()).then_some(())?;
    reader.u16()?;
    Some(reader)
}

/// The message with this payload.
pub fn message(command: u16, payload: impl FnOnce(&mut Vec<u8>)) -> Vec<u8> {
    let mut bytes = Vec::new();
    bytes.extend_from_slice(b"DOTNET_IPC_V1\0\0\0");
    bytes.extend_from_slice(&command.to_be_bytes());
    bytes.extend_from_slice(&[0; 2]);
    payload(&mut bytes);
    let size = (bytes.len() as u16).to_le_bytes();
    bytes[14..16].copy_from_slice(&size);
    bytes
}

pub fn string(bytes: &mut Vec<u8>, text: Option<&str>) {
    let Some(text) = text else { return bytes.extend_from_slice(&[0; 4]) };
    bytes.extend_from_slice(&(text.encode_utf16().count() as u32 + 1).to_le_bytes());
    for unit in text.encode_utf16() {
        bytes.extend_from_slice(&unit.to_le_bytes());
    }
    bytes.extend_from_slice(&[0; 2]);
}

/// To the front of a buffer.
pub fn into(buffer: &mut [u8], bytes: Vec<u8>) -> Option<usize> {
    buffer.get_mut(..bytes.len())?.copy_from_slice(&bytes);
    Some(bytes.len())
}
