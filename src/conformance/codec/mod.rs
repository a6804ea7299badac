//! Codecs: the vectors as questions, and what is a right answer.

mod answer;
mod case;
mod own;
mod run;

pub use answer::{Answer, AnswerKind};
pub use case::{CodecCase, Judgement, NamedFile, Operation, cases, embedded};
pub use own::answer;
pub use run::run;
