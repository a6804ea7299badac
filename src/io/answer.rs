//! A runtime's answer.

use std::marker::PhantomData;
use std::vec::Vec;

use super::{Error, ErrorKind, Phase};
use crate::hresult::HResult;
use crate::message::server::ResultReply;
use crate::message::{Message, Reply, Request};

/// An OK, and its payload.
///
/// ```
/// # #[cfg(unix)] {
/// use std::os::unix::net::UnixStream;
/// use dotnet_diagnostics_ipc::io::{Connection, UnixTransport};
/// use dotnet_diagnostics_ipc::message::eventpipe::StopTracing;
///
/// let (ours, mut theirs) = UnixStream::pair()?;
/// std::io::Write::write_all(&mut theirs, b"DOTNET_IPC_V1\0\x1c\0\xff\0\0\0\x2a\0\0\0\0\0\0\0")?;
/// let answer = Connection::new(UnixTransport::new(ours)).call(&StopTracing { session_id: 42 })?;
/// assert_eq!(answer.payload().unwrap().session_id, 42);
/// # }
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Answer<R> {
    message: Vec<u8>,
    request: PhantomData<fn() -> R>,
}

impl<R> Answer<R> {
    /// The message; the exchange has checked that it is an OK reply whose payload decodes.
    pub(super) const fn new(message: Vec<u8>) -> Self {
        Self { message, request: PhantomData }
    }

    /// The whole message, including the header.
    pub fn message(&self) -> &[u8] {
        &self.message
    }

    /// The payload; `None` if there is none, as in the generic OK of the document (F-2). For a
    /// caller-defined [`Request`] of a command unknown to this crate, also `None` if its reply
    /// does not decode.
    pub fn payload<'s>(&'s self) -> Option<<R as Request<'s>>::Reply>
    where
        R: Request<'s>,
    {
        match Message::decode(&self.message).ok()?.reply_as::<R>().ok()? {
            Reply::Ok(reply) => Some(reply),
            Reply::OkWithoutPayload | Reply::Error(_) => None,
        }
    }

    /// The result in the payload; [`HResult::OK`] if there is none.
    pub fn result<'s>(&'s self) -> HResult
    where
        R: Request<'s, Reply = ResultReply>,
    {
        self.payload().map_or(HResult::OK, |reply| reply.hresult)
    }
}

/// Whether the result in the OK `message` is a success too. The generic OK has none (F-2).
pub(super) fn check_result(message: &[u8]) -> Result<(), Error> {
    let decode = |message: Message<'_>| match message.payload {
        [] => Ok(HResult::OK),
        _ => message.decode_payload().map(|(ResultReply { hresult }, _)| hresult),
    };
    match Message::decode(message)
        .and_then(decode)
        .map_err(|error| Error::new(Phase::Reply, error))?
    {
        hresult if !hresult.is_success() => {
            Err(Error::new(Phase::Reply, ErrorKind::Refused { hresult, message: None }))
        }
        _ => Ok(()),
    }
}
