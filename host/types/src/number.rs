//! The numbers that must never be mixed, each its own type.

use core::fmt;
use serde::{Deserialize, Serialize};

macro_rules! number {
    ($(#[$doc:meta])* $name:ident($inner:ty), first = $first:literal) => {
        $(#[$doc])*
        #[derive(
            Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
            minicbor::Encode, minicbor::Decode,
        )]
        #[serde(transparent)]
        #[cbor(transparent)]
        pub struct $name(#[n(0)] $inner);

        impl $name {
            /// The first one that is ever used.
            pub const FIRST: Self = Self($first);
            /// Wraps a bare number.
            #[must_use]
            pub const fn new(number: $inner) -> Self {
                Self(number)
            }
            /// The bare number.
            #[must_use]
            pub const fn get(self) -> $inner {
                self.0
            }
            /// The one after this; stays at the type's maximum, which no run reaches.
            #[must_use]
            pub const fn next(self) -> Self {
                Self(self.0.saturating_add(1))
            }
        }
        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                fmt::Display::fmt(&self.0, f)
            }
        }
        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, "{}({})", stringify!($name), self.0)
            }
        }
    };
}

number!(
    /// Immutable numbered spec of a job: 1, 2, 3 …
    Version(u32), first = 1
);
number!(
    /// Position in the order of facts of the whole cluster.
    Revision(u64), first = 0
);
number!(
    /// Numbers the assignments of one host.
    Generation(u64), first = 0
);
number!(
    /// One controller's term as the writer.
    Epoch(u64), first = 0
);
number!(
    /// A start within an execution; 1 is the first.
    Attempt(u32), first = 1
);
number!(
    /// A run of the whole job; requeue and rerun add one.
    Incarnation(u32), first = 1
);
number!(
    /// A numbered member of a job, from 0.
    TaskNumber(u32), first = 0
);
number!(
    /// Per host, +1 each time it is declared lost (14-decisions.md, 14).
    Fence(u32), first = 0
);
number!(
    /// Numbers the set of tasks and hosts that a job holds.
    AllocationNumber(u32), first = 1
);
