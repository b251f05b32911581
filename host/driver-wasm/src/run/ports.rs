//! Binds the ports of an execution before its guest runs.

use std::io;
use std::net::{IpAddr, SocketAddr};

use pliant_driver::{BoundPort, DriverError, PortNumber, PortProtocol, PortSpec};
use tokio::net::{TcpListener, TcpSocket};

/// Connections that may wait to be accepted on an HTTP port.
const BACKLOG: u32 = 1_024;

/// Ports that are held for one attempt.
#[derive(Debug, Default)]
pub(super) struct Ports {
    pub(super) bound: Vec<BoundPort>,
    /// The driver accepts here.
    pub(super) http: Vec<TcpListener>,
    /// The guest itself is to listen here. Bound but not listening: it keeps the number from
    /// others that want any free one, and a listener with address reuse can take it over.
    pub(super) reserved: Vec<TcpSocket>,
}

/// Must be called within the runtime that will accept. `taken`: what other executions have.
pub(super) fn bind(
    ip: IpAddr,
    specs: &[PortSpec],
    taken: &[SocketAddr],
) -> Result<Ports, DriverError> {
    let mut ports = Ports::default();
    for spec in specs {
        let number = match spec.number {
            PortNumber::Dynamic => 0,
            PortNumber::Static(number) => number,
        };
        let wanted = SocketAddr::new(ip, number);
        if number != 0 && taken.contains(&wanted) {
            return Err(failed(spec, number, &io::ErrorKind::AddrInUse.into()));
        }
        let address = ports.bind(wanted, spec.protocol);
        let address = address.map_err(|error| failed(spec, number, &error))?;
        ports.bound.push(BoundPort { name: spec.name.clone(), protocol: spec.protocol, address });
    }
    Ok(ports)
}

impl Ports {
    fn bind(&mut self, wanted: SocketAddr, protocol: PortProtocol) -> io::Result<SocketAddr> {
        let socket = if wanted.is_ipv4() { TcpSocket::new_v4()? } else { TcpSocket::new_v6()? };
        // A port whose old connections are still closing can be bound again; one that somebody
        // listens on cannot.
        socket.set_reuseaddr(true)?;
        socket.bind(wanted)?;
        let address = socket.local_addr()?;
        match protocol {
            PortProtocol::Http => self.http.push(socket.listen(BACKLOG)?),
            PortProtocol::Tcp => self.reserved.push(socket),
        }
        Ok(address)
    }
}

fn failed(spec: &PortSpec, number: u16, error: &io::Error) -> DriverError {
    let name = spec.name.clone();
    match error.kind() {
        io::ErrorKind::AddrInUse => DriverError::PortInUse { name, number },
        _ => DriverError::PortInvalid { name, reason: error.to_string() },
    }
}
