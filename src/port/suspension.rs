//! Which ports must be resumed before a runtime starts.

use super::PortConfig;

/// A port of a runtime.
///
/// ```
/// use dotnet_diagnostics_ipc::port::{PortConfig, PortId, Suspension};
///
/// let state = Suspension::<1>::new(false, [PortConfig::new("/a")]).expect("room for one port");
/// assert_eq!((state.waits_for(PortId::Default), state.waits_for(PortId::Configured(0))), (Some(false), Some(true)));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum PortId {
    /// The default port, which every runtime has.
    Default,
    /// The n-th of [`Ports`](super::Ports), from 0.
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
    /// None: the port does not suspend, or was resumed before.
    Nothing,
    /// The port was resumed; the runtime waits for others.
    Waits {
        /// How many.
        left: usize,
    },
    /// It was the last: the runtime starts.
    Starts,
}

/// Which ports still suspend a runtime: a value of up to `N` configured ports and the default port.
///
/// A resume counts only for the port it arrives on, and the runtime starts when no suspended port
/// is left (F-42).
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
    /// A runtime before its start, or `None` if there are more than `N` of `ports`.
    /// `default_suspends` is the result of
    /// [`DefaultPortSuspend::suspends`](super::DefaultPortSuspend::suspends).
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

    /// How many ports must still be resumed.
    pub fn left(&self) -> usize {
        self.waits
            .iter()
            .filter(|waits| **waits)
            .count()
            .saturating_add(usize::from(self.default_waits))
    }

    /// Whether no port suspends the runtime any longer.
    pub fn is_started(&self) -> bool {
        self.left() == 0
    }

    /// Whether the runtime waits for a resume on `port`; `None` if it has no such port.
    pub fn waits_for(&self, port: PortId) -> Option<bool> {
        match port {
            PortId::Default => Some(self.default_waits),
            PortId::Configured(index) => self.waits.get(..self.configured)?.get(index).copied(),
        }
    }

    /// A `ResumeRuntime` arrives on `port`; `None` if the runtime has no such port.
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
