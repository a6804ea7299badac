//! Request a dump: the Dump commands, set `0x01`.

//! # Example
//!
//! Request a full dump:
//!
//! ```
//! use dotnet_diagnostics_ipc::message::Request as _;
//! use dotnet_diagnostics_ipc::message::dump::{DumpType, GenerateCoreDump};
//!
//! let request = GenerateCoreDump { dump_name: "/tmp/core".into(), dump_type: DumpType::FULL, diagnostics: 0 };
//! assert_eq!(request.encode_message(&mut [0; 64]), Ok(20 + 4 + 2 * 10 + 4 + 4));
//! ```

use super::{Request, server::ResultReply};
use crate::command::Command;
use crate::number_formats::number_formats;
use crate::wire::{
    Field, IpcString, Layout as _, WireError, WireErrorKind, macros::newtype, macros::open_enum,
    macros::wire_struct,
};

open_enum! {
    /// The contents of a dump.
    ///
    /// ```
    /// use dotnet_diagnostics_ipc::message::dump::DumpType;
    ///
    /// assert_eq!((DumpType::FULL.0, DumpType(2).name()), (4, Some("WithHeap")));
    /// ```
    pub enum DumpType {
        /// Stacks and modules.
        NORMAL = 1, "Normal";
        /// Stacks, modules and heaps.
        WITH_HEAP = 2, "WithHeap";
        /// Like `NORMAL`, without personal data.
        TRIAGE = 3, "Triage";
        /// Everything.
        FULL = 4, "Full";
    }
}

/// The flags of [`GenerateCoreDump2`] and [`GenerateCoreDump3`] as bits (F-50). Unknown bits are
/// kept.
///
/// ```
/// use dotnet_diagnostics_ipc::message::dump::DumpFlags;
///
/// let flags = DumpFlags::LOGGING | DumpFlags::CRASH_REPORT;
/// assert_eq!(format!("{flags:#b}"), "0b101");
/// assert!(flags.contains(DumpFlags::LOGGING) && !flags.contains(DumpFlags::VERBOSE_LOGGING));
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct DumpFlags(pub u32);

impl DumpFlags {
    /// No flag.
    pub const NONE: Self = Self(0);
    /// Log to the target's console.
    pub const LOGGING: Self = Self(1);
    /// Log in more detail.
    pub const VERBOSE_LOGGING: Self = Self(2);
    /// Write a crash report next to the dump.
    pub const CRASH_REPORT: Self = Self(4);

    /// Returns whether all flags of `other` are set.
    pub const fn contains(self, other: Self) -> bool {
        self.0 & other.0 == other.0
    }
}

impl core::ops::BitOr for DumpFlags {
    type Output = Self;

    fn bitor(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }
}

number_formats! { DumpFlags, |it| it.0, Binary Octal LowerHex UpperHex }

newtype! { DumpFlags, None }

/// Declares a request for a dump: the shared fields, then the request's own.
macro_rules! dump_request {
    ($(#[$meta:meta])* $Request:ident, $COMMAND:ident, { $($last:tt)* }) => {
        wire_struct! {
            $(#[$meta])*
            pub struct $Request<'a> {
                /// The file to which the target writes the dump. An absent name kills the target (F-72).
                pub dump_name: IpcString<'a> = DumpName,
                /// The contents of the dump.
                pub dump_type: DumpType = DumpType,
                $($last)*
            }
        }

        impl<'a> Request<'a> for $Request<'a> {
            const COMMAND: Command = Command::$COMMAND;
            type Reply = ResultReply;

            fn check_values(&self) -> Result<(), WireError> {
                self.require(Field::DumpName, self.dump_name)?;
                match self.dump_type.name() {
                    Some(_) => Ok(()),
                    None => self.refuse(Field::DumpType, WireErrorKind::UnknownDumpType { dump_type: self.dump_type.0 }),
                }
            }
        }
    };
}

dump_request! {
    /// The `GenerateCoreDump` request (`0x0101`, since .NET Core 3.x), called `CreateCoreDump` in the document (F-49).
    ///
    /// The reply is a [`ResultReply`], sent once the dump is written. Other clients wait until then (F-75).
    ///
    /// ```
    /// use dotnet_diagnostics_ipc::message::{Request as _, dump::{DumpType, GenerateCoreDump}};
    ///
    /// let request = GenerateCoreDump { dump_name: "/tmp/d".into(), dump_type: DumpType::NORMAL, diagnostics: 0 };
    /// assert_eq!(request.encode_message(&mut [0; 64]), Ok(46));
    /// ```
    GenerateCoreDump, GENERATE_CORE_DUMP, {
        /// 1 to log to the target's console, 0 not to. A `uint`, not a `bool`.
        pub diagnostics: u32 = Diagnostics,
    }
}

dump_request! {
    /// The `GenerateCoreDump2` request (`0x0102`, since .NET 6): [`GenerateCoreDump`] with flags (F-48, F-50).
    ///
    /// The document gives only its number. The reply is a [`ResultReply`].
    ///
    /// ```
    /// use dotnet_diagnostics_ipc::message::{Request as _, dump::{DumpFlags, DumpType, GenerateCoreDump2}};
    ///
    /// let request = GenerateCoreDump2 { dump_name: "d".into(), dump_type: DumpType::FULL, flags: DumpFlags::LOGGING };
    /// assert_eq!(request.encode_message(&mut [0; 64]), Ok(36));
    /// ```
    GenerateCoreDump2, GENERATE_CORE_DUMP2, {
        /// What else the target does: logging, a crash report.
        pub flags: DumpFlags = Flags,
    }
}

dump_request! {
    /// The `GenerateCoreDump3` request (`0x0103`, since .NET 7): like [`GenerateCoreDump2`], but a failure includes a text
    /// (F-48, F-50, F-81).
    ///
    /// The document gives only its number. The reply is a [`ResultReply`], or an [`ErrorReply`](super::server::ErrorReply) whose
    /// `message` is the reason.
    ///
    /// ```
    /// use dotnet_diagnostics_ipc::message::{Request as _, dump::{DumpFlags, DumpType, GenerateCoreDump3}};
    ///
    /// let request = GenerateCoreDump3 { dump_name: "d".into(), dump_type: DumpType(9), flags: DumpFlags::NONE };
    /// let error = request.check_limits().unwrap_err();
    /// assert_eq!(error.to_string(), "GenerateCoreDump3.dumpType at byte 28: dump type 9 is not one of 1 to 4");
    /// ```
    GenerateCoreDump3, GENERATE_CORE_DUMP3, {
        /// What else the target does: logging, a crash report.
        pub flags: DumpFlags = Flags,
    }
}
