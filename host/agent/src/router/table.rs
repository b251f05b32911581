//! Routes as values: the longest path under a host name, and the task that has least to do.

use std::{
    collections::{BTreeMap, BTreeSet},
    net::SocketAddr,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
};

use pliant_api::body::{RouteTable, RouteView};
use pliant_types::ExecutionId;

/// A ready task, with what it has to do now.
#[derive(Debug)]
pub(super) struct Endpoint {
    pub(super) address: SocketAddr,
    in_flight: AtomicUsize,
}

/// A request that a task has to answer.
#[derive(Debug)]
pub(super) struct Load(Arc<Endpoint>);

impl Load {
    pub(super) fn address(&self) -> SocketAddr {
        self.0.address
    }
}

impl Drop for Load {
    fn drop(&mut self) {
        self.0.in_flight.fetch_sub(1, Ordering::Relaxed);
    }
}

/// One route.
#[derive(Debug)]
pub(super) struct Route {
    host: String,
    path: String,
    endpoints: Vec<Arc<Endpoint>>,
    turn: AtomicUsize,
}

impl Route {
    /// The task with the fewest requests; in turn among equals. `tried` are left out.
    pub(super) fn pick(&self, tried: &BTreeSet<SocketAddr>) -> Option<Load> {
        let start = self.turn.fetch_add(1, Ordering::Relaxed);
        let count = self.endpoints.len();
        let from = (0..count).map(|n| &self.endpoints[(start + n) % count]);
        let open = from.filter(|endpoint| !tried.contains(&endpoint.address));
        let least = open.min_by_key(|endpoint| endpoint.in_flight.load(Ordering::Relaxed))?;
        least.in_flight.fetch_add(1, Ordering::Relaxed);
        Some(Load(Arc::clone(least)))
    }
}

/// All routes.
#[derive(Debug, Default)]
pub(super) struct Table {
    routes: Vec<Arc<Route>>,
}

impl Table {
    /// A newer table; tasks that it still names keep what they have to do.
    pub(super) fn newer(&self, from: &RouteTable) -> Self {
        let mut known: BTreeMap<SocketAddr, Arc<Endpoint>> = BTreeMap::new();
        for endpoint in self.routes.iter().flat_map(|route| &route.endpoints) {
            known.insert(endpoint.address, Arc::clone(endpoint));
        }
        let mut routes: Vec<_> = from.routes.iter().map(|view| route(view, &known)).collect();
        // The longest path first, so that the first that fits is the right one.
        routes.sort_by_key(|route| std::cmp::Reverse(route.path.len()));
        Self { routes: routes.into_iter().map(Arc::new).collect() }
    }

    /// The route of a request.
    pub(super) fn find(&self, host: &str, path: &str) -> Option<Arc<Route>> {
        let name = host.rsplit_once(':').map_or(host, |(name, port)| {
            if port.bytes().all(|b| b.is_ascii_digit()) { name } else { host }
        });
        let fits = |route: &&Arc<Route>| {
            route.host.eq_ignore_ascii_case(name) && is_below(path, &route.path)
        };
        self.routes.iter().find(fits).cloned()
    }
}

/// Whether a path is a prefix's own or below it; `/shopping` is not below `/shop`.
fn is_below(path: &str, prefix: &str) -> bool {
    if prefix == "/" {
        return true;
    }
    path.strip_prefix(prefix).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

fn route(view: &RouteView, known: &BTreeMap<SocketAddr, Arc<Endpoint>>) -> Route {
    let mut addresses: Vec<(ExecutionId, SocketAddr)> = view
        .endpoints
        .iter()
        .filter_map(|endpoint| Some((endpoint.execution, endpoint.address.parse().ok()?)))
        .collect();
    addresses.sort();
    let endpoint = |(_, address): (ExecutionId, SocketAddr)| {
        let fresh = || Arc::new(Endpoint { address, in_flight: AtomicUsize::new(0) });
        known.get(&address).cloned().unwrap_or_else(fresh)
    };
    Route {
        host: view.host.clone(),
        path: view.path.clone(),
        endpoints: addresses.into_iter().map(endpoint).collect(),
        turn: AtomicUsize::new(0),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use pliant_api::body::RouteEndpoint;

    fn table(routes: &[(&str, &str, &[u16])]) -> RouteTable {
        let route = |(host, path, ports): &(&str, &str, &[u16])| RouteView {
            host: (*host).to_owned(),
            path: (*path).to_owned(),
            namespace: "default".parse().unwrap(),
            job: "web".parse().unwrap(),
            endpoints: ports
                .iter()
                .map(|port| RouteEndpoint {
                    execution: ExecutionId::new(u64::from(*port)),
                    address: format!("127.0.0.1:{port}"),
                })
                .collect(),
        };
        RouteTable { number: 1, routes: routes.iter().map(route).collect() }
    }

    fn port(table: &Table, host: &str, path: &str) -> Option<u16> {
        let route = table.find(host, path)?;
        route.pick(&BTreeSet::new()).map(|load| load.address().port())
    }

    #[test]
    fn the_longest_path_under_the_host_name_is_taken_and_ends_at_a_segment() {
        let table = Table::default().newer(&table(&[
            ("a.example", "/", &[1]),
            ("a.example", "/shop", &[2]),
            ("b.example", "/", &[3]),
        ]));
        assert_eq!(port(&table, "a.example", "/x"), Some(1));
        assert_eq!(port(&table, "A.EXAMPLE:8080", "/shop"), Some(2));
        assert_eq!(port(&table, "a.example", "/shop/cart"), Some(2));
        assert_eq!(port(&table, "a.example", "/shopping"), Some(1));
        assert_eq!(port(&table, "b.example", "/shop"), Some(3));
        assert_eq!(port(&table, "c.example", "/"), None);
    }

    #[test]
    fn requests_go_to_who_has_least_to_do_and_loads_outlive_a_newer_table() {
        let first = Table::default().newer(&table(&[("a", "/", &[1, 2])]));
        let route = first.find("a", "/").unwrap();
        let none = BTreeSet::new();
        let one = route.pick(&none).unwrap();
        let two = route.pick(&none).unwrap();
        assert_ne!(one.address(), two.address());
        let idle = two.address();
        drop(two);
        let second = first.newer(&table(&[("a", "/", &[1, 2, 3])]));
        let route = second.find("a", "/").unwrap();
        let picked: Vec<_> = (0..2).map(|_| route.pick(&none).unwrap()).collect();
        assert!(picked.iter().all(|load| load.address() != one.address()), "it is busy still");
        assert!(picked.iter().any(|load| load.address() == idle));
        let tried = picked.iter().map(Load::address).collect();
        assert_eq!(route.pick(&tried).map(|l| l.address()), Some(one.address()));
    }
}
