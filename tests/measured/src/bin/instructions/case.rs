//! One thing to do, and who does it.

use std::hint::black_box;

/// One thing to do, done by several contenders: `ours`, `ck` (the fewest sound checks,
/// straight-line), `unchecked`, `memcpy`, …
pub struct Case {
    /// What is done.
    pub name: String,
    /// How many bytes, units or items there are.
    pub size: usize,
    pub contenders: Vec<(&'static str, Box<dyn FnMut()>)>,
}

impl Case {
    pub fn new(name: impl Into<String>, size: usize) -> Self {
        Self { name: name.into(), size, contenders: Vec::new() }
    }

    /// Adds a contender.
    pub fn by(mut self, contender: &'static str, run: impl FnMut() + 'static) -> Self {
        self.contenders.push((contender, Box::new(run)));
        self
    }

    /// Adds a contender that makes something of bytes.
    pub fn reads<T>(
        self,
        contender: &'static str,
        bytes: &'static [u8],
        read: impl Fn(&'static [u8]) -> Option<T> + 'static,
    ) -> Self {
        self.by(contender, move || match read(black_box(bytes)) {
            Some(value) => {
                black_box(&value);
            }
            None => panic!("it does not decode"),
        })
    }

    /// Adds a contender that writes `expected` to the front of a buffer and says how many bytes
    /// that are.
    pub fn writes<T: ?Sized>(
        self,
        contender: &'static str,
        value: &'static T,
        expected: &'static [u8],
        write: impl Fn(&'static T, &mut [u8]) -> Option<usize> + 'static,
    ) -> Self {
        let mut buffer = vec![0; expected.len() + 64];
        let len = write(value, &mut buffer).expect("it does not encode");
        assert_eq!(&buffer[..len], expected, "{} of {contender}", self.name);
        self.by(contender, move || {
            black_box(write(black_box(value), black_box(&mut buffer)));
        })
    }

    /// Adds a plain copy of the bytes.
    pub fn memcpy(self, bytes: &'static [u8]) -> Self {
        let mut buffer = vec![0; bytes.len()];
        self.by("memcpy", move || black_box(&mut buffer[..]).copy_from_slice(black_box(bytes)))
    }
}

/// Lives as long as the program.
pub fn keep<T>(value: T) -> &'static T {
    Box::leak(Box::new(value))
}

pub fn keep_bytes(bytes: Vec<u8>) -> &'static [u8] {
    bytes.leak()
}
