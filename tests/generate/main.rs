//! Generated inputs: `Arbitrary`, the strategies for proptest, and the bodies of the fuzz targets over their corpora.

#[cfg(feature = "proptest")]
mod arbitrary;
#[cfg(feature = "proptest")]
mod arbitrary_choices;
#[cfg(feature = "cli")]
#[allow(dead_code, reason = "a part of the tool")]
#[path = "../../src/bin/diagipc/dump.rs"]
mod dump;
#[cfg(feature = "cli")]
mod fuzz_corpus;
#[cfg(feature = "cli")]
#[allow(dead_code, reason = "a part of the tool")]
#[path = "../../src/bin/diagipc/items.rs"]
mod items;
