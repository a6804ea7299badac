//! Play exchange scripts over real connections: the [`Network`](dotnet_diagnostics_ipc_vectors::player::Network)s
//! of a [`Player`](dotnet_diagnostics_ipc_vectors::player::Player).
//!
//! Play a conversation to a server:
//!
//! ```no_run
//! # #[cfg(unix)] {
//! use std::time::Duration;
//! use diagipc::network::LiveNetwork;
//! use dotnet_diagnostics_ipc_vectors::player::Player;
//! use dotnet_diagnostics_ipc_vectors::script::Step;
//!
//! let steps: Vec<Step> = serde_json::from_str(r#"[
//!     { "open": "a" },
//!     { "on": "a", "send": ["444f544e45545f4950435f563100", "1400", "0463", "0000"] },
//!     { "on": "a", "expect": ["444f544e45545f4950435f563100", "1800", "ffff", "0000", "85131380"] },
//!     { "on": "a", "expect_end": "closed" }]"#)?;
//! let mut network = LiveNetwork::to("/tmp/dotnet-diagnostic-12-345-socket");
//! Player::new(&mut network, Duration::from_secs(5)).play(&steps)?;
//! # }
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

pub(crate) mod address;
mod background;
mod live;
mod peer;
#[cfg(unix)]
pub(crate) mod process;
mod target;
#[cfg(unix)]
mod unix;
#[cfg(windows)]
mod windows;

use dotnet_diagnostics_ipc_vectors::player::PlayerError;
pub use live::LiveNetwork;
pub(crate) use peer::Peer;
#[cfg(unix)]
pub use unix::Listener;
#[cfg(unix)]
pub(crate) use unix::{is_served, kind_of};
#[cfg(windows)]
pub use windows::Listener;
#[cfg(windows)]
pub(crate) use windows::{is_served, lacks};

fn failed<E: std::fmt::Display>(what: &str) -> impl FnOnce(E) -> PlayerError + '_ {
    move |error| PlayerError::differs(format!("{what}: {error}"))
}

fn cancelled() -> PlayerError {
    PlayerError::differs("the player was interrupted")
}
