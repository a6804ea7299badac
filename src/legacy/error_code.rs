//! The error codes of the draft.

use crate::hresult::HResult;
use crate::wire::macros::open_enum;

open_enum! {
    /// `DiagnosticServerErrorCode` of the 2019 draft: the `uint32_t` of its error messages. Since 3.x it is an HRESULT.
    /// It has 4 bytes; the draft's table prints 8 (F-1).
    ///
    /// ```
    /// use dotnet_diagnostics_ipc::{hresult::HResult, legacy::DraftErrorCode};
    ///
    /// assert_eq!(DraftErrorCode(1).name(), Some("BadEncoding"));
    /// assert_eq!(DraftErrorCode::BAD_ENCODING.hresult(), Some(HResult::BAD_ENCODING));
    /// assert_eq!(DraftErrorCode::BAD_INPUT.hresult(), None);
    /// ```
    pub enum DraftErrorCode {
        /// No error.
        OK = 0, "OK";
        /// The message does not decode.
        BAD_ENCODING = 1, "BadEncoding";
        /// The command is unknown.
        UNKNOWN_COMMAND = 2, "UnknownCommand";
        /// The magic is unknown.
        UNKNOWN_MAGIC = 3, "UnknownMagic";
        /// The request is not possible.
        BAD_INPUT = 4, "BadInput";
        /// Anything else.
        UNKNOWN_ERROR = 0xffff_ffff, "UnknownError";
    }
}

impl DraftErrorCode {
    /// Every code named in the draft.
    pub const NAMED: &'static [Self] = &[
        Self::OK,
        Self::BAD_ENCODING,
        Self::UNKNOWN_COMMAND,
        Self::UNKNOWN_MAGIC,
        Self::BAD_INPUT,
        Self::UNKNOWN_ERROR,
    ];

    /// The HRESULT with the same name in later editions. There is none for `BadInput` or for a code
    /// without name.
    pub const fn hresult(self) -> Option<HResult> {
        match self {
            Self::OK => Some(HResult::OK),
            Self::BAD_ENCODING => Some(HResult::BAD_ENCODING),
            Self::UNKNOWN_COMMAND => Some(HResult::UNKNOWN_COMMAND),
            Self::UNKNOWN_MAGIC => Some(HResult::UNKNOWN_MAGIC),
            Self::UNKNOWN_ERROR => Some(HResult::UNKNOWN_ERROR),
            _ => None,
        }
    }
}
