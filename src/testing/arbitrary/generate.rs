//! The wire form of a value, written field by field.

use alloc::vec::Vec;
use core::convert::Infallible;
use core::fmt::Debug;

use super::Choices;
use crate::command::{Command, ReplyType};
use crate::hresult::HResult;
use crate::message::{AnyReply, AnyRequest, process::Tail};
use crate::wire::visit::{Names, Visit, Visitor};
use crate::wire::{Array, Decode, Encode, Field, Guid, IpcString};

/// A type of the grammar whose wire form can be generated from choices. The output decodes, and is
/// canonical.
///
/// ```
/// use dotnet_diagnostics_ipc::testing::arbitrary::{Choices, Generate as _, Style};
/// use dotnet_diagnostics_ipc::message::eventpipe::EventFilter;
/// use dotnet_diagnostics_ipc::wire::{Decode as _, Reader};
///
/// let mut bytes = Vec::new();
/// EventFilter::generate(&mut Choices::new(&[1, 2, 0, 5, 0, 6], Style::Plain), &mut bytes);
/// let filter = EventFilter::decode(&mut Reader::new(&bytes)).unwrap();
/// assert!(filter.enable && filter.event_ids.len() == 2);
/// ```
pub trait Generate {
    /// The type, borrowing for `'o`.
    type Of<'o>: Decode<'o> + Encode + Copy + PartialEq + Debug + 'o;

    /// Appends a value to `out`.
    fn generate(choices: &mut Choices<'_>, out: &mut Vec<u8>);
}

/// Writes the parts of a value; the value itself only determines which parts there are.
struct Writer<'w, 'c> {
    choices: &'w mut Choices<'c>,
    out: &'w mut Vec<u8>,
}

impl Writer<'_, '_> {
    fn put<const N: usize>(&mut self, bytes: [u8; N]) {
        self.out.extend_from_slice(&bytes);
    }
}

/// Numbers, truncated to their width.
macro_rules! numbers {
    ($($part:ident: $t:ty),*) => {$(
        #[allow(clippy::cast_possible_truncation, reason = "any number is fine")]
        fn $part(&mut self) -> Result<$t, Infallible> {
            let number = self.choices.number() as $t;
            self.put(number.to_le_bytes());
            Ok(number)
        }
    )*};
}

impl<'a> Visitor<'a> for Writer<'_, '_> {
    type Error = Infallible;

    numbers! { byte: u8, ushort: u16, uint: u32, ulong: u64 }

    fn bool(&mut self) -> Result<bool, Infallible> {
        let yes = self.choices.yes();
        self.put([yes.into()]);
        Ok(yes)
    }

    fn hresult(&mut self) -> Result<HResult, Infallible> {
        if self.choices.yes() {
            return self.uint().map(HResult);
        }
        let code = self.choices.pick(HResult::NAMED, HResult::OK);
        self.put(code.0.to_le_bytes());
        Ok(code)
    }

    fn guid(&mut self) -> Result<Guid, Infallible> {
        let all = self.choices.pick(&[None, Some(0), Some(0xff)], None);
        let guid = core::array::from_fn(|_| all.unwrap_or_else(|| self.choices.byte()));
        self.put(guid);
        Ok(Guid::from_bytes(guid))
    }

    fn string(&mut self) -> Result<IpcString<'a>, Infallible> {
        match self.choices.text() {
            None => put_count(0, self.out),
            Some(units) => {
                put_count(units.len().saturating_add(1), self.out);
                self.out.extend(units.iter().chain(&[0]).flat_map(|unit| unit.to_le_bytes()));
            }
        }
        Ok(IpcString::ABSENT)
    }

    fn bytes(&mut self) -> Result<&'a [u8], Infallible> {
        let bytes = self.choices.bytes(40);
        put_count(bytes.len(), self.out);
        self.out.extend_from_slice(bytes);
        Ok(&[])
    }

    fn array<T: Visit<'a>>(&mut self) -> Result<Array<'a, T>, Infallible> {
        put_array(self.choices, self.out, put::<T>);
        Ok(Array::EMPTY)
    }

    fn number(&mut self, _: Option<Names>) -> Result<u32, Infallible> {
        self.uint()
    }

    fn tail(&mut self) -> Result<&'a [u8], Infallible> {
        let bytes = self.choices.bytes(20);
        self.out.extend_from_slice(bytes);
        Ok(&[])
    }

    fn is_user_events(&mut self) -> Result<bool, Infallible> {
        let user_events = self.choices.yes();
        self.put(u32::from(user_events).to_le_bytes());
        Ok(user_events)
    }

    fn field<T: Visit<'a>>(&mut self, _: Field) -> Result<T, Infallible> {
        T::build(self)
    }
}

/// Appends a value to `out`.
pub(super) fn put<'a, T: Visit<'a>>(choices: &mut Choices<'_>, out: &mut Vec<u8>) {
    let Ok(_) = T::build(&mut Writer { choices, out });
}

/// Appends the payload of a request of any command to `out`, and returns the command.
pub(super) fn put_request(choices: &mut Choices<'_>, out: &mut Vec<u8>) -> Command {
    let which = choices.below(Command::known().len().saturating_add(1));
    if let Some(command) = Command::known().nth(which) {
        let Ok(_) = AnyRequest::build(command, &mut Writer { choices, out });
        return command;
    }
    put::<Tail<'_>>(choices, out);
    unknown(Command { set: choices.byte(), id: choices.byte() })
}

/// The command, or a neighbouring unknown one.
pub(super) fn unknown(command: Command) -> Command {
    if command.reply_type().is_some() {
        Command { id: command.id | 0x80, ..command }
    } else {
        command
    }
}

/// Appends the payload of an OK reply to `out`.
pub(super) fn put_reply(reply_type: ReplyType, choices: &mut Choices<'_>, out: &mut Vec<u8>) {
    let Ok(_) = AnyReply::build(reply_type, &mut Writer { choices, out });
}

fn put_array(
    choices: &mut Choices<'_>,
    out: &mut Vec<u8>,
    mut item: impl FnMut(&mut Choices<'_>, &mut Vec<u8>),
) {
    // Far less than a message: the last item may double it.
    const ENOUGH: usize = 24 << 10;
    let (at, most) = (out.len(), choices.count());
    put_count(0, out);
    let mut count = 0u32;
    while count < most && out.len() < ENOUGH {
        item(choices, out);
        count = count.saturating_add(1);
    }
    if let Some(place) = out.get_mut(at..).and_then(<[u8]>::first_chunk_mut) {
        *place = count.to_le_bytes();
    }
}

impl<T: Generate> Generate for Array<'_, T> {
    type Of<'o> = Array<'o, T::Of<'o>>;

    fn generate(choices: &mut Choices<'_>, out: &mut Vec<u8>) {
        put_array(choices, out, T::generate);
    }
}

impl Generate for i32 {
    type Of<'o> = i32;

    fn generate(choices: &mut Choices<'_>, out: &mut Vec<u8>) {
        put::<u32>(choices, out);
    }
}

fn put_count(count: usize, out: &mut Vec<u8>) {
    out.extend_from_slice(&u32::try_from(count).unwrap_or(u32::MAX).to_le_bytes());
}
