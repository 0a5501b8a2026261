//! PFCP Node Report (TS 29.244, 6.2.9, 7.4.5): user plane paths that failed and recovered.

use crate::network::Side;
use crate::node::{Effects, Moment, Node, Shared};
use crate::reports::events::SessionEvent;
use crate::reports::path_reports::{Due, PathChange, RemotePath};
use core::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use sluice_n4::{AssociationId, Instant, NodeId, Request, RequestError, Response};
use sluice_wire::pfcp::group::{UserPlanePathFailureReport, UserPlanePathRecoveryReport};
use sluice_wire::pfcp::message::{NodeReportRequest, NodeReportResponse};
use sluice_wire::pfcp::value::{DestinationInterface, Name, NodeReportType, RemoteGtpuPeer};
use sluice_wire::pfcp::{Full, MessageType, Writer};

/// Of all Node Report Requests; no SEID is 1.
pub const TAG: u64 = 1;

/// Takes in what became of paths, and tells every CP function.
pub fn paths_changed<E: Effects>(node: &mut Node, at: Moment, changes: &[PathChange], out: &mut E) {
    let shared = &mut node.shared;
    let (mut failed, mut recovered) = (Vec::new(), Vec::new());
    for change in changes {
        shared.paths.change(change);
        match change {
            PathChange::Failed(path) => failed.push(path.peer),
            PathChange::Recovered(path) => recovered.push(path.peer),
            PathChange::Forgotten(_) => {}
        }
    }
    if let Some(first) = failed.first() {
        shared.tell(SessionEvent::PathsFailed(*first, failed.len()));
    }
    if let Some(first) = recovered.first() {
        shared.tell(SessionEvent::PathsRecovered(*first, recovered.len()));
    }
    tell_all(node, at, out);
}

/// Tells every CP function what it does not know yet: one request to each at a time.
#[inline]
pub fn tell_all<E: Effects>(node: &mut Node, at: Moment, out: &mut E) {
    if node.shared.paths.take_due(at.now) {
        tell_each(node, at, out);
    }
}

#[cold]
fn tell_each<E: Effects>(node: &mut Node, at: Moment, out: &mut E) {
    let Node {
        endpoint,
        node_id,
        shared,
        ..
    } = node;
    let node_id = &*node_id;
    shared.paths.next_try = None;
    let there = endpoint.associations();
    let there = there.filter(|(_, a)| a.is_established() && !a.is_lost());
    let there: Vec<AssociationId> = there.map(|(id, _)| id).collect();
    for association in there {
        let Some(due) = shared.paths.next(association, at.now) else {
            continue;
        };
        let request = Request {
            association,
            to: None,
            tag: TAG,
            message_type: MessageType::NODE_REPORT_REQUEST,
            seid: None,
        };
        let sent = endpoint.request(at.now, request, out, move |w| write(node_id, &due, w));
        match sent {
            Ok(_) => {}
            // It is gone, and nobody is there to be told.
            Err(RequestError::NoAssociation) => shared.paths.end(association),
            Err(_) => shared.paths.failed(association, at.now),
        }
    }
}

fn write(node_id: &NodeId, due: &Due<'_>, w: &mut Writer<'_>) -> Result<(), Full> {
    let mut request = NodeReportRequest {
        node_id: node_id.as_wire(),
        ..NodeReportRequest::default()
    };
    let mut kinds = 0;
    if !due.failed.is_empty() {
        kinds |= NodeReportType::UPFR.0;
        let mut report = UserPlanePathFailureReport::default();
        report
            .remote_gtpu_peer
            .extend(due.failed.iter().map(|path| on_the_wire(path)));
        request.user_plane_path_failure_report = Some(report);
    }
    if !due.recovered.is_empty() {
        kinds |= NodeReportType::UPRR.0;
        let mut report = UserPlanePathRecoveryReport::default();
        report
            .remote_gtpu_peer
            .extend(due.recovered.iter().map(|path| on_the_wire(path)));
        request.user_plane_path_recovery_report = Some(report);
    }
    request.node_report_type = NodeReportType(kinds);
    request.emit(w)
}

fn ipv4(address: IpAddr) -> Option<Ipv4Addr> {
    match address {
        IpAddr::V4(address) => Some(address),
        IpAddr::V6(_) => None,
    }
}

fn ipv6(address: IpAddr) -> Option<Ipv6Addr> {
    match address {
        IpAddr::V4(_) => None,
        IpAddr::V6(address) => Some(address),
    }
}

fn on_the_wire(path: &RemotePath) -> RemoteGtpuPeer<'_> {
    let side = path.place.as_ref().map(|(side, _)| match side {
        Side::Access => DestinationInterface::ACCESS,
        Side::Core => DestinationInterface::CORE,
        Side::SgiLan => DestinationInterface::SGI_LAN_N6_LAN,
        Side::Control => DestinationInterface::CP_FUNCTION,
    });
    let instance = path.place.as_ref().map(|(_, instance)| instance.as_bytes());
    RemoteGtpuPeer {
        ipv4: ipv4(path.peer),
        ipv6: ipv6(path.peer),
        destination_interface: side,
        network_instance: instance.filter(|name| !name.is_empty()).map(Name),
    }
}

/// A CP function has answered. One that refuses does not want to know, and is not told again.
pub fn answered(shared: &mut Shared, response: &Response<'_>) {
    let association = response.association;
    let read = NodeReportResponse::parse(response.body);
    let cause = read.ok().map(|response| response.cause);
    if !cause.is_some_and(|cause| cause.is_acceptance()) {
        shared.tell(SessionEvent::NodeReportFailed(association, cause));
    }
    shared.paths.answered(association);
}

/// A CP function does not answer.
pub fn failed(shared: &mut Shared, now: Instant, association: AssociationId) {
    shared.tell(SessionEvent::NodeReportFailed(association, None));
    shared.paths.failed(association, now);
}
