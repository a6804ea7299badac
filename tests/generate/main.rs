//! Generated values: `Arbitrary`, and the strategies for proptest.

#[cfg(feature = "proptest")]
mod arbitrary;
#[cfg(feature = "proptest")]
mod arbitrary_choices;
