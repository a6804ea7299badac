//! Makes exchanges with a live process by one client, for `tests/live/soak.py`.
//!
//! ```text
//! cargo run -p diagipc --example exchanges -- PATH-OF-ITS-SOCKET
//! ```
//!
//! For each line of its standard input, a number, it makes at least so many exchanges and prints how
//! many. They set and delete a variable of the process, so use one that you started.

use std::error::Error;
use std::io;

use dotnet_diagnostics_ipc::hresult::HResult;
use dotnet_diagnostics_ipc::io::{Client, Endpoint, ErrorKind};

const NAME: &str = "DIAG_EXCHANGES";

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [socket] = &arguments[..] else {
        return Err("usage: exchanges PATH-OF-ITS-SOCKET".into());
    };
    let client = Client::new(Endpoint::socket(socket));
    for line in io::stdin().lines() {
        let (wanted, mut made) = (line?.parse::<u64>()?, 0);
        while made < wanted {
            made += round(&client)?;
        }
        println!("{made}");
    }
    Ok(())
}

/// Makes one exchange of each kind that leaves the process as it was, and returns their number.
fn round(client: &Client) -> Result<u64, Box<dyn Error>> {
    client.process_info()?;
    client.process_info2()?;
    client.process_info3()?;
    client.set_environment_variable(NAME, Some("value"))?;
    let mut is_set = false;
    client.environment()?.for_each(|entry| is_set |= entry.text().to_string().starts_with(NAME))?;
    if !is_set {
        return Err("the variable that was set is not in the environment".into());
    }
    client.set_environment_variable(NAME, None)?;
    let Err(refused) = client.set_environment_variable(NAME, None) else {
        return Err("a missing variable was deleted".into());
    };
    let ErrorKind::Refused { hresult: HResult::ENVVAR_NOT_FOUND, .. } = refused.kind() else {
        return Err(refused.into());
    };
    client.stop_tracing(u64::MAX)?;
    Ok(8)
}
