//! The messages as users of `binrw` and `deku` declare them: owned, with the counts as fields.
#![cfg(feature = "peers")]

use std::io::Cursor;

use binrw::{BinRead, BinWrite};
use deku::{DekuContainerRead, DekuContainerWrite, DekuRead, DekuWrite};

pub fn binrw_reads<T: for<'a> BinRead<Args<'a> = ()> + binrw::meta::ReadEndian>(
    bytes: &'static [u8],
) -> Option<T> {
    let mut cursor = Cursor::new(bytes);
    T::read(&mut cursor).ok().filter(|_| cursor.position() == bytes.len() as u64)
}

pub fn binrw_writes<T: for<'a> BinWrite<Args<'a> = ()> + binrw::meta::WriteEndian>(
    value: &T,
    buffer: &mut [u8],
) -> Option<usize> {
    let mut cursor = Cursor::new(buffer);
    value.write(&mut cursor).ok()?;
    usize::try_from(cursor.position()).ok()
}

pub fn deku_reads<T: DekuContainerRead<'static>>(bytes: &'static [u8]) -> Option<T> {
    T::from_bytes((bytes, 0)).ok().filter(|((rest, _), _)| rest.is_empty()).map(|(_, value)| value)
}

pub fn deku_writes<T: DekuContainerWrite>(value: &T, buffer: &mut [u8]) -> Option<usize> {
    value.to_slice(buffer).ok()
}

#[derive(Clone, Debug, BinRead, BinWrite, DekuRead, DekuWrite)]
#[brw(little, magic = b"DOTNET_IPC_V1\0")]
#[deku(
    endian = "endian",
    ctx = "endian: deku::ctx::Endian",
    ctx_default = "deku::ctx::Endian::Little",
    magic = b"DOTNET_IPC_V1\0"
)]
pub struct Header {
    pub size: u16,
    pub set: u8,
    pub id: u8,
    pub reserved: u16,
}

/// The `count` units, the NUL included.
#[derive(Clone, Debug, BinRead, BinWrite, DekuRead, DekuWrite)]
#[brw(little)]
#[deku(
    endian = "endian",
    ctx = "endian: deku::ctx::Endian",
    ctx_default = "deku::ctx::Endian::Little"
)]
pub struct Text {
    pub count: u32,
    #[br(count = count)]
    #[deku(count = "count")]
    pub units: Vec<u16>,
}

macro_rules! messages {
    ($($Name:ident { $($field:ident: $t:ty,)* })*) => {$(
        #[derive(Clone, Debug, BinRead, BinWrite, DekuRead, DekuWrite)]
        #[brw(little)]
        #[deku(endian = "endian", ctx = "endian: deku::ctx::Endian", ctx_default = "deku::ctx::Endian::Little")]
        pub struct $Name { $(pub $field: $t,)* }
    )*};
}

messages! {
    Empty { header: Header, }
    Number { header: Header, number: u32, }
    Session { header: Header, id: u64, }
    EnvironmentReply { header: Header, n_incoming_bytes: u32, future: u16, }
    SetVariable { header: Header, name: Text, value: Text, }
    Attach { header: Header, timeout: u32, guid: [u8; 16], path: Text, data: Data, }
    Info2 { header: Header, process_id: u64, cookie: [u8; 16], command_line: Text, os: Text, arch: Text, assembly: Text, version: Text, }
    Provider { keywords: u64, level: u32, name: Text, arguments: Text, }
    Collect2 { header: Header, buffer_mb: u32, format: u32, rundown: u8, providers: Providers, }
    Filtered { keywords: u64, level: u32, name: Text, arguments: Text, enable: u8, ids: Ids, }
    Collect5 { header: Header, session_type: u32, buffer_mb: u32, format: u32, rundown: u64, stacks: u8, providers: FilteredList, }
    UserReg { size: u32, bit: u8, bytes: u8, flags: u16, address: u64, name: u64, index: u32, padding: u32, }
}

#[derive(Clone, Debug, BinRead, BinWrite, DekuRead, DekuWrite)]
#[brw(little, magic = b"ADVR_V1\0")]
#[deku(
    endian = "endian",
    ctx = "endian: deku::ctx::Endian",
    ctx_default = "deku::ctx::Endian::Little",
    magic = b"ADVR_V1\0"
)]
pub struct Advertise {
    pub cookie: [u8; 16],
    pub process_id: u64,
    pub future: u16,
}

macro_rules! lists {
    ($($Name:ident of $t:ty,)*) => {$(
        #[derive(Clone, Debug, BinRead, BinWrite, DekuRead, DekuWrite)]
        #[brw(little)]
        #[deku(endian = "endian", ctx = "endian: deku::ctx::Endian", ctx_default = "deku::ctx::Endian::Little")]
        pub struct $Name {
            pub count: u32,
            #[br(count = count)]
            #[deku(count = "count")]
            pub items: Vec<$t>,
        }
    )*};
}

lists! {
    Data of u8,
    Ids of u32,
    Providers of Provider,
    FilteredList of Filtered,
    Block of Text,
}
