//! Reads captures: the packets of this protocol in a pcapng or pcap file.

use alloc::{collections::BTreeMap, format, string::String, vec::Vec};

use super::Pasted;
use super::turns::{self, PastedTurn, is_message};

const SECTION: [u8; 4] = [0x0a, 0x0d, 0x0d, 0x0a];
const INTERFACE: u32 = 1;
const SIMPLE_PACKET: u32 = 3;
const ENHANCED_PACKET: u32 = 6;
/// The magic of pcap, with times in microseconds and in nanoseconds.
const PCAP: [u32; 2] = [0xa1b2_c3d4, 0xa1b2_3c4d];
const TCP: u8 = 6;
/// The flags of a segment.
const FIN: u8 = 1;
const SYN: u8 = 2;
const RST: u8 = 4;
const ACK: u8 = 16;

/// Returns whether a file begins as pcapng or pcap.
pub fn is_capture(file: &[u8]) -> bool {
    file.starts_with(&SECTION) || Cursor::of_pcap(file).is_some()
}

/// Returns the conversations of this protocol in a pcapng or pcap file, one after the other: over
/// TCP, or as written by `diagipc proxy --pcapng`. Their bytes are in the order of the packets.
///
/// # Errors
/// Fails if the file is cut or no capture, or has no packets of this protocol or a known link
/// layer.
pub fn read_capture(file: &[u8]) -> Result<Pasted, String> {
    let mut packets = Packets::default();
    match Cursor::of_pcap(file) {
        Some(cursor) => packets.read_pcap(cursor)?,
        None => packets.read_pcapng(file)?,
    }
    let mut pasted = Pasted::default();
    let (conversations, count) = (packets.conversations, packets.count);
    for conversation in conversations {
        if conversation.turns.iter().any(|turn| is_message(&turn.bytes)) {
            pasted.append(conversation.turns);
        }
    }
    if pasted.bytes.is_empty() {
        let others = packets.other_link.map(|link| format!("; link type {link} is not read"));
        let others = others.unwrap_or_default();
        return Err(format!(
            "none of the {count} packets begins with DOTNET_IPC_V1 or ADVR_V1{others}"
        ));
    }
    Ok(pasted)
}

/// The name of one side of a connection.
type Side<'b> = (&'b [u8], &'b [u8]);

#[derive(Default)]
struct Packets<'b> {
    count: usize,
    conversations: Vec<Conversation>,
    /// The newest conversation between two sides, and whether the key has its first side first.
    places: BTreeMap<(Side<'b>, Side<'b>), usize>,
    other_link: Option<u32>,
}

#[derive(Default)]
struct Conversation {
    turns: Vec<PastedTurn>,
    /// The next sequence number of each side.
    next: [Option<u32>; 2],
}

impl<'b> Packets<'b> {
    fn read_pcapng(&mut self, file: &'b [u8]) -> Result<(), String> {
        let mut cursor = Cursor { bytes: file, at: 0, is_big: false };
        let mut links = Vec::new();
        while cursor.at < file.len() {
            let start = cursor.at;
            self.read_block(&mut cursor, &mut links).ok_or_else(|| {
                format!("the capture is cut or wrong in the block at byte {start}")
            })?;
        }
        Ok(())
    }

    fn read_block(&mut self, cursor: &mut Cursor<'b>, links: &mut Vec<u32>) -> Option<()> {
        let is_section = cursor.rest().starts_with(&SECTION);
        if is_section {
            let order: [u8; 4] = cursor.rest().get(8..12)?.try_into().ok()?;
            cursor.is_big = u32::from_be_bytes(order) == 0x1a2b_3c4d;
            links.clear();
        }
        let (kind, len) = (cursor.u32()?, usize::try_from(cursor.u32()?).ok()?);
        let body = cursor.take(len.checked_sub(12)?)?;
        if len % 4 != 0 || usize::try_from(cursor.u32()?).ok()? != len {
            return None;
        }
        let mut body = Cursor { bytes: body, at: 0, is_big: cursor.is_big };
        match kind {
            INTERFACE if !is_section => links.push(u32::from(body.u16()?)),
            ENHANCED_PACKET => {
                let interface = usize::try_from(body.u32()?).ok()?;
                body.take(8)?;
                let (captured, whole) = (body.u32()?, body.u32()?);
                let data = body.take(usize::try_from(captured).ok()?)?;
                self.packet(*links.get(interface)?, data, whole.saturating_sub(captured));
            }
            SIMPLE_PACKET => {
                let whole = usize::try_from(body.u32()?).ok()?;
                let data = body.rest().get(..whole).unwrap_or(body.rest());
                let cut = whole.saturating_sub(data.len());
                self.packet(*links.first()?, data, u32::try_from(cut).ok()?);
            }
            _ => {}
        }
        Some(())
    }

    fn read_pcap(&mut self, mut cursor: Cursor<'b>) -> Result<(), String> {
        let wrong = |at| format!("the capture is cut in the packet at byte {at}");
        cursor.take(20).ok_or_else(|| wrong(0))?;
        // The upper bits contain the length of a checksum.
        let link = cursor.u32().ok_or_else(|| wrong(0))? & 0xffff;
        while !cursor.rest().is_empty() {
            let start = cursor.at;
            let mut read = || {
                cursor.take(8)?;
                let (captured, whole) = (cursor.u32()?, cursor.u32()?);
                let data = cursor.take(usize::try_from(captured).ok()?)?;
                Some((data, whole.saturating_sub(captured)))
            };
            let (data, cut) = read().ok_or_else(|| wrong(start))?;
            self.packet(link, data, cut);
        }
        Ok(())
    }

    /// Takes a packet, from which `cut` bytes are missing. Packets of other protocols are skipped.
    fn packet(&mut self, link: u32, data: &'b [u8], cut: u32) {
        self.count = self.count.saturating_add(1);
        let ip = match link {
            // `diagipc proxy` writes this: spec/GRAMMAR.md.
            147 if data.starts_with(b"DIPC\x01") => {
                self.proxied(data);
                return;
            }
            0 | 108 => data.get(4..),
            1 => ethernet(data),
            12 | 14 | 101 | 228 | 229 => Some(data),
            113 => data.get(16..),
            276 => data.get(20..),
            _ => {
                self.other_link = Some(link);
                return;
            }
        };
        ip.and_then(Segment::read).and_then(|segment| self.segment(&segment, cut));
    }

    fn proxied(&mut self, data: &'b [u8]) -> Option<()> {
        let [kind, from, descriptors] = *data.get(5..8)?.first_chunk()?;
        let connection = data.get(8..12)?;
        let bytes =
            data.get(12usize.saturating_add(if kind == 1 { descriptors.into() } else { 0 })..)?;
        let conversation = self.conversation((connection, b""), (b"", b""), kind == 0)?;
        if kind == 1 {
            turns::add(&mut conversation.turns, from == 0, bytes);
        }
        Some(())
    }

    fn segment(&mut self, segment: &Segment<'b>, cut: u32) -> Option<()> {
        let (from, to) = (segment.from, segment.to);
        let is_first = from < to;
        let (one, other) = if is_first { (from, to) } else { (to, from) };
        if segment.flags & RST != 0 {
            return None;
        }
        // A SYN without ACK means that the same ports are used again.
        let conversation = self.conversation(one, other, segment.flags & (SYN | ACK) == SYN)?;
        let next = conversation.next.get_mut(usize::from(is_first))?;
        let len = u32::try_from(segment.bytes.len()).unwrap_or(u32::MAX);
        let (mut bytes, mut gap) = (segment.bytes, 0);
        if let Some(expected) = *next {
            let ahead = segment.number.wrapping_sub(expected);
            if ahead > u32::MAX / 2 {
                // The segment was sent again, at least in part.
                let known = usize::try_from(ahead.wrapping_neg()).unwrap_or(usize::MAX);
                bytes = bytes.get(known..).unwrap_or_default();
            } else {
                gap = ahead;
            }
        }
        // SYN and FIN count as one byte each.
        let signs = (segment.flags & (SYN | FIN)).count_ones();
        let end = segment.number.wrapping_add(len).wrapping_add(cut).wrapping_add(signs);
        if next.is_none_or(|next| end.wrapping_sub(next) <= u32::MAX / 2) {
            *next = Some(end);
        }
        conversation.lack(gap);
        if !bytes.is_empty() {
            turns::add(&mut conversation.turns, is_first, bytes);
        }
        conversation.lack(if bytes.is_empty() { 0 } else { cut });
        Some(())
    }

    fn conversation(
        &mut self,
        one: Side<'b>,
        other: Side<'b>,
        is_new: bool,
    ) -> Option<&mut Conversation> {
        let count = self.conversations.len();
        let place = self.places.entry((one, other)).or_insert(count);
        if is_new {
            *place = count;
        }
        if *place == count {
            self.conversations.push(Conversation::default());
        }
        self.conversations.get_mut(*place)
    }
}

impl Conversation {
    fn lack(&mut self, count: u32) {
        if let Some(last) = self.turns.last_mut().filter(|_| count > 0) {
            last.gap = Some(format!("{count} bytes that the capture does not have, or has later"));
        }
    }
}

/// Returns what follows the header of Ethernet, and its tags of virtual networks.
fn ethernet(frame: &[u8]) -> Option<&[u8]> {
    let mut at = 12usize;
    while frame.get(at..)?.starts_with(&[0x81, 0]) {
        at = at.checked_add(4)?;
    }
    frame.get(at.checked_add(2)?..)
}

/// A segment of TCP.
struct Segment<'b> {
    from: Side<'b>,
    to: Side<'b>,
    number: u32,
    flags: u8,
    bytes: &'b [u8],
}

impl<'b> Segment<'b> {
    /// Reads a packet of IPv4, or of IPv6 without extension headers; `None` if it is another.
    fn read(packet: &'b [u8]) -> Option<Self> {
        let mut ip = Cursor { bytes: packet, at: 0, is_big: true };
        let version = ip.take(1)?.first()? >> 4;
        let (addresses, payload) = if version == 4 {
            let header = usize::from(packet.first()? & 0xf).checked_mul(4)?;
            if *packet.get(9)? != TCP {
                return None;
            }
            let total = usize::from(u16::from_be_bytes(*packet.get(2..)?.first_chunk()?));
            // A network card that splits segments itself leaves 0 here.
            let total = if total == 0 { packet.len() } else { total };
            (packet.get(12..20)?, packet.get(header..total.min(packet.len()))?)
        } else if version == 6 && *packet.get(6)? == TCP {
            let total = usize::from(u16::from_be_bytes(*packet.get(4..)?.first_chunk()?));
            let payload = packet.get(40..)?;
            let total = if total == 0 { payload.len() } else { total };
            (packet.get(8..40)?, payload.get(..total.min(payload.len()))?)
        } else {
            return None;
        };
        let (from, to) = addresses.split_at_checked(addresses.len() / 2)?;
        let header = usize::from(payload.get(12)? >> 4).checked_mul(4)?;
        Some(Self {
            from: (from, payload.get(..2)?),
            to: (to, payload.get(2..4)?),
            number: u32::from_be_bytes(*payload.get(4..)?.first_chunk()?),
            flags: *payload.get(13)?,
            bytes: payload.get(header..)?,
        })
    }
}

struct Cursor<'b> {
    bytes: &'b [u8],
    at: usize,
    is_big: bool,
}

impl<'b> Cursor<'b> {
    /// Creates a cursor at the start of a pcap file.
    fn of_pcap(file: &'b [u8]) -> Option<Self> {
        let magic = *file.first_chunk()?;
        let is_little = PCAP.contains(&u32::from_le_bytes(magic));
        let is_big = PCAP.contains(&u32::from_be_bytes(magic));
        (is_little || is_big).then_some(Self { bytes: file, at: 0, is_big })
    }

    fn rest(&self) -> &'b [u8] {
        self.bytes.get(self.at..).unwrap_or_default()
    }

    fn take(&mut self, count: usize) -> Option<&'b [u8]> {
        let taken = self.rest().get(..count)?;
        self.at = self.at.saturating_add(count);
        Some(taken)
    }

    fn u16(&mut self) -> Option<u16> {
        let bytes = *self.take(2)?.first_chunk()?;
        Some(if self.is_big { u16::from_be_bytes(bytes) } else { u16::from_le_bytes(bytes) })
    }

    fn u32(&mut self) -> Option<u32> {
        let bytes = *self.take(4)?.first_chunk()?;
        Some(if self.is_big { u32::from_be_bytes(bytes) } else { u32::from_le_bytes(bytes) })
    }
}

#[cfg(test)]
#[path = "capture_tests.rs"]
mod tests;
