//! The ports that suspend a runtime and must be resumed before it starts.

use super::PortConfig;

/// Parses `DOTNET_DefaultDiagnosticPortSuspend` as a runtime does (F-86): a 32-bit hexadecimal
/// number, parsed like C's `strtoul` and without its sign. A number other than 0 suspends the runtime
/// at its default port. `None` means unset, as for other text or a larger number.
///
/// White space, a sign, and `0x` or `0X` may precede the number, and any text may follow it. The
/// document has only `1` and `0`.
///
/// ```
/// use dotnet_diagnostics_ipc::port::default_port_suspend;
///
/// assert_eq!((default_port_suspend("1"), default_port_suspend("true")), (Some(1), None));
/// assert_eq!((default_port_suspend("-0X1fz"), default_port_suspend("0x")), (Some(31), Some(0)));
/// ```
pub fn default_port_suspend(text: &str) -> Option<u32> {
    let rest = text.trim_start_matches([' ', '\t', '\n', '\x0b', '\x0c', '\r']);
    let rest = rest.strip_prefix(['+', '-']).unwrap_or(rest);
    let is_digit = |c: char| c.is_ascii_hexdigit();
    // Without a digit after it, "0x" is the number 0.
    let prefixed = rest.strip_prefix("0x").or_else(|| rest.strip_prefix("0X"));
    let digits = prefixed.filter(|digits| digits.starts_with(is_digit)).unwrap_or(rest);
    let behind = digits.trim_start_matches(is_digit);
    u32::from_str_radix(digits.strip_suffix(behind)?, 16).ok()
}

/// A port of a runtime.
///
/// ```
/// use dotnet_diagnostics_ipc::port::{PortConfig, PortId, Suspension};
///
/// let mut state = Suspension::<1>::new(false, [PortConfig::new("/a")]).expect("room for one port");
/// assert!(state.resume(PortId::Configured(0)).is_some() && state.resume(PortId::Configured(1)).is_none());
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum PortId {
    /// The default port, which every runtime has.
    Default,
    /// The n-th port of [`Ports`](super::Ports), counted from 0.
    Configured(usize),
}

/// The effect of a `ResumeRuntime`. The runtime always answers OK (F-42).
///
/// ```
/// use dotnet_diagnostics_ipc::port::{PortConfig, PortId, ResumeEffect, Suspension};
///
/// let mut state = Suspension::<1>::new(false, [PortConfig::new("/a")]).expect("room for one port");
/// assert_eq!(state.resume(PortId::Default), Some(ResumeEffect::Nothing));
/// assert_eq!(state.resume(PortId::Configured(0)), Some(ResumeEffect::Starts));
/// assert_eq!(state.resume(PortId::Configured(1)), None);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ResumeEffect {
    /// The port does not suspend, or was resumed before.
    Nothing,
    /// The port was resumed, and the runtime waits for others.
    Waits {
        /// The number of ports that the runtime waits for.
        left: usize,
    },
    /// The last port was resumed, and the runtime starts.
    Starts,
}

/// The ports that still suspend a runtime: the default port and up to `N` configured ports.
///
/// A resume counts only for the port on which it arrives. The runtime starts when no port suspends
/// it any longer (F-42).
///
/// ```
/// use dotnet_diagnostics_ipc::port::{PortId, Ports, ResumeEffect, Suspension};
///
/// // The ports are /b, /a.
/// let mut state = Suspension::<4>::new(true, Ports::new("/a;/b,nosuspend")).expect("room for two");
/// assert_eq!(state.left(), 2);
/// assert_eq!(state.resume(PortId::Configured(1)), Some(ResumeEffect::Waits { left: 1 }));
/// assert_eq!(state.resume(PortId::Default), Some(ResumeEffect::Starts));
/// assert!(state.is_started());
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Suspension<const N: usize> {
    default_waits: bool,
    waits: [bool; N],
    configured: usize,
}

impl<const N: usize> Suspension<N> {
    /// Returns the state of a runtime before its start, or `None` if there are more than `N` of
    /// `ports`. For `default_suspends` see [`default_port_suspend`].
    pub fn new<'a>(
        default_suspends: bool,
        ports: impl IntoIterator<Item = PortConfig<'a>>,
    ) -> Option<Self> {
        let mut state = Self { default_waits: default_suspends, waits: [false; N], configured: 0 };
        for port in ports {
            *state.waits.get_mut(state.configured)? = port.suspend_mode.suspends();
            state.configured = state.configured.saturating_add(1);
        }
        Some(state)
    }

    /// Returns the number of ports that must still be resumed.
    pub fn left(&self) -> usize {
        self.waits
            .iter()
            .filter(|waits| **waits)
            .count()
            .saturating_add(usize::from(self.default_waits))
    }

    /// Returns whether no port suspends the runtime any longer.
    pub fn is_started(&self) -> bool {
        self.left() == 0
    }

    /// Returns whether the runtime waits for a resume on `port`, or `None` if it has no such port.
    fn waits_for(&self, port: PortId) -> Option<bool> {
        match port {
            PortId::Default => Some(self.default_waits),
            PortId::Configured(index) => self.waits.get(..self.configured)?.get(index).copied(),
        }
    }

    /// Applies a `ResumeRuntime` that arrives on `port`. `None` if the runtime has no such port.
    pub fn resume(&mut self, port: PortId) -> Option<ResumeEffect> {
        if !self.waits_for(port)? {
            return Some(ResumeEffect::Nothing);
        }
        match port {
            PortId::Default => self.default_waits = false,
            PortId::Configured(index) => *self.waits.get_mut(index)? = false,
        }
        Some(match self.left() {
            0 => ResumeEffect::Starts,
            left => ResumeEffect::Waits { left },
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::port::Ports;

    #[test]
    fn resume_counts_once_per_port() {
        let mut state = Suspension::<3>::new(false, Ports::new("/a;/b;/c,nosuspend")).unwrap();
        let all = [
            PortId::Default,
            PortId::Configured(0),
            PortId::Configured(1),
            PortId::Configured(1),
            PortId::Configured(2),
        ];
        let effects = all.map(|port| state.resume(port).unwrap());
        assert_eq!(
            effects,
            [
                ResumeEffect::Nothing,
                ResumeEffect::Nothing,
                ResumeEffect::Waits { left: 1 },
                ResumeEffect::Nothing,
                ResumeEffect::Starts
            ]
        );
        assert!(state.is_started());
        assert_eq!(state.resume(PortId::Configured(2)), Some(ResumeEffect::Nothing));
        assert_eq!(state.resume(PortId::Configured(3)), None);
    }

    #[test]
    fn runtime_without_suspended_port_starts_at_once() {
        assert!(Suspension::<1>::new(false, Ports::new("/a,nosuspend")).unwrap().is_started());
        assert_eq!(Suspension::<1>::new(true, Ports::new("a;b")), None);
    }

    #[test]
    fn repeated_port_counts_twice() {
        let mut state = Suspension::<2>::new(false, Ports::new("/a;/a")).unwrap();
        assert_eq!(state.resume(PortId::Configured(0)), Some(ResumeEffect::Waits { left: 1 }));
    }
}
