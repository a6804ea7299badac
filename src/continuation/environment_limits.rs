//! How much of an environment block a caller accepts.

/// Limits on what an [`EnvironmentDecoder`](super::EnvironmentDecoder) accepts. The caller's buffer
/// limits the size of one entry.
///
/// ```
/// use dotnet_diagnostics_ipc::continuation::{EnvironmentDecoder, EnvironmentLimits};
/// use dotnet_diagnostics_ipc::wire::{WireErrorKind};
///
/// let limits = EnvironmentLimits { max_bytes: 4096, ..EnvironmentLimits::DEFAULT };
/// let error = EnvironmentDecoder::with_limits(5000, &mut [], limits).decode(&mut &[0][..]).unwrap_err();
/// assert_eq!(error.kind(), WireErrorKind::LimitExceeded { limit: 4096, found: 5000 });
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct EnvironmentLimits {
    /// The largest `nIncomingBytes`, in bytes.
    pub max_bytes: u32,
    /// The largest count of entries.
    pub max_entries: u32,
    #[doc(hidden)]
    pub more: (),
}

impl EnvironmentLimits {
    /// 32 MiB and 65,536 entries. Linux starts no process with more than 6 MiB of arguments and
    /// environment, which is less than 12 MiB of units.
    pub const DEFAULT: Self = Self { max_bytes: 32 << 20, max_entries: 1 << 16, more: () };

    /// No limit except the wire's 32 bits.
    pub const NONE: Self = Self { max_bytes: u32::MAX, max_entries: u32::MAX, more: () };
}

impl Default for EnvironmentLimits {
    fn default() -> Self {
        Self::DEFAULT
    }
}
