//! Where a started target writes the dump of a vector: vectors name fixed files, and a run must
//! leave none behind.

use std::borrow::Cow;
use std::path::Path;

use dotnet_diagnostics_ipc::message::{AnyRequest, Message, encode_to_vec};
use dotnet_diagnostics_ipc::wire::IpcString;
use dotnet_diagnostics_ipc_vectors::Test;

/// The same request, with the named file in `directory` if it would be written anywhere else. A
/// path that cannot be written stays: its answer depends on that.
pub(super) fn below<'t>(directory: &Path, test: &'t Test) -> Cow<'t, Test> {
    let wire = test.wire.as_deref().and_then(|wire| moved(directory, wire));
    wire.map_or(Cow::Borrowed(test), |wire| Cow::Owned(Test { wire: Some(wire), ..test.clone() }))
}

fn moved(directory: &Path, wire: &[u8]) -> Option<Vec<u8>> {
    let message = Message::decode(wire).ok()?;
    let mut request = message.request().ok()?;
    let name = match &mut request {
        AnyRequest::GenerateCoreDump(request) => &mut request.dump_name,
        AnyRequest::GenerateCoreDump2(request) => &mut request.dump_name,
        AnyRequest::GenerateCoreDump3(request) => &mut request.dump_name,
        _ => return None,
    };
    let path = name.to_unicode()?;
    let path = Path::new(&path);
    let is_elsewhere = path.has_root() && path.parent().is_some_and(Path::is_dir);
    let own = directory.join(path.file_name().filter(|_| is_elsewhere)?);
    *name = IpcString::new(own.to_str()?);
    encode_to_vec(message.command, &request).ok()
}
