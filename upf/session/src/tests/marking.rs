//! Transport Level Marking (TS 29.244, 5.4.4, 8.2.12): a FAR's peer has its marking.

use super::bench::*;
use core::net::IpAddr;
use sluice_wire::ids::FarId;
use sluice_wire::pfcp::Cause;
use sluice_wire::pfcp::group::{UpdateFar, UpdateForwardingParameters};
use sluice_wire::pfcp::message::SessionModificationRequest;
use sluice_wire::pfcp::value::*;

/// A later change of what a FAR marks.
fn change(marking: Option<Edit<TransportLevelMarking>>) -> SessionModificationRequest<'static> {
    let parameters = UpdateForwardingParameters {
        transport_level_marking: marking,
        ..UpdateForwardingParameters::default()
    };
    let mut change = SessionModificationRequest::default();
    change.update_far.push(UpdateFar {
        far_id: FarId(2),
        update_forwarding_parameters: Some(parameters),
        ..UpdateFar::default()
    });
    change
}

/// The octet that marks, of the only peer.
fn marking(bench: &Bench) -> u8 {
    let [(id, (address, 1))] = bench.net.held.iter().collect::<Vec<_>>()[..] else {
        panic!("{:?}", bench.net.held);
    };
    let (IpAddr::V4(address), id) = (*address, id.0) else {
        panic!("{address}");
    };
    let [.., high, low] = address.octets();
    ((id ^ u16::from_be_bytes([high, low])) >> 4) as u8
}

#[test]
fn a_far_marks_anew_or_no_longer() {
    let mut bench = Bench::new();
    let mut request = default_session(UE, 1);
    let parameters = request.create_far[1].forwarding_parameters.as_mut();
    parameters.unwrap().transport_level_marking = Some(TransportLevelMarking::dscp(46));
    let done = bench.establish(CP, &request);
    assert_eq!(done.cause, Cause::REQUEST_ACCEPTED, "{:?}", done.offending);
    assert_eq!(marking(&bench), 0xb8);
    for (told, expected) in [
        (Some(Edit::Set(TransportLevelMarking::dscp(10))), 0x28),
        (None, 0x28),
        (Some(Edit::Remove), 0),
    ] {
        let modified = bench.modify(CP, done.seid, &change(told));
        assert_eq!(modified.cause, Cause::REQUEST_ACCEPTED);
        assert_eq!(marking(&bench), expected);
    }
    bench.delete(CP, done.seid);
    bench.assert_vacant();
}
