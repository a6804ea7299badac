//! A JSON schema, such as those of `vectors/schema/`, and its objections to a document.

use std::path::Path;

use boon::{Compiler, SchemaIndex, Schemas};
use dotnet_diagnostics_ipc_vectors::Value;

const SCRIPTS: &str = include_str!("../../vectors/schema/exchanges.schema.json");

pub(crate) struct Schema {
    schemas: Schemas,
    index: SchemaIndex,
}

impl Schema {
    /// The path starts at the package. The schema may refer to that of the exchange scripts.
    pub(crate) fn at(path: &str) -> Self {
        let scripts: Value = serde_json::from_str(SCRIPTS).unwrap();
        let id = scripts["$id"].as_str().unwrap().to_owned();
        let (mut schemas, mut compiler) = (Schemas::new(), Compiler::new());
        compiler.add_resource(&id, scripts).unwrap();
        let file = Path::new(env!("CARGO_MANIFEST_DIR")).join(path);
        let index = compiler
            .compile(file.to_str().unwrap(), &mut schemas)
            .unwrap_or_else(|error| panic!("{error:#}"));
        Self { schemas, index }
    }

    /// The schema's objection to `document`, if any.
    pub(crate) fn objection(&self, document: &Value) -> Option<String> {
        self.schemas.validate(document, self.index).err().map(|error| format!("{error:.2000}"))
    }
}
