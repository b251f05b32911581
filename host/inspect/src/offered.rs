//! Interfaces that a Pliant host offers, as data, and the search for the nearest one.

/// A package with the interfaces and the version lines that are offered.
struct Package {
    name: &'static str,
    interfaces: &'static [&'static str],
    lines: &'static [Line],
}

/// Which versions are offered, and the newest of them.
#[derive(Clone, Copy)]
enum Line {
    /// Any `major.minor.*`: the component model's rule for versions below 1.0 with a stable line.
    Compatible { prefix: &'static str, newest: &'static str },
    /// Release candidates promise nothing: only this one.
    Exact(&'static str),
}

const P2: Line = Line::Compatible { prefix: "0.2.", newest: "0.2.12" };
const P3: Line = Line::Compatible { prefix: "0.3.", newest: "0.3.0" };

/// Source: the worlds of wasmtime-wasi, wasmtime-wasi-http and wasmtime-wasi-config 48.0.8.
const OFFERED: &[Package] = &[
    Package { name: "wasi:io", interfaces: &["error", "poll", "streams"], lines: &[P2] },
    Package {
        name: "wasi:clocks",
        interfaces: &["monotonic-clock", "wall-clock", "system-clock", "types"],
        lines: &[P2, P3],
    },
    Package {
        name: "wasi:random",
        interfaces: &["random", "insecure", "insecure-seed"],
        lines: &[P2, P3],
    },
    Package {
        name: "wasi:cli",
        interfaces: &[
            "environment",
            "exit",
            "stdin",
            "stdout",
            "stderr",
            "terminal-input",
            "terminal-output",
            "terminal-stdin",
            "terminal-stdout",
            "terminal-stderr",
            "types",
        ],
        lines: &[P2, P3],
    },
    Package { name: "wasi:filesystem", interfaces: &["types", "preopens"], lines: &[P2, P3] },
    Package {
        name: "wasi:sockets",
        interfaces: &[
            "network",
            "instance-network",
            "ip-name-lookup",
            "tcp",
            "tcp-create-socket",
            "udp",
            "udp-create-socket",
            "types",
        ],
        lines: &[P2, P3],
    },
    Package {
        name: "wasi:http",
        interfaces: &["types", "outgoing-handler", "client"],
        lines: &[P2, P3],
    },
    Package { name: "wasi:config", interfaces: &["store"], lines: &[Line::Exact("0.2.0-rc.1")] },
];

/// What a command component exports, by world.
pub(crate) const RUN_EXPORTS: [&str; 2] = ["wasi:cli/run@0.2.", "wasi:cli/run@0.3."];
/// What an HTTP component exports, by world.
pub(crate) const HTTP_EXPORTS: [&str; 2] =
    ["wasi:http/incoming-handler@0.2.", "wasi:http/handler@0.3."];

/// Whether some host offers this import (`package/interface@version`).
pub(crate) fn is_offered(import: &str) -> bool {
    let Some((package, interface, version)) = split(import) else { return false };
    OFFERED.iter().any(|offered| {
        offered.name == package
            && offered.interfaces.contains(&interface)
            && offered.lines.iter().any(|line| line.takes(version))
    })
}

/// The offered interface that an unknown import most likely means.
pub(crate) fn nearest(import: &str) -> Option<String> {
    let (wanted, _version) = import.split_once('@').unwrap_or((import, ""));
    let known = OFFERED.iter().flat_map(|package| {
        package.interfaces.iter().flat_map(move |interface| {
            let newest = package.lines.iter().map(|line| line.newest());
            newest.map(move |version| (format!("{}/{interface}", package.name), version))
        })
    });
    known
        .map(|(name, version)| (strsim::damerau_levenshtein(wanted, &name), name, version))
        .filter(|(distance, name, _)| distance * 3 <= name.len())
        .min_by_key(|(distance, _, _)| *distance)
        .map(|(_, name, version)| format!("{name}@{version}"))
}

impl Line {
    fn takes(self, version: &str) -> bool {
        match self {
            Self::Compatible { prefix, .. } => version.strip_prefix(prefix).is_some_and(|patch| {
                !patch.is_empty() && patch.bytes().all(|b| b.is_ascii_digit())
            }),
            Self::Exact(only) => version == only,
        }
    }

    fn newest(self) -> &'static str {
        match self {
            Self::Compatible { newest, .. } => newest,
            Self::Exact(only) => only,
        }
    }
}

fn split(import: &str) -> Option<(&str, &str, &str)> {
    let (path, version) = import.split_once('@')?;
    let (package, interface) = path.split_once('/')?;
    Some((package, interface, version))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn takes_any_patch_of_an_offered_line_and_nothing_else() {
        for offered in [
            "wasi:cli/environment@0.2.0",
            "wasi:io/streams@0.2.99",
            "wasi:clocks/system-clock@0.3.0",
            "wasi:config/store@0.2.0-rc.1",
        ] {
            assert!(is_offered(offered), "{offered}");
        }
        for unknown in [
            "wasi:cli/environment@0.1.0",
            "wasi:cli/environment@0.2.0-rc-2023-11-10",
            "wasi:cli/environment",
            "wasi:io/streams@0.3.0",
            "wasi:config/store@0.2.0",
            "acme:shop/cart@1.0.0",
        ] {
            assert!(!is_offered(unknown), "{unknown}");
        }
    }

    #[test]
    fn names_the_nearest_version_or_spelling_or_nothing() {
        let near = |import| nearest(import).unwrap_or_default();
        assert_eq!(near("wasi:http/outgoing-handler@0.1.0"), "wasi:http/outgoing-handler@0.2.12");
        assert_eq!(near("wasi:http/outgoing-handlers@0.2.0"), "wasi:http/outgoing-handler@0.2.12");
        assert_eq!(near("wasi:config/store@0.2.0"), "wasi:config/store@0.2.0-rc.1");
        assert_eq!(nearest("acme:shop/cart@1.0.0"), None);
    }
}
