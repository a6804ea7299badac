//! `Arbitrary` and [`Generate`] of every part of a payload.

use alloc::vec::Vec;

use ::arbitrary::{Arbitrary, Result, Unstructured};

use super::generate::put;
use super::{Choices, Generate};
use crate::hresult::HResult;
use crate::legacy::{
    DraftCollectTracing, DraftErrorCode, DraftProviderConfig, OldRequest, OldRequestType,
    ProviderConfigWithoutFilterData,
};
use crate::message::dump::{
    DumpFlags, DumpType, GenerateCoreDump, GenerateCoreDump2, GenerateCoreDump3,
};
use crate::message::eventpipe::{
    CollectTracing, CollectTracing2, CollectTracing3, CollectTracing4, CollectTracing5,
    CollectTracing6, EventFilter, EventLevel, Format, ProviderConfig, SessionBufferMode,
    SessionReply, SessionType, StopTracing, StreamingProviderConfig, StreamingSession,
    StreamingSession6, TracepointConfig, TracepointSet, UserEventsProviderConfig,
    UserEventsSession,
};
use crate::message::process::{
    ApplyStartupHook, DisablePerfMap, EnablePerfMap, PerfMapType, ProcessEnvironment,
    ProcessEnvironmentReply, ProcessInfo, ProcessInfo2, ProcessInfo2Reply, ProcessInfo3,
    ProcessInfo3Reply, ProcessInfoReply, ResumeRuntime, SetEnvironmentVariable, Tail,
};
use crate::message::profiler::{AttachProfiler, StartupProfiler};
use crate::message::server::ResultReply;
use crate::wire::{Guid, IpcString, Visit as _};

/// The type with another lifetime, if it has one.
macro_rules! generate {
    ($($Name:ident $(<$lt:lifetime>)?,)*) => {$(
        impl Generate for $Name $(<$lt>)? {
            generate!(of $Name $(<$lt>)?);

            fn generate(choices: &mut Choices<'_>, out: &mut Vec<u8>) {
                put::<Self>(choices, out);
            }
        }
    )*};
    (of $Name:ident) => { type Of<'o> = $Name; };
    (of $Name:ident <'_>) => { type Of<'o> = $Name<'o>; };
}

macro_rules! payloads {
    ([$($Name:ident,)*] [$($Borrowed:ident<'a>,)*]) => {
        $(
            impl<'a> Arbitrary<'a> for $Name {
                fn arbitrary(input: &mut Unstructured<'a>) -> Result<Self> {
                    Self::build(input)
                }
            }
        )*
        $(
            impl<'a> Arbitrary<'a> for $Borrowed<'a> {
                fn arbitrary(input: &mut Unstructured<'a>) -> Result<Self> {
                    Self::build(input)
                }
            }
        )*
        generate! { $($Name,)* $($Borrowed<'_>,)* }
    };
}

generate! { u8, u16, u32, u64, bool, }

impl Generate for &[u8] {
    type Of<'o> = &'o [u8];

    fn generate(choices: &mut Choices<'_>, out: &mut Vec<u8>) {
        put::<Self>(choices, out);
    }
}

payloads! {
    [
        DisablePerfMap,
        DraftErrorCode,
        DumpFlags,
        DumpType,
        EnablePerfMap,
        EventLevel,
        Format,
        Guid,
        HResult,
        OldRequest,
        OldRequestType,
        PerfMapType,
        ProcessEnvironment,
        ProcessEnvironmentReply,
        ProcessInfo,
        ProcessInfo2,
        ProcessInfo3,
        ResultReply,
        ResumeRuntime,
        SessionBufferMode,
        SessionReply,
        SessionType,
        StopTracing,
    ]
    [
        ApplyStartupHook<'a>,
        AttachProfiler<'a>,
        CollectTracing<'a>,
        CollectTracing2<'a>,
        CollectTracing3<'a>,
        CollectTracing4<'a>,
        CollectTracing5<'a>,
        CollectTracing6<'a>,
        DraftCollectTracing<'a>,
        DraftProviderConfig<'a>,
        EventFilter<'a>,
        GenerateCoreDump<'a>,
        GenerateCoreDump2<'a>,
        GenerateCoreDump3<'a>,
        IpcString<'a>,
        ProcessInfo2Reply<'a>,
        ProcessInfo3Reply<'a>,
        ProcessInfoReply<'a>,
        ProviderConfig<'a>,
        ProviderConfigWithoutFilterData<'a>,
        SetEnvironmentVariable<'a>,
        StartupProfiler<'a>,
        StreamingProviderConfig<'a>,
        StreamingSession<'a>,
        StreamingSession6<'a>,
        Tail<'a>,
        TracepointConfig<'a>,
        TracepointSet<'a>,
        UserEventsProviderConfig<'a>,
        UserEventsSession<'a>,
    ]
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
        let here = sources(&root.join("testing/arbitrary"));
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
