//! What client, server and their callers can do next.

use dotnet_diagnostics_ipc::exchange::{
    AfterReply, ClientAction, End, Outcome, ServerAction, ServerOutcome,
};
use dotnet_diagnostics_ipc::hresult::HResult;

use super::{BEHIND, Pair, Pieces, SECOND};
use crate::exhaustive::{Way, legal};

impl Pair {
    pub(super) fn client_ways(&self, ways: &mut Vec<Way<Self>>) {
        let server_is_gone = self.there.end.is_some();
        match self.client.action() {
            ClientAction::Send(_) | ClientAction::SendFd(_) if server_is_gone => {
                self.way(ways, "client's send fails", false, |pair| {
                    pair.client.send_failed().unwrap();
                });
            }
            ClientAction::Send(range) => {
                for n in self.pieces(range.len(), &self.there) {
                    self.way(ways, "client sends", false, |pair| pair.client_sent(n));
                }
            }
            ClientAction::SendFd(_) => {
                for fd in [true, false] {
                    if !self.pieces(1, &self.there).is_empty() {
                        // A descriptor is sent with a separate byte, the last one.
                        self.way(
                            ways,
                            if fd { "client sends descriptor" } else { "descriptor is lost" },
                            !fd,
                            |pair| {
                                pair.there.bytes.push(0);
                                pair.there.fd = fd;
                                pair.client.fd_sent().unwrap();
                                pair.step(if fd { "> descriptor" } else { "> more" });
                            },
                        );
                    }
                }
            }
            ClientAction::Receive(range) => {
                for n in sizes(range.len().min(self.back.bytes.len()), self.talk.pieces) {
                    self.way(ways, "client receives", false, |pair| pair.client_received(n));
                }
                let ended =
                    self.back.end.filter(|end| self.back.bytes.is_empty() || *end == End::Reset);
                if let Some(end) = ended {
                    self.way(ways, "client sees the end", false, |pair| {
                        pair.back.bytes.clear();
                        pair.client.ended(end).unwrap();
                    });
                }
            }
            ClientAction::Finished(_) if self.client_is_gone => return,
            ClientAction::Finished(Outcome::BufferTooSmall { .. }) => {
                self.way(ways, "client enlarges", false, |pair| {
                    pair.ours.resize(128, 0);
                    pair.client.enlarged(&pair.ours).unwrap();
                });
            }
            ClientAction::Finished(_) => self.caller_ways(ways),
        }
        if !matches!(self.client.action(), ClientAction::Finished(_)) {
            self.way(ways, "client's time is over", true, |pair| {
                pair.client.ended(End::TimedOut).unwrap();
            });
        }
        let may_say_more = self.talk.pieces != Pieces::All
            && matches!(self.client.action(), ClientAction::Receive(_));
        if may_say_more && !server_is_gone && self.steps.last() == Some(&"> request") {
            self.way(ways, "client says more", true, |pair| {
                pair.there.bytes.push(BEHIND);
                pair.step("> more");
            });
        }
    }

    /// What the client's caller does with the connection.
    fn caller_ways(&self, ways: &mut Vec<Way<Self>>) {
        let then = match self.client.action() {
            ClientAction::Finished(Outcome::Ok { then, .. }) => Some(then),
            _ => None,
        };
        let reads =
            matches!(then, Some(AfterReply::Stream { .. } | AfterReply::EnvironmentBlock { .. }));
        let may_hold = matches!(then, Some(AfterReply::UserEvents { .. }));
        if reads || may_hold {
            for n in sizes(self.back.bytes.len(), self.talk.pieces) {
                self.way(ways, "caller reads", false, |pair| {
                    pair.read.extend(pair.back.bytes.drain(..n));
                });
            }
            if let Some(end) =
                self.back.end.filter(|_| self.back.bytes.is_empty() && self.read_end.is_none())
            {
                self.way(ways, "caller sees the end", false, |pair| pair.read_end = Some(end));
            }
        }
        if matches!(then, Some(AfterReply::AnotherReply)) && self.first.is_none() {
            self.way(ways, "client awaits another reply", false, |pair| {
                pair.first = pair.outcome();
                pair.taken.0 = 0;
                pair.client.another_reply().unwrap();
            });
        }
        self.way(ways, "client closes", reads && self.read_end.is_none(), Self::client_closes);
    }

    pub(super) fn server_ways(&self, ways: &mut Vec<Way<Self>>) {
        let client_is_gone = self.back.end.is_some();
        match self.server.action() {
            ServerAction::Receive(_) | ServerAction::ReceiveFd => self.server_receives(ways),
            ServerAction::Decode(range) => self.way(ways, "server decodes", false, |pair| {
                assert_eq!(
                    pair.theirs[range], *pair.talk.request,
                    "the server got another request"
                );
                assert!(pair.server.request(&pair.theirs).unwrap().is_some());
            }),
            ServerAction::Respond => {
                self.way(ways, "server responds", false, Self::respond);
                self.way(ways, "server refuses", false, |pair| pair.refuse(HResult::FAIL));
            }
            ServerAction::Refuse(reason) => {
                self.way(ways, "server refuses for a reason", false, |pair| {
                    pair.refuse(reason.hresult());
                });
            }
            ServerAction::Send(_) if client_is_gone => {
                self.way(ways, "server's send fails", false, |pair| {
                    pair.server.send_failed().unwrap();
                });
            }
            ServerAction::Send(range) => {
                for n in self.pieces(range.len(), &self.back) {
                    self.way(ways, "server sends", false, |pair| pair.server_sent(n));
                }
            }
            ServerAction::Continue { left } => {
                let rest = &self.talk.follows()[self.put.len()..];
                for n in sizes(rest.len(), self.talk.pieces) {
                    self.way(ways, "server goes on", false, |pair| {
                        pair.theirs[..n].copy_from_slice(&rest[..n]);
                        pair.server.piece(&pair.theirs, n).unwrap();
                        pair.step(if left.is_none() { "< stream" } else { "< environment block" });
                    });
                }
                if left.is_some() {
                    self.way(ways, "server breaks off", false, |pair| {
                        pair.server.break_off(HResult::FAIL, &mut pair.theirs).unwrap();
                    });
                } else {
                    self.way(ways, "stream ends", false, |pair| {
                        pair.server.continuation_ended().unwrap();
                    });
                }
            }
            ServerAction::Hold => {
                if let Some(end) = self.there.end.filter(|_| self.there.bytes.is_empty()) {
                    self.way(ways, "server sees the hang-up", false, |pair| {
                        pair.server.ended(end).unwrap();
                    });
                }
                self.way(ways, "session is stopped", false, |pair| {
                    pair.server.continuation_ended().unwrap();
                });
            }
            ServerAction::Close => {
                self.way(ways, "server closes", false, |pair| {
                    pair.server_closes();
                    pair.server.closed().unwrap();
                });
                self.server_says_more(ways);
            }
            ServerAction::Finished(ServerOutcome::BufferTooSmall { .. }) => {
                self.way(ways, "server enlarges", false, |pair| {
                    pair.theirs.resize(128, 0);
                    pair.server.enlarged(&pair.theirs).unwrap();
                });
                self.way(ways, "server refuses what is too large", false, |pair| {
                    pair.refuse(HResult::BAD_ENCODING);
                });
            }
            ServerAction::Finished(_) => {}
        }
        if legal::waits(&self.server.action()) {
            self.way(ways, "server's time is over", true, |pair| {
                pair.server.ended(End::TimedOut).unwrap();
            });
        }
    }

    fn server_receives(&self, ways: &mut Vec<Way<Self>>) {
        if let ServerAction::Receive(range) = self.server.action() {
            for n in sizes(range.len().min(self.there.bytes.len()), self.talk.pieces) {
                self.way(ways, "server receives", false, |pair| pair.server_received(n));
            }
        } else if !self.there.bytes.is_empty() {
            self.way(ways, "server receives the byte", false, |pair| {
                pair.there.bytes.remove(0);
                let fd = std::mem::take(&mut pair.there.fd);
                if fd { pair.server.fd_received() } else { pair.server.fd_missing() }.unwrap();
            });
        }
        if let Some(end) =
            self.there.end.filter(|end| self.there.bytes.is_empty() || *end == End::Reset)
        {
            self.way(ways, "server sees the end", false, |pair| {
                pair.there.bytes.clear();
                pair.server.ended(end).unwrap();
            });
        }
    }

    /// A second reply, as some runtimes send to a dump (F-81); or an unexpected byte.
    fn server_says_more(&self, ways: &mut Vec<Way<Self>>) {
        if self.back.end.is_some() || self.steps.last() != Some(&"< reply") {
            return;
        }
        if self.talk.flow == "dump" {
            self.way(ways, "server replies again", false, |pair| {
                pair.back.bytes.extend(SECOND);
                pair.step("< second reply");
            });
        } else if self.talk.pieces != Pieces::All
            && matches!(self.talk.flow, "ask" | "stop" | "attach")
        {
            self.way(ways, "server says more", true, |pair| {
                pair.back.bytes.push(BEHIND);
                pair.step("< more");
            });
        }
    }
}

/// How many of `most` bytes are sent at once.
pub(super) fn sizes(most: usize, pieces: Pieces) -> Vec<usize> {
    match (most, pieces) {
        (0, _) => vec![],
        (1, _) | (_, Pieces::All) => vec![most],
        (_, Pieces::OneOrAll) => vec![1, most],
        (_, Pieces::AllButOne) => vec![most - 1, most],
    }
}
