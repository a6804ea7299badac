//! The value form of texts: variables that configure ports, and names of sockets and pipes.

use alloc::{
    borrow::ToOwned as _,
    format,
    string::{String, ToString as _},
    vec::Vec,
};
use core::fmt;
use core::net::Ipv6Addr;

use serde_json::json;

use super::fault::{encoded, is_canonical};
use super::from_wire::FromWire;
use super::value::{expected, field, insert, items, object_of};
use super::{
    Arena, DecodeRefusal, EncodeFailure, FieldKind, Type, Value, ValueError, ValueForm, VectorFault,
};
use dotnet_diagnostics_ipc::endpoint::{
    NamePrefix, PipeName, ProcessStat, SocketForm, SocketName, strip_pipe_prefix,
};
use dotnet_diagnostics_ipc::port::{
    IgnoredReason, PortConfig, Ports, SuspendMode, WritePorts, default_port_suspend, ignored,
    strict,
};
use dotnet_diagnostics_ipc::text::TextError;
use dotnet_diagnostics_ipc::wire::{Layer, WireError};

pub(super) fn decode(kind: Type, wire: &[u8]) -> Result<(Value, bool), DecodeRefusal> {
    Ok(match kind {
        Type::ProcessStat => {
            let stat = ProcessStat::parse(wire)?;
            let value = json!({ "pid": stat.pid, "startTime": stat.start_time.to_string() });
            (value, is_canonical(&stat, wire))
        }
        Type::SocketName => {
            let name = SocketName::parse(utf8(wire)?)?;
            let value = json!({
                "prefix": name.prefix.text(),
                "pid": name.pid,
                "key": name.key.to_string(),
                "socket": name.form == SocketForm::Socket,
            });
            (value, is_canonical(&name, wire))
        }
        Type::PipeName => {
            let name = PipeName::parse(utf8(wire)?)?;
            let value =
                json!({ "prefix": name.prefix.text(), "pid": name.pid, "path": name.is_path });
            (value, is_canonical(&name, wire))
        }
        Type::DefaultPortSuspend => {
            let suspends = suspends(utf8(wire)?);
            (suspends.into(), suspend_text(suspends).as_bytes() == wire)
        }
        kind => {
            let text = utf8(wire)?;
            let is_strict = kind == Type::PortsStrict;
            let ports: Vec<_> =
                if is_strict { strict(text)?.collect() } else { Ports::new(text).collect() };
            let list = ports.iter().map(|port| {
                let suspend = port.suspend_mode.suspends();
                json!({ "address": port.address, "suspend": suspend, "type": "connect" })
            });
            let mut value = json!({ "ports": list.collect::<Value>() });
            if !is_strict {
                let ignored = ignored(text).map(|part| {
                    json!({ "offset": part.offset, "text": part.text, "reason": part.reason.name() })
                });
                insert(&mut value, "ignored", ignored.collect::<Value>());
            }
            (value, WritePorts::new(&ports).is_some_and(|text| is_canonical(&text, wire)))
        }
    })
}

pub(super) fn encode(kind: Type, value: &Value) -> Result<Vec<u8>, EncodeFailure> {
    let arena = Arena::new();
    match kind {
        Type::SocketName => {
            object_of(value, &["prefix", "pid", "key", "socket"])?;
            let is_socket = field(value, "socket", &arena)?;
            encoded(&SocketName {
                prefix: prefix(value)?,
                pid: field(value, "pid", &arena)?,
                key: field(value, "key", &arena)?,
                form: if is_socket { SocketForm::Socket } else { SocketForm::AsPrinted },
            })
        }
        Type::PipeName => {
            object_of(value, &["prefix", "pid", "path"])?;
            let (pid, is_path) = (field(value, "pid", &arena)?, field(value, "path", &arena)?);
            encoded(&PipeName { prefix: prefix(value)?, pid, is_path })
        }
        Type::ProcessStat => {
            object_of(value, &["pid", "startTime"])?;
            let (pid, start_time) =
                (field(value, "pid", &arena)?, field(value, "startTime", &arena)?);
            encoded(&ProcessStat { pid, start_time })
        }
        Type::DefaultPortSuspend => Ok(suspend_text(bool::from_value(value, &arena)?).into()),
        kind => {
            let keys: &[&str] =
                if kind == Type::PortsStrict { &["ports"] } else { &["ports", "ignored"] };
            let Some(list @ Value::Array(_)) = object_of(value, keys)?.get("ports") else {
                return Ok(expected("an object with a list of ports", value)?);
            };
            // Ignored parts are not written.
            let ports = items(list, port).map_err(|error| error.within("ports"))?;
            let text = WritePorts::new(&ports)
                .ok_or_else(|| ValueError::new("no text can express a port's address and type"))?;
            Ok(encoded(&text).map_err(|error| ValueError::new(error.to_string()))?)
        }
    }
}

/// Records the ports and the ignored parts, with the separators between them. Other texts have few
/// parts, so their whole meaning is one part.
pub(super) fn explain(kind: Type, source: &mut FromWire<'_>) -> Result<(), WireError> {
    let wire = source.reader.rest();
    match kind {
        Type::Ports | Type::PortsStrict => {
            if let Ok(text) = utf8(wire) {
                explain_ports(text, source);
            }
        }
        Type::DefaultPortSuspend => {
            if let Ok(text) = utf8(wire) {
                let what = if suspends(text) { "suspends" } else { "does not suspend" };
                source.note(FieldKind::Plain, 0, text.len(), || what.to_owned());
            }
        }
        kind => {
            let Ok((value, _)) = decode(kind, wire) else { return Ok(()) };
            let fields = value.as_object().into_iter().flatten();
            let texts = fields.map(|(key, value)| format!("{key} {value}")).collect::<Vec<_>>();
            source.take_rest(&texts.join(", "))?;
        }
    }
    Ok(())
}

fn explain_ports(text: &str, source: &mut FromWire<'_>) {
    let mut parts: Vec<_> = ignored(text)
        .map(|part| {
            let address = part.text.split(',').find(|field| !field.is_empty()).unwrap_or_default();
            let listens = part.reason == IgnoredReason::ListenPort && is_host_and_port(address);
            let elsewhere =
                if listens { "; on Android, iOS and tvOS: listens at TCP (F-165)" } else { "" };
            (part.offset, part.text.len(), format!("ignored: {}{elsewhere}", part.reason))
        })
        .collect();
    for (nth, port) in Ports::new(text).enumerate() {
        let mode = port.suspend_mode.text();
        let about = format!("port {nth}, {mode}, connect: {}", about_address(port.address));
        let offset = (port.address.as_ptr() as usize).saturating_sub(text.as_ptr() as usize);
        parts.push((offset, port.address.len(), about));
    }
    parts.sort_by_key(|(offset, ..)| *offset);
    let between = |from: usize, to: usize, source: &mut FromWire<'_>| {
        let skipped = text.get(from..to).unwrap_or_default();
        let is_tag = !skipped.trim_matches([',', ';']).is_empty();
        let what = if is_tag { "tags" } else { "separator" };
        if !skipped.is_empty() {
            source.note(FieldKind::Plain, from, skipped.len(), || what.to_owned());
        }
    };
    let mut end = 0;
    for (offset, len, about) in parts {
        between(end, offset, source);
        source.note(FieldKind::Plain, offset, len, || about);
        end = offset.saturating_add(len);
    }
    between(end, text.len(), source);
}

/// The bytes of a socket's path, without its NUL, on Linux and on macOS.
const MOST_IN_PATH: [usize; 2] = [107, 103];

/// What runtimes on each platform make of an address.
fn about_address(address: &str) -> String {
    const RELATIVE: &str = "a path from the app's working directory; on Windows the name of a pipe";
    let [linux, macos] = MOST_IN_PATH;
    let scheme = address.split_once("://").map(|(scheme, _)| scheme);
    let is_scheme = |scheme: &&str| scheme.bytes().all(|one| one.is_ascii_alphanumeric());
    let scheme = scheme.filter(is_scheme);
    let is_padded = address.trim_matches([' ', '\t']) != address;
    let is_variable = address.contains('$') || address.matches('%').count() > 1;
    let what = if is_padded {
        "the spaces at its ends are part of the path (F-78)"
    } else if address.starts_with(['"', '\'']) {
        "the quotes are part of it, and it is a relative path"
    } else if is_host_and_port(address) {
        return "TCP on Android, iOS and tvOS; elsewhere a file of this name, not TCP (F-156)"
            .into();
    } else if matches!(scheme, Some("ws" | "wss")) {
        return "a WebSocket of Mono in a browser; elsewhere a relative path (F-156)".into();
    } else if scheme == Some("js") {
        return "for the page of Mono in a browser; elsewhere a relative path (F-156)".into();
    } else if scheme.is_some() {
        "no runtime knows this scheme: a relative path"
    } else if strip_pipe_prefix(address).is_some() {
        return "Windows adds this prefix itself, so the pipe is another (P-16); elsewhere a relative path".into();
    } else if address.starts_with('~') {
        "~ is not expanded (F-60): a relative path"
    } else if is_variable {
        "a runtime expands no variable (F-60)"
    } else if address.starts_with('@') {
        "no abstract socket: a file of this name"
    } else if !address.starts_with('/') {
        return RELATIVE.into();
    } else if address.len() > linux {
        return format!("{} bytes, a socket has {linux}: it never connects (P-13)", address.len());
    } else if address.len() > macos {
        return format!("a socket, which macOS does not have: {macos} bytes at most");
    } else {
        return "a socket; Android, iOS and tvOS expect HOST:PORT (F-156)".into();
    };
    what.into()
}

/// `127.0.0.1:9000`, `[::1]:9000`, `localhost:9000`.
fn is_host_and_port(address: &str) -> bool {
    let Some((host, port)) = address.rsplit_once(':') else { return false };
    let is_name =
        |host: &str| host.bytes().all(|one| one.is_ascii_alphanumeric() || b".-_*".contains(&one));
    let inside = host.strip_prefix('[').and_then(|host| host.strip_suffix(']'));
    let is_host = inside.map_or_else(|| is_name(host), |host| host.parse::<Ipv6Addr>().is_ok());
    is_host && !host.is_empty() && port.parse::<u16>().is_ok()
}

impl From<TextError> for DecodeRefusal {
    fn from(error: TextError) -> Self {
        refusal(error.kind().name(), error.offset(), &error.kind())
    }
}

fn utf8(wire: &[u8]) -> Result<&str, DecodeRefusal> {
    core::str::from_utf8(wire).map_err(|error| refusal("not_unicode", error.valid_up_to(), &error))
}

/// Returns the refusal of a text at `offset`.
fn refusal(kind: &str, offset: usize, message: &dyn fmt::Display) -> DecodeRefusal {
    let (layer, kind) = (Layer::Payload.name().to_owned(), kind.to_owned());
    let fault = VectorFault { layer, kind, offset, field: None };
    DecodeRefusal { fault, message: message.to_string(), answer: None }
}

fn port(value: &Value) -> Result<PortConfig<'_>, ValueError> {
    let object = object_of(value, &["address", "suspend", "type"])?;
    let field = |key: &str| object.get(key).unwrap_or(&Value::Null);
    match (field("address"), field("suspend"), field("type").as_str()) {
        (Value::String(address), Value::Bool(suspend), Some("connect")) => Ok(PortConfig {
            address,
            suspend_mode: if *suspend { SuspendMode::Suspend } else { SuspendMode::NoSuspend },
        }),
        _ => expected("an address, suspend and the type \"connect\"", value),
    }
}

fn suspends(text: &str) -> bool {
    default_port_suspend(text).is_some_and(|number| number != 0)
}

/// Returns the value as the document prints it.
fn suspend_text(suspends: bool) -> &'static str {
    if suspends { "1" } else { "0" }
}

fn prefix(value: &Value) -> Result<NamePrefix, ValueError> {
    let text = value.get("prefix").unwrap_or(&Value::Null);
    let is_it = |prefix: &NamePrefix| *text == prefix.text();
    let known =
        [NamePrefix::Current, NamePrefix::Draft, NamePrefix::Router].into_iter().find(is_it);
    known
        .map_or_else(|| expected("one of the prefixes", text), Ok)
        .map_err(|error| error.within("prefix"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::explain::Item;

    fn notes(text: &str) -> Vec<String> {
        let parts = Item::whole(Type::Ports, text.as_bytes()).parts(text.as_bytes());
        parts
            .into_iter()
            .map(|part| part.text)
            .filter(|text| !matches!(&**text, "separator" | "tags"))
            .collect()
    }

    /// As the documents of the runtimes and tools, and people in public threads, write them.
    #[test]
    fn note_says_what_an_address_is_on_each_platform() {
        const SOCKET: &str = "a socket; Android, iOS and tvOS expect HOST:PORT (F-156)";
        const TCP: &str =
            "TCP on Android, iOS and tvOS; elsewhere a file of this name, not TCP (F-156)";
        const WEB: &str = "a WebSocket of Mono in a browser; elsewhere a relative path (F-156)";
        const PAGE: &str = "for the page of Mono in a browser; elsewhere a relative path (F-156)";
        const RELATIVE: &str =
            "a path from the app's working directory; on Windows the name of a pipe";
        const HOME: &str = "~ is not expanded (F-60): a relative path";
        const PREFIX: &str = "Windows adds this prefix itself, so the pipe is another (P-16); elsewhere a relative path";
        const NO_VARIABLE: &str = "a runtime expands no variable (F-60)";
        const LISTENS: &str = "ignored: desktop runtimes create no additional listening port; on Android, iOS and tvOS: listens at TCP (F-165)";
        let (suspend, nosuspend) = ("port 0, suspend, connect: ", "port 0, nosuspend, connect: ");
        for (text, mode, what) in [
            ("/diag/port.sock", suspend, SOCKET),
            ("/diag/dotnet-monitor.sock", suspend, SOCKET),
            ("/tmp/myport.sock,nosuspend", nosuspend, SOCKET),
            ("/home/user/myport.sock,connect,suspend", suspend, SOCKET),
            ("myport.sock", suspend, RELATIVE),
            ("diag/port.sock,nosuspend", nosuspend, RELATIVE),
            ("maui-app,nosuspend", nosuspend, RELATIVE),
            ("C:\\temp\\port,nosuspend", nosuspend, RELATIVE),
            ("~/mydiagport.sock,nosuspend", nosuspend, HOME),
            ("~/.dotnet/port", suspend, HOME),
            ("$HOME/port.sock", suspend, NO_VARIABLE),
            ("${TMPDIR}/port.sock,nosuspend", nosuspend, NO_VARIABLE),
            ("%TEMP%\\port", suspend, NO_VARIABLE),
            ("127.0.0.1:9000", suspend, TCP),
            ("127.0.0.1:9000,suspend", suspend, TCP),
            ("127.0.0.1:9000,nosuspend,connect", nosuspend, TCP),
            ("10.0.2.2:9000,suspend,connect", suspend, TCP),
            ("192.168.1.20:9001,nosuspend", nosuspend, TCP),
            ("localhost:9000,connect", suspend, TCP),
            ("[::1]:9000", suspend, TCP),
            ("*:9000", suspend, TCP),
            ("127.0.0.1:9000,suspend,listen", "", LISTENS),
            ("127.0.0.1:9000,nosuspend,listen", "", LISTENS),
            ("0.0.0.0:9000,listen", "", LISTENS),
            ("ws://127.0.0.1:8088/diagnostics", suspend, WEB),
            ("ws://127.0.0.1:8088/diagnostics,suspend", suspend, WEB),
            ("wss://localhost/diagnostics,nosuspend", nosuspend, WEB),
            ("js://ready", suspend, PAGE),
            ("tcp://127.0.0.1:9000", suspend, "no runtime knows this scheme: a relative path"),
            ("unix:///tmp/port.sock", suspend, "no runtime knows this scheme: a relative path"),
            ("\\\\.\\pipe\\maui-app,nosuspend", nosuspend, PREFIX),
            ("@port", suspend, "no abstract socket: a file of this name"),
            ("\"/tmp/port.sock\"", suspend, "the quotes are part of it, and it is a relative path"),
            (" /tmp/port.sock", suspend, "the spaces at its ends are part of the path (F-78)"),
            ("127.0.0.1:70000", suspend, RELATIVE),
        ] {
            assert_eq!(notes(text), [format!("{mode}{what}")], "{text}");
        }
        // A path on a desktop does not listen.
        let listen = "ignored: desktop runtimes create no additional listening port";
        assert_eq!(notes("/tmp/port.sock,listen"), [listen]);
        for (len, note) in [
            (103, SOCKET),
            (104, "a socket, which macOS does not have: 103 bytes at most"),
            (107, "a socket, which macOS does not have: 103 bytes at most"),
            (108, "108 bytes, a socket has 107: it never connects (P-13)"),
        ] {
            let path = format!("/{}", "x".repeat(len - 1));
            assert_eq!(notes(&path), [format!("{suspend}{note}")]);
        }
        // The document's example.
        assert_eq!(
            notes("/a;~/mydiagport.sock,nosuspend;"),
            [
                format!("port 1, suspend, connect: {SOCKET}"),
                format!("port 0, nosuspend, connect: {HOME}")
            ]
        );
    }
}
