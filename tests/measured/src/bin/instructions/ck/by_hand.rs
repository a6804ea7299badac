//! Any message of the mix: what a decoder by hand reads and writes that does not know which comes.

use super::{Bytes, Room, payload, room};

/// The units of a string without its NUL.
type Text<'a> = Option<&'a [u8]>;

/// What a payload has, in the order of the wire.
#[derive(Clone, Copy)]
pub enum Payload<'a> {
    Empty,
    Number(u32),
    Id(u64),
    Environment(u32, u16),
    Error(u32, Option<Text<'a>>),
    Path(Text<'a>),
    Variable([Text<'a>; 2]),
    Dump(Text<'a>, [u32; 2]),
    Attach(u32, [u8; 16], Text<'a>, &'a [u8]),
    Startup([u8; 16], Text<'a>),
    Info(u64, [u8; 16], [Text<'a>; 3]),
    Info2(u64, [u8; 16], [Text<'a>; 5]),
    Info3(u32, u64, [u8; 16], [Text<'a>; 6], &'a [u8]),
    Session(Session<'a>),
    Streaming(Session<'a>),
}

/// A session request: the parts that its command has.
#[derive(Clone, Copy)]
pub struct Session<'a> {
    buffer_and_format: [u32; 2],
    keywords: Option<u64>,
    rundown: Option<bool>,
    stacks: Option<bool>,
    /// How many providers, and their bytes.
    providers: (u32, &'a [u8]),
    buffer_mode: Option<u32>,
}

impl<'a> Bytes<'a, true> {
    #[inline(always)]
    fn u64(&mut self) -> Option<u64> {
        self.chunk().map(|bytes| u64::from_le_bytes(*bytes))
    }

    #[inline(always)]
    fn is(&mut self) -> Option<bool> {
        self.chunk::<1>().map(|[byte]| *byte != 0)
    }

    /// Providers, each checked: keywords, level, two strings, and what follows them.
    #[inline(always)]
    fn providers(&mut self, is_filtered: bool) -> Option<(u32, &'a [u8])> {
        let count = self.u32()?;
        let all = self.0;
        for _ in 0..count {
            self.chunk::<12>()?;
            self.string()?;
            self.string()?;
            if is_filtered {
                self.chunk::<1>()?;
                self.array::<4>()?;
            }
        }
        Some((count, &all[..all.len() - self.0.len()]))
    }
}

/// The request that is all of `bytes`.
pub fn request(bytes: &[u8]) -> Option<Payload<'_>> {
    let code = u16::from_be_bytes([*bytes.get(16)?, *bytes.get(17)?]);
    let mut rest = payload::<true>(bytes, code)?;
    Some(match code {
        0x0101..=0x0103 => Payload::Dump(rest.string()?, [rest.u32()?, rest.u32()?]),
        0x0201 => Payload::Id(rest.u64()?),
        0x0202..=0x0205 => {
            let buffer_and_format = [rest.u32()?, rest.u32()?];
            Payload::Session(Session {
                buffer_and_format,
                keywords: if code == 0x0205 { Some(rest.u64()?) } else { None },
                rundown: if matches!(code, 0x0203 | 0x0204) { Some(rest.is()?) } else { None },
                stacks: if code >= 0x0204 { Some(rest.is()?) } else { None },
                providers: rest.providers(false)?,
                buffer_mode: None,
            })
        }
        0x0206 | 0x0207 if rest.u32()? == 0 => Payload::Streaming(Session {
            buffer_and_format: [rest.u32()?, rest.u32()?],
            keywords: Some(rest.u64()?),
            rundown: None,
            stacks: Some(rest.is()?),
            providers: rest.providers(true)?,
            buffer_mode: if code == 0x0207 { Some(rest.u32()?) } else { None },
        }),
        0x0301 => {
            let (timeout, guid) = (rest.u32()?, *rest.chunk()?);
            Payload::Attach(timeout, guid, rest.string()?, rest.array::<1>()?)
        }
        0x0302 => Payload::Startup(*rest.chunk()?, rest.string()?),
        0x0400..=0x0402 | 0x0404 | 0x0406 | 0x0408 => Payload::Empty,
        0x0403 => Payload::Variable([rest.string()?, rest.string()?]),
        0x0405 => Payload::Number(rest.u32()?),
        0x0407 => Payload::Path(rest.string()?),
        _ => return None,
    })
}

/// The reply that is all of `bytes`, to a request with this code.
pub fn reply(bytes: &[u8], to: u16) -> Option<Payload<'_>> {
    if *bytes.get(17)? != 0 {
        let mut rest = payload::<true>(bytes, 0xffff)?;
        let code = rest.u32()?;
        let text = to == 0x0103 && !rest.0.is_empty();
        return Some(Payload::Error(code, if text { Some(rest.string()?) } else { None }));
    }
    let mut rest = payload::<true>(bytes, 0xff00)?;
    Some(match to {
        0x0201..=0x0207 => Payload::Id(rest.u64()?),
        0x0402 => Payload::Environment(rest.u32()?, u16::from_le_bytes(*rest.chunk()?)),
        0x0400 => Payload::Info(
            rest.u64()?,
            *rest.chunk()?,
            [rest.string()?, rest.string()?, rest.string()?],
        ),
        0x0404 => {
            let (id, cookie) = (rest.u64()?, *rest.chunk()?);
            let mut text = || rest.string();
            Payload::Info2(id, cookie, [text()?, text()?, text()?, text()?, text()?])
        }
        0x0408 => {
            let (version, id, cookie) = (rest.u32()?, rest.u64()?, *rest.chunk()?);
            let mut text = || rest.string();
            let texts = [text()?, text()?, text()?, text()?, text()?, text()?];
            Payload::Info3(version, id, cookie, texts, rest.0)
        }
        _ => Payload::Number(rest.u32()?),
    })
}

#[inline(always)]
fn text_len(text: &Text<'_>) -> usize {
    text.map_or(4, |units| units.len() + 6)
}

#[inline(always)]
fn texts_len(texts: &[Text<'_>]) -> usize {
    texts.iter().map(text_len).sum()
}

impl Room<'_> {
    #[inline(always)]
    fn u32(&mut self, number: u32) {
        self.put(number.to_le_bytes());
    }

    #[inline(always)]
    fn units(&mut self, text: &Text<'_>) {
        let Some(units) = text else { return self.u32(0) };
        self.u32((units.len() / 2) as u32 + 1);
        self.bytes(units);
        self.put([0; 2]);
    }

    #[inline(always)]
    fn texts(&mut self, texts: &[Text<'_>]) {
        texts.iter().for_each(|text| self.units(text));
    }
}

impl Session<'_> {
    #[inline(always)]
    fn len(&self) -> usize {
        let Self { keywords, rundown, stacks, providers: (_, providers), .. } = self;
        let flags = usize::from(rundown.is_some()) + usize::from(stacks.is_some());
        12 + keywords.map_or(0, |_| 8) + flags + providers.len()
    }

    /// All but the providers.
    #[inline(always)]
    fn front(&self, room: &mut Room<'_>) {
        self.buffer_and_format.iter().for_each(|number| room.u32(*number));
        if let Some(keywords) = self.keywords {
            room.put(keywords.to_le_bytes());
        }
        for flag in [self.rundown, self.stacks].into_iter().flatten() {
            room.put([u8::from(flag)]);
        }
        room.u32(self.providers.0);
    }
}

impl Payload<'_> {
    /// The code of a reply.
    pub fn code(&self) -> u16 {
        if let Self::Error(..) = self { 0xffff } else { 0xff00 }
    }

    fn len(&self) -> usize {
        match self {
            Self::Empty => 0,
            Self::Number(_) => 4,
            Self::Id(_) => 8,
            Self::Environment(..) => 6,
            Self::Error(_, text) => 4 + text.as_ref().map_or(0, text_len),
            Self::Path(path) => text_len(path),
            Self::Variable(texts) => texts_len(texts),
            Self::Dump(path, _) => text_len(path) + 8,
            Self::Attach(_, _, path, data) => 24 + text_len(path) + data.len(),
            Self::Startup(_, path) => 16 + text_len(path),
            Self::Info(_, _, texts) => 24 + texts_len(texts),
            Self::Info2(_, _, texts) => 24 + texts_len(texts),
            Self::Info3(_, _, _, texts, tail) => 28 + texts_len(texts) + tail.len(),
            Self::Session(session) => session.len(),
            Self::Streaming(session) => 4 + session.len() + session.buffer_mode.map_or(0, |_| 4),
        }
    }

    /// Writes the message.
    pub fn write(&self, code: u16, buffer: &mut [u8]) -> Option<usize> {
        let len = 20 + self.len();
        let mut room = room(buffer, len)?;
        room.header(code, len);
        match self {
            Self::Empty => {}
            Self::Number(number) => room.u32(*number),
            Self::Id(id) => room.put(id.to_le_bytes()),
            Self::Environment(size, future) => {
                room.u32(*size);
                room.put(future.to_le_bytes());
            }
            Self::Error(code, text) => {
                room.u32(*code);
                text.iter().for_each(|text| room.units(text));
            }
            Self::Path(path) => room.units(path),
            Self::Variable(texts) => room.texts(texts),
            Self::Dump(path, numbers) => {
                room.units(path);
                numbers.iter().for_each(|number| room.u32(*number));
            }
            Self::Attach(timeout, guid, path, data) => {
                room.u32(*timeout);
                room.put(*guid);
                room.units(path);
                room.u32(data.len() as u32);
                room.bytes(data);
            }
            Self::Startup(guid, path) => {
                room.put(*guid);
                room.units(path);
            }
            Self::Info(id, cookie, texts) => {
                room.put(id.to_le_bytes());
                room.put(*cookie);
                room.texts(texts);
            }
            Self::Info2(id, cookie, texts) => {
                room.put(id.to_le_bytes());
                room.put(*cookie);
                room.texts(texts);
            }
            Self::Info3(version, id, cookie, texts, tail) => {
                room.u32(*version);
                room.put(id.to_le_bytes());
                room.put(*cookie);
                room.texts(texts);
                room.bytes(tail);
            }
            Self::Session(session) => {
                session.front(&mut room);
                room.bytes(session.providers.1);
            }
            Self::Streaming(session) => {
                room.u32(0);
                session.front(&mut room);
                // Item by item: a flag has one encoding, and was read from any byte.
                let mut rest = Bytes::<true>(session.providers.1);
                for _ in 0..session.providers.0 {
                    let (numbers, name, arguments) =
                        (rest.chunk::<12>()?, rest.string()?, rest.string()?);
                    room.put(*numbers);
                    room.texts(&[name, arguments]);
                    room.put([u8::from(rest.is()?)]);
                    let ids = rest.array::<4>()?;
                    room.u32((ids.len() / 4) as u32);
                    room.bytes(ids);
                }
                session.buffer_mode.iter().for_each(|mode| room.u32(*mode));
            }
        }
        Some(len)
    }
}
