//! The grammar for Kaitai Struct: the types of its messages and fields, in a page with those of the
//! kinds (`dotnet_ipc.ksy.jinja`).

mod page;

use dotnet_diagnostics_ipc_vectors::grammar::{Command, Field, Frame, Grammar, Limit, Measure};
use page::{
    Array, Block, Case, Counted, EnumValue, Enumeration, FaultRow, Fixed, Object, Page, Row,
};

use super::layout::quoted;
use super::names::{own_name, snake_of};
use super::template::filled;
use super::{PrintError, bytes_of, error};

const TEMPLATE: &str = include_str!("../dotnet_ipc.ksy.jinja");

/// The text of `spec/dotnet_ipc.ksy`.
pub(super) fn struct_of(grammar: &Grammar) -> Result<String, PrintError> {
    let types = Types { grammar };
    let (mut payloads, mut requests) = (Vec::new(), Vec::new());
    for command in &grammar.commands {
        let name = format!("{}_request", snake_of(own_name(&command.name)));
        requests.push(Case {
            is: command.code.clone(),
            type_name: types.payload(&name, command, &mut payloads)?,
        });
    }
    let mut drafts = Vec::new();
    for draft in &grammar.legacy.commands {
        let name = format!("draft_{}_request", snake_of(own_name(&draft.name)));
        payloads.push(types.object(&name, &draft.fields, &[])?);
        drafts.push(Case { is: draft.code.clone(), type_name: name });
    }
    let (mut reply_payloads, mut replies) = (Vec::new(), Vec::new());
    for reply in &grammar.replies {
        reply_payloads.push(types.object(&snake_of(&reply.name), &reply.fields, &[])?);
    }
    for command in &grammar.commands {
        replies.push(Case { is: command.code.clone(), type_name: snake_of(&command.reply) });
    }
    let mut reply_codes: Vec<&str> = grammar
        .replies
        .iter()
        .map(|reply| reply.code.as_str())
        .chain([grammar.error.code.as_str()])
        .collect();
    reply_codes.dedup();
    let environment = &grammar.continuations.environment;
    let after = grammar
        .replies
        .iter()
        .find(|reply| reply.fields.iter().any(|field| field.name == environment.size));
    let structs = grammar
        .structs
        .iter()
        .map(|of| types.object(&of.name, &of.fields, &of.limits))
        .collect::<Result<Vec<_>, _>>()?;
    let page = Page {
        protocol: &grammar.protocol,
        header: types.frame(&grammar.header)?,
        advertise: types.frame(&grammar.advertise)?,
        requests,
        replies,
        drafts,
        payloads,
        reply_payloads,
        reply_codes,
        error: grammar
            .error
            .fields
            .iter()
            .map(|field| types.row(field))
            .collect::<Result<Vec<_>, _>>()?,
        error_code: &grammar.error.code,
        structs,
        arrays: types.arrays()?,
        bytes: types.counted("bytes")?,
        string: types.counted("string")?,
        environment: Block {
            after: after.map(|reply| reply.answers.join(", ")).unwrap_or_default(),
            size: &environment.size,
            counted_by: types.plain(&environment.count)?,
            least: environment.entry.least,
            count: types.plain(&environment.entry.count)?,
            unit: environment.entry.unit,
            last: environment.entry.last,
            split: environment.entry.split,
        },
        enums: enums(grammar)?,
    };
    filled(TEMPLATE, page)
}

struct Types<'m> {
    grammar: &'m Grammar,
}

impl Types<'_> {
    /// The type of a request's payload, added to `objects` with its parts.
    fn payload(
        &self,
        name: &str,
        command: &Command,
        objects: &mut Vec<Object>,
    ) -> Result<String, PrintError> {
        if command.fields.is_empty() {
            return Ok("no_fields".to_owned());
        }
        let since = Some(quoted(&format!(".NET {}", command.since)));
        let Some(at) = command.fields.iter().position(|field| field.only.is_some()) else {
            objects.push(Object { doc: since, ..self.object(name, &command.fields, &[])? });
            return Ok(name.to_owned());
        };
        // A selector has a type for each number.
        let (front, branches) = command.fields.split_at_checked(at + 1).unwrap_or_default();
        let mut object = Object { doc: since, ..self.object(name, front, &[])? };
        let Some(selector) = front.last() else { return Err(error(format!("{name}: no field"))) };
        let (id, mut cases) = (snake_of(&selector.name), Vec::new());
        for number in selector.only.iter().flatten() {
            let label = selector.names.get(number).map(|label| snake_of(label));
            let label = label.ok_or_else(|| error(format!("{name}: {number} has no name")))?;
            let mut fields = Vec::new();
            for field in branches {
                match &field.when {
                    Some(when) if when.field.as_ref() != Some(&selector.name) => {
                        return Err(error(format!(
                            "{}: this condition is not supported here",
                            field.name
                        )));
                    }
                    Some(when) if when.is != Some(*number) => {}
                    _ => {
                        let mut field = field.clone();
                        field.when = None;
                        fields.push(field);
                    }
                }
            }
            let branch = format!("{name}_{label}");
            objects.push(self.object(&branch, &fields, &[])?);
            cases.push(Case { is: quoted(&format!("{id}::{label}")), type_name: branch });
        }
        object.fields.push(Row { id: "body".to_owned(), switch_on: id, cases, ..Row::default() });
        objects.push(object);
        Ok(name.to_owned())
    }

    fn object(&self, name: &str, fields: &[Field], limits: &[Limit]) -> Result<Object, PrintError> {
        let rows = fields.iter().map(|field| self.row(field)).collect::<Result<Vec<_>, _>>()?;
        let mut faults = Vec::<FaultRow>::new();
        let of_fields = fields
            .iter()
            .flat_map(|field| field.limits.iter().map(move |limit| (limit, Some(field))));
        for (limit, field) in limits.iter().map(|limit| (limit, None)).chain(of_fields) {
            let Some(measure) = measure(limit, field) else { continue };
            let expression = refused(limit, &measure)?;
            match faults.iter_mut().find(|fault| fault.name == limit.fault) {
                Some(fault) => fault.expression = format!("{} or {expression}", fault.expression),
                None => faults.push(FaultRow { name: limit.fault.clone(), expression }),
            }
        }
        Ok(Object { name: name.to_owned(), doc: None, fields: rows, faults })
    }

    fn row(&self, field: &Field) -> Result<Row, PrintError> {
        let id = snake_of(&field.name);
        let mut row = Row {
            id: id.clone(),
            original: Some(field.name.clone()),
            doc: doc(field),
            ..Row::default()
        };
        match (field.type_name.as_str(), &field.items) {
            ("array", Some(items)) => row.type_name = Some(format!("{items}_array")),
            ("rest", _) => {
                row.to_the_end = true;
                row.condition = Some("not _io.eof".to_owned());
            }
            (name, _) => (row.type_name, row.size) = self.sized(name)?,
        }
        if is_enum(field) {
            row.of_enum = Some(id.clone());
        }
        for number in field.only.iter().flatten() {
            let label = field.names.get(number).map(|label| format!("{id}::{}", snake_of(label)));
            row.any_of.push(quoted(&label.unwrap_or_else(|| number.to_string())));
        }
        if let Some(when) = &field.when {
            let Some(answers) = &when.answers else {
                return Err(error(format!("{}: this condition is not supported here", field.name)));
            };
            let codes =
                self.grammar.commands.iter().filter(|command| answers.contains(&command.name));
            let codes: Vec<String> =
                codes.map(|command| format!("answers == {}", command.code)).collect();
            let left = if when.bytes_left { " and not _io.eof" } else { "" };
            row.condition = Some(format!("({}){left}", codes.join(" or ")));
        }
        Ok(row)
    }

    /// The type of a kind or struct, and its size if it needs a separate stream.
    fn sized(&self, name: &str) -> Result<(Option<String>, Option<usize>), PrintError> {
        let kind = self.grammar.kind(name);
        let of_struct = self.grammar.structure(name).is_some();
        Ok(match (name, kind.and_then(|kind| kind.bytes)) {
            ("ulong", Some(bytes)) => (Some(name.to_owned()), Some(bytes)),
            ("byte" | "ushort" | "wchar" | "uint", Some(bytes)) => {
                (Some(format!("u{bytes}")), None)
            }
            ("hresult" | "guid", _) => (Some(name.to_owned()), None),
            // Languages have their own type of that name.
            ("bool", _) => (Some("flag".to_owned()), None),
            ("string", _) => (Some("utf16_string".to_owned()), None),
            ("bytes", _) => (Some("byte_array".to_owned()), None),
            _ if of_struct => (Some(name.to_owned()), None),
            _ => return Err(error(format!("unknown type {name}"))),
        })
    }

    /// The type of a number.
    fn plain(&self, name: &str) -> Result<String, PrintError> {
        self.sized(name)?
            .0
            .filter(|spelled| spelled.starts_with('u'))
            .ok_or_else(|| error(format!("{name} is not a number")))
    }

    fn counted(&self, name: &str) -> Result<Counted, PrintError> {
        let kind = self.grammar.kind(name);
        let (Some(kind), Some(count)) = (kind, kind.and_then(|kind| kind.count.as_ref())) else {
            return Err(error(format!("{name} has no count")));
        };
        Ok(Counted { count: self.plain(count)?, unit: kind.unit.unwrap_or(1), last: kind.last })
    }

    /// A type for the arrays of each type of items.
    fn arrays(&self) -> Result<Vec<Array>, PrintError> {
        let fields = self.grammar.structs.iter().flat_map(|of| &of.fields);
        let fields = fields.chain(self.grammar.commands.iter().flat_map(|command| &command.fields));
        let fields =
            fields.chain(self.grammar.legacy.commands.iter().flat_map(|command| &command.fields));
        let mut arrays = Vec::<Array>::new();
        for items in fields.filter_map(|field| field.items.as_ref()) {
            let name = format!("{items}_array");
            if arrays.iter().any(|array| array.name == name) {
                continue;
            }
            let (type_name, size) = self.sized(items)?;
            let kind = self.grammar.kind(items);
            let of_struct = self.grammar.structure(items);
            let least = kind.map_or(of_struct.map(|of| of.least), |kind| kind.bytes);
            let least = least
                .filter(|least| *least > 0)
                .ok_or_else(|| error(format!("an array of {items}")))?;
            let count = self.counted("array")?.count;
            arrays.push(Array {
                name,
                count,
                least,
                type_name: type_name.unwrap_or_default(),
                size,
            });
        }
        Ok(arrays)
    }

    fn frame(&self, frame: &Frame) -> Result<Fixed, PrintError> {
        let fields =
            frame.fields.iter().map(|field| self.row(field)).collect::<Result<Vec<_>, _>>()?;
        Ok(Fixed { bytes: frame.bytes, magic: bytes_of(&frame.magic)?, fields })
    }
}

/// Whether the field's numbers are those of an enumeration.
fn is_enum(field: &Field) -> bool {
    !field.names.is_empty() && !field.bits
}

/// The documentation of a field beyond its type.
fn doc(field: &Field) -> Option<String> {
    let mut parts = vec![];
    parts.extend(field.unit.as_ref().map(|unit| format!("in {unit}")));
    if field.bits {
        let bits: Vec<String> =
            field.names.iter().map(|(bit, name)| format!("{bit} {name}")).collect();
        parts.push(format!("bits: {}", bits.join(", ")));
    }
    parts.extend(field.absent.as_ref().map(|text| format!("absent: {text}")));
    parts.extend(field.empty.as_ref().map(|text| format!("empty: {text}")));
    (!parts.is_empty()).then(|| quoted(&parts.join("; ")))
}

/// The measure of a limit, as an expression; `None` if there is none.
fn measure(limit: &Limit, field: Option<&Field>) -> Option<String> {
    let id = field.map(|field| snake_of(&field.name)).unwrap_or_default();
    Some(match limit.of {
        Measure::Value if field.is_some_and(is_enum) => format!("{id}.to_i"),
        Measure::Value => id,
        Measure::Count => format!("{id}.count"),
        Measure::VisibleBeforeNul => format!("{id}.visible_before_nul"),
        Measure::Utf8BeforeNul => format!("{id}.utf8_before_nul"),
        Measure::CountOfAll => {
            let counts: Vec<String> =
                limit.fields.iter().map(|field| format!("{}.count", snake_of(field))).collect();
            format!("({})", counts.join(" + "))
        }
        Measure::Distinct => return None,
    })
}

/// The condition that a measure is in none of the ranges of a limit.
fn refused(limit: &Limit, measure: &str) -> Result<String, PrintError> {
    let mut gaps = Vec::new();
    for [low, high] in &limit.ranges {
        let below = (*low > 0).then(|| format!("{measure} < {low}"));
        let above = (*high < u32::MAX).then(|| format!("{measure} > {high}"));
        let parts: Vec<String> = below.into_iter().chain(above).collect();
        gaps.push(parts.join(" or "));
    }
    match gaps.as_slice() {
        [] => Err(error(format!("{} has no range", limit.fault))),
        [gap] if !gap.is_empty() => Ok(gap.clone()),
        gaps if gaps.iter().all(|gap| !gap.is_empty()) => Ok(format!("({})", gaps.join(") and ("))),
        _ => Ok("false".to_owned()),
    }
}

/// The names of numbers, by field; commands and HRESULTs.
fn enums(grammar: &Grammar) -> Result<Vec<Enumeration>, PrintError> {
    let value = |number: &str, name: &str| EnumValue {
        number: number.to_owned(),
        id: snake_of(name),
        original: quoted(name),
    };
    let mut commands: Vec<EnumValue> = grammar
        .commands
        .iter()
        .map(|command| value(&command.code, own_name(&command.name)))
        .collect();
    let ok = grammar.replies.first().ok_or_else(|| error("there are no replies"))?;
    commands.extend([value(&ok.code, "OK"), value(&grammar.error.code, "Error")]);
    let hresults = grammar.hresults.iter().map(|row| value(&row.code, &row.name)).collect();
    let mut enums = vec![
        Enumeration { name: "command".to_owned(), values: commands },
        Enumeration { name: "hresult_code".to_owned(), values: hresults },
    ];
    let fields = grammar
        .structs
        .iter()
        .flat_map(|of| &of.fields)
        .chain(grammar.commands.iter().flat_map(|command| &command.fields));
    for field in fields.filter(|field| is_enum(field)) {
        let values =
            field.names.iter().map(|(number, name)| value(&number.to_string(), name)).collect();
        let one = Enumeration { name: snake_of(&field.name), values };
        match enums.iter().find(|known| known.name == one.name) {
            Some(known) if *known != one => {
                return Err(error(format!("{} has two sets of names", field.name)));
            }
            Some(_) => {}
            None => enums.push(one),
        }
    }
    Ok(enums)
}
