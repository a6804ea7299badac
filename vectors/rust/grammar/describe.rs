//! A visitor without data that records the types and names of the requested fields.

use alloc::{borrow::ToOwned as _, string::String, vec::Vec};
use core::convert::Infallible;

use super::{Field, When};
use dotnet_diagnostics_ipc::hresult::HResult;
use dotnet_diagnostics_ipc::message::eventpipe::SessionType;
use dotnet_diagnostics_ipc::wire::visit::{Names, Visit, Visitor};
use dotnet_diagnostics_ipc::wire::{Array, Field as Name, Guid, IpcString};

/// The largest number that is checked for a name.
const MOST_NAMED: u32 = 2048;

/// The recorded fields of each struct with its name in fields.
pub(super) type Shapes = [(&'static str, Vec<Field>)];

/// Records what a payload requests.
pub(super) struct Recorder<'s> {
    shapes: &'s Shapes,
    user_events: bool,
    /// The last requested part, without a name.
    part: Field,
    /// The fields of the current struct.
    fields: Vec<Field>,
    /// The fields of the last requested struct.
    object: Vec<Field>,
}

/// Returns the fields that `build` requests, and the value that it builds from empty data.
pub(super) fn described<'s, T>(
    shapes: &'s Shapes,
    user_events: bool,
    build: impl FnOnce(&mut Recorder<'s>) -> Result<T, Infallible>,
) -> (Vec<Field>, T) {
    let mut recorder = Recorder {
        shapes,
        user_events,
        part: Field::default(),
        fields: Vec::new(),
        object: Vec::new(),
    };
    let Ok(made) = build(&mut recorder);
    (recorder.object, made)
}

/// Returns the fields of a struct without `session_type`.
pub(super) fn fields_of<'a, T: Visit<'a>>(shapes: &Shapes) -> Vec<Field> {
    described(shapes, false, |recorder| T::build(recorder)).0
}

impl Recorder<'_> {
    /// Records a part, and returns an empty value.
    #[allow(clippy::unnecessary_wraps, reason = "every method of the visitor returns this")]
    fn kind<T>(&mut self, type_name: &str, value: T) -> Result<T, Infallible> {
        self.part = Field::new("", type_name);
        Ok(value)
    }
}

impl<'a> Visitor<'a> for Recorder<'_> {
    type Error = Infallible;

    fn byte(&mut self) -> Result<u8, Infallible> {
        self.kind("byte", 0)
    }

    fn ushort(&mut self) -> Result<u16, Infallible> {
        self.kind("ushort", 0)
    }

    fn uint(&mut self) -> Result<u32, Infallible> {
        self.kind("uint", 0)
    }

    fn ulong(&mut self) -> Result<u64, Infallible> {
        self.kind("ulong", 0)
    }

    fn bool(&mut self) -> Result<bool, Infallible> {
        self.kind("bool", false)
    }

    fn hresult(&mut self) -> Result<HResult, Infallible> {
        self.kind("hresult", HResult::OK)
    }

    fn guid(&mut self) -> Result<Guid, Infallible> {
        self.kind("guid", Guid::NIL)
    }

    fn string(&mut self) -> Result<IpcString<'a>, Infallible> {
        self.kind("string", IpcString::ABSENT)
    }

    fn bytes(&mut self) -> Result<&'a [u8], Infallible> {
        self.kind("bytes", &[])
    }

    fn array<T: Visit<'a>>(&mut self) -> Result<Array<'a, T>, Infallible> {
        T::build(self)?;
        let items = core::mem::take(&mut self.part.type_name);
        self.part = Field { items: Some(items), ..Field::new("", "array") };
        Ok(Array::EMPTY)
    }

    fn number(&mut self, names: Option<Names>) -> Result<u32, Infallible> {
        self.uint()?;
        self.part.bits = names.is_none();
        if let Some(name) = names {
            let entry = |value| Some((value, name(value)?.to_owned()));
            self.part.names = (0..=MOST_NAMED).filter_map(entry).collect();
        }
        Ok(0)
    }

    fn tail(&mut self) -> Result<&'a [u8], Infallible> {
        self.kind("rest", &[])
    }

    fn is_user_events(&mut self) -> Result<bool, Infallible> {
        let types = [SessionType::STREAMING, SessionType::USER_EVENTS];
        let named = types.iter().filter_map(|kind| Some((kind.0, kind.name()?.to_owned())));
        self.fields.push(Field {
            only: Some(types.iter().map(|kind| kind.0).collect()),
            names: named.collect(),
            ..Field::new(Name::SessionType.name(), "uint")
        });
        Ok(self.user_events)
    }

    fn field<T: Visit<'a>>(&mut self, field: Name) -> Result<T, Infallible> {
        let value = T::build(self)?;
        let name = field.name().to_owned();
        self.fields.push(Field { name, ..core::mem::take(&mut self.part) });
        Ok(value)
    }

    fn object<T>(
        &mut self,
        fields: impl FnOnce(&mut Self) -> Result<T, Infallible>,
    ) -> Result<T, Infallible> {
        let outer = core::mem::take(&mut self.fields);
        let made = fields(self)?;
        self.object = core::mem::replace(&mut self.fields, outer);
        let named = self.shapes.iter().find(|(_, shape)| *shape == self.object);
        self.part = Field::new("", named.map_or("?", |(name, _)| name));
        Ok(made)
    }
}

impl Field {
    pub(super) fn new(name: &str, type_name: &str) -> Self {
        Self { name: name.to_owned(), type_name: type_name.to_owned(), ..Self::default() }
    }
}

/// Merges both forms of a payload, which share the fields up to `session_type`.
pub(super) fn by_session_type(streaming: Vec<Field>, user_events: Vec<Field>) -> Vec<Field> {
    let Some(at) = streaming.iter().position(|field| field.only.is_some()) else {
        return streaming;
    };
    let of = |kind, (nth, field): (usize, Field)| Field {
        when: (nth > at).then(|| When::session_type(kind)),
        ..field
    };
    let streaming = streaming.into_iter().enumerate();
    let user_events = user_events.into_iter().enumerate().filter(|(nth, _)| *nth > at);
    streaming
        .map(|field| of(SessionType::STREAMING, field))
        .chain(user_events.map(|field| of(SessionType::USER_EVENTS, field)))
        .collect()
}

impl When {
    pub(super) fn session_type(kind: SessionType) -> Self {
        let field: Option<String> = Some(Name::SessionType.name().to_owned());
        Self { field, is: Some(kind.0), ..Self::default() }
    }
}
