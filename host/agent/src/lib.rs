//! Host logic (pure) and the daemon round it.
