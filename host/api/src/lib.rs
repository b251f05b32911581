//! The HTTP contract: routes, bodies, problem details, spec parsing.
