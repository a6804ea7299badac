//! What a handler learns of its sessions, and the replies to requests that are long, unknown or
//! over the limits.

use std::io::Write as _;
use std::os::unix::net::UnixStream;
use std::sync::Mutex;

use dotnet_diagnostics_ipc::command::Command;
use dotnet_diagnostics_ipc::exchange::{
    AfterReply, KnownCommands, Outcome, RefusalReason, ServerOutcome,
};
use dotnet_diagnostics_ipc::hresult::HResult;
use dotnet_diagnostics_ipc::io::server::{Handler, Refusal, ServeOptions, StreamSession};
use dotnet_diagnostics_ipc::message::dump::{DumpFlags, DumpType, GenerateCoreDump3};
use dotnet_diagnostics_ipc::message::eventpipe::CollectTracing2;
use dotnet_diagnostics_ipc::message::process::{ResumeRuntime, SetEnvironmentVariable};
use dotnet_diagnostics_ipc::message::server::ResultReply;
use dotnet_diagnostics_ipc::message::{AnyRequest, Message};
use dotnet_diagnostics_ipc::wire::IpcString;

use crate::server::requests::COLLECT2;
use crate::server::runtime::Runtime;
use crate::server::{ask, ask_at, error, with_server};

#[test]
fn session_writer_counts_bytes() {
    struct Counting(Mutex<Vec<String>>);
    impl Handler for Counting {
        fn collect_tracing2(&self, _: CollectTracing2<'_>) -> Result<StreamSession<'_>, HResult> {
            Ok(StreamSession::new(1, |stream| {
                for piece in [&b"Nettrace"[..], &[], &vec![0; 70_000]] {
                    stream.write_all(piece)?;
                    stream.flush()?;
                    let said = format!("{} of {stream:?}", stream.streamed());
                    self.0.lock().unwrap().push(said);
                }
                Ok(())
            }))
        }
    }
    let counting = Counting(Mutex::default());
    with_server(&counting, ServeOptions::DEFAULT, |path, _| {
        let mut socket = UnixStream::connect(path).unwrap();
        ask(&mut socket, &COLLECT2, None);
        assert_eq!(std::io::copy(&mut socket, &mut std::io::sink()).unwrap(), 70_008);
    });
    let said =
        [8, 8, 70_008].map(|sent| format!("{sent} of StreamWriter {{ streamed: {sent}, .. }}"));
    assert_eq!(*counting.0.lock().unwrap(), said);
}

#[test]
fn server_request_of_any_length_is_read_whole() {
    let value = "v".repeat(30_000);
    let request = AnyRequest::SetEnvironmentVariable(SetEnvironmentVariable {
        name: "N".into(),
        value: IpcString::new(value.as_str()),
    });
    let runtime = Runtime::default();
    with_server(&runtime, ServeOptions::DEFAULT, |path, _| {
        let (outcome, _) = ask_at(path, &request);
        assert_eq!(outcome, Outcome::Ok { size: 24, then: AfterReply::Close });
    });
    let asked = runtime.asked.lock().unwrap();
    assert!(format!("{request:?}").contains(&asked[0]) && asked[0].contains(&value));
}

#[test]
fn server_command_known_to_options_only_is_unknown() {
    const COMMAND: Command = Command { set: 4, id: 0xee };
    let runtime = Runtime::default();
    let commands = KnownCommands::These(&[COMMAND]);
    with_server(&runtime, ServeOptions { commands, ..ServeOptions::DEFAULT }, |path, _| {
        let request = AnyRequest::Unknown { command: COMMAND, payload: b"anything" };
        assert_eq!(ask_at(path, &request).0, error(HResult::UNKNOWN_COMMAND));
    });
    let served = runtime.served(1)[0];
    assert_eq!(
        (served.command, served.outcome),
        (Some(COMMAND), ServerOutcome::Refused(HResult::UNKNOWN_COMMAND))
    );
}

/// Refuses all but one request, dumps with this text, and the others by the server's reason.
struct Strict(String);

impl Handler for Strict {
    fn check(&self, request: &AnyRequest<'_>) -> Result<(), Refusal> {
        let is_dump = matches!(request, AnyRequest::GenerateCoreDump3(_));
        if is_dump {
            Err(Refusal { hresult: HResult::NOT_SUPPORTED, message: Some(self.0.clone()) })
        } else {
            Ok(())
        }
    }

    fn refuse(&self, request: Option<Message<'_>>, reason: RefusalReason) -> Refusal {
        match (request, reason) {
            (None, RefusalReason::UnknownCommand { command: Command { set: 4, id: 0xee } }) => {
                HResult(0x8000_0001).into()
            }
            (
                Some(Message { command: Command::STOP_TRACING, payload: [1, 2], .. }),
                RefusalReason::Malformed(error),
            ) if error.offset() == 20 => HResult(0x8000_0002).into(),
            other => panic!("{other:?}"),
        }
    }

    fn generate_core_dump3(&self, _: GenerateCoreDump3<'_>) -> Result<ResultReply, Refusal> {
        panic!("the check refused it")
    }

    fn resume_runtime(&self, _: ResumeRuntime) -> Result<ResultReply, HResult> {
        Ok(ResultReply { hresult: HResult::OK })
    }
}

#[test]
fn handler_check_and_refuse_choose_error() {
    let dump = GenerateCoreDump3 {
        dump_name: "/d".into(),
        dump_type: DumpType::NORMAL,
        flags: DumpFlags::NONE,
    };
    // A text that is too long for a reply is left out.
    with_server(&Strict("x".repeat(40_000)), ServeOptions::DEFAULT, |path, _| {
        let (outcome, _) = ask_at(path, &AnyRequest::GenerateCoreDump3(dump));
        assert_eq!(outcome, error(HResult::NOT_SUPPORTED));
    });
    with_server(&Strict("no dumps".into()), ServeOptions::DEFAULT, |path, _| {
        let ask = |request| ask_at(path, &request);
        let (outcome, reply) = ask(AnyRequest::GenerateCoreDump3(dump));
        assert_eq!(outcome, Outcome::Error { size: 46, hresult: HResult::NOT_SUPPORTED });
        assert_eq!(reply[24..46], *b"\x09\0\0\0n\0o\0 \0d\0u\0m\0p\0s\0\0\0");
        assert_eq!(
            ask(AnyRequest::ResumeRuntime(ResumeRuntime {})).0,
            Outcome::Ok { size: 24, then: AfterReply::Close }
        );
        let unknown = |command, payload| AnyRequest::Unknown { command, payload };
        assert_eq!(
            ask(unknown(Command { set: 4, id: 0xee }, b"any")).0,
            error(HResult(0x8000_0001))
        );
        assert_eq!(ask(unknown(Command::STOP_TRACING, &[1, 2])).0, error(HResult(0x8000_0002)));
    });
}
