//! Builds of .NET, and ranges of them.

use alloc::string::String;
use core::fmt;
use core::ops::RangeInclusive;
use core::str::FromStr;

/// A build of .NET, by its full version. Vectors and scripts name it `net10.0.9`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(in crate::conformance) struct Build {
    /// The `10` of 10.0.9.
    pub(in crate::conformance) major: u8,
    /// The `0` of 10.0.9.
    pub(in crate::conformance) minor: u8,
    /// The `9` of 10.0.9.
    pub(in crate::conformance) patch: u16,
}

impl Build {
    pub(super) const NEWEST: Self = Self::new(10, 0, 9);

    /// A build.
    pub(in crate::conformance) const fn new(major: u8, minor: u8, patch: u16) -> Self {
        Self { major, minor, patch }
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
            let (major, minor, patch) = (u8::try_from(next()?).ok()?, u8::try_from(next()?).ok()?, next()?);
            Some(Self::new(major, minor, patch))
        })();
        build.filter(|_| numbers.next().is_none()).ok_or_else(|| text.into())
    }
}

/// From the first build to the last one of which something was seen.
pub(super) type Builds = &'static [RangeInclusive<Build>];

/// The builds whose conversations are in the vectors and scripts, oldest first.
pub(super) const RECORDED: [Build; 4] = [Build::new(3, 1, 23), Build::new(8, 0, 30), Build::new(9, 0, 5), Build::NEWEST];

const fn range(first: Build, last: Build) -> RangeInclusive<Build> {
    RangeInclusive::new(first, last)
}

const FIRST_3: Build = Build::new(3, 1, 23);
const FIRST_8: Build = Build::new(8, 0, 30);
const FIRST_9: Build = Build::new(9, 0, 5);
const LAST_9: Build = Build::new(9, 0, 7);
const LAST_10: Build = Build::new(10, 0, 11);

/// Of every version of the platform, known or not.
pub(super) const ANY: Builds = &[];
pub(super) const NET3: Builds = &[range(FIRST_3, FIRST_3)];
pub(super) const NET8: Builds = &[range(FIRST_8, FIRST_8)];
pub(super) const NET8_AND_9_0_7: Builds = &[range(FIRST_8, FIRST_8), range(LAST_9, LAST_9)];
pub(super) const NET9_SINGLE_FILE: Builds = &[range(FIRST_9, FIRST_9)];
pub(super) const NET10: Builds = &[range(Build::NEWEST, LAST_10)];
pub(super) const NET8_AND_9: Builds = &[range(FIRST_8, LAST_9)];
pub(super) const NET8_TO_10: Builds = &[range(FIRST_8, LAST_10)];
pub(super) const NET9_AND_10: Builds = &[range(FIRST_9, LAST_10)];
pub(super) const NET3_TO_10: Builds = &[range(FIRST_3, LAST_10)];

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::string::ToString as _;

    #[test]
    fn builds_are_compared_as_numbers_and_read_whole() {
        let build = |text: &str| text.parse::<Build>();
        assert!(build("net10.0.9").unwrap() > build("net9.0.5").unwrap());
        assert!(build("net10.0.11").unwrap() > build("net10.0.9").unwrap());
        assert_eq!(build("net10.0.11").unwrap().to_string(), "net10.0.11");
        for text in ["net9.0", "net9.0.5.1", "9.0.5", "net9.0.x", ""] {
            assert_eq!(build(text), Err(text.into()));
        }
    }
}
