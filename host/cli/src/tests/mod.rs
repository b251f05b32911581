//! Tests over the tree of commands; nothing here runs a command.

mod hints;
mod tree;
