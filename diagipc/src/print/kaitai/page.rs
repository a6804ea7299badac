//! The data of the template of `spec/dotnet_ipc.ksy`.

use serde::Serialize;

/// All of it.
#[derive(Serialize)]
pub(super) struct Page<'m> {
    pub(super) protocol: &'m str,
    pub(super) header: Fixed,
    pub(super) advertise: Fixed,
    pub(super) requests: Vec<Case>,
    pub(super) replies: Vec<Case>,
    pub(super) drafts: Vec<Case>,
    pub(super) payloads: Vec<Object>,
    pub(super) reply_payloads: Vec<Object>,
    pub(super) reply_codes: Vec<&'m str>,
    pub(super) error: Vec<Row>,
    pub(super) error_code: &'m str,
    pub(super) structs: Vec<Object>,
    pub(super) arrays: Vec<Array>,
    pub(super) bytes: Counted,
    pub(super) string: Counted,
    pub(super) environment: Block<'m>,
    pub(super) enums: Vec<Enumeration>,
}

/// A structure that begins with a magic.
#[derive(Serialize)]
pub(super) struct Fixed {
    pub(super) bytes: usize,
    pub(super) magic: Vec<u8>,
    pub(super) fields: Vec<Row>,
}

/// A case of a switch.
#[derive(Serialize)]
pub(super) struct Case {
    pub(super) is: String,
    #[serde(rename = "type")]
    pub(super) type_name: String,
}

/// A type with fields.
#[derive(Serialize)]
pub(super) struct Object {
    pub(super) name: String,
    pub(super) doc: Option<String>,
    pub(super) fields: Vec<Row>,
    pub(super) faults: Vec<FaultRow>,
}

/// An attribute of a type.
#[derive(Default, Serialize)]
pub(super) struct Row {
    pub(super) id: String,
    pub(super) original: Option<String>,
    #[serde(rename = "type")]
    pub(super) type_name: Option<String>,
    pub(super) size: Option<usize>,
    pub(super) to_the_end: bool,
    pub(super) switch_on: String,
    pub(super) cases: Vec<Case>,
    #[serde(rename = "enum")]
    pub(super) of_enum: Option<String>,
    pub(super) any_of: Vec<String>,
    pub(super) condition: Option<String>,
    pub(super) doc: Option<String>,
}

/// A limit: a condition that is true for a value that a server refuses.
#[derive(Serialize)]
pub(super) struct FaultRow {
    pub(super) name: String,
    pub(super) expression: String,
}

#[derive(Serialize)]
pub(super) struct Array {
    pub(super) name: String,
    pub(super) count: String,
    pub(super) least: usize,
    #[serde(rename = "type")]
    pub(super) type_name: String,
    pub(super) size: Option<usize>,
}

/// A kind that begins with a count of units.
#[derive(Serialize)]
pub(super) struct Counted {
    pub(super) count: String,
    pub(super) unit: usize,
    pub(super) last: Option<u32>,
}

#[derive(Serialize)]
pub(super) struct Block<'m> {
    pub(super) after: String,
    pub(super) size: &'m str,
    pub(super) counted_by: String,
    pub(super) least: usize,
    pub(super) count: String,
    pub(super) unit: usize,
    pub(super) last: u32,
    pub(super) split: u32,
}

#[derive(PartialEq, Serialize)]
pub(super) struct Enumeration {
    pub(super) name: String,
    pub(super) values: Vec<EnumValue>,
}

#[derive(PartialEq, Serialize)]
pub(super) struct EnumValue {
    pub(super) number: String,
    pub(super) id: String,
    pub(super) original: String,
}
