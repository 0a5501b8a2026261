//! The limit: the cheapest loop that could answer at all. Receive, header parse, fixed answer.

use sluice_n4::Outbox;
use sluice_wire::ids::Seid;
use sluice_wire::pfcp::{Cause, Header, IeType, write_message};
use std::net::SocketAddr;

/// Answers requests.
pub fn answer_all(requests: &[(SocketAddr, &[u8])], out: &mut impl Outbox) {
    for (peer, request) in requests {
        answer(*peer, request, out);
    }
}

/// Answers one request with "accepted", whatever it asks for.
#[inline]
fn answer(peer: SocketAddr, request: &[u8], out: &mut impl Outbox) {
    let Ok((header, _)) = Header::parse(request) else {
        return;
    };
    let Some(message_type) = header.message_type.response() else {
        return;
    };
    let header = Header {
        message_type,
        seid: header.seid.map(|_| Seid(1)),
        ..header
    };
    let mut answer = [0; 32];
    let written = write_message(&mut answer, &header, |w| {
        w.ie(IeType::CAUSE, |w| w.u8(Cause::REQUEST_ACCEPTED.0))
    });
    if let Ok(len) = written {
        out.send(peer, &answer[..len]);
    }
}
