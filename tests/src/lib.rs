//! Shared helpers of the test targets: where things are, how a cluster is started. Not a test itself.
