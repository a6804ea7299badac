fn main() {
    use dotnet_diagnostics_ipc::message::{Message, Request as _, process::ProcessInfo2};
    use std::io::{Read, Write};
    let mut s = std::os::unix::net::UnixStream::connect(std::env::var("DIAG_SOCKET").unwrap()).unwrap();
    let mut b = [0; 20];
    ProcessInfo2 {}.encode_message(&mut b).unwrap();
    s.write_all(&b).unwrap();
    let mut v = vec![];
    s.read_to_end(&mut v).unwrap();
    println!("{:#?}", Message::decode_exact(&v).unwrap().reply_as::<ProcessInfo2>().unwrap());
}
