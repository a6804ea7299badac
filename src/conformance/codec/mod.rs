//! Codecs: the vectors as questions, and what is a right answer.

mod answer;
mod case;
mod difference;
mod fault;
mod judge;
mod own;
mod run;

pub use answer::{Answer, AnswerKind};
pub use case::{CodecCase, NamedFile, Operation, cases, embedded};
pub use difference::Difference;
pub use fault::{CodecFault, WrongBytes};
pub use judge::Judgement;
pub use own::answer;
pub use run::run;
