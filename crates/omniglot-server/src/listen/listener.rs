//! The listening end: a port, or a socket in the file system.

use std::io;
use std::net::SocketAddr;

use omniglot_runtime::config::Listen;
use tokio::net::{TcpListener, TcpSocket, TcpStream, UnixStream};

use super::unix_socket::{SocketError, UnixSocket};
use super::{BACKLOG, ServeError};

/// The bytes that the kernel may buffer for one client.
const SEND_BUFFER: u32 = 256 << 10;

pub(super) enum Listener {
    Tcp(TcpListener),
    Unix(UnixSocket),
}

/// A connection that was accepted.
pub(super) enum Accepted {
    Tcp(TcpStream, SocketAddr),
    Unix(UnixStream),
}

impl Listener {
    pub(super) async fn bind(listen: &Listen, any_port: bool) -> Result<Self, ServeError> {
        let refused = |cause: SocketError| ServeError::Listen { at: listen.clone(), cause };
        match listen {
            Listen::Tcp(addr) => {
                wanted_port(*addr, any_port).map(Self::Tcp).map_err(|cause| refused(cause.into()))
            }
            Listen::Unix(path) => UnixSocket::bind(path).await.map(Self::Unix).map_err(refused),
        }
    }

    /// Returns the address that was really taken.
    pub(super) fn taken(&self) -> io::Result<Listen> {
        match self {
            Self::Tcp(listener) => Ok(Listen::Tcp(listener.local_addr()?)),
            Self::Unix(socket) => Ok(Listen::Unix(socket.path().to_owned())),
        }
    }

    pub(super) async fn accept(&self) -> io::Result<Accepted> {
        match self {
            Self::Tcp(listener) => {
                let (stream, peer) = listener.accept().await?;
                // Events are small and must not wait for each other.
                let _ =
                    stream.set_nodelay(true).inspect_err(|error| tracing::debug!(%error, "no TCP_NODELAY"));
                Ok(Accepted::Tcp(stream, peer))
            }
            Self::Unix(socket) => Ok(Accepted::Unix(socket.accept().await?)),
        }
    }
}

/// Takes another port where the wanted one is taken and any will do.
fn wanted_port(addr: SocketAddr, any_port: bool) -> io::Result<TcpListener> {
    match port(addr) {
        Err(cause) if any_port && cause.kind() == io::ErrorKind::AddrInUse => {
            port(SocketAddr::new(addr.ip(), 0))
        }
        other => other,
    }
}

pub(super) fn port(addr: SocketAddr) -> io::Result<TcpListener> {
    let socket = if addr.is_ipv4() { TcpSocket::new_v4()? } else { TcpSocket::new_v6()? };
    socket.set_reuseaddr(true)?;
    // Accepted sockets inherit it. Left to itself the kernel would keep megabytes for a stopped reader.
    socket.set_send_buffer_size(SEND_BUFFER)?;
    socket.bind(addr)?;
    socket.listen(BACKLOG)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn another_port_is_taken_only_where_any_will_do() {
        let first = wanted_port("127.0.0.1:0".parse().unwrap(), true).unwrap();
        let taken = first.local_addr().unwrap();
        let refused = wanted_port(taken, false).unwrap_err();
        assert_eq!(refused.kind(), io::ErrorKind::AddrInUse);
        assert_ne!(wanted_port(taken, true).unwrap().local_addr().unwrap(), taken);
        drop(first);
        assert_eq!(wanted_port(taken, true).unwrap().local_addr().unwrap(), taken);
    }
}
