//! Encoding and decoding of node-related messages.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use arrayvec::ArrayVec;
use sluice_wire::ids::Seid;
use sluice_wire::pfcp::element::Element;
use sluice_wire::pfcp::group::SessionRetentionInformation;
use sluice_wire::pfcp::ie::first;
use sluice_wire::pfcp::message::{
    AssociationReleaseRequest, AssociationReleaseResponse, AssociationSetupRequest,
    AssociationSetupResponse, AssociationUpdateRequest, AssociationUpdateResponse,
    HeartbeatRequest, HeartbeatResponse,
};
use sluice_wire::pfcp::value::{
    self, AlternativeSmfIpAddress, AssociationReleaseRequestFlags, AssociationSetupResponseFlags,
    AssociationUpdateRequestFlags, FSeid, NtpTime, Timer, UserPlaneIpResourceInformation,
};
use sluice_wire::pfcp::{Cause, Full, IeType, MessageType, Reject, Writer};

use crate::association::{ADDRESSES, Features, UserPlaneResource};
use crate::config::Config;
use crate::endpoint::Change;
use crate::event::{RETENTION_ADDRESSES, Retention};
use crate::node_id::NodeId;
use crate::time::Instant;

/// Values that a function sends about itself in an association setup.
#[derive(Debug)]
pub struct Peer {
    pub node_id: NodeId,
    pub recovery_time_stamp: NtpTime,
    pub features: Features,
    pub resources: Vec<UserPlaneResource>,
    pub addresses: Addresses,
}

/// Further addresses of a function.
pub type Addresses = ArrayVec<IpAddr, ADDRESSES>;

#[derive(Debug)]
pub struct SetupRequest {
    pub peer: Peer,
    pub retain: Retention,
}

pub struct SetupResponse {
    pub peer: Peer,
    pub sessions_retained: bool,
}

pub struct UpdateRequest {
    pub node_id: NodeId,
    pub features: Features,
    pub resources: Vec<UserPlaneResource>,
    pub addresses: Addresses,
    pub release_requested: bool,
    pub preparation: bool,
    pub graceful_period: Option<GracefulPeriod>,
}

/// Graceful Release Period (TS 29.244, 8.2.78).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum GracefulPeriod {
    Seconds(u32),
    Infinite,
}

impl GracefulPeriod {
    /// When a period that begins now is over.
    pub fn end(self, now: Instant) -> Instant {
        match self {
            Self::Seconds(period_s) => now.plus_ms(u64::from(period_s) * 1000),
            Self::Infinite => Instant::NEVER,
        }
    }

    /// Seconds; the largest number for a period without end.
    pub fn seconds(self) -> u32 {
        match self {
            Self::Seconds(period_s) => period_s,
            Self::Infinite => u32::MAX,
        }
    }
}

fn resources(told: &[UserPlaneIpResourceInformation<'_>]) -> Vec<UserPlaneResource> {
    told.iter().map(UserPlaneResource::from).collect()
}

pub fn heartbeat_request(body: &[u8]) -> Result<NtpTime, Reject> {
    HeartbeatRequest::parse(body).map(|message| message.recovery_time_stamp)
}

pub fn heartbeat_response(body: &[u8]) -> Result<NtpTime, Reject> {
    HeartbeatResponse::parse(body).map(|message| message.recovery_time_stamp)
}

pub fn setup_request(body: &[u8]) -> Result<SetupRequest, Reject> {
    let message = AssociationSetupRequest::parse(body)?;
    let peer = Peer {
        node_id: owned(message.node_id)?,
        recovery_time_stamp: message.recovery_time_stamp,
        features: Features {
            cp: message.cp_function_features,
            up: message.up_function_features,
        },
        resources: resources(&message.user_plane_ip_resource_information),
        addresses: addresses(&message.alternative_smf_ip_address),
    };
    let retain = message
        .pfcp_session_retention_information
        .map_or(Retention::None, retention);
    Ok(SetupRequest { peer, retain })
}

/// `Ok(Err)` is a rejection. It may lack what an acceptance must have, as some peers leave out
/// the Recovery Time Stamp then.
pub fn setup_response(body: &[u8]) -> Result<Result<SetupResponse, Cause>, Reject> {
    if let Some(cause) = cause(body).filter(|cause| !cause.is_acceptance()) {
        return Ok(Err(cause));
    }
    let message = AssociationSetupResponse::parse(body)?;
    let peer = Peer {
        node_id: owned(message.node_id)?,
        recovery_time_stamp: message.recovery_time_stamp,
        features: Features {
            cp: message.cp_function_features,
            up: message.up_function_features,
        },
        resources: resources(&message.user_plane_ip_resource_information),
        addresses: addresses(&message.alternative_smf_ip_address),
    };
    let flags = message.pfcpasrsp_flags.unwrap_or_default();
    let sessions_retained = flags.contains(AssociationSetupResponseFlags::PSREI);
    Ok(Ok(SetupResponse {
        peer,
        sessions_retained,
    }))
}

pub fn update_request(body: &[u8]) -> Result<UpdateRequest, Reject> {
    let message = AssociationUpdateRequest::parse(body)?;
    let release = message.pfcp_association_release_request.unwrap_or_default();
    let flags = message.pfcpaureq_flags.unwrap_or_default();
    let asks = AssociationReleaseRequestFlags::SARR | AssociationReleaseRequestFlags::URSS;
    let graceful_period = message.graceful_release_period.map(|timer| {
        timer
            .duration_s()
            .map_or(GracefulPeriod::Infinite, GracefulPeriod::Seconds)
    });
    Ok(UpdateRequest {
        node_id: owned(message.node_id)?,
        features: Features {
            cp: message.cp_function_features,
            up: message.up_function_features,
        },
        resources: resources(&message.user_plane_ip_resource_information),
        addresses: addresses(&message.alternative_smf_ip_address),
        release_requested: release.intersects(asks),
        preparation: flags.contains(AssociationUpdateRequestFlags::PARPS),
        graceful_period,
    })
}

pub fn update_response(body: &[u8]) -> Result<Cause, Reject> {
    AssociationUpdateResponse::parse(body).map(|message| message.cause)
}

pub fn release_request(body: &[u8]) -> Result<NodeId, Reject> {
    owned(AssociationReleaseRequest::parse(body)?.node_id)
}

/// The Cause of a response of ours: it stands first, or behind the Node ID.
pub fn cause_of(message: &[u8]) -> Option<Cause> {
    let has_seid = message.first()? & 1 == 1;
    let mut ies = message.get(if has_seid { 16 } else { 8 }..)?;
    for _ in 0..2 {
        let ([t0, t1, l0, l1], value) = ies.split_first_chunk::<4>()?;
        if u16::from_be_bytes([*t0, *t1]) == IeType::CAUSE.0 {
            return value.first().copied().map(Cause);
        }
        ies = value.get(usize::from(u16::from_be_bytes([*l0, *l1]))..)?;
    }
    None
}

/// The Cause of any message that has one.
pub fn cause(body: &[u8]) -> Option<Cause> {
    Cause::decode(first(body, IeType::CAUSE)?).ok()
}

/// The Node ID of any message that has a readable one.
pub fn node_id(body: &[u8]) -> Option<value::NodeId<'_>> {
    let value = first(body, IeType::NODE_ID)?;
    value::NodeId::decode(value).ok()
}

/// The SEID in the F-SEID of any message that has a readable one.
pub fn cp_seid(body: &[u8]) -> Option<Seid> {
    let value = first(body, IeType::F_SEID)?;
    FSeid::decode(value).ok().map(|f_seid| f_seid.seid)
}

pub fn write_heartbeat_request(w: &mut Writer<'_>, own: NtpTime) -> Result<(), Full> {
    HeartbeatRequest {
        recovery_time_stamp: own,
        ..Default::default()
    }
    .emit(w)
}

pub fn write_heartbeat_response(w: &mut Writer<'_>, own: NtpTime) -> Result<(), Full> {
    HeartbeatResponse {
        recovery_time_stamp: own,
    }
    .emit(w)
}

pub fn write_setup_request(w: &mut Writer<'_>, config: &Config, retain: bool) -> Result<(), Full> {
    let message = AssociationSetupRequest {
        node_id: config.node_id.as_wire(),
        recovery_time_stamp: config.recovery_time_stamp,
        up_function_features: config.features.up,
        cp_function_features: config.features.cp,
        pfcp_session_retention_information: retain.then(SessionRetentionInformation::default),
        ..Default::default()
    };
    message.emit(w)?;
    w.bytes(&config.setup_ies)
}

pub fn write_setup_response(
    w: &mut Writer<'_>,
    config: &Config,
    cause: Cause,
    sessions_retained: bool,
) -> Result<(), Full> {
    let mut message = AssociationSetupResponse {
        node_id: config.node_id.as_wire(),
        cause,
        recovery_time_stamp: config.recovery_time_stamp,
        ..Default::default()
    };
    if !cause.is_acceptance() {
        return message.emit(w);
    }
    message.up_function_features = config.features.up;
    message.cp_function_features = config.features.cp;
    message.pfcpasrsp_flags = sessions_retained.then_some(AssociationSetupResponseFlags::PSREI);
    message.emit(w)?;
    w.bytes(&config.setup_ies)
}

pub fn write_update_request(
    w: &mut Writer<'_>,
    own: &NodeId,
    change: &Change<'_>,
) -> Result<(), Full> {
    let mut message = AssociationUpdateRequest {
        node_id: own.as_wire(),
        ..Default::default()
    };
    let sarr = AssociationReleaseRequestFlags::SARR;
    let mut ies: &[u8] = &[];
    match change {
        Change::Features(features) => {
            message.up_function_features = features.up;
            message.cp_function_features = features.cp;
        }
        Change::ReleasePreparation => {
            message.pfcpaureq_flags = Some(AssociationUpdateRequestFlags::PARPS);
        }
        Change::ReleaseRequest { graceful_period_s } => {
            message.pfcp_association_release_request = Some(sarr);
            message.graceful_release_period = graceful_period_s.map(Timer::at_least_s);
        }
        Change::UsageReportsSent => {
            let urss = AssociationReleaseRequestFlags::URSS;
            message.pfcp_association_release_request = Some(sarr | urss);
        }
        Change::Ies(encoded) => ies = encoded,
    }
    message.emit(w)?;
    w.bytes(ies)
}

pub fn write_update_response(w: &mut Writer<'_>, own: &NodeId, cause: Cause) -> Result<(), Full> {
    let message = AssociationUpdateResponse {
        node_id: own.as_wire(),
        cause,
        ..Default::default()
    };
    message.emit(w)
}

pub fn write_release_request(w: &mut Writer<'_>, own: &NodeId) -> Result<(), Full> {
    AssociationReleaseRequest {
        node_id: own.as_wire(),
    }
    .emit(w)
}

pub fn write_release_response(w: &mut Writer<'_>, own: &NodeId, cause: Cause) -> Result<(), Full> {
    AssociationReleaseResponse {
        node_id: own.as_wire(),
        cause,
    }
    .emit(w)
}

/// The least that a response of any type says: Cause, and before it the Node ID where the TS
/// has it mandatory (TS 29.244, 7.4.5 to 7.5).
pub fn write_rejection(
    w: &mut Writer<'_>,
    response: MessageType,
    own: &NodeId,
    cause: Cause,
) -> Result<(), Full> {
    let names_itself = matches!(
        response,
        MessageType::NODE_REPORT_RESPONSE
            | MessageType::SESSION_SET_DELETION_RESPONSE
            | MessageType::SESSION_SET_MODIFICATION_RESPONSE
            | MessageType::SESSION_ESTABLISHMENT_RESPONSE
    );
    if names_itself {
        w.ie(IeType::NODE_ID, |w| own.as_wire().encode(w))?;
    }
    w.ie(IeType::CAUSE, |w| cause.encode(w))
}

fn owned(node_id: value::NodeId<'_>) -> Result<NodeId, Reject> {
    NodeId::from_wire(node_id).ok_or(Reject::incorrect(IeType::NODE_ID))
}

fn addresses(ies: &[AlternativeSmfIpAddress]) -> Addresses {
    let all = ies.iter().flat_map(|ie| both(ie.ipv4, ie.ipv6));
    all.take(ADDRESSES).collect()
}

fn retention(information: SessionRetentionInformation) -> Retention {
    let mut addresses: ArrayVec<IpAddr, RETENTION_ADDRESSES> = ArrayVec::new();
    for ie in &information.cp_pfcp_entity_ip_address {
        for address in both(ie.ipv4, ie.ipv6) {
            if addresses.try_push(address).is_err() {
                return Retention::All;
            }
        }
    }
    if addresses.is_empty() {
        Retention::All
    } else {
        Retention::Addresses(addresses)
    }
}

fn both(v4: Option<Ipv4Addr>, v6: Option<Ipv6Addr>) -> impl Iterator<Item = IpAddr> {
    v4.map(IpAddr::V4).into_iter().chain(v6.map(IpAddr::V6))
}

#[cfg(test)]
mod tests {
    use super::*;
    use sluice_wire::pfcp::value::{CpPfcpEntityIpAddress, Name};

    fn written(write: impl FnOnce(&mut Writer<'_>) -> Result<(), Full>) -> Vec<u8> {
        let mut octets = [0; 2048];
        let mut w = Writer::new(&mut octets);
        write(&mut w).expect("it fits");
        w.written().to_vec()
    }

    fn setup_with(addresses: u8) -> Retention {
        let entity = |n| CpPfcpEntityIpAddress {
            ipv4: Some([10, 0, 0, n].into()),
            ipv6: None,
        };
        let information = SessionRetentionInformation {
            cp_pfcp_entity_ip_address: (0..addresses).map(entity).collect(),
        };
        let message = AssociationSetupRequest {
            node_id: value::NodeId::Fqdn(Name(b"smf")),
            pfcp_session_retention_information: Some(information),
            ..Default::default()
        };
        setup_request(&written(|w| message.emit(w)))
            .expect("well formed")
            .retain
    }

    #[test]
    fn retention_may_name_addresses() {
        assert_eq!(setup_with(0), Retention::All);
        let one: ArrayVec<IpAddr, RETENTION_ADDRESSES> =
            [IpAddr::from([10, 0, 0, 0])].into_iter().collect();
        assert_eq!(setup_with(1), Retention::Addresses(one));
    }

    #[test]
    fn alternative_addresses_are_learned_in_both_families() {
        let both = AlternativeSmfIpAddress {
            ipv4: Some([10, 0, 0, 7].into()),
            ipv6: Some(Ipv6Addr::LOCALHOST),
            preferred: false,
        };
        let message = AssociationSetupRequest {
            alternative_smf_ip_address: [both].into_iter().collect(),
            ..Default::default()
        };
        let request = setup_request(&written(|w| message.emit(w))).expect("well formed");
        let expected = [IpAddr::from([10, 0, 0, 7]), IpAddr::V6(Ipv6Addr::LOCALHOST)];
        assert_eq!(request.peer.addresses[..], expected);
    }

    #[test]
    fn a_rejection_need_not_have_a_recovery_time_stamp() {
        let own = NodeId::v4([10, 0, 0, 2].into());
        let response = MessageType::SESSION_ESTABLISHMENT_RESPONSE;
        let body = written(|w| write_rejection(w, response, &own, Cause::SYSTEM_FAILURE));
        assert!(matches!(
            setup_response(&body),
            Ok(Err(Cause::SYSTEM_FAILURE))
        ));
        let body = written(|w| write_rejection(w, response, &own, Cause::REQUEST_ACCEPTED));
        let missing = Reject::mandatory_missing(IeType::RECOVERY_TIME_STAMP);
        assert_eq!(setup_response(&body).err(), Some(missing));
    }

    #[test]
    fn the_usage_reports_that_were_sent_are_said_with_the_request_for_release() {
        let own = NodeId::v4([10, 0, 0, 2].into());
        let body = written(|w| write_update_request(w, &own, &Change::UsageReportsSent));
        assert_eq!(
            first(&body, IeType::PFCP_ASSOCIATION_RELEASE_REQUEST),
            Some(&[3][..])
        );
        let request = update_request(&body).expect("well formed");
        assert!(request.release_requested && !request.preparation);
        assert_eq!(request.graceful_period, None);
    }

    #[test]
    fn a_graceful_period_may_have_no_end() {
        let own = NodeId::v4([10, 0, 0, 2].into());
        let change = Change::ReleaseRequest {
            graceful_period_s: Some(u32::MAX),
        };
        let body = written(|w| write_update_request(w, &own, &change));
        let period = update_request(&body).expect("well formed").graceful_period;
        assert_eq!(period, Some(GracefulPeriod::Infinite));
        assert_eq!(GracefulPeriod::Infinite.end(Instant(5)), Instant::NEVER);
        assert_eq!(
            GracefulPeriod::Seconds(2).end(Instant(5)),
            Instant(5).plus_ms(2000)
        );
    }
}
