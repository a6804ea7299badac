//! A source without data that records what is requested.

use alloc::{borrow::ToOwned as _, collections::BTreeMap, string::String, vec::Vec};
use core::convert::Infallible;

use super::model::{self, When};
use dotnet_diagnostics_ipc::hresult::HResult;
use dotnet_diagnostics_ipc::message::eventpipe::SessionType;
use dotnet_diagnostics_ipc::wire::visit::{Names, Visit, Visitor};
use dotnet_diagnostics_ipc::wire::{Array, Field, Guid, IpcString};

/// Numbers up to this are checked for a name.
const MOST_NAMED: u32 = 2048;

/// A part of a value.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Part {
    Kind(&'static str),
    Number {
        names: BTreeMap<u32, String>,
        bits: bool,
    },
    Struct(Vec<(Field, Part)>),
    Array(alloc::boxed::Box<Part>),
    /// `session_type`, and its given value.
    SessionType,
}

/// The requests of a payload.
pub(super) struct Asked {
    user_events: bool,
    /// The last requested part.
    part: Part,
    /// The fields of the requested struct.
    fields: Vec<(Field, Part)>,
}

/// The parts that `build` requests, and the value it builds from empty data.
pub(super) fn described<T>(
    user_events: bool,
    build: impl FnOnce(&mut Asked) -> Result<T, Infallible>,
) -> (Part, T) {
    let mut asked = Asked { user_events, part: Part::Struct(Vec::new()), fields: Vec::new() };
    let Ok(made) = build(&mut asked);
    (asked.part, made)
}

/// The parts of a type without `session_type`.
pub(super) fn parts_of<'a, T: Visit<'a>>() -> Part {
    described(false, |asked| T::build(asked)).0
}

impl Asked {
    /// Records a part, and returns a value of it.
    fn part<T>(&mut self, part: Part, value: T) -> T {
        self.part = part;
        value
    }

    /// The last requested part.
    fn taken(&mut self) -> Part {
        core::mem::replace(&mut self.part, Part::Struct(Vec::new()))
    }
}

impl<'a> Visitor<'a> for Asked {
    type Error = Infallible;

    fn byte(&mut self) -> Result<u8, Infallible> {
        Ok(self.part(Part::Kind("byte"), 0))
    }

    fn ushort(&mut self) -> Result<u16, Infallible> {
        Ok(self.part(Part::Kind("ushort"), 0))
    }

    fn uint(&mut self) -> Result<u32, Infallible> {
        Ok(self.part(Part::Kind("uint"), 0))
    }

    fn ulong(&mut self) -> Result<u64, Infallible> {
        Ok(self.part(Part::Kind("ulong"), 0))
    }

    fn bool(&mut self) -> Result<bool, Infallible> {
        Ok(self.part(Part::Kind("bool"), false))
    }

    fn hresult(&mut self) -> Result<HResult, Infallible> {
        Ok(self.part(Part::Kind("hresult"), HResult::OK))
    }

    fn guid(&mut self) -> Result<Guid, Infallible> {
        Ok(self.part(Part::Kind("guid"), Guid::NIL))
    }

    fn string(&mut self) -> Result<IpcString<'a>, Infallible> {
        Ok(self.part(Part::Kind("string"), IpcString::ABSENT))
    }

    fn bytes(&mut self) -> Result<&'a [u8], Infallible> {
        Ok(self.part(Part::Kind("bytes"), &[]))
    }

    fn array<T: Visit<'a>>(&mut self) -> Result<Array<'a, T>, Infallible> {
        T::build(self)?;
        let item = self.taken();
        Ok(self.part(Part::Array(item.into()), Array::EMPTY))
    }

    fn number(&mut self, names: Option<Names>) -> Result<u32, Infallible> {
        let list = |names: Names| {
            (0..=MOST_NAMED).filter_map(move |value| Some((value, names(value)?.to_owned())))
        };
        let part = Part::Number {
            names: names.into_iter().flat_map(list).collect(),
            bits: names.is_none(),
        };
        Ok(self.part(part, 0))
    }

    fn tail(&mut self) -> Result<&'a [u8], Infallible> {
        Ok(self.part(Part::Kind("rest"), &[]))
    }

    fn is_user_events(&mut self) -> Result<bool, Infallible> {
        self.fields.push((Field::SessionType, Part::SessionType));
        Ok(self.user_events)
    }

    fn field<T: Visit<'a>>(&mut self, field: Field) -> Result<T, Infallible> {
        let value = T::build(self)?;
        let part = self.taken();
        self.fields.push((field, part));
        Ok(value)
    }

    fn object<T>(
        &mut self,
        fields: impl FnOnce(&mut Self) -> Result<T, Infallible>,
    ) -> Result<T, Infallible> {
        let outer = core::mem::take(&mut self.fields);
        let made = fields(self)?;
        self.part = Part::Struct(core::mem::replace(&mut self.fields, outer));
        Ok(made)
    }
}

impl Part {
    /// The fields of a struct. `named` has the names of structs in fields.
    pub(super) fn fields(&self, named: &[(&'static str, Part)]) -> Vec<model::Field> {
        match self {
            Self::Struct(fields) => {
                fields.iter().map(|(field, part)| part.in_field(*field, named)).collect()
            }
            _ => Vec::new(),
        }
    }

    fn in_field(&self, field: Field, named: &[(&'static str, Part)]) -> model::Field {
        let mut described = model::Field {
            name: field.name().to_owned(),
            type_name: self.type_name(named),
            ..model::Field::default()
        };
        match self {
            Self::Number { names, bits } => {
                described.names.clone_from(names);
                described.bits = *bits;
            }
            Self::Array(item) => described.items = Some(item.type_name(named)),
            Self::SessionType => {
                let types = [SessionType::STREAMING, SessionType::USER_EVENTS];
                described.only = Some(types.iter().map(|kind| kind.0).collect());
                described.names = types
                    .iter()
                    .filter_map(|kind| Some((kind.0, kind.name()?.to_owned())))
                    .collect();
            }
            Self::Kind(_) | Self::Struct(_) => {}
        }
        described
    }

    fn type_name(&self, named: &[(&'static str, Part)]) -> String {
        match self {
            Self::Kind(name) => (*name).to_owned(),
            Self::Number { .. } | Self::SessionType => "uint".to_owned(),
            Self::Array(_) => "array".to_owned(),
            Self::Struct(_) => named
                .iter()
                .find(|(_, part)| part == self)
                .map_or("?", |(name, _)| *name)
                .to_owned(),
        }
    }
}

/// The fields of a payload in both forms, which share the fields up to `session_type`.
pub(super) fn by_session_type(
    streaming: Vec<model::Field>,
    user_events: Vec<model::Field>,
) -> Vec<model::Field> {
    let Some(at) = streaming.iter().position(|field| field.only.is_some()) else {
        return streaming;
    };
    let behind = at.saturating_add(1);
    let mut fields = streaming;
    let mut of_streaming = fields.split_off(behind.min(fields.len()));
    let mut of_user_events: Vec<_> = user_events.into_iter().skip(behind).collect();
    for (kind, fields) in [
        (SessionType::STREAMING, &mut of_streaming),
        (SessionType::USER_EVENTS, &mut of_user_events),
    ] {
        for field in fields {
            field.when = Some(when(kind));
        }
    }
    fields.extend(of_streaming.into_iter().chain(of_user_events));
    fields
}

/// The condition for a session type.
pub(super) fn when(kind: SessionType) -> When {
    When {
        field: Some(Field::SessionType.name().to_owned()),
        is: Some(kind.0),
        answers: None,
        bytes_left: false,
    }
}

/// The fields of `T`, which is not in another struct.
pub(super) fn fields_of<'a, T: Visit<'a>>(named: &[(&'static str, Part)]) -> Vec<model::Field> {
    parts_of::<T>().fields(named)
}

/// The fields that `asked` requests, one by one.
pub(super) fn fields_by_hand(
    build: impl FnOnce(&mut Asked) -> Result<(), Infallible>,
) -> Vec<model::Field> {
    described(false, |asked| asked.object(build)).0.fields(&[])
}
