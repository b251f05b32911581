//! The driver trait, a fake driver, the conformance suite.
