//! A JSON schema of `vectors/schema/`, and what it has against a document.

use std::path::Path;

use boon::{Compiler, SchemaIndex, Schemas};
use dotnet_diagnostics_ipc::vectors::Value;

pub(crate) struct Schema {
    schemas: Schemas,
    index: SchemaIndex,
}

impl Schema {
    pub(crate) fn load(name: &str) -> Self {
        let mut schemas = Schemas::new();
        let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("vectors/schema").join(name);
        let index = Compiler::new().compile(file.to_str().unwrap(), &mut schemas).unwrap_or_else(|error| panic!("{error:#}"));
        Self { schemas, index }
    }

    /// What the schema has against `document`, if anything.
    pub(crate) fn objection(&self, document: &Value) -> Option<String> {
        self.schemas.validate(document, self.index).err().map(|error| format!("{error:.2000}"))
    }
}
