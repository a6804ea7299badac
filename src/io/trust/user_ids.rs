//! Which numbers of users stand for a single user.

/// In a user namespace all users that it does not map have one number, that of nobody: whoever owns such a file cannot be told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct UserIds {
    /// The number that stands for many.
    overflow: Option<u32>,
}

impl UserIds {
    /// As it is in our user namespace. Without `/proc` there are no user namespaces.
    pub(super) fn now() -> Self {
        let read = std::fs::read_to_string;
        match (read("/proc/self/uid_map"), read("/proc/sys/kernel/overflowuid")) {
            (Ok(map), overflow) => Self::of(&map, overflow.as_deref().unwrap_or_default()),
            (Err(_), _) => Self { overflow: None },
        }
    }

    /// A line of the map is the first id inside, the first outside, and how many.
    fn of(map: &str, overflow: &str) -> Self {
        const NOBODY: u32 = 65534;
        let count = |line: &str| line.split_ascii_whitespace().nth(2).and_then(|count| count.parse::<u64>().ok());
        let mapped = map.lines().filter_map(count).fold(0, u64::saturating_add);
        // The last number, -1, is nobody's anywhere.
        let all = u64::from(u32::MAX);
        Self { overflow: (mapped < all).then(|| overflow.trim().parse().unwrap_or(NOBODY)) }
    }

    /// Whether this number may stand for anybody.
    pub(super) fn is_anybody(self, user_id: u32) -> bool {
        self.overflow == Some(user_id)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn number_of_nobody_is_anybody_where_not_all_are_mapped() {
        let of = |map| UserIds::of(map, "65534\n");
        assert_eq!(of("         0          0 4294967295\n").overflow, None);
        assert_eq!(of("0 0 4294967294\n4294967294 4294967294 1\n").overflow, None);
        for map in ["", "0 1000 1\n", "1000 1000 1\n", "0 100000 65536\n", "0 1000 1\n1 100000 65536\n"] {
            assert!(of(map).is_anybody(65534) && !of(map).is_anybody(0), "{map:?}");
        }
        assert_eq!(UserIds::of("0 1000 1\n", "99\n").overflow, Some(99));
        assert_eq!(UserIds::of("0 1000 1\n", "").overflow, Some(65534));
    }
}
