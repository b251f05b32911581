//! Simulated cluster on virtual time.
