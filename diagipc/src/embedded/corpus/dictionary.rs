//! Words of the protocol, for fuzzers that cannot guess them.

use std::fmt::Write as _;

use dotnet_diagnostics_ipc::advertise::ADVERTISE_MAGIC;
use dotnet_diagnostics_ipc::command::Command;
use dotnet_diagnostics_ipc::endpoint::NamePrefix;
use dotnet_diagnostics_ipc::header::MAGIC;
use dotnet_diagnostics_ipc::hresult::HResult;
use dotnet_diagnostics_ipc::port::SuspendMode;
use dotnet_diagnostics_ipc::user_events::TRACEPOINT_FORMAT_V1;
use dotnet_diagnostics_ipc::wire::{Encode as _, IpcString};

/// Numbers at the limits of what readers check.
const EDGES: [u32; 10] =
    [0, 1, 0xff, 0x100, 1000, 1001, 0xffff, 0x1_0000, 0x7fff_ffff, 0xffff_ffff];

/// A dictionary in the form that libFuzzer and AFL++ read.
pub fn dictionary() -> String {
    let mut out = String::from(
        "# Words of the .NET Diagnostic IPC Protocol. Written by `diagipc dev corpus`.\n",
    );
    let mut word = |name: &str, bytes: &[u8]| {
        let name: String =
            name.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '_' }).collect();
        let _ = write!(out, "{name}=\"");
        for byte in bytes {
            let _ = write!(out, "\\x{byte:02x}");
        }
        out.push_str("\"\n");
    };
    word("magic", &MAGIC);
    word("advertise", &ADVERTISE_MAGIC);
    word("nettrace", b"Nettrace");
    for command in Command::known().chain([Command::OK, Command::ERROR]) {
        word(command.name().unwrap_or("reply"), &command.code().to_be_bytes());
    }
    for hresult in HResult::NAMED {
        word(hresult.name().unwrap_or_default(), &hresult.0.to_le_bytes());
    }
    for edge in EDGES {
        word("edge", &edge.to_le_bytes());
    }
    for text in ["", "a", "A=1", "=C:=C:\\"] {
        let mut bytes = Vec::new();
        if IpcString::new(text).encode(&mut bytes).is_ok() {
            word("string", &bytes);
        }
    }
    let texts = [
        NamePrefix::Current.text(),
        NamePrefix::Draft.text(),
        "-socket",
        r"\\.\pipe\",
        ";",
        ",",
        TRACEPOINT_FORMAT_V1,
    ];
    let tags = [SuspendMode::Suspend.text(), SuspendMode::NoSuspend.text(), "connect", "listen"];
    for text in texts.into_iter().chain(tags) {
        word("text", text.as_bytes());
    }
    out
}
