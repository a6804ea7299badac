//! The system interface of the reference runtime.

#[cfg(unix)]
pub(super) use super::unix::{
    KeptSocket as Kept, LACKING, Link, SocketFile as Guard, SocketListening as Listening, connect,
    look, remove, take,
};
#[cfg(windows)]
pub(super) use super::windows::{
    KeptPipe as Kept, LACKING, Link, PipeListening as Listening, PipePath as Guard, connect, look,
    remove,
};
