//! Which user ids belong to a single user, and which is ours.

use std::cell::LazyCell;
use std::fs::read_to_string;
use std::sync::OnceLock;

/// Our effective user id, queried only if needed, and once.
pub(super) type OurUserId = LazyCell<u32>;

pub(super) fn our_user_id() -> OurUserId {
    LazyCell::new(|| rustix::process::geteuid().as_raw())
}

/// Whether this id may be any user's: in a user namespace all unmapped users have one id, that of
/// nobody, and the owner of such a file is unknown.
///
/// That id is the same in the whole system: once it was read, it is kept. Our namespace's map may
/// change between calls. A map that is not readable may be any: in a chroot or a sandbox without
/// `/proc` there are user namespaces too. (A kernel without them has no map either. There user
/// nobody must be allowed explicitly.)
pub(super) fn is_anybody(user_id: u32) -> bool {
    static NOBODY: OnceLock<u32> = OnceLock::new();
    let read = || {
        let text = read_to_string("/proc/sys/kernel/overflowuid").ok()?;
        Some(*NOBODY.get_or_init(|| overflow(&text)))
    };
    let nobody = NOBODY.get().copied().or_else(read).unwrap_or(USUAL);
    HAS_NAMESPACES
        && user_id == nobody
        && !read_to_string("/proc/self/uid_map").is_ok_and(|map| maps_all(&map))
}

/// Whether the system has user namespaces.
const HAS_NAMESPACES: bool = cfg!(any(target_os = "linux", target_os = "android"));
/// The kernel's id of nobody, where none is set or what is set is not readable.
const USUAL: u32 = 65534;

/// The system's id of nobody.
fn overflow(text: &str) -> u32 {
    text.trim().parse().unwrap_or(USUAL)
}

/// Whether each id belongs to one user. A line of the map is the first id inside, the first
/// outside, and the count.
fn maps_all(map: &str) -> bool {
    let count = |line: &str| {
        line.split_ascii_whitespace().nth(2).and_then(|count| count.parse::<u64>().ok())
    };
    let mapped = map.lines().filter_map(count).fold(0, u64::saturating_add);
    // The last id, -1, is never a user.
    mapped >= u64::from(u32::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn overflow_id_may_be_any_user_unless_all_are_mapped() {
        assert!(
            maps_all("         0          0 4294967295\n")
                && maps_all("0 0 4294967294\n4294967294 4294967294 1\n")
        );
        for map in
            ["", "0 1000 1\n", "1000 1000 1\n", "0 100000 65536\n", "0 1000 1\n1 100000 65536\n"]
        {
            assert!(!maps_all(map), "{map:?}");
        }
        assert_eq!([overflow("65534\n"), overflow("99\n"), overflow("")], [65534, 99, 65534]);
        assert!(!is_anybody(0));
    }
}
