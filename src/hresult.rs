//! Interpret an `HRESULT`, the 32-bit result in replies and errors.
#![forbid(unsafe_code)]

//! # Example
//!
//! Print the name of the result in a reply:
//!
//! ```
//! use dotnet_diagnostics_ipc::hresult::HResult;
//!
//! let result = HResult(0x8013_1385);
//! assert_eq!(result, HResult::UNKNOWN_COMMAND);
//! assert_eq!(result.to_string(), "0x80131385 DS_IPC_E_UNKNOWN_COMMAND");
//! assert!(!result.is_success());
//! ```

use core::fmt;

use crate::number_formats::number_formats;

/// A result code: 4 bytes little-endian, `int32_t` in the document. Negative means failure.
///
/// Unknown codes are valid values too.
///
/// ```
/// use dotnet_diagnostics_ipc::hresult::HResult;
///
/// assert_eq!(HResult(0x8013_1384).to_string(), "0x80131384 DS_IPC_E_BAD_ENCODING");
/// assert!(HResult::OK.is_success() && !HResult(0x8000_4005).is_success());
/// assert_eq!(format!("{:#x}", HResult::FAIL), "0x80004005");
/// ```
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct HResult(pub u32);

macro_rules! hresults {
    ($($(#[$meta:meta])* $CONST:ident = $code:literal, $name:literal;)*) => {
        impl HResult {
            $($(#[$meta])* pub const $CONST: Self = Self($code);)*

            /// Every code that has a name.
            pub const NAMED: &'static [Self] = &[$(Self::$CONST),*];

            /// Returns the name of the code, if it has one.
            pub const fn name(self) -> Option<&'static str> {
                match self.0 {
                    $($code => Some($name),)*
                    _ => None,
                }
            }
        }
    };
}

hresults! {
    /// Success.
    OK = 0, "S_OK";
    /// The request does not decode, or a value is out of range. `CORDIAGIPC_E_BAD_ENCODING` in editions up to .NET 10.
    BAD_ENCODING = 0x8013_1384, "DS_IPC_E_BAD_ENCODING";
    /// The runtime does not have the command. `CORDIAGIPC_E_UNKNOWN_COMMAND` in editions up to .NET 10.
    UNKNOWN_COMMAND = 0x8013_1385, "DS_IPC_E_UNKNOWN_COMMAND";
    /// The request does not begin with `DOTNET_IPC_V1`. `CORDIAGIPC_E_UNKNOWN_MAGIC` in editions up to .NET 10.
    UNKNOWN_MAGIC = 0x8013_1386, "DS_IPC_E_UNKNOWN_MAGIC";
    /// An unknown error, listed up to the .NET 10 edition. No runtime sends it (F-12).
    UNKNOWN_ERROR = 0x8013_1387, "CORDIAGIPC_E_UNKNOWN_ERROR";
    /// This build of the runtime does not support the command.
    NOT_SUPPORTED = 0x8013_1515, "DS_IPC_E_NOTSUPPORTED";
    /// A failure without a more specific reason, such as a session that could not be enabled (F-32).
    FAIL = 0x8000_4005, "DS_IPC_E_FAIL";
    /// The runtime has not started yet (F-56).
    NOT_YET_AVAILABLE = 0x8013_135b, "DS_IPC_E_NOT_YET_AVAILABLE";
    /// The runtime is not initialised (F-56).
    RUNTIME_UNINITIALIZED = 0x8013_1371, "DS_IPC_E_RUNTIME_UNINITIALIZED";
    /// An argument is out of range.
    INVALID_ARG = 0x8007_0057, "DS_IPC_E_INVALIDARG";
    /// A buffer is too small. Listed in the last edition, but no command returns it (F-12).
    INSUFFICIENT_BUFFER = 0x8007_007a, "DS_IPC_E_INSUFFICIENT_BUFFER";
    /// The environment variable to delete does not exist: the code that the document prints.
    ENVVAR_NOT_FOUND_PRINTED = 0x8000_00cb, "DS_IPC_E_ENVVAR_NOT_FOUND";
    /// The environment variable to delete does not exist: the code that runtimes send (F-80).
    ENVVAR_NOT_FOUND = 0x8007_00cb, "ERROR_ENVVAR_NOT_FOUND";
    /// A library, such as a profiler's, cannot be loaded (P-5).
    MODULE_NOT_FOUND = 0x8007_007e, "ERROR_MOD_NOT_FOUND";
    /// `CoreCLR` refuses a variable whose name begins with an equals sign (P-48).
    NOT_ENOUGH_MEMORY = 0x8007_0008, "ERROR_NOT_ENOUGH_MEMORY";
    /// A file does not exist: Win32 error 2.
    FILE_NOT_FOUND = 0x8007_0002, "ERROR_FILE_NOT_FOUND";
    /// A directory in a path does not exist: Win32 error 3.
    PATH_NOT_FOUND = 0x8007_0003, "ERROR_PATH_NOT_FOUND";
    /// Access denied: Win32 error 5.
    ACCESS_DENIED = 0x8007_0005, "E_ACCESSDENIED";
    /// Out of memory: Win32 error 14.
    OUT_OF_MEMORY = 0x8007_000e, "E_OUTOFMEMORY";
    /// The file already exists: Win32 error 183.
    ALREADY_EXISTS = 0x8007_00b7, "ERROR_ALREADY_EXISTS";
    /// Another profiler is already attached (F-12).
    PROFILER_ALREADY_ACTIVE = 0x8013_136a, "CORPROF_E_PROFILER_ALREADY_ACTIVE";
    /// `SetEnvironmentVariable` failed on `NativeAOT`. The code is the return value of `setenv`, not an HRESULT (F-96).
    SETENV_FAILED = 0xffff_ffff, "setenv failed (-1)";
}

impl HResult {
    /// Returns whether the code means success, that is, its top bit is clear.
    pub const fn is_success(self) -> bool {
        self.0 < 0x8000_0000
    }

    /// Returns the code as a signed number, its type in the document.
    pub const fn to_i32(self) -> i32 {
        i32::from_ne_bytes(self.0.to_ne_bytes())
    }
}

impl fmt::Display for HResult {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "0x{:08X}", self.0)?;
        match self.name() {
            Some(name) => write!(f, " {name}"),
            None => Ok(()),
        }
    }
}

number_formats! { HResult, |it| it.0, LowerHex UpperHex }

impl fmt::Debug for HResult {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "HResult({self})")
    }
}
