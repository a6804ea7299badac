//! The list of what is measured. A name is a verb and a thing; `results.py` has the targets by
//! name.

mod arrays;
mod environment;
mod exchange;
mod fixed;
mod limits;
mod linear;
mod mix;
mod port;
mod providers;
mod strings;
mod text;
mod user_events;

use crate::case::Case;

pub fn all() -> impl Iterator<Item = Case> {
    let groups: [fn() -> Vec<Case>; 12] = [
        fixed::cases,
        strings::cases,
        providers::cases,
        arrays::cases,
        mix::cases,
        environment::cases,
        user_events::cases,
        limits::cases,
        exchange::cases,
        port::cases,
        text::cases,
        linear::cases,
    ];
    groups.into_iter().flat_map(|group| group())
}

/// Adds `binrw` and `deku`, which read and write the message as this type.
macro_rules! peers {
    ($decode:ident, $encode:ident, $bytes:expr, $Model:ty) => {{
        #[cfg(feature = "peers")]
        let ($decode, $encode) = {
            use crate::model;
            let value: &'static $Model =
                crate::case::keep(model::binrw_reads($bytes).expect("binrw reads it"));
            (
                $decode.reads("binrw", $bytes, model::binrw_reads::<$Model>).reads(
                    "deku",
                    $bytes,
                    model::deku_reads::<$Model>,
                ),
                $encode
                    .writes("binrw", value, $bytes, |value, buffer| {
                        model::binrw_writes(value, buffer)
                    })
                    .writes("deku", value, $bytes, |value, buffer| {
                        model::deku_writes(value, buffer)
                    }),
            )
        };
        ($decode, $encode)
    }};
}

pub(crate) use peers;
