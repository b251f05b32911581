//! Tries to reach what it is told and says how it went, one line for each argument:
//! `http://HOST:PORT/PATH`, `https://...`, `tcp:HOST:PORT`, `udp:HOST:PORT`.

use wasip2::http::outgoing_handler;
use wasip2::http::types::{Fields, OutgoingRequest, Scheme};
use wasip2::sockets::instance_network::instance_network;
use wasip2::sockets::ip_name_lookup::resolve_addresses;
use wasip2::sockets::network::{
    ErrorCode, IpAddress, IpAddressFamily, IpSocketAddress, Ipv4SocketAddress, Ipv6SocketAddress,
    Network,
};
use wasip2::sockets::tcp_create_socket::create_tcp_socket;
use wasip2::sockets::udp_create_socket::create_udp_socket;

fn main() {
    for target in std::env::args().skip(1) {
        let outcome = if let Some(rest) = target.strip_prefix("tcp:") {
            tcp(rest).map_err(|error| format!("{error:?}"))
        } else if let Some(rest) = target.strip_prefix("udp:") {
            udp(rest).map_err(|error| format!("{error:?}"))
        } else {
            http(&target)
        };
        match outcome {
            Ok(text) => println!("{target}: ok {text}"),
            Err(error) => println!("{target}: refused {error}"),
        }
    }
}

fn http(url: &str) -> Result<String, String> {
    let (scheme, rest) = match url.split_once("://") {
        Some(("https", rest)) => (Scheme::Https, rest),
        Some(("http", rest)) => (Scheme::Http, rest),
        _ => return Err("not a URL".to_owned()),
    };
    let (authority, path) = rest.split_once('/').unwrap_or((rest, ""));
    let request = OutgoingRequest::new(Fields::new());
    let set = request
        .set_scheme(Some(&scheme))
        .and_then(|()| request.set_authority(Some(authority)))
        .and_then(|()| request.set_path_with_query(Some(&format!("/{path}"))));
    set.map_err(|()| "not a URL".to_owned())?;
    let response = outgoing_handler::handle(request, None).map_err(|e| e.to_string())?;
    response.subscribe().block();
    let response = match response.get() {
        Some(Ok(Ok(response))) => response,
        Some(Ok(Err(error))) => return Err(error.to_string()),
        _ => return Err("no answer".to_owned()),
    };
    let body = response.consume().map_err(|()| "no body".to_owned())?;
    let stream = body.stream().map_err(|()| "no stream".to_owned())?;
    let mut text = Vec::new();
    while let Ok(piece) = stream.blocking_read(4_096) {
        text.extend_from_slice(&piece);
    }
    Ok(format!("{} {}", response.status(), String::from_utf8_lossy(&text).trim()))
}

fn tcp(target: &str) -> Result<String, ErrorCode> {
    let network = instance_network();
    let (address, family) = resolve(&network, target)?;
    let socket = create_tcp_socket(family)?;
    socket.start_connect(&network, address)?;
    socket.subscribe().block();
    let (input, output) = socket.finish_connect()?;
    output.blocking_write_and_flush(b"ping\n").map_err(|_| ErrorCode::ConnectionReset)?;
    let answer = input.blocking_read(4_096).map_err(|_| ErrorCode::ConnectionReset)?;
    Ok(String::from_utf8_lossy(&answer).trim().to_owned())
}

fn udp(target: &str) -> Result<String, ErrorCode> {
    let network = instance_network();
    let (address, family) = resolve(&network, target)?;
    let socket = create_udp_socket(family)?;
    let any = match family {
        IpAddressFamily::Ipv4 => {
            IpSocketAddress::Ipv4(Ipv4SocketAddress { port: 0, address: (127, 0, 0, 1) })
        }
        IpAddressFamily::Ipv6 => socket_address(IpAddress::Ipv6((0, 0, 0, 0, 0, 0, 0, 1)), 0).0,
    };
    socket.start_bind(&network, any)?;
    socket.subscribe().block();
    socket.finish_bind()?;
    let (_incoming, outgoing) = socket.stream(Some(address))?;
    outgoing.subscribe().block();
    outgoing.check_send()?;
    let datagram =
        wasip2::sockets::udp::OutgoingDatagram { data: b"ping".to_vec(), remote_address: None };
    outgoing.send(&[datagram]).map(|sent| format!("{sent} sent"))
}

fn resolve(
    network: &Network,
    target: &str,
) -> Result<(IpSocketAddress, IpAddressFamily), ErrorCode> {
    let (host, port) = target.rsplit_once(':').ok_or(ErrorCode::InvalidArgument)?;
    let port: u16 = port.parse().map_err(|_| ErrorCode::InvalidArgument)?;
    let host = host.trim_start_matches('[').trim_end_matches(']');
    let found = resolve_addresses(network, host)?;
    loop {
        match found.resolve_next_address() {
            Ok(Some(address)) => return Ok(socket_address(address, port)),
            Ok(None) => return Err(ErrorCode::NameUnresolvable),
            Err(ErrorCode::WouldBlock) => found.subscribe().block(),
            Err(error) => return Err(error),
        }
    }
}

fn socket_address(address: IpAddress, port: u16) -> (IpSocketAddress, IpAddressFamily) {
    match address {
        IpAddress::Ipv4(address) => {
            (IpSocketAddress::Ipv4(Ipv4SocketAddress { port, address }), IpAddressFamily::Ipv4)
        }
        IpAddress::Ipv6(address) => {
            let address = Ipv6SocketAddress { port, flow_info: 0, address, scope_id: 0 };
            (IpSocketAddress::Ipv6(address), IpAddressFamily::Ipv6)
        }
    }
}
