//! Query and control a process: the Process commands, `0x04`.

//! # Example
//!
//! Set a variable of a process, and resume it:
//!
//! ```
//! use dotnet_diagnostics_ipc::message::Request as _;
//! use dotnet_diagnostics_ipc::message::process::{ResumeRuntime, SetEnvironmentVariable};
//!
//! let request = SetEnvironmentVariable { name: "A".into(), value: "B".into() };
//! assert_eq!(request.encode_message(&mut [0; 64]), Ok(36));
//! assert_eq!(ResumeRuntime {}.encode_message(&mut [0; 20]), Ok(20));
//! ```

mod environment;
mod perf_map;
mod process_info;
mod startup;

pub use environment::*;
pub use perf_map::*;
pub use process_info::*;
pub use startup::*;

/// Declares a request that has no payload.
macro_rules! empty_request {
    ($(#[$meta:meta])* $Request:ident, $COMMAND:ident, $Reply:ident $(<$lt:lifetime>)?) => {
        wire_struct! {
            $(#[$meta])*
            #[derive(Default)]
            pub struct $Request {}
        }

        impl<'a> Request<'a> for $Request {
            const COMMAND: Command = Command::$COMMAND;
            type Reply = $Reply $(<$lt>)?;
        }
    };
}

use empty_request;
