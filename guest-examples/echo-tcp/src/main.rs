//! Listens on its granted port (`PLIANT_PORT_ECHO`) and sends back what it gets, one connection
//! after the other.

use wasip2::io::streams::StreamError;
use wasip2::sockets::instance_network::instance_network;
use wasip2::sockets::network::{ErrorCode, IpAddressFamily, IpSocketAddress, Ipv4SocketAddress};
use wasip2::sockets::tcp::TcpSocket;
use wasip2::sockets::tcp_create_socket::create_tcp_socket;

fn main() {
    let port = std::env::var("PLIANT_PORT_ECHO").expect("the port named echo");
    let port: u16 = std::env::args().nth(1).unwrap_or(port).parse().expect("a port number");
    match listen(port) {
        Ok(socket) => serve(&socket),
        Err(error) => {
            println!("cannot listen on {port}: {error:?}");
            wasip2::cli::exit::exit_with_code(9);
        }
    }
}

fn listen(port: u16) -> Result<TcpSocket, ErrorCode> {
    let network = instance_network();
    let socket = create_tcp_socket(IpAddressFamily::Ipv4)?;
    let address = IpSocketAddress::Ipv4(Ipv4SocketAddress { port, address: (127, 0, 0, 1) });
    socket.start_bind(&network, address)?;
    socket.subscribe().block();
    socket.finish_bind()?;
    socket.start_listen()?;
    socket.subscribe().block();
    socket.finish_listen()?;
    println!("listening");
    Ok(socket)
}

fn serve(socket: &TcpSocket) {
    loop {
        socket.subscribe().block();
        let Ok((_connection, input, output)) = socket.accept() else { continue };
        let ended = loop {
            match input.blocking_read(4_096) {
                Ok(bytes) => {
                    if let Err(error) = output.blocking_write_and_flush(&bytes) {
                        break error;
                    }
                }
                Err(error) => break error,
            }
        };
        match ended {
            StreamError::Closed => println!("connection closed"),
            StreamError::LastOperationFailed(error) => println!("{}", error.to_debug_string()),
        }
    }
}
