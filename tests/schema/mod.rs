//! A JSON schema, such as those of `vectors/schema/`, and its objections to a document.

use std::path::Path;

use boon::{Compiler, SchemaIndex, Schemas};
use dotnet_diagnostics_ipc::vectors::Value;

pub(crate) struct Schema {
    schemas: Schemas,
    index: SchemaIndex,
}

impl Schema {
    /// The path starts at the package.
    pub(crate) fn at(path: &str) -> Self {
        let mut schemas = Schemas::new();
        let file = Path::new(env!("CARGO_MANIFEST_DIR")).join(path);
        let index = Compiler::new()
            .compile(file.to_str().unwrap(), &mut schemas)
            .unwrap_or_else(|error| panic!("{error:#}"));
        Self { schemas, index }
    }

    /// The schema's objection to `document`, if any.
    pub(crate) fn objection(&self, document: &Value) -> Option<String> {
        self.schemas.validate(document, self.index).err().map(|error| format!("{error:.2000}"))
    }
}
