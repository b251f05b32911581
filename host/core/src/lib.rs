//! Command to fact to state; planner; engine; checker.
