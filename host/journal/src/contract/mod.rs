//! The contract of a journal: values, outcomes, errors and the traits. No behaviour.

mod error;
mod ids;
mod journal;
mod outcome;
mod values;

pub use error::*;
pub use ids::*;
pub use journal::*;
pub use outcome::*;
pub use values::*;
