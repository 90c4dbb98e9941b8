//! Where the door stands, and who comes in.

use std::fs;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::pin::Pin;
use std::task::{Context, Poll};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::{TcpListener, TcpStream, UnixListener, UnixStream};
use trl_proto::Error;
use trl_sys::places;

use super::super::principal::Principal;
use super::super::{ServeError, Server, startup};
use crate::config::{HttpAddr, HttpSettings};

/// Connections that wait in the kernel to be accepted. A client beyond them tries again after a second.
const MOST_WAITING: i32 = 1024;

pub(in crate::serve) struct Listener {
    kind: Kind,
    address: HttpAddr,
}

enum Kind {
    Tcp(TcpListener),
    /// The path is removed at the end.
    Unix(UnixListener, PathBuf),
}

/// One connection.
pub(super) enum Stream {
    Tcp(TcpStream, SocketAddr),
    Unix(UnixStream),
}

/// Who is at the other end, as far as that can be known.
#[derive(Debug, Clone)]
pub(super) enum Peer {
    /// Anybody on this machine, or beyond.
    Address(IpAddr),
    /// The kernel says who.
    Known(Principal),
}

impl Listener {
    /// Must be called within a runtime. None when nobody asked for the door.
    pub(in crate::serve) fn bind(settings: &HttpSettings) -> Result<Option<Self>, ServeError> {
        let Some(address) = &settings.addr else { return Ok(None) };
        if !address.is_local() && !settings.allow_remote {
            return Err(ServeError::Remote(address.to_string()));
        }
        let fault = || ServeError::io(format!("listening on {address}"));
        let (kind, address) = match address {
            HttpAddr::Tcp(wanted) => {
                let listener = tcp(*wanted).map_err(fault())?;
                let bound = listener.local_addr().map_err(fault())?;
                (Kind::Tcp(listener), HttpAddr::Tcp(bound))
            }
            HttpAddr::Unix(path) => {
                places::check_socket(path)?;
                if let Some(dir) = path.parent() {
                    startup::make_private(dir)?;
                }
                startup::check_place(path)?;
                if std::os::unix::net::UnixStream::connect(path).is_ok() {
                    return Err(ServeError::AlreadyRunning { socket: path.clone(), pid: None });
                }
                startup::remove_socket(path);
                let listener = UnixListener::bind(path).map_err(fault())?;
                fs::set_permissions(path, fs::Permissions::from_mode(0o600)).map_err(fault())?;
                (Kind::Unix(listener, path.clone()), HttpAddr::Unix(path.clone()))
            }
        };
        Ok(Some(Self { kind, address }))
    }

    /// As it is bound: with the port that was chosen.
    pub(in crate::serve) fn address(&self) -> &HttpAddr {
        &self.address
    }

    pub(super) async fn accept(&self) -> io::Result<Stream> {
        match &self.kind {
            Kind::Tcp(listener) => {
                let (stream, from) = listener.accept().await?;
                // Answers are whole; waiting to make them larger only makes them late.
                let _ = stream.set_nodelay(true);
                Ok(Stream::Tcp(stream, from))
            }
            Kind::Unix(listener, _) => Ok(Stream::Unix(listener.accept().await?.0)),
        }
    }
}

impl Drop for Listener {
    fn drop(&mut self) {
        if let Kind::Unix(_, path) = &self.kind {
            startup::remove_socket(path);
        }
    }
}

fn tcp(wanted: SocketAddr) -> io::Result<TcpListener> {
    let listener = std::net::TcpListener::bind(wanted)?;
    listener.set_nonblocking(true)?;
    rustix::net::listen(&listener, MOST_WAITING)?;
    TcpListener::from_std(listener)
}

impl Stream {
    pub(super) fn peer(&self, server: &Server) -> Result<Peer, Error> {
        match self {
            Self::Tcp(_, from) => Ok(Peer::Address(from.ip())),
            Self::Unix(stream) => Principal::of_peer(server, stream).map(Peer::Known),
        }
    }
}

impl AsyncRead for Stream {
    fn poll_read(self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Self::Tcp(stream, _) => Pin::new(stream).poll_read(cx, buf),
            Self::Unix(stream) => Pin::new(stream).poll_read(cx, buf),
        }
    }
}

impl AsyncWrite for Stream {
    fn poll_write(self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        match self.get_mut() {
            Self::Tcp(stream, _) => Pin::new(stream).poll_write(cx, bytes),
            Self::Unix(stream) => Pin::new(stream).poll_write(cx, bytes),
        }
    }

    fn poll_flush(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Self::Tcp(stream, _) => Pin::new(stream).poll_flush(cx),
            Self::Unix(stream) => Pin::new(stream).poll_flush(cx),
        }
    }

    fn poll_shutdown(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Self::Tcp(stream, _) => Pin::new(stream).poll_shutdown(cx),
            Self::Unix(stream) => Pin::new(stream).poll_shutdown(cx),
        }
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        parts: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        match self.get_mut() {
            Self::Tcp(stream, _) => Pin::new(stream).poll_write_vectored(cx, parts),
            Self::Unix(stream) => Pin::new(stream).poll_write_vectored(cx, parts),
        }
    }

    fn is_write_vectored(&self) -> bool {
        true
    }
}
