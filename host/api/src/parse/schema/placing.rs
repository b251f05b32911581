//! Fields of placement and probes. Data only.

use pliant_types::spec::Strategy;

use super::{CONSTRAINT, COUNT, DURATION, PORT_NAME, TEXT, TEXTS};
use crate::parse::shape::Shape::{Integer, List, Object, Words};
use crate::parse::shape::{Field, Shape, may, must};

pub(super) const PLACEMENT: &[Field] = &[
    may("constraints", "All must hold for a host, such as `arch = x86_64`.", List(&CONSTRAINT)),
    may(
        "affinities",
        "Preferred, with weights.",
        List(&Object(&[
            must("prefer", "A constraint.", CONSTRAINT),
            may(
                "weight",
                "How much a host that satisfies it gains.",
                Integer { min: -100, max: 100 },
            ),
        ])),
    ),
    may(
        "spread",
        "Keys over whose values the tasks are spread.",
        List(&Object(&[must("over", "An attribute or label.KEY.", TEXT)])),
    ),
    may(
        "span",
        "How many tasks may share a host.",
        Shape::Choice {
            words: &["any", "one-host", "one-per-host"],
            fields: &[
                may("per-host", "At most so many on each host.", COUNT),
                may("max-hosts", "On at most so many hosts.", COUNT),
            ],
        },
    ),
    may("strategy", "Which of the hosts with room is taken.", Words(Strategy::WORDS)),
];

pub(super) const HEALTH: &[Field] = &[
    may("startup", "Gates the other two.", Object(PROBE)),
    may("readiness", "Whether the task takes traffic.", Object(PROBE)),
    may("liveness", "Whether the task must be restarted.", Object(PROBE)),
];

const PROBE: &[Field] = &[
    may(
        "http",
        "A request that must be answered with 2xx or 3xx.",
        Object(&[may("port", "Which port.", PORT_NAME), may("path", "Path.", TEXT)]),
    ),
    may(
        "tcp",
        "A connection that must be accepted.",
        Object(&[may("port", "Which port.", PORT_NAME)]),
    ),
    may(
        "exec",
        "A command inside a container that must return 0.",
        Object(&[may("command", "The command and its arguments.", TEXTS)]),
    ),
    may(
        "call",
        "An exported function of a component.",
        Object(&[may("function", "The function.", TEXT)]),
    ),
    may("report", "The guest reports by itself and must keep doing so.", Object(&[])),
    may("period", "Time between checks.", DURATION),
    may("timeout", "Time for one check.", DURATION),
    may("success", "Good checks in a row until healthy.", COUNT),
    may("failure", "Bad checks in a row until unhealthy.", COUNT),
];
