//! Durable ordered entries: memory, sled, faulty.
