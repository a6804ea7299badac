//! The ports in `DOTNET_DiagnosticPorts`: read as runtimes do, checked strictly, and written.

use crate::endpoint::{encode_as_text, strip_pipe_prefix};
use crate::text::{TextError, TextErrorKind, reasons};
use crate::wire::is_white_space;
use core::fmt;

/// Whether a port suspends the runtime at startup until it is resumed over that port.
///
/// ```
/// use dotnet_diagnostics_ipc::port::SuspendMode;
///
/// assert_eq!(SuspendMode::default(), SuspendMode::Suspend);
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum SuspendMode {
    /// `suspend`: the runtime waits. The default of a configured port, but not of the default port.
    #[default]
    Suspend,
    /// `nosuspend`: the runtime does not wait.
    NoSuspend,
}

/// A configured port: `<port address>[,tag[...]]`.
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
    /// The path of the tool's socket on Unix, or the name of its pipe on Windows. Builds for Android,
    /// iOS and tvOS expect `HOST:PORT`, and Mono in a browser expects a URL with `ws:`, `wss:` or
    /// `js:` (F-156). The address is unchanged, including spaces and `~`.
    pub address: &'a str,
    /// Whether the port suspends the runtime.
    pub suspend_mode: SuspendMode,
}

impl SuspendMode {
    /// Returns the tag.
    pub const fn text(self) -> &'static str {
        match self {
            Self::Suspend => "suspend",
            Self::NoSuspend => "nosuspend",
        }
    }

    /// Returns whether the mode is [`Suspend`](Self::Suspend).
    pub const fn suspends(self) -> bool {
        matches!(self, Self::Suspend)
    }
}

impl<'a> PortConfig<'a> {
    /// Returns a port without tags, which suspends the runtime.
    pub const fn new(address: &'a str) -> Self {
        Self { address, suspend_mode: SuspendMode::Suspend }
    }
}

/// The first tag of each kind in a configuration.
#[derive(Clone, Copy, Default)]
struct Tags {
    mode: Option<SuspendMode>,
    is_listen: Option<bool>,
}

impl Tags {
    /// Adds a tag as a runtime reads it, ignoring case (F-59) but not spaces (F-78). Returns the
    /// reason if the runtime ignores the tag.
    fn add(&mut self, tag: &str) -> Option<IgnoredReason> {
        let is_tag = |name: &str| name.eq_ignore_ascii_case(tag);
        let is_later = if is_tag("suspend") {
            keep_first(&mut self.mode, SuspendMode::Suspend)
        } else if is_tag("nosuspend") {
            keep_first(&mut self.mode, SuspendMode::NoSuspend)
        } else if is_tag("connect") || is_tag("listen") {
            keep_first(&mut self.is_listen, is_tag("listen"))
        } else {
            return Some(IgnoredReason::UnknownTag);
        };
        is_later.then_some(IgnoredReason::LaterTag)
    }
}

/// Keeps the first tag of a kind. Returns whether there was an earlier one.
fn keep_first<T>(first: &mut Option<T>, tag: T) -> bool {
    let is_later = first.is_some();
    first.get_or_insert(tag);
    is_later
}

/// Returns the part of the variable that a runtime reads, up to a NUL.
fn readable(text: &str) -> &str {
    text.split('\0').next().unwrap_or_default()
}

/// Returns whether an address is empty or only white space in C (`isspace`).
fn is_blank(address: &str) -> bool {
    address.bytes().all(|byte| is_white_space(byte.into()))
}

/// Returns the port of one configuration, or the reason why a runtime opens none. Fields are split as
/// by `strtok`, which skips empty ones (F-59).
fn port(entry: &str) -> Result<PortConfig<'_>, IgnoredReason> {
    if entry.is_empty() {
        return Err(IgnoredReason::EmptyPort);
    }
    // Splits by an array, because a search for a single `char` contains an unreachable panic.
    let mut fields = entry.split([',']).filter(|field| !field.is_empty());
    let address = fields.next().filter(|address| !is_blank(address));
    let address = address.ok_or(IgnoredReason::NoAddress)?;
    let mut tags = Tags::default();
    for tag in fields {
        tags.add(tag);
    }
    if tags.is_listen == Some(true) {
        return Err(IgnoredReason::ListenPort);
    }
    Ok(PortConfig { address, suspend_mode: tags.mode.unwrap_or_default() })
}

/// The ports that a runtime opens for `DOTNET_DiagnosticPorts`, in the order in which it builds
/// them, from last to first (F-59).
///
/// Any text is accepted, as in runtimes:
/// - `;` separates ports, and `,` separates an address and its tags. Empty parts are skipped, as by
///   C's `strtok`, so `,,path` has the address `path`.
/// - White space is kept: `path, nosuspend` suspends, and ` path ` is a path with spaces (F-78).
///   `~` is not expanded (F-60). A port whose address is only white space is dropped.
/// - The case of tags is ignored, and so are tags other than `suspend`, `nosuspend`, `connect` and
///   `listen`. The first tag of a kind counts.
/// - A port whose type is `listen` is dropped (F-58, F-78), but not by builds for phones (F-165).
///   If `connect` precedes `listen`, the port is built (observed on net10.0.9, though F-78 says
///   "anywhere").
///
/// [`ignored`] reports the ignored parts.
///
/// ```
/// use dotnet_diagnostics_ipc::port::{Ports, SuspendMode};
///
/// // The document's example, where the variable was unset before.
/// let mut ports = Ports::new(";~/mydiagport.sock,nosuspend;");
/// let port = ports.next().unwrap();
/// assert_eq!((port.address, port.suspend_mode), ("~/mydiagport.sock", SuspendMode::NoSuspend));
/// assert_eq!(ports.next(), None);
/// ```
#[derive(Clone, Debug)]
pub struct Ports<'a> {
    entries: core::str::RSplit<'a, char>,
}

impl<'a> Ports<'a> {
    /// Returns the ports of `text`, the value of the variable.
    pub fn new(text: &'a str) -> Self {
        Self { entries: readable(text).rsplit(';') }
    }
}

impl<'a> Iterator for Ports<'a> {
    type Item = PortConfig<'a>;

    fn next(&mut self) -> Option<Self::Item> {
        self.entries.find_map(|entry| port(entry).ok())
    }
}

/// A part of `DOTNET_DiagnosticPorts` that a runtime ignores, with the reason.
///
/// ```
/// use dotnet_diagnostics_ipc::port::{IgnoredReason, ignored};
///
/// let part = ignored("/a, nosuspend").next().unwrap();
/// assert_eq!((part.offset, part.text, part.reason), (3, " nosuspend", IgnoredReason::UnknownTag));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct IgnoredPart<'a> {
    /// The byte offset of the part in the text.
    pub offset: usize,
    /// The text of the part.
    pub text: &'a str,
    /// The reason why it is ignored.
    pub reason: IgnoredReason,
}

reasons! {
    /// The reason why a runtime ignores a part.
    pub enum IgnoredReason {
        /// The part before, between or after semicolons is empty.
        EmptyPort, "empty_port", "nothing between semicolons";
        /// The configuration has only commas, or its address is only white space. All of it is
        /// dropped.
        NoAddress, "no_address", "the address is empty";
        /// The part before, between or after commas is empty.
        EmptyField, "empty_field", "nothing between commas";
        /// The tag is not `suspend`, `nosuspend`, `connect` or `listen`, in any case.
        UnknownTag, "unknown_tag", "unknown tag";
        /// An earlier tag of the configuration has the same kind.
        LaterTag, "later_tag", "repeats an earlier tag";
        /// The type of the configuration is `listen` (F-58). All of it is dropped, and its parts
        /// are not reported one by one. Builds for Android, iOS and tvOS listen there, if the
        /// address is `HOST:PORT` (F-165).
        ListenPort, "listen_port", "desktop runtimes create no additional listening port";
        /// The text follows a NUL, which an environment variable cannot contain.
        BehindNul, "behind_nul", "follows a NUL, which ends the text";
    }
}

/// Returns the parts that a runtime ignores, in the order of the text. There are none for an empty
/// text, which counts as unset.
///
/// ```
/// use dotnet_diagnostics_ipc::port::{IgnoredReason, ignored};
///
/// let parts = ignored("/a,suspend,nosuspend;/b,listen;").map(|part| (part.offset, part.reason));
/// assert!(parts.eq([(11, IgnoredReason::LaterTag), (21, IgnoredReason::ListenPort), (31, IgnoredReason::EmptyPort)]));
/// ```
pub fn ignored(text: &str) -> impl Iterator<Item = IgnoredPart<'_>> + Clone {
    let whole = text;
    let part = move |text, reason| IgnoredPart { offset: offset_in(whole, text), text, reason };
    let readable = Some(readable(text)).filter(|readable| !readable.is_empty());
    let behind = text.get(readable.map_or(0, str::len)..).filter(|rest| !rest.is_empty());
    let parts = readable.into_iter().flat_map(|text| text.split(';')).flat_map(move |entry| {
        let dropped = port(entry).err();
        let (mut has_address, mut tags) = (false, Tags::default());
        let fields = entry.split(',').filter(move |_| dropped.is_none());
        let fields = fields.filter_map(move |field| {
            let reason = if field.is_empty() {
                Some(IgnoredReason::EmptyField)
            } else if core::mem::replace(&mut has_address, true) {
                tags.add(field)
            } else {
                None
            };
            reason.map(|reason| part(field, reason))
        });
        dropped.map(|reason| part(entry, reason)).into_iter().chain(fields)
    });
    parts.chain(behind.map(|text| part(text, IgnoredReason::BehindNul)))
}

/// Returns the offset of `part` in `whole`, which contains it.
fn offset_in(whole: &str, part: &str) -> usize {
    (part.as_ptr() as usize).saturating_sub(whole.as_ptr() as usize)
}

/// Parses `DOTNET_DiagnosticPorts` strictly by the document's grammar, and returns the ports like
/// [`Ports`].
///
/// ```text
/// <port address>[,tag[...]][;<port address>[,tag[...]][...]]
/// tag ::= <SUSPEND_MODE> | <PORT_TYPE>    <SUSPEND_MODE> ::= suspend | nosuspend    <PORT_TYPE> ::= connect
/// ```
///
/// No part may be empty, and tags must be spelled as printed. A kind of tag may occur more than
/// once, because the document says that the first counts. An address may be anything except white
/// space, even the name of a tag (`nosuspend,connect`), without a `\\.\pipe\` prefix. The
/// document's "full path" is not checked, because the same text is a pipe's name on Windows.
///
/// Two of the document's examples break this grammar. `…;~/mydiagport.sock,nosuspend;` ends with a
/// semicolon and `<path>,nosuspend,suspend,suspend,` with a comma. Runtimes accept both.
///
/// # Errors
/// Returns a [`TextError`] for the first invalid part.
///
/// ```
/// use dotnet_diagnostics_ipc::{port::strict, text::TextErrorKind};
///
/// assert_eq!(strict("/a,nosuspend;/b")?.count(), 2);
/// let error = strict("/a,NoSuspend").unwrap_err();
/// assert_eq!((error.kind(), error.offset()), (TextErrorKind::UnknownTag, 3));
/// # Ok::<(), dotnet_diagnostics_ipc::text::TextError>(())
/// ```
pub fn strict(text: &str) -> Result<Ports<'_>, TextError> {
    for entry in text.split(';') {
        let mut fields = entry.split(',');
        let address = fields.next().unwrap_or_default();
        let fail = |kind, part| Err(TextError::new(kind, offset_in(text, part)));
        if is_blank(address) {
            return fail(TextErrorKind::EmptyAddress, address);
        }
        if strip_pipe_prefix(address).is_some() {
            return fail(TextErrorKind::PrefixedPipeName, address);
        }
        if let Some((nul, _)) = entry.match_indices('\0').next() {
            return fail(TextErrorKind::Nul, entry.get(nul..).unwrap_or_default());
        }
        for tag in fields {
            if tag.is_empty() {
                return fail(TextErrorKind::EmptyTag, tag);
            }
            if !["suspend", "nosuspend", "connect"].contains(&tag) {
                return fail(TextErrorKind::UnknownTag, tag);
            }
        }
    }
    Ok(Ports::new(text))
}

/// Writes `DOTNET_DiagnosticPorts` for the given ports, through [`Display`](fmt::Display) or
/// [`Encode`](crate::wire::Encode). Defaults are omitted.
///
/// The ports are in the order in which a runtime builds them, as in [`Ports`](super::Ports). The
/// last port is written first.
///
/// ```
/// use dotnet_diagnostics_ipc::port::{PortConfig, Ports, SuspendMode, WritePorts};
///
/// let ports = [PortConfig { suspend_mode: SuspendMode::NoSuspend, ..PortConfig::new("/b") }, PortConfig::new("/a")];
/// let text = WritePorts::new(&ports).expect("both can be written").to_string();
/// assert_eq!(text, "/a;/b,nosuspend");
/// assert!(Ports::new(&text).eq(ports));
/// assert_eq!(WritePorts::new(&[PortConfig::new("/b;c")]), None);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WritePorts<'p, 'a> {
    ports: &'p [PortConfig<'a>],
}

impl<'p, 'a> WritePorts<'p, 'a> {
    /// Returns a writer of `ports`, or `None` if one of them cannot be written because its address
    /// is empty or blank, or contains a `;`, a `,` or a NUL.
    pub fn new(ports: &'p [PortConfig<'a>]) -> Option<Self> {
        let can_stand = |port: &PortConfig<'_>| {
            !is_blank(port.address) && !port.address.contains([';', ',', '\0'])
        };
        ports.iter().all(can_stand).then_some(Self { ports })
    }
}

impl fmt::Display for WritePorts<'_, '_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (nth, port) in self.ports.iter().rev().enumerate() {
            let before = if nth > 0 { ";" } else { "" };
            write!(f, "{before}{}", port.address)?;
            if port.suspend_mode == SuspendMode::NoSuspend {
                write!(f, ",{}", port.suspend_mode.text())?;
            }
        }
        Ok(())
    }
}

encode_as_text! { WritePorts<'_, '_> }
