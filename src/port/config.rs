//! One configured port.

use crate::wire::is_white_space;

/// Whether a port suspends the runtime at startup until it is resumed over that port.
///
/// ```
/// use dotnet_diagnostics_ipc::port::SuspendMode;
///
/// assert_eq!(SuspendMode::default(), SuspendMode::Suspend);
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum SuspendMode {
    /// `suspend`: it does. The default of a configured port (not of the default port).
    #[default]
    Suspend,
    /// `nosuspend`: it does not.
    NoSuspend,
}

/// Who connects to whom.
///
/// ```
/// use dotnet_diagnostics_ipc::port::PortType;
///
/// assert_eq!(PortType::default().text(), "connect");
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum PortType {
    /// `connect`: the runtime connects to the tool's socket. The default.
    #[default]
    Connect,
    /// `listen`: the runtime listens. Recognised, but a port of this type is dropped (F-58).
    Listen,
}

/// A port as configured: `<port address>[,tag[...]]`.
///
/// ```
/// use dotnet_diagnostics_ipc::port::{PortConfig, Ports, SuspendMode};
///
/// let port = Ports::new("/tmp/a,nosuspend").next();
/// let expected = PortConfig { suspend_mode: SuspendMode::NoSuspend, ..PortConfig::new("/tmp/a") };
/// assert_eq!(port, Some(expected));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct PortConfig<'a> {
    /// Unix: the path of the tool's socket. Windows: the name of its pipe. Elsewhere: see
    /// [`PortAddress`](super::PortAddress). As in the text, including spaces and `~`.
    pub address: &'a str,
    /// Whether the runtime waits.
    pub suspend_mode: SuspendMode,
    /// Who connects. [`Ports`](super::Ports) yields only [`Connect`](PortType::Connect).
    pub port_type: PortType,
}

impl SuspendMode {
    /// The tag.
    pub const fn text(self) -> &'static str {
        match self {
            Self::Suspend => "suspend",
            Self::NoSuspend => "nosuspend",
        }
    }

    /// Whether it is [`Suspend`](Self::Suspend).
    pub const fn suspends(self) -> bool {
        matches!(self, Self::Suspend)
    }
}

impl PortType {
    /// The tag.
    pub const fn text(self) -> &'static str {
        match self {
            Self::Connect => "connect",
            Self::Listen => "listen",
        }
    }
}

impl<'a> PortConfig<'a> {
    /// A port without tags: it suspends, and the runtime connects.
    pub const fn new(address: &'a str) -> Self {
        Self { address, suspend_mode: SuspendMode::Suspend, port_type: PortType::Connect }
    }
}

/// The meaning of a tag.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Tag {
    Mode(SuspendMode),
    Type(PortType),
}

impl Tag {
    /// The tag as a runtime reads it: case is ignored (F-59), spaces are not (F-78).
    pub(super) fn parse(text: &str) -> Option<Self> {
        let modes = [SuspendMode::Suspend, SuspendMode::NoSuspend]
            .map(|mode| (mode.text(), Self::Mode(mode)));
        let types =
            [PortType::Connect, PortType::Listen].map(|kind| (kind.text(), Self::Type(kind)));
        modes
            .into_iter()
            .chain(types)
            .find(|(name, _)| name.eq_ignore_ascii_case(text))
            .map(|(_, tag)| tag)
    }
}

/// The first tag of each kind.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Tags {
    pub(super) mode: Option<SuspendMode>,
    pub(super) kind: Option<PortType>,
}

impl Tags {
    /// Whether `tag` is the first of its kind.
    pub(super) fn add(&mut self, tag: Tag) -> bool {
        match tag {
            Tag::Mode(mode) => self.mode.replace(self.mode.unwrap_or(mode)).is_none(),
            Tag::Type(kind) => self.kind.replace(self.kind.unwrap_or(kind)).is_none(),
        }
    }

    /// Those of all fields after an address.
    pub(super) fn of<'a>(fields: impl Iterator<Item = &'a str>) -> Self {
        let mut tags = Self::default();
        for tag in fields.filter_map(Tag::parse) {
            tags.add(tag);
        }
        tags
    }
}

/// The part of the variable that a runtime reads: C strings end at a NUL.
pub(super) fn readable(text: &str) -> &str {
    text.split('\0').next().unwrap_or_default()
}

/// Whether an address is empty or only white space (C's `isspace`): runtimes treat both alike.
pub(super) fn is_blank(address: &str) -> bool {
    address.bytes().all(|byte| is_white_space(byte.into()))
}

/// The fields of one configuration as split by `strtok`: empty ones are skipped (F-59).
pub(super) fn fields(entry: &str) -> impl Iterator<Item = &str> + Clone {
    entry.split(',').filter(|field| !field.is_empty())
}
