//! The fields of a job document, as data: names, forms and one sentence each.
//!
//! The types are in `pliant_types::spec`; a test holds the two together. Rules that need more than one field
//! are in `pliant_types::validate`.

mod placing;
mod policy;

use pliant_types::name::{JobName, Namespace, PortName};
use pliant_types::spec::{API_VERSION, Constraint, Kind, MountMode, OnHostChange, OnResubmit};
use pliant_types::spec::{Isolation, Protocol, RESERVED_PREFIX, Source};
use pliant_types::{Cpu, Memory, Millis};

use super::shape::Shape::{Flag, Integer, List, Map, Object, Scalar, Text, Words};
use super::shape::{Field, Shape, anything, may, must, parses, server};

const COUNT: Shape = Integer { min: 0, max: u32::MAX as i128 };
const PRIORITY: Shape = Integer { min: 0, max: 100 };
const PORT: Shape = Integer { min: 1, max: u16::MAX as i128 };
const DURATION: Shape = Scalar(parses::<Millis>);
const CPU: Shape = Scalar(parses::<Cpu>);
const MEMORY: Shape = Scalar(parses::<Memory>);
const TEXT: Shape = Text(anything);
const TEXTS: Shape = List(&TEXT);
const PORT_NAME: Shape = Text(parses::<PortName>);
const JOB_NAME: Shape = Text(parses::<JobName>);
const CONSTRAINT: Shape = Text(parses::<Constraint>);

/// A whole document.
pub(crate) const DOCUMENT: Shape = Object(&[
    must("apiVersion", "The version of this format.", Words(&[API_VERSION])),
    must("metadata", "Name, namespace, labels, annotations.", Object(METADATA)),
    must("spec", "What is wanted; the only part that makes versions.", Object(SPEC)),
    server("effective"),
    server("status"),
]);

const METADATA: &[Field] = &[
    must("name", "The job's name, unique in its namespace; never changes.", JOB_NAME),
    may("namespace", "The namespace; absent is the caller's.", Text(parses::<Namespace>)),
    may("labels", "Free labels.", Map { dropped: RESERVED_PREFIX }),
    may("annotations", "Free texts.", Map { dropped: RESERVED_PREFIX }),
    server("uid"),
    server("revision"),
    server("specRevision"),
    server("currentVersion"),
    server("incarnation"),
    server("createdAt"),
    server("updatedAt"),
];

const SPEC: &[Field] = &[
    may("kind", "What done means; never changes.", Words(Kind::WORDS)),
    may("count", "Number of tasks; 0 is none. A changed count wins over the live size.", COUNT),
    may("elastic", "Bounds between which the job may change its size.", Object(policy::ELASTIC)),
    may("priority", "0 to 100, higher first.", PRIORITY),
    may("engine", "What runs the tasks.", Shape::Choice { words: &[], fields: ENGINE }),
    may("env", "Environment variables.", Map { dropped: "" }),
    may(
        "config",
        "Settings that the guest reads by wasi:config; env for containers.",
        Map { dropped: "" },
    ),
    may(
        "resources",
        "CPU and memory of one task.",
        Object(&[
            may("cpu", "Share of a core, such as 500m or 2.", CPU),
            may("memory", "Upper bound of the guest's memory, such as 64Mi.", MEMORY),
        ]),
    ),
    may("ports", "Ports of one task, keyed by name.", List(&Object(PORTS))),
    may("mounts", "Directories of the host, keyed by target.", List(&Object(MOUNTS))),
    may("capabilities", "What else is granted; nothing by default.", Object(CAPABILITIES)),
    may("placement", "Where tasks may and should run.", Object(placing::PLACEMENT)),
    may("health", "Probes.", Object(placing::HEALTH)),
    may("restart", "Restart in place.", Object(policy::RESTART)),
    may("update", "How versions replace each other.", Object(policy::UPDATE)),
    may("onHostLoss", "What happens when a host is lost.", Object(policy::HOST_LOSS)),
    may("onHostChange", "What happens when a host stops matching.", Words(OnHostChange::WORDS)),
    may("timeouts", "Limits in time; 0 is no limit.", Object(policy::TIMEOUTS)),
    may(
        "onResubmit",
        "What a changed submission does to a running batch or ops job.",
        Words(OnResubmit::WORDS),
    ),
    may(
        "service",
        "How a service is reached.",
        Object(&[
            may(
                "route",
                "Host name and path that lead to it.",
                Object(&[may("host", "Host name.", TEXT), may("path", "Path prefix.", TEXT)]),
            ),
            may("drain", "How long a task that left the endpoints may finish.", DURATION),
        ]),
    ),
];

const ENGINE: &[Field] = &[
    may(
        "wasm",
        "A component, or a core module of wasip1.",
        Object(&[
            may("component", "oci://, https://, file:// or sha256:.", Text(parses::<Source>)),
            may("args", "Arguments after the program's name.", TEXTS),
            may(
                "reuse",
                "Whether an HTTP instance serves more than one request.",
                Object(&[
                    may("maxRequests", "Requests that one instance serves.", COUNT),
                    may("maxIdle", "How long an instance waits for its next request.", DURATION),
                ]),
            ),
            may("isolation", "Which process the instances live in.", Words(Isolation::WORDS)),
        ]),
    ),
    may(
        "container",
        "An OCI image.",
        Object(&[
            may("image", "The image's reference.", TEXT),
            may("command", "Replaces the image's entry point.", TEXTS),
            may("args", "Replaces the image's arguments.", TEXTS),
            may("user", "User or uid:gid inside.", TEXT),
        ]),
    ),
];

const PORTS: &[Field] = &[
    must("name", "Unique in the job.", PORT_NAME),
    may("protocol", "What speaks on it.", Words(Protocol::WORDS)),
    may("static", "The fixed number on the host; absent is any free one.", PORT),
];

const MOUNTS: &[Field] = &[
    must("source", "Absolute path on the host, below a root that the host allows.", TEXT),
    must("target", "Absolute path that the guest sees.", TEXT),
    may("mode", "What the guest may do with it.", Words(MountMode::WORDS)),
    may("exclusive", "Whether one task at a time may hold it.", Flag),
];

const CAPABILITIES: &[Field] = &[
    may("http-out", "HTTP requests to [SCHEME://]HOST[:PORT].", TEXTS),
    may("tcp-out", "TCP connections to HOST:PORT.", TEXTS),
    may("udp-out", "UDP to HOST:PORT.", TEXTS),
    may("tcp-listen", "Names of ports that the guest itself listens on.", List(&PORT_NAME)),
    may("peers", "Connections to the published ports of the job's other tasks.", Flag),
    may("jobs", "Jobs of the namespace whose ready endpoints may be reached.", List(&JOB_NAME)),
];
