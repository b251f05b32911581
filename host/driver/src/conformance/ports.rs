//! Rules of ports.

use std::collections::BTreeSet;
use std::time::Duration;

use pliant_types::ExecutionId;

use super::{Behaviour, Bench};
use crate::{DriverError, PortNumber, PortProtocol, PortSpec};

fn port(name: &str, number: PortNumber) -> PortSpec {
    PortSpec { name: name.to_owned(), protocol: PortProtocol::Http, number }
}

pub(super) async fn binds_dynamic_ports_that_differ(bench: Bench) {
    bench.prepare(Behaviour::RunsForever).await;
    let mut numbers = BTreeSet::new();
    for number in 1..=2 {
        let mut spec = bench.subject.spec(Behaviour::RunsForever, ExecutionId::new(number));
        spec.ports = vec![port("first", PortNumber::Dynamic), port("second", PortNumber::Dynamic)];
        let started = bench.start_spec(spec).await.expect("ports are free");
        let names: Vec<&str> = started.ports.iter().map(|port| port.name.as_str()).collect();
        assert_eq!(names, ["first", "second"]);
        numbers.extend(started.ports.iter().map(|port| port.address.port()));
    }
    assert_eq!(numbers.len(), 4, "{numbers:?}");
    assert!(!numbers.contains(&0));
    bench.driver.shutdown().await;
}

pub(super) async fn refuses_a_port_in_use_and_leaves_nothing(bench: Bench) {
    bench.prepare(Behaviour::RunsForever).await;
    let (first, second) = (ExecutionId::new(1), ExecutionId::new(2));
    let mut spec = bench.subject.spec(Behaviour::RunsForever, first);
    spec.ports = vec![port("web", PortNumber::Dynamic)];
    let taken = bench.start_spec(spec).await.expect("a free port").ports[0].address.port();

    let mut spec = bench.subject.spec(Behaviour::RunsForever, second);
    spec.ports = vec![port("other", PortNumber::Dynamic), port("web", PortNumber::Static(taken))];
    let refused = bench.start_spec(spec.clone()).await;
    assert!(
        matches!(&refused, Err(DriverError::PortInUse { name, number })
            if name == "web" && *number == taken),
        "{refused:?}"
    );
    assert_eq!(bench.driver.probe(second).await, None);

    assert!(bench.driver.stop(first, Duration::from_secs(5)).await.is_ok());
    let started = bench.start_spec(spec).await.expect("the port is free again");
    assert_eq!(started.ports[1].address.port(), taken);
    bench.driver.shutdown().await;
}
