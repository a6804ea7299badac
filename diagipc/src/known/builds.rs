//! Builds of .NET.

use dotnet_diagnostics_ipc::command::DotnetVersion;

/// A build of .NET, by its full version. Vectors and scripts name it `net10.0.9`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct Build {
    /// The `10` of 10.0.9.
    pub(crate) major: u8,
    /// The `0` of 10.0.9.
    pub(crate) minor: u8,
    /// The `9` of 10.0.9.
    pub(crate) patch: u16,
}

impl Build {
    /// The first one, and the last one.
    pub(super) const ALL: (Self, Self) =
        (Self::new(0, 0, 0), Self::new(u8::MAX, u8::MAX, u16::MAX));

    /// A build.
    pub(crate) const fn new(major: u8, minor: u8, patch: u16) -> Self {
        Self { major, minor, patch }
    }

    /// The first build of a version.
    pub(crate) const fn first_of(version: DotnetVersion) -> Self {
        Self::new(version.major, version.minor, 0)
    }

    /// `10.0.9`.
    pub(crate) fn number(self) -> String {
        format!("{}.{}.{}", self.major, self.minor, self.patch)
    }
}
