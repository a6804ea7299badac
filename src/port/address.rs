//! What the address of a port names.

use crate::endpoint::PIPE_PREFIX;

/// What the address of a port names, by its form.
///
/// Which of these a runtime reaches depends on its build (F-156): `CoreCLR` and `NativeAOT` for Linux,
/// macOS and Windows take every address for the name of a socket or pipe, those for Android, iOS and
/// tvOS connect by TCP, and Mono in a browser has only `WebSocket` and JavaScript. No address contains
/// a `;` or a `,`.
///
/// ```
/// use dotnet_diagnostics_ipc::port::{PortAddress, Ports};
///
/// let port = Ports::new("ws://127.0.0.1:8088/diagnostics,nosuspend").next().unwrap();
/// assert_eq!(PortAddress::of(port.address), PortAddress::WebSocket("ws://127.0.0.1:8088/diagnostics"));
/// assert_eq!(PortAddress::of("127.0.0.1:9000"), PortAddress::Tcp { host: "127.0.0.1", port: 9000 });
/// assert_eq!(PortAddress::of("js://ready"), PortAddress::JavaScript("ready"));
/// assert_eq!(PortAddress::of("/tmp/my.sock"), PortAddress::Local("/tmp/my.sock"));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum PortAddress<'a> {
    /// Unix: the path of a socket. Windows: the name of a pipe.
    Local(&'a str),
    /// The name behind `\\.\pipe\`, a prefix that the document wants omitted and
    /// [`strict`](super::strict()) refuses.
    PrefixedPipe(&'a str),
    /// `HOST:PORT`.
    Tcp {
        /// A name or a number; an IPv6 address is in brackets.
        host: &'a str,
        /// The port.
        port: u16,
    },
    /// The whole address, which begins with `ws://` or `wss://`.
    WebSocket(&'a str),
    /// What the page's own code does, behind `js://`: `ready`, `gcdump`, `counters`, `cpu-samples`.
    JavaScript(&'a str),
}

impl<'a> PortAddress<'a> {
    /// What this address names.
    pub fn of(address: &'a str) -> Self {
        if ["ws://", "wss://"].iter().any(|scheme| address.starts_with(scheme)) {
            return Self::WebSocket(address);
        }
        if let Some(what) = address.strip_prefix("js://") {
            return Self::JavaScript(what);
        }
        if let Some(name) = address.strip_prefix(PIPE_PREFIX) {
            return Self::PrefixedPipe(name);
        }
        tcp(address).map_or(Self::Local(address), |(host, port)| Self::Tcp { host, port })
    }

    /// The kind in words: `TCP`.
    pub const fn kind(&self) -> &'static str {
        match self {
            Self::Local(_) => "socket or pipe",
            Self::PrefixedPipe(_) => "pipe",
            Self::Tcp { .. } => "TCP",
            Self::WebSocket(_) => "WebSocket",
            Self::JavaScript(_) => "JavaScript",
        }
    }
}

/// The host and the port. A path has a slash, and only an IPv6 address a colon in its host.
fn tcp(address: &str) -> Option<(&str, u16)> {
    let (host, port) = address.rsplit_once(':')?;
    let is_bracketed = host.starts_with('[') && host.ends_with(']');
    let is_host = !host.is_empty() && !host.contains(['/', '\\']);
    let is_number = !port.is_empty() && port.bytes().all(|byte| byte.is_ascii_digit());
    let port = port.parse().ok().filter(|_| is_number)?;
    (is_host && (is_bracketed || !host.contains(':'))).then_some((host, port))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_host_and_a_port_are_tcp() {
        let tcp = |host, port| PortAddress::Tcp { host, port };
        assert_eq!(PortAddress::of("[::1]:9000"), tcp("[::1]", 9000));
        assert_eq!(PortAddress::of("localhost:0"), tcp("localhost", 0));
        for path in [
            "a",
            "a:",
            ":1",
            "a:b",
            "a:+1",
            "a:65536",
            "/tmp/a:1",
            "a:1/b",
            "::1:9000",
            r"C:\a:1",
            "WS://a",
            "ws:/a",
            "js:ready",
            "tcp://a:1",
            "",
        ] {
            assert_eq!(PortAddress::of(path), PortAddress::Local(path), "{path}");
        }
    }

    #[test]
    fn scheme_is_the_beginning_of_the_address() {
        assert_eq!(PortAddress::of("wss://a:1"), PortAddress::WebSocket("wss://a:1"));
        assert_eq!(PortAddress::of("js://"), PortAddress::JavaScript(""));
        assert_eq!(PortAddress::of(r"\\.\pipe\a:1"), PortAddress::PrefixedPipe("a:1"));
    }
}
