//! Decoys in the directory of the socket.

use std::fs;
use std::io::{self, Read as _};
use std::os::unix::net::UnixListener;
use std::path::Path;
use std::time::Duration;

use dotnet_diagnostics_ipc::endpoint::SocketName;
use dotnet_diagnostics_ipc::io::trust::peer_of;
use rustix::fs::{Uid, chown};

use crate::client::finding::Findings;
use crate::client::scenario::Decoy;
use crate::faults::Fault;
use crate::process::OwnDirectory;
use crate::process::procfs;

/// How long a client may take to send something after connecting.
const SENDS: Duration = Duration::from_millis(300);

/// The other user who owns a decoy. Not the system's nobody, who may run this.
const ANOTHER_USER: u32 = 65_533;

impl Decoy {
    /// Why this system does not support it, if so.
    pub(super) fn lacks(self) -> Option<String> {
        let give_away = || -> io::Result<()> {
            let directory = OwnDirectory::new("dc-")?;
            let file = directory.path().join("file");
            fs::write(&file, b"")?;
            Ok(chown(&file, Some(Uid::from_raw(ANOTHER_USER)), None)?)
        };
        let refused = (self == Self::OtherOwner).then(give_away)?.err()?;
        Some(format!("only root can give a socket to another user ({refused})"))
    }

    /// Its directory, besides the process's.
    pub(super) const fn subdirectory(self) -> &'static str {
        match self {
            Self::InAnotherTmpdir => "another",
            _ => "",
        }
    }
}

/// The decoys of a target, which listen.
#[derive(Debug, Default)]
pub(super) struct Decoys(Vec<(String, UnixListener)>);

impl Decoys {
    /// Creates those of `list` that must exist before the real socket, or after it.
    pub(super) fn make(
        &mut self,
        list: &[Decoy],
        after: bool,
        directory: &Path,
        SocketName { pid, key, .. }: SocketName,
    ) -> io::Result<()> {
        for decoy in list.iter().filter(|decoy| matches!(decoy, Decoy::EarlierKey) != after) {
            let name = match decoy {
                Decoy::LongerPid => format!("dotnet-diagnostic-{pid}4-{key}-socket"),
                Decoy::LaterKey | Decoy::PlainFile | Decoy::OtherOwner | Decoy::InAnotherTmpdir => {
                    format!("dotnet-diagnostic-{pid}-{}-socket", key.saturating_add(1_000_000))
                }
                Decoy::EarlierKey => {
                    format!("dotnet-diagnostic-{pid}-{}-socket", key.saturating_sub(1))
                }
                Decoy::OldPrefix => format!("dotnetcore-diagnostic-{pid}-{key}-socket"),
            };
            let directory = directory.join(decoy.subdirectory());
            fs::create_dir_all(&directory)?;
            let path = directory.join(&name);
            match decoy {
                Decoy::PlainFile => fs::write(path, b"")?,
                // Its process is gone: no listener.
                Decoy::EarlierKey => drop(UnixListener::bind(path)?),
                _ => {
                    let listener = UnixListener::bind(&path)?;
                    if *decoy == Decoy::OtherOwner {
                        chown(&path, Some(Uid::from_raw(ANOTHER_USER)), None)?;
                    }
                    listener.set_nonblocking(true)?;
                    self.0.push((name, listener));
                }
            }
        }
        Ok(())
    }

    /// Whether the client has sent something to one of them. Whoever lists processes does so too.
    pub(super) fn judge(&self, findings: &mut Findings) -> bool {
        let mut is_reached = false;
        for (name, listener) in &self.0 {
            while let Ok((mut stream, _)) = listener.accept() {
                let peer = peer_of(&stream).ok().and_then(|peer| peer.process_id);
                if peer.is_some_and(procfs::is_stranger) {
                    continue;
                }
                let is_ready = stream
                    .set_nonblocking(false)
                    .and_then(|()| stream.set_read_timeout(Some(SENDS)));
                let sent = is_ready.and_then(|()| stream.read(&mut [0; 64]));
                if matches!(sent, Ok(1..)) {
                    findings.must(
                        Fault::AnotherProcessReached,
                        format!("it sends its request to {name}, the socket of another process"),
                    );
                    is_reached = true;
                }
            }
        }
        is_reached
    }
}
