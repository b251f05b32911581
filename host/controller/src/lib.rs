//! The service round the core.
