//! A value of the grammar that owns its bytes.

use alloc::vec::Vec;
use core::fmt;
use core::marker::PhantomData;

use ::arbitrary::{Arbitrary, Result, Unstructured};

use super::{Choices, Generate, Style};
use crate::wire::{Decode as _, Reader};

/// A value that owns its wire form, and lends the value.
///
/// Two of them are equal if their bytes are, and so are their values: the bytes are canonical.
///
/// ```
/// use arbitrary::{Arbitrary as _, Unstructured};
/// use dotnet_diagnostics_ipc::testing::arbitrary::Made;
/// use dotnet_diagnostics_ipc::message::eventpipe::{CollectTracing5, ProviderConfig};
/// use dotnet_diagnostics_ipc::wire::Array;
///
/// let chosen = [3; 300]; // by a fuzzer
/// let mut chosen = Unstructured::new(&chosen);
/// let providers = Made::<Array<'_, ProviderConfig<'_>>>::arbitrary(&mut chosen)?;
/// for provider in providers.get() {
///     println!("{}", provider.provider_name);
/// }
/// let request = Made::<CollectTracing5<'_>>::arbitrary(&mut chosen)?;
/// println!("{:?} takes {} bytes", request.get(), request.bytes().len());
/// # Ok::<(), arbitrary::Error>(())
/// ```
pub struct Made<T> {
    bytes: Vec<u8>,
    of: PhantomData<fn() -> T>,
}

impl<T: Generate> Made<T> {
    /// The value that `chosen` stands for.
    pub fn new(chosen: &[u8], style: Style) -> Self {
        let mut bytes = Vec::new();
        T::generate(&mut Choices::new(chosen, style), &mut bytes);
        Self { bytes, of: PhantomData }
    }

    /// The wire form: the bytes of a payload, or of a part of one.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// The value.
    #[allow(clippy::missing_panics_doc, clippy::expect_used, reason = "what is generated decodes")]
    pub fn get(&self) -> T::Of<'_> {
        T::Of::decode(&mut Reader::new(&self.bytes)).expect("what is generated decodes")
    }
}

impl<'a, T: Generate> Arbitrary<'a> for Made<T> {
    fn arbitrary(input: &mut Unstructured<'a>) -> Result<Self> {
        let (style, chosen) = Choices::any_style(input.arbitrary()?);
        Ok(Self::new(chosen, style))
    }
}

impl<T> Clone for Made<T> {
    fn clone(&self) -> Self {
        Self { bytes: self.bytes.clone(), of: PhantomData }
    }
}

impl<T> PartialEq for Made<T> {
    fn eq(&self, other: &Self) -> bool {
        self.bytes == other.bytes
    }
}

impl<T> Eq for Made<T> {}

impl<T: Generate> fmt::Debug for Made<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.get().fmt(f)
    }
}
