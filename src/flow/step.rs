//! The steps of a flow: who does what, on which connection.

use core::fmt;

/// Who does a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Speaker {
    /// The tool: it asks, whoever opened the connection.
    Client,
    /// The runtime: it answers.
    Runtime,
    /// One or the other, as the command says.
    Either,
}

/// What a step is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum What {
    /// The connection is opened.
    Connect,
    /// The 34 bytes of an advertise.
    Advertise,
    /// A message that asks.
    Request,
    /// A byte that carries a file descriptor (F-19, F-20).
    FileDescriptor,
    /// The message that answers: OK or error.
    Reply,
    /// Whatever the command says ("optional continuation").
    Continuation,
    /// A nettrace or netperf stream, until the session ends.
    Stream,
    /// The environment block, of as many bytes as the reply said.
    EnvironmentBlock,
    /// The session's `StopTracing`.
    StopRequest,
    /// The answer to it.
    StopReply,
    /// A `MessageHeader` of the protocol before this one.
    OldRequest,
    /// A bare session id of the protocol before this one; 0 is an error.
    OldReply,
    /// The connection is closed.
    Close,
}

/// On which connection a step happens.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Connection {
    /// The one on which the request goes.
    First,
    /// Another one, opened by the client for this step.
    Second,
    /// Another one, opened by the runtime after the first has been used.
    Next,
}

/// One step of a flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Step {
    /// Who does it.
    pub speaker: Speaker,
    /// What it is.
    pub what: What,
    /// On which connection.
    pub connection: Connection,
    /// Whether the flow is whole without it.
    pub optional: bool,
}

impl fmt::Display for Speaker {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Client => "client -> runtime",
            Self::Runtime => "runtime -> client",
            Self::Either => "client <-> runtime",
        })
    }
}

impl fmt::Display for What {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Connect => "connect",
            Self::Advertise => "advertise",
            Self::Request => "request",
            Self::FileDescriptor => "file descriptor",
            Self::Reply => "reply",
            Self::Continuation => "continuation",
            Self::Stream => "stream",
            Self::EnvironmentBlock => "environment block",
            Self::StopRequest => "StopTracing",
            Self::StopReply => "reply to StopTracing",
            Self::OldRequest => "message header",
            Self::OldReply => "session id",
            Self::Close => "close",
        })
    }
}
