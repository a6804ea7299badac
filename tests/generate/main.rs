//! Generated inputs: `Arbitrary`, the strategies for proptest, and the bodies of the fuzz targets
//! over their corpora.

#[cfg(all(feature = "cli", feature = "fuzzing"))]
#[allow(dead_code, reason = "a part of the tool")]
#[path = "../../src/bin/diagipc/annotated.rs"]
mod annotated;
#[cfg(feature = "proptest")]
mod arbitrary;
#[cfg(feature = "proptest")]
mod arbitrary_choices;
#[cfg(all(feature = "cli", feature = "fuzzing"))]
mod fuzz_corpus;
#[cfg(all(feature = "cli", feature = "fuzzing"))]
#[allow(dead_code, reason = "a part of the tool")]
#[path = "../../src/bin/diagipc/items.rs"]
mod items;
