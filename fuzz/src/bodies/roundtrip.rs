//! Checks that a generated value reads as it was generated.

use ::arbitrary::{Arbitrary, Unstructured};

use super::{show, written};
use dotnet_diagnostics_ipc::advertise::Advertise;
use dotnet_diagnostics_ipc::command::Command;
use dotnet_diagnostics_ipc::continuation::Entry;
use dotnet_diagnostics_ipc::header::Header;
use dotnet_diagnostics_ipc::legacy::{DraftCollectTracing, OldRequest};
use dotnet_diagnostics_ipc::message::eventpipe::{
    CollectTracing5, EventFilter, ProviderConfig, StreamingProviderConfig, TracepointConfig,
    UserEventsProviderConfig,
};
use dotnet_diagnostics_ipc::message::process::ProcessInfo3Reply;
use dotnet_diagnostics_ipc::message::{Message, encode_to_vec};
use dotnet_diagnostics_ipc::testing::{Made, MadeReply, MadeRequest};
use dotnet_diagnostics_ipc::user_events::{ExtensionItem, UserReg, UserUnreg, WrittenRecord};
use dotnet_diagnostics_ipc::wire::visit::Visit;
use dotnet_diagnostics_ipc::wire::{Array, Decode, Guid, IpcString, Reader};

/// Generates a value of the type that the first byte chooses from the rest.
pub fn roundtrip(input: &[u8]) {
    let Some((which, chosen)) = input.split_first() else { return };
    let input = &mut Unstructured::new(chosen);
    macro_rules! borrowed {
        ($T:ty) => {
            if let Ok(value) = <$T>::arbitrary(input) {
                let bytes = written(&value);
                let mut reader = Reader::new(&bytes);
                assert_eq!(<$T>::decode(&mut reader), Ok(value));
                assert!(reader.rest().is_empty());
            }
        };
    }
    match which {
        1 => request(&MadeRequest::arbitrary(input).unwrap()),
        2 => reply(input),
        4 => made::<CollectTracing5<'_>>(input),
        5 => made::<Array<'_, UserEventsProviderConfig<'_>>>(input),
        6 => made::<ProcessInfo3Reply<'_>>(input),
        7 => made::<DraftCollectTracing<'_>>(input),
        8 => made::<Array<'_, Array<'_, IpcString<'_>>>>(input),
        9 => made::<IpcString<'_>>(input),
        10 => made::<Array<'_, IpcString<'_>>>(input),
        11 => borrowed!(Guid),
        12 => made::<EventFilter<'_>>(input),
        13 => made::<TracepointConfig<'_>>(input),
        14 => made::<ProviderConfig<'_>>(input),
        15 => made::<StreamingProviderConfig<'_>>(input),
        16 => borrowed!(Entry<'_>),
        17 => borrowed!(UserReg),
        18 => borrowed!(UserUnreg),
        19 => borrowed!(WrittenRecord<'_>),
        20 => borrowed!(ExtensionItem<'_>),
        21 => made::<OldRequest>(input),
        22 => {
            let header = Header::arbitrary(input).unwrap();
            assert_eq!(Header::decode(&header.to_bytes()), Ok(header));
        }
        23 => {
            let advertise = Advertise::arbitrary(input).unwrap();
            assert_eq!(Advertise::decode(&advertise.to_bytes()), Ok(advertise));
        }
        _ => {
            request(&MadeRequest::arbitrary(input).unwrap());
            reply(input);
        }
    }
}

fn request(made: &MadeRequest) {
    let request = made.request();
    assert_eq!(encode_to_vec(request.command(), &request).as_deref(), Ok(made.bytes()));
    assert!(Message::decode(made.bytes()).unwrap().is_canonical(&request));
    let _ = request.check_limits();
}

fn reply(input: &mut Unstructured<'_>) {
    let (made, command) = (MadeReply::arbitrary(input).unwrap(), Command::arbitrary(input));
    let reply = made.reply();
    assert_eq!(encode_to_vec(reply.command(), &reply).as_deref(), Ok(made.bytes()));
    // The same bytes as a reply to another command are another reply, or invalid.
    let message = Message::decode(made.bytes()).unwrap();
    if let Ok(read) = message.reply_to(command.ok()) {
        show(read);
        assert!(message.is_canonical(&read) || written(&read).len() <= made.bytes().len());
    }
}

fn made<T: Visit<'static>>(input: &mut Unstructured<'_>) {
    let made = Made::<T>::arbitrary(input).unwrap();
    show(&made);
    assert_eq!(written(&made.get()), made.bytes());
}
