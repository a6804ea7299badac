//! Builds of .NET, and ranges of them.

use std::fmt;
use std::ops::RangeInclusive;
use std::str::FromStr;

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

impl fmt::Display for Build {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "net{}.{}.{}", self.major, self.minor, self.patch)
    }
}

/// `net10.0.9`. The error is the text.
impl FromStr for Build {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let mut numbers = text.strip_prefix("net").unwrap_or_default().split('.');
        let mut next = || numbers.next().and_then(|number| number.parse::<u16>().ok());
        let build = (|| {
            let (major, minor, patch) =
                (u8::try_from(next()?).ok()?, u8::try_from(next()?).ok()?, next()?);
            Some(Self::new(major, minor, patch))
        })();
        build.filter(|_| numbers.next().is_none()).ok_or_else(|| text.into())
    }
}

/// From the first build to the last one with some behaviour. If some builds of a version were seen,
/// all of it is covered, except for changes between two of them.
pub(super) type Builds = &'static [RangeInclusive<Build>];

/// The builds of `CoreCLR` that were seen, oldest first: 6 only on Windows.
pub(super) const SEEN_CORE_CLR: &[Build] = &[
    Build::new(3, 0, 3),
    Build::new(3, 1, 23),
    Build::new(3, 1, 32),
    Build::new(6, 0, 13),
    Build::new(8, 0, 0),
    Build::new(8, 0, 30),
    Build::new(8, 0, 31),
    Build::new(8, 0, 33),
    Build::new(9, 0, 5),
    Build::new(9, 0, 7),
    Build::new(9, 0, 18),
    Build::new(9, 0, 20),
    Build::new(9, 0, 22),
    Build::new(10, 0, 9),
    Build::new(10, 0, 11),
    Build::new(10, 0, 12),
    Build::new(10, 0, 14),
];
/// The same of `NativeAOT`.
pub(super) const SEEN_NATIVE_AOT: &[Build] = &[Build::new(8, 0, 31), Build::new(9, 0, 20)];

/// All builds of a version.
const fn version(major: u8, minor: u8) -> RangeInclusive<Build> {
    versions((major, minor), (major, minor))
}

/// All builds from one version to another.
const fn versions((major, minor): (u8, u8), last: (u8, u8)) -> RangeInclusive<Build> {
    RangeInclusive::new(Build::new(major, minor, 0), Build::new(last.0, last.1, u16::MAX))
}

/// One build.
const fn only(build: Build) -> RangeInclusive<Build> {
    RangeInclusive::new(build, build)
}

pub(super) const NET3: Builds = &[versions((3, 0), (3, 1))];
pub(super) const NET6: Builds = &[version(6, 0)];
pub(super) const NET8: Builds = &[version(8, 0)];
pub(super) const NET9: Builds = &[version(9, 0)];
pub(super) const NET10: Builds = &[version(10, 0)];
pub(super) const NET8_AND_9: Builds = &[versions((8, 0), (9, 0))];
pub(super) const NET6_TO_9: Builds = &[versions((6, 0), (9, 0))];
pub(super) const NET6_TO_10: Builds = &[versions((6, 0), (10, 0))];
pub(super) const NET8_TO_10: Builds = &[versions((8, 0), (10, 0))];
pub(super) const NET9_AND_10: Builds = &[versions((9, 0), (10, 0))];
pub(super) const NET3_TO_10: Builds = &[versions((3, 0), (10, 0))];
pub(super) const NET9_0_5: Builds = &[only(Build::new(9, 0, 5))];
pub(super) const NET8_9_0_5_AND_10_0_12: Builds =
    &[version(8, 0), only(Build::new(9, 0, 5)), only(Build::new(10, 0, 12))];
pub(super) const NET8_AND_9_0_7: Builds = &[version(8, 0), only(Build::new(9, 0, 7))];
pub(super) const NET9_0_5_AND_10_0_12: Builds =
    &[only(Build::new(9, 0, 5)), only(Build::new(10, 0, 12))];
pub(super) const NET10_0_9_TO_11: Builds =
    &[RangeInclusive::new(Build::new(10, 0, 9), Build::new(10, 0, 11))];
pub(super) const NET10_0_9_TO_12: Builds =
    &[RangeInclusive::new(Build::new(10, 0, 9), Build::new(10, 0, 12))];
/// A fault that 10.0.0 has, and 10.0.9 has not (P-45).
pub(super) const PERF_MAP_KILLS_SUSPENDED: Builds =
    &[versions((8, 0), (9, 0)), RangeInclusive::new(Build::new(10, 0, 0), Build::new(10, 0, 8))];
/// A fault fixed by servicing: in 8.0.30 at the latest, 9.0.20, 10.0.11.
pub(super) const PATH_TOO_LONG_HOLDS: Builds = &[
    RangeInclusive::new(Build::new(8, 0, 0), Build::new(8, 0, 29)),
    RangeInclusive::new(Build::new(9, 0, 0), Build::new(9, 0, 19)),
    RangeInclusive::new(Build::new(10, 0, 0), Build::new(10, 0, 10)),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn builds_compare_as_numbers_and_parse_whole() {
        let build = |text: &str| text.parse::<Build>();
        assert!(build("net10.0.9").unwrap() > build("net9.0.5").unwrap());
        assert!(build("net10.0.11").unwrap() > build("net10.0.9").unwrap());
        assert_eq!(build("net10.0.11").unwrap().to_string(), "net10.0.11");
        for text in ["net9.0", "net9.0.5.1", "9.0.5", "net9.0.x", ""] {
            assert_eq!(build(text), Err(text.into()));
        }
    }
}
