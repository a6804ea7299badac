//! Which ports must be resumed before a runtime starts.

use core::fmt;

use super::PortConfig;

/// A port of a runtime.
///
/// ```
/// use dotnet_diagnostics_ipc::port::{PortConfig, PortId, Suspension};
///
/// let state = Suspension::<1>::new(false, [PortConfig::new("/a")])?;
/// assert_eq!((state.waits_for(PortId::Default), state.waits_for(PortId::Configured(0))), (Some(false), Some(true)));
/// # Ok::<(), dotnet_diagnostics_ipc::port::SuspensionError>(())
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
/// let mut state = Suspension::<1>::new(false, [PortConfig::new("/a")])?;
/// assert_eq!(state.resume(PortId::Default)?, ResumeEffect::Nothing);
/// assert_eq!(state.resume(PortId::Configured(0))?, ResumeEffect::Starts);
/// # Ok::<(), dotnet_diagnostics_ipc::port::SuspensionError>(())
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
/// let mut state = Suspension::<4>::new(true, Ports::new("/a;/b,nosuspend"))?;
/// assert_eq!(state.left(), 2);
/// assert_eq!(state.resume(PortId::Configured(1))?, ResumeEffect::Waits { left: 1 });
/// assert_eq!(state.resume(PortId::Default)?, ResumeEffect::Starts);
/// assert!(state.is_started());
/// # Ok::<(), dotnet_diagnostics_ipc::port::SuspensionError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Suspension<const N: usize> {
    default_waits: bool,
    waits: [bool; N],
    configured: usize,
}

impl<const N: usize> Suspension<N> {
    /// A runtime before its start. `default_suspends` is the result of
    /// [`DefaultPortSuspend::suspends`](super::DefaultPortSuspend::suspends).
    ///
    /// # Errors
    /// [`SuspensionError::TooManyPorts`] if there are more than `N` of `ports`.
    pub fn new<'a>(
        default_suspends: bool,
        ports: impl IntoIterator<Item = PortConfig<'a>>,
    ) -> Result<Self, SuspensionError> {
        let mut state = Self { default_waits: default_suspends, waits: [false; N], configured: 0 };
        for port in ports {
            let slot = state
                .waits
                .get_mut(state.configured)
                .ok_or(SuspensionError::TooManyPorts { capacity: N })?;
            *slot = port.suspend_mode.suspends();
            state.configured = state.configured.saturating_add(1);
        }
        Ok(state)
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

    /// A `ResumeRuntime` arrives on `port`.
    ///
    /// # Errors
    /// [`SuspensionError::NoSuchPort`]; nothing has changed then.
    pub fn resume(&mut self, port: PortId) -> Result<ResumeEffect, SuspensionError> {
        if !self.waits_for(port).ok_or(SuspensionError::NoSuchPort)? {
            return Ok(ResumeEffect::Nothing);
        }
        match port {
            PortId::Default => self.default_waits = false,
            PortId::Configured(index) => {
                *self.waits.get_mut(index).ok_or(SuspensionError::NoSuchPort)? = false;
            }
        }
        Ok(match self.left() {
            0 => ResumeEffect::Starts,
            left => ResumeEffect::Waits { left },
        })
    }
}

/// An error about ports that a [`Suspension`] does not have.
///
/// ```
/// use dotnet_diagnostics_ipc::port::{PortId, Suspension, SuspensionError};
///
/// let mut state = Suspension::<0>::new(true, [])?;
/// assert_eq!(state.resume(PortId::Configured(0)), Err(SuspensionError::NoSuchPort));
/// # Ok::<(), SuspensionError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum SuspensionError {
    /// More ports are configured than the value can hold.
    TooManyPorts {
        /// Its capacity.
        capacity: usize,
    },
    /// The runtime has no port of this number.
    NoSuchPort,
}

impl fmt::Display for SuspensionError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::TooManyPorts { capacity } => {
                write!(f, "more ports than the capacity of {capacity}")
            }
            Self::NoSuchPort => f.write_str("no port has this index"),
        }
    }
}

impl core::error::Error for SuspensionError {}

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
        assert_eq!(state.resume(PortId::Configured(2)), Ok(ResumeEffect::Nothing));
        assert_eq!(state.resume(PortId::Configured(3)), Err(SuspensionError::NoSuchPort));
    }

    #[test]
    fn runtime_without_suspended_port_starts_at_once() {
        assert!(Suspension::<1>::new(false, Ports::new("/a,nosuspend")).unwrap().is_started());
        assert_eq!(
            Suspension::<1>::new(true, Ports::new("a;b")),
            Err(SuspensionError::TooManyPorts { capacity: 1 })
        );
    }

    #[test]
    fn repeated_port_counts_twice() {
        let mut state = Suspension::<2>::new(false, Ports::new("/a;/a")).unwrap();
        assert_eq!(state.resume(PortId::Configured(0)), Ok(ResumeEffect::Waits { left: 1 }));
    }
}
