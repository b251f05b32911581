//! A driver without an engine. What happens is a script, and time moves only when it is told to.
//!
//! `FakeMachine` is the plain state machine that the simulator uses; `FakeDriver` puts the driver
//! trait round it for tests of the agent.

mod driver;
mod machine;
mod script;

pub use driver::FakeDriver;
pub use machine::FakeMachine;
pub use script::{FakePrepare, FakeRun, FakeScript, FakeStart, Survival};
