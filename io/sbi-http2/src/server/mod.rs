//! Server: connections that come, each with a place of its peer.

mod connection;
mod exchange;

use std::io::Write as _;
use std::net::TcpListener;
use std::rc::Rc;
use std::time::Duration;

use tokio::net::TcpStream;
use tokio::time::sleep;

use crate::parts::Parts;
use crate::peers::Full;

/// After a connection that could not be taken, most likely for lack of descriptors.
const ACCEPT_PAUSE: Duration = Duration::from_millis(50);

/// SETTINGS without any, then GOAWAY (last stream 0, ENHANCE_YOUR_CALM) with its reason (RFC 9113, 6.5 and 6.8).
const TOO_MANY: &[u8] = b"\0\0\0\x04\0\0\0\0\0\
    \0\0\x1c\x07\0\0\0\0\0\0\0\0\0\0\0\0\x0btoo many connections";

/// Takes connections until the thread ends.
pub(crate) async fn accept(listener: TcpListener, parts: Rc<Parts>) {
    let Ok(listener) = tokio::net::TcpListener::from_std(listener) else {
        return;
    };
    loop {
        let Ok((stream, address)) = listener.accept().await else {
            sleep(ACCEPT_PAUSE).await;
            continue;
        };
        match parts.peers.connect(address.ip(), &parts.limits) {
            Ok(place) => {
                parts.tally.connections.add();
                let serve = connection::serve(stream, address, place, Rc::clone(&parts));
                tokio::task::spawn_local(serve);
            }
            Err(full) => {
                match full {
                    Full::Server => parts.tally.connections_refused.add(),
                    Full::Peer => parts.tally.peer_connections_refused.add(),
                }
                refuse(stream, parts.tls.is_some());
            }
        }
    }
}

/// Tells why in the clear, and closes; the buffer of a new socket has room.
fn refuse(stream: TcpStream, has_tls: bool) {
    if let Ok(mut stream) = stream.into_std()
        && !has_tls
    {
        let _ = stream.write(TOO_MANY);
        let _ = stream.shutdown(std::net::Shutdown::Write);
    }
}
