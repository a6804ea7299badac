//! The ports that a runtime makes of the variable.

use core::iter::FusedIterator;

use super::config::{PortConfig, PortType, Tags, fields, is_blank, readable};

/// The ports that a runtime makes of `DOTNET_DiagnosticPorts`, in the order in which it builds
/// them: from last to first (F-59).
///
/// Nothing is refused. As shipped:
/// - `;` separates ports, `,` separates an address and its tags, and empty parts are skipped, as
///   with C's `strtok`: `,,path` has the address `path`.
/// - Nothing is trimmed: `path, nosuspend` suspends, ` path ` is a path with spaces (F-78). `~` is
///   not expanded (F-60). An address of only white space counts as empty, and its port is dropped.
/// - Tags ignore case; tags other than `suspend`, `nosuspend`, `connect`, `listen` are ignored; the
///   first of a kind wins.
/// - A port whose type is `listen` is dropped (F-58, F-78). After `connect` it is a later tag, and
///   the port is built (seen on net10.0.9, though F-78 says "anywhere").
///
/// [`Ignored`](super::Ignored) reports the ignored parts.
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
    entries: core::str::Split<'a, char>,
}

impl<'a> Ports<'a> {
    /// The ports of `text`, the value of the variable.
    pub fn new(text: &'a str) -> Self {
        Self { entries: readable(text).split(';') }
    }
}

impl<'a> Iterator for Ports<'a> {
    type Item = PortConfig<'a>;

    fn next(&mut self) -> Option<Self::Item> {
        self.entries.by_ref().rev().find_map(port)
    }
}

/// Iterates from the back over the ports in the text.
impl DoubleEndedIterator for Ports<'_> {
    fn next_back(&mut self) -> Option<Self::Item> {
        self.entries.find_map(port)
    }
}

impl FusedIterator for Ports<'_> {}

/// The port of one configuration, if a runtime makes one.
fn port(entry: &str) -> Option<PortConfig<'_>> {
    let mut fields = fields(entry);
    let address = fields.next().filter(|address| !is_blank(address))?;
    let tags = Tags::of(fields);
    let port_type = tags.kind.unwrap_or_default();
    (port_type != PortType::Listen).then(|| PortConfig {
        address,
        suspend_mode: tags.mode.unwrap_or_default(),
        port_type,
    })
}

#[cfg(test)]
mod tests {
    extern crate std;
    use super::*;
    use std::vec::Vec;

    fn addresses(text: &str) -> Vec<&str> {
        Ports::new(text).map(|port| port.address).collect()
    }

    #[test]
    fn ports_iterate_last_first() {
        assert_eq!(addresses("a;b;c"), ["c", "b", "a"]);
        assert_eq!(
            Ports::new("a;b;c").rev().map(|port| port.address).collect::<Vec<_>>(),
            ["a", "b", "c"]
        );
        let mut both = Ports::new("a;b;c");
        assert_eq!(
            [both.next(), both.next_back(), both.next(), both.next_back()]
                .map(|p| p.map(|p| p.address)),
            [Some("c"), Some("a"), Some("b"), None]
        );
    }
}
