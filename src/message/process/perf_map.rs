//! `EnablePerfMap` and `DisablePerfMap`.

use super::empty_request;
use crate::command::Command;
use crate::message::{Request, server::ResultReply};
use crate::wire::{
    Field, Layout as _, WireError, WireErrorKind, macros::open_enum, macros::wire_struct,
};

open_enum! {
    /// What [`EnablePerfMap`] writes.
    ///
    /// ```
    /// use dotnet_diagnostics_ipc::message::process::PerfMapType;
    ///
    /// assert_eq!((PerfMapType::JIT_DUMP.0, PerfMapType(3).name()), (2, Some("PERFMAP")));
    /// ```
    pub enum PerfMapType {
        /// Nothing. Listed in the document, but refused (F-46).
        DISABLED = 0, "DISABLED";
        /// Both.
        ALL = 1, "ALL";
        /// A jitdump file.
        JIT_DUMP = 2, "JITDUMP";
        /// A perf map file.
        PERF_MAP = 3, "PERFMAP";
    }
}

wire_struct! {
    /// `EnablePerfMap`, `0x0405`. Since .NET 8.
    ///
    /// Answered by a [`ResultReply`].
    ///
    /// ```
    /// use dotnet_diagnostics_ipc::message::{Request as _, process::{EnablePerfMap, PerfMapType}};
    ///
    /// assert_eq!(EnablePerfMap { perf_map_type: PerfMapType::ALL }.encode_message(&mut [0; 24]), Ok(24));
    /// assert!(EnablePerfMap { perf_map_type: PerfMapType::DISABLED }.check_limits().is_err());
    /// ```
    pub struct EnablePerfMap {
        /// What to write.
        pub perf_map_type: PerfMapType = PerfMapType,
    }
}

impl Request<'_> for EnablePerfMap {
    const COMMAND: Command = Command::ENABLE_PERF_MAP;
    type Reply = ResultReply;

    fn check_values(&self) -> Result<(), WireError> {
        match self.perf_map_type.0 {
            // Compared as a signed number (P-44).
            1..=3 | 0x8000_0000.. => Ok(()),
            n => self.refuse(Field::PerfMapType, WireErrorKind::UnknownPerfMapType { map_type: n }),
        }
    }
}

empty_request! {
    /// `DisablePerfMap`, `0x0406`: no payload; answered by a [`ResultReply`]. Since .NET 8.
    ///
    /// The document prints its header with 0x0405 (F-45), which without payload kills a runtime (F-84).
    ///
    /// ```
    /// use dotnet_diagnostics_ipc::message::{Request as _, process::DisablePerfMap};
    ///
    /// let mut buffer = [0; 20];
    /// DisablePerfMap {}.encode_message(&mut buffer)?;
    /// assert_eq!(buffer[16..18], [0x04, 0x06]);
    /// # Ok::<(), dotnet_diagnostics_ipc::wire::EncodeError>(())
    /// ```
    DisablePerfMap, DISABLE_PERF_MAP, ResultReply
}
