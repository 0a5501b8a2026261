//! Connection that came: opened in time, then its streams, until its peer or a bound ends it.

use std::cell::Cell;
use std::net::SocketAddr;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use h2::Reason;
use h2::server::{Builder, Connection, Handshake};
use sluice_sbi_keys::instances_of;
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::sync::Notify;
use tokio::time::timeout;
use tokio_rustls::TlsAcceptor;

use super::exchange;
use crate::inbox::Peer;
use crate::parts::Parts;
use crate::peers::ConnectionPlace;
use crate::tls::Tls;
use crate::wire::{End, Watch, Wire};

/// First octets of a client (RFC 9113, 3.4).
const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
/// Answer to a client of another version.
const WANTS_HTTP_2: &[u8] =
    b"HTTP/1.1 400 Bad Request\r\nContent-Type: text/plain\r\nContent-Length: 50\r\n\
    Connection: close\r\n\r\nHTTP/2 with prior knowledge is spoken here alone.\n";
const OTHER_METHODS: [&[u8]; 8] = [
    b"GET ",
    b"POST ",
    b"PUT ",
    b"PATCH ",
    b"DELETE ",
    b"HEAD ",
    b"OPTIONS ",
    b"CONNECT ",
];
/// SETTINGS without any, then GOAWAY (last stream 0, PROTOCOL_ERROR) for whatever else comes first.
const NO_PREFACE: &[u8] = b"\0\0\0\x04\0\0\0\0\0\
    \0\0\x08\x07\0\0\0\0\0\0\0\0\0\0\0\0\x01";
/// Most that is read of a connection that is refused, so that it reads why.
const REFUSED_OCTETS: u64 = 64 << 10;
/// Time for a peer to take a GOAWAY.
const FAREWELL: Duration = Duration::from_secs(1);
/// Window of a connection and of a stream (RFC 9113, 6.9.2).
const CONNECTION_WINDOW: u32 = 1 << 20;
const STREAM_WINDOW: u32 = 1 << 16;
/// Octets of an answer that h2 keeps while the peer takes none.
const SEND_BUFFER: usize = 16 << 10;

/// Time in which frames of a stream that was refused may come, and how many such streams there are.
const LATE: Duration = Duration::from_secs(30);
const LATE_STREAMS: usize = 256;

/// Connection, as its streams see it.
pub(super) struct Link {
    pub(super) parts: Rc<Parts>,
    pub(super) peer: Peer,
    pub(super) place: Rc<ConnectionPlace>,
    /// Octets of answers that the peer has not taken.
    pub(super) answers: Cell<usize>,
    /// The peer went beyond a bound: the connection ends.
    pub(super) too_much: Notify,
}

/// Connection that speaks HTTP/2.
type Open<T> = (Connection<Wire<T>, Bytes>, Rc<Watch>);

/// Serves a connection to its end.
pub(super) async fn serve(
    stream: TcpStream,
    address: SocketAddr,
    place: ConnectionPlace,
    parts: Rc<Parts>,
) {
    let _ = stream.set_nodelay(true);
    let place = Rc::new(place);
    let link = |instances| Link {
        peer: Peer { address, instances },
        parts: Rc::clone(&parts),
        place,
        answers: Cell::new(0),
        too_much: Notify::new(),
    };
    let within = parts.limits.half_open;
    match &parts.tls {
        None => match timeout(within, open(stream, &parts)).await {
            Ok(Some(open)) => streams(open, link(None)).await,
            Ok(None) => {}
            Err(_) => parts.tally.half_open.add(),
        },
        Some(tls) => match timeout(within, open_tls(stream, tls, &parts)).await {
            Ok(Some((open, instances))) => streams(open, link(Some(instances))).await,
            Ok(None) => {}
            Err(_) => parts.tally.half_open.add(),
        },
    }
}

async fn open_tls(
    stream: TcpStream,
    tls: &Tls,
    parts: &Parts,
) -> Option<(
    Open<tokio_rustls::server::TlsStream<TcpStream>>,
    Arc<[String]>,
)> {
    let sides = tls.now(&parts.inbox, &parts.tally);
    let Ok(stream) = TlsAcceptor::from(sides.server).accept(stream).await else {
        parts.tally.tls_refused.add();
        return None;
    };
    let certificates = stream.get_ref().1.peer_certificates();
    let own = certificates.and_then(|all| all.first());
    let instances = own.map(|own| instances_of(own)).unwrap_or_default();
    Some((open(stream, parts).await?, instances.into()))
}

async fn open<T: AsyncRead + AsyncWrite + Unpin>(mut stream: T, parts: &Parts) -> Option<Open<T>> {
    let mut head = Vec::with_capacity(PREFACE.len());
    while head.len() < PREFACE.len() && PREFACE.starts_with(&head) {
        let left = PREFACE.len() - head.len();
        let mut more = (&mut stream).take(left as u64);
        if more
            .read_buf(&mut head)
            .await
            .is_ok_and(|octets| octets > 0)
        {
            continue;
        }
        return None;
    }
    if head != PREFACE {
        parts.tally.other_protocols.add();
        refuse(stream, &head).await;
        return None;
    }
    let wire = Wire::new(stream, Bytes::from(head), false);
    let watch = wire.watch();
    let limits = &parts.limits;
    let shaken: Handshake<_, Bytes> = Builder::new()
        .initial_window_size(STREAM_WINDOW)
        .initial_connection_window_size(CONNECTION_WINDOW)
        .max_concurrent_streams(limits.streams)
        .max_pending_accept_reset_streams(limits.resets_per_s as usize)
        .max_header_list_size(limits.header_list_octets)
        .max_send_buffer_size(SEND_BUFFER)
        // Bodies of requests that were refused come late, and are no error.
        .max_concurrent_reset_streams(LATE_STREAMS)
        .reset_stream_duration(LATE)
        .handshake(wire);
    match shaken.await {
        Ok(connection) => Some((connection, watch)),
        Err(_) => {
            parts.tally.protocol_errors.add();
            None
        }
    }
}

async fn refuse<T: AsyncRead + AsyncWrite + Unpin>(mut stream: T, head: &[u8]) {
    let is_other = OTHER_METHODS.iter().any(|method| head.starts_with(method));
    let why = if is_other { WANTS_HTTP_2 } else { NO_PREFACE };
    let _ = stream.write_all(why).await;
    let _ = stream.shutdown().await;
    let rest = &mut stream.take(REFUSED_OCTETS);
    let _ = timeout(FAREWELL, tokio::io::copy(rest, &mut tokio::io::sink())).await;
}

async fn streams<T: AsyncRead + AsyncWrite + Unpin>((mut connection, watch): Open<T>, link: Link) {
    let link = Rc::new(link);
    let (limits, tally) = (&link.parts.limits, &link.parts.tally);
    let place = &link.place;
    let over = |ping| Rc::clone(&watch).over(ping, limits, true, || place.load());
    let ending = over(connection.ping_pong());
    tokio::pin!(ending);
    let mut is_closing = false;
    let mut leaving = link.parts.leaving.subscribe();
    loop {
        tokio::select! {
            came = connection.accept() => match came {
                Some(Ok((request, respond))) => {
                    tokio::task::spawn_local(exchange::serve(request, respond, Rc::clone(&link)));
                }
                Some(Err(e)) => {
                    if !e.is_io() && !e.is_remote() {
                        tally.protocol_errors.add();
                    }
                    return;
                }
                None => return,
            },
            () = link.too_much.notified() => {
                tally.reset_floods.add();
                connection.abrupt_shutdown(Reason::ENHANCE_YOUR_CALM);
                break;
            }
            _ = leaving.changed() => {
                connection.graceful_shutdown();
                is_closing = true;
            }
            end = &mut ending => match end {
                End::Silent => {
                    tally.silent.add();
                    return;
                }
                End::Idle if is_closing => return,
                // Requests that are on their way are served.
                End::Idle => {
                    connection.graceful_shutdown();
                    is_closing = true;
                    ending.set(over(None));
                }
            },
        }
    }
    // Streams that came before the end was told are served no more.
    let last = async { while let Some(Ok(_)) = connection.accept().await {} };
    let _ = timeout(FAREWELL, last).await;
}
