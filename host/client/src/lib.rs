//! Typed client of the HTTP contract.
