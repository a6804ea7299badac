//! The texts of the tool's errors: `error_messages.txt` has a line for every kind, `kind | text`, for
//! review.

use std::fmt;

use diagipc::CaseFault;

use crate::error_texts::{Snapshot, Texts};

/// A fault of a codec's answer: its name, and its text.
struct CodecFault(CaseFault);

impl fmt::Debug for CodecFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "CodecFault::{}", self.0.name)
    }
}

impl fmt::Display for CodecFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0.text)
    }
}

/// What is wrong with answers of codecs.
fn codec_faults(texts: &mut Texts) {
    use diagipc::codec::{self, Answer};
    use diagipc::embedded;
    use diagipc::{Glob, Playable as _};

    let cases = codec::cases(embedded::vectors().unwrap());
    let stop = |operation: &str| Glob::new(format!("eventpipe/*/5050/{operation}"));
    let judge = |operation: &str, answer: &str| {
        let case = cases.iter().find(|case| case.is_chosen(&stop(operation))).unwrap();
        let answer = format!(r#"{{ "result": {answer} }}"#);
        let judged = case.judge(&Answer::parse(&answer).unwrap(), true);
        CodecFault(judged.faults.into_iter().next().unwrap())
    };
    texts.all([
        judge("decode", r#""error""#),
        judge("decode", r#""error", "layer": "network""#),
        judge("decode", r#""ok""#),
        judge("decode", r#""ok", "value": { "sessionId": 1 }"#),
        judge("decode", r#""ok", "value": { "sessionId": "1" }, "canonical": false"#),
        judge("decode", r#""unsupported", "reason": "there are no replies""#),
        judge("encode", r#""taken""#),
        judge("encode", r#""ok""#),
        judge("encode", r#""ok", "wire": "444f544e45545f4950435f563100""#),
    ]);
}

fn conformance(texts: &mut Texts) {
    use diagipc::client::Operations;
    use diagipc::faults::{Fault, SuiteName};
    use diagipc::fuzz::CaseVerdict;
    use diagipc::known::Profile;
    use diagipc::runtime::{Misbehaviour, StartError};
    use diagipc::server::Death;
    use diagipc::{AdapterError, Address, Glob, Program, SpawnCommand};

    texts.all([
        AdapterError::NotStarted("No such file or directory (os error 2)".to_owned()),
        AdapterError::Died("exit status: 1: no module named codec".to_owned()),
        AdapterError::TimedOut(std::time::Duration::from_secs(5)),
        AdapterError::LineTooLong,
        AdapterError::ByteOrderMark("UTF-8"),
        AdapterError::NotFlushed(std::time::Duration::from_secs(5)),
        AdapterError::NoLineFeed(std::time::Duration::from_secs(5)),
        AdapterError::Cancelled,
    ]);
    codec_faults(texts);
    texts.add("coreclr-x".parse::<Profile>().unwrap_err());
    for text in ["sleeps", "size=x", "echo-payload=1"] {
        texts.all(Misbehaviour::parse(text).err());
    }
    texts.all([
        StartError::Socket(dotnet_diagnostics_ipc::io::Error::connecting(
            std::io::ErrorKind::AddrInUse.into(),
        )),
        StartError::TooManyPorts { limit: 2 },
        StartError::System(std::io::ErrorKind::OutOfMemory.into()),
        StartError::Vectors,
        StartError::Unavailable(Misbehaviour::parse("reset").unwrap()),
    ]);
    for text in [
        "",
        "operations = {}",
        "[operations]\ninfo = []",
        "[operations]\nprocess-info = [\"a\", \"{nothing}\"]",
    ] {
        texts.all(Operations::parse("mine.toml", text).err());
    }
    texts.all([Death::Status(1), Death::Signal(11), Death::Unknown]);
    texts.all(Fault::ALL.iter().copied());
    texts.all(SuiteName::ALL.iter().copied());
    texts.all(CaseVerdict::ALL.iter().copied());
    let spawn = SpawnCommand {
        program: Program::new("./app", ["--serve"]),
        patience: std::time::Duration::ZERO,
        settles: std::time::Duration::ZERO,
    };
    texts.all([
        Address::Process(4242),
        Address::Socket("/tmp/my.socket".into()),
        Address::Pipe("my-server".to_owned()),
        Address::Tcp(([127, 0, 0, 1], 9000).into()),
        Address::Port("/tmp/my.port".into()),
        Address::Spawn(spawn),
    ]);
    texts.add(Glob::new("tc-15*"));
}

#[test]
fn error_texts_equal_snapshot() {
    let mut tool = Texts::new();
    conformance(&mut tool);
    snapshot().equals([("tool", tool)]);
}

#[test]
fn snapshot_has_every_kind() {
    // The program prints the errors of others.
    let kinds = snapshot().has_every_kind_of("src", &["commands"]);
    assert!(kinds > 20, "{kinds}");
}

fn snapshot() -> Snapshot {
    Snapshot {
        root: env!("CARGO_MANIFEST_DIR"),
        file: "tests/conformance/error_messages.txt",
        renewed_by: "-p diagipc --test conformance error_texts",
    }
}
