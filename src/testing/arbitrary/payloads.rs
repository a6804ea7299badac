//! `Arbitrary` and [`Generate`] of every part of a payload.

use alloc::vec::Vec;

use ::arbitrary::{Arbitrary, Result, Unstructured};

use super::generate::put;
use super::{Choices, Generate};
use crate::command::table::{each_command, each_reply};
use crate::hresult::HResult;
use crate::legacy::{
    DraftCollectTracing, DraftErrorCode, DraftProviderConfig, OldRequest, OldRequestType,
};
use crate::message::dump::{DumpFlags, DumpType};
use crate::message::eventpipe::{
    EventFilter, EventLevel, Format, ProviderConfig, SessionBufferMode, SessionType,
    StreamingProviderConfig, StreamingSession, StreamingSession6, TracepointConfig, TracepointSet,
    UserEventsProviderConfig, UserEventsSession,
};
use crate::message::process::{PerfMapType, Tail};
use crate::message::{dump, eventpipe, process, profiler, server};
use crate::wire::{Guid, IpcString, Visit as _};

/// The type with another lifetime, if it has one.
macro_rules! generate {
    ($($Type:ident $(:: $Name:ident)? $(<$lt:lifetime>)?,)*) => {$(
        impl<'a> Generate for $Type $(::$Name)? $(<$lt>)? {
            generate!(of ($Type $(::$Name)?) $($lt)?);

            fn generate(choices: &mut Choices<'_>, out: &mut Vec<u8>) {
                put::<Self>(choices, out);
            }
        }
    )*};
    (of ($($Type:tt)*)) => { type Of<'o> = $($Type)*; };
    (of ($($Type:tt)*) $lt:lifetime) => { type Of<'o> = $($Type)*<'o>; };
}

macro_rules! payloads {
    ($($Type:ident $(:: $Name:ident)? $(<$lt:lifetime>)?,)*) => {
        $(
            impl<'a> Arbitrary<'a> for $Type $(::$Name)? $(<$lt>)? {
                fn arbitrary(input: &mut Unstructured<'a>) -> Result<Self> {
                    Self::build(input)
                }
            }
        )*
        generate! { $($Type $(::$Name)? $(<$lt>)?,)* }
    };
}

generate! { u8, u16, u32, u64, bool, }

impl Generate for &[u8] {
    type Of<'o> = &'o [u8];

    fn generate(choices: &mut Choices<'_>, out: &mut Vec<u8>) {
        put::<Self>(choices, out);
    }
}

macro_rules! requests {
    ($($(#[$meta:meta])* $CONST:ident = $code:literal, $set:literal $module:ident::$Request:ident $(<$lt:lifetime>)?,
       since ($major:literal, $minor:literal), $reply:ident, $continuation:ident;)*) => {
        payloads! { $($module::$Request $(<$lt>)?,)* }
    };
}

macro_rules! replies {
    ($($(#[$meta:meta])* $Variant:ident($module:ident::$Reply:ident $(<$lt:lifetime>)?), announces $What:ident { $($field:ident),* };)*) => {
        payloads! { $($module::$Reply $(<$lt>)?,)* }
    };
}

each_command!(requests);
each_reply!(replies);

// The types of their fields.
payloads! {
    DraftCollectTracing<'a>,
    DraftErrorCode,
    DraftProviderConfig<'a>,
    DumpFlags,
    DumpType,
    EventFilter<'a>,
    EventLevel,
    Format,
    Guid,
    HResult,
    IpcString<'a>,
    OldRequest,
    OldRequestType,
    PerfMapType,
    ProviderConfig<'a>,
    SessionBufferMode,
    SessionType,
    StreamingProviderConfig<'a>,
    StreamingSession6<'a>,
    StreamingSession<'a>,
    Tail<'a>,
    TracepointConfig<'a>,
    TracepointSet<'a>,
    UserEventsProviderConfig<'a>,
    UserEventsSession<'a>,
}

#[cfg(test)]
mod tests {
    extern crate std;
    use std::{fs, path::Path, string::String, vec::Vec};

    /// The sources below `path`.
    fn sources(path: &Path) -> String {
        let mut text = String::new();
        for entry in fs::read_dir(path).unwrap().map(|entry| entry.unwrap().path()) {
            text +=
                &if entry.is_dir() { sources(&entry) } else { fs::read_to_string(&entry).unwrap() };
        }
        text
    }

    /// The types declared by `text` itself or by a macro that takes the name and its constant.
    fn declared(text: &str) -> Vec<&str> {
        let lines = text.lines().map(str::trim);
        let names = lines.filter_map(|line| {
            let (name, rest) = line.split_once(", ").unwrap_or_default();
            let of_macro = rest
                .split_once(", ")
                .filter(|(constant, _)| !constant.is_empty() && is_constant(constant));
            let named = line
                .strip_prefix("pub struct ")
                .or(line.strip_prefix("pub enum "))
                .or(of_macro.map(|_| name))?;
            let name = named.split(|c: char| !c.is_ascii_alphanumeric()).next()?;
            name.starts_with(|c: char| c.is_ascii_uppercase()).then_some(name)
        });
        names.collect()
    }

    fn is_constant(text: &str) -> bool {
        text.bytes().all(|b| b.is_ascii_uppercase() || b.is_ascii_digit() || b == b'_')
    }

    #[test]
    fn every_payload_type_is_listed() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
        let here = sources(&root.join("testing/arbitrary")) + &sources(&root.join("command"));
        let listed: Vec<&str> = here.split(|c: char| !c.is_ascii_alphanumeric()).collect();
        let (messages, legacy) = (sources(&root.join("message")), sources(&root.join("legacy")));
        let declared: Vec<_> = declared(&messages).into_iter().chain(declared(&legacy)).collect();
        assert!(
            ["ProcessInfo", "CollectTracing6", "GenerateCoreDump3", "StopTracing"]
                .iter()
                .all(|name| declared.contains(name))
        );
        for name in declared {
            assert!(
                listed.contains(&name),
                "{name} has no `Arbitrary`: add it to the list of payloads"
            );
        }
    }
}
