//! Rules of a session at its UPF (TS 29.244, 7.5): the default flow, the session AMBR, and usage. Those of
//! further flows are in [`crate::upf::flow_rules`].

use core::net::Ipv6Addr;

use sluice_n1::SessionType;
use sluice_n2::Tunnel;
use sluice_wire::ids::{FarId, PdrId, Precedence, QerId, Qfi, Seid, Teid, UrrId};
use sluice_wire::pfcp::element::Element;
use sluice_wire::pfcp::group::{
    CreateFar, CreatePdr, CreateQer, CreateUrr, ForwardingParameters, Pdi, UpdateFar,
    UpdateForwardingParameters,
};
use sluice_wire::pfcp::value::{
    ApplyAction, BitRate, DestinationInterface, Edit, FSeid, FTeid, GateStatus, InterfaceType,
    MeasurementMethod, Name, NodeId, OuterHeaderCreation, OuterHeaderRemoval, PdnType,
    ReportingTriggers, SNssai, SessionEstablishmentRequestFlags, SessionModificationRequestFlags,
    SourceInterface, UeIpAddress, UserId, Volume,
};
use sluice_wire::pfcp::{Full, IeType, Writer};

use crate::context::session::{QFI, Session};
use crate::leases::lease::OwnAddresses;
use crate::upf::flow_rules::FlowRules;

/// The rules' numbers.
pub(crate) const UPLINK_PDR: PdrId = PdrId(1);
const DOWNLINK_PDR: PdrId = PdrId(2);
pub(crate) const UPLINK_FAR: FarId = FarId(1);
pub(crate) const DOWNLINK_FAR: FarId = FarId(2);
pub(crate) const AMBR_QER: QerId = QerId(1);
pub(crate) const FLOW_QER: QerId = QerId(2);
pub(crate) const USAGE_URR: UrrId = UrrId(1);
/// After those of all other flows.
const LAST: Precedence = Precedence(255);

/// Contents of a Session Establishment Request.
pub(crate) struct Establishment<'a> {
    pub node_id: NodeId<'a>,
    pub f_seid: FSeid,
    pub session: &'a Session,
    pub own: OwnAddresses,
    /// Network Instance towards gNBs, as the UPF reads it.
    pub access: Option<Vec<u8>>,
    /// Whether its end of tunnels has addresses of IPv4 and IPv6.
    pub n3: [bool; 2],
    /// Network Instance of the data network.
    pub network: Vec<u8>,
    /// Octets after which usage is reported; none measures none.
    pub charging_octets: Option<u64>,
    /// State of the session before its UPF lost it.
    pub restored: Option<Restored>,
}

/// State that a session keeps although its UPF has lost it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Restored {
    /// The UPF's end of the tunnel.
    pub uplink: Tunnel,
    /// Treatment of downlink packets.
    pub downlink: Downlink,
}

pub(crate) fn put<'v>(
    w: &mut Writer<'_>,
    ie: IeType,
    value: &impl Element<'v>,
) -> Result<(), Full> {
    w.ie(ie, |w| value.encode(w))
}

/// Session Establishment Request (7.5.2). The downlink has nowhere to go before the gNB is known.
pub(crate) fn write_establishment(
    w: &mut Writer<'_>,
    wanted: &Establishment<'_>,
) -> Result<(), Full> {
    let session = wanted.session;
    put(w, IeType::NODE_ID, &wanted.node_id)?;
    put(w, IeType::F_SEID, &wanted.f_seid)?;
    put(w, IeType::CREATE_PDR, &uplink_pdr(wanted))?;
    put(w, IeType::CREATE_PDR, &downlink_pdr(wanted))?;
    put(w, IeType::CREATE_FAR, &uplink_far(wanted))?;
    put(w, IeType::CREATE_FAR, &downlink_far(wanted))?;
    if wanted.restored.is_some() {
        let flags = SessionEstablishmentRequestFlags::RESTI;
        put(w, IeType::PFCPSEREQ_FLAGS, &flags)?;
    }
    if let Some(octets) = wanted.charging_octets {
        let urr = CreateUrr {
            urr_id: USAGE_URR,
            measurement_method: MeasurementMethod::VOLUM,
            reporting_triggers: ReportingTriggers::VOLTH,
            volume_threshold: Some(Volume {
                total: Some(octets),
                ..Volume::default()
            }),
            ..CreateUrr::default()
        };
        put(w, IeType::CREATE_URR, &urr)?;
    }
    put(w, IeType::CREATE_QER, &flow_qer(session))?;
    put(w, IeType::CREATE_QER, &ambr_qer(session))?;
    let further = FlowRules {
        access: wanted.access.as_deref(),
        network: &wanted.network,
        f_teid: f_teid(wanted),
        ue: ue_address(wanted, false),
        charging_octets: wanted.charging_octets,
    };
    further.create(w, &session.flows.rules)?;
    let packets = match session.session_type {
        SessionType::Ipv6 => PdnType::IPV6,
        SessionType::Ipv4v6 => PdnType::IPV4V6,
        _ => PdnType::IPV4,
    };
    put(w, IeType::PDN_TYPE, &packets)?;
    let supi = format!("imsi-{}", session.supi.imsi());
    let user = UserId {
        supi: Some(supi.as_bytes()),
        ..UserId::default()
    };
    put(w, IeType::USER_ID, &user)?;
    put(w, IeType::APN_DNN, &Name(session.dnn.labels()))?;
    let sd = session.slice.sd();
    let slice = SNssai {
        sst: session.slice.sst,
        sd: sd.map(|[a, b, c]| u32::from_be_bytes([0, a, b, c])),
    };
    put(w, IeType::S_NSSAI, &slice)
}

/// The rate that all of the session shares.
fn ambr_qer(session: &Session) -> CreateQer<'_> {
    let (down_bps, up_bps) = session.qos.ambr_bps;
    let kbps = |bps: u64| bps.div_ceil(1000).min(BitRate::MAX_KBPS);
    CreateQer {
        qer_id: AMBR_QER,
        gate_status: GateStatus::OPEN,
        maximum_bitrate: Some(BitRate {
            uplink_kbps: kbps(up_bps),
            downlink_kbps: kbps(down_bps),
        }),
        ..CreateQer::default()
    }
}

/// The QFI of the default flow, with the rate of the session: there are UPFs that read the first QER of a PDR alone.
fn flow_qer(session: &Session) -> CreateQer<'_> {
    CreateQer {
        qer_id: FLOW_QER,
        qos_flow_identifier: Qfi::new(QFI),
        ..ambr_qer(session)
    }
}

/// Names the tunnel that all rules of a session share while the UPF has not chosen it.
const CHOOSE_ID: u8 = 1;

/// F-TEID of the session before, one of ours, or the UPF's choice.
fn f_teid(wanted: &Establishment<'_>) -> FTeid {
    let has_further = !wanted.session.flows.rules.is_empty();
    let choice = FTeid::Choose {
        ipv4: wanted.n3[0],
        ipv6: wanted.n3[1],
        choose_id: has_further.then_some(CHOOSE_ID),
    };
    let restored = wanted.restored.map(|restored| restored.uplink);
    let assigned = restored.or(wanted.session.lease.tunnel);
    assigned.and_then(assigned_f_teid).unwrap_or(choice)
}

/// The UPF's end of a tunnel, by its value.
pub(crate) fn assigned_f_teid(Tunnel { ipv4, ipv6, teid }: Tunnel) -> Option<FTeid> {
    let teid = Teid::new(teid)?;
    Some(FTeid::Assigned { teid, ipv4, ipv6 })
}

fn uplink_pdr<'a>(wanted: &'a Establishment<'_>) -> CreatePdr<'a> {
    let mut pdi = Pdi {
        source_interface: SourceInterface::ACCESS,
        source_interface_type: Some(InterfaceType::N3_3GPP_ACCESS),
        local_f_teid: Some(f_teid(wanted)),
        network_instance: wanted.access.as_deref().map(Name),
        ..Pdi::default()
    };
    pdi.ue_ip_address.push(ue_address(wanted, false));
    pdi.qfi.extend(Qfi::new(QFI));
    CreatePdr {
        pdr_id: UPLINK_PDR,
        pdi,
        outer_header_removal: Some(OuterHeaderRemoval::GTPU_UDP_IP),
        ..pdr(wanted, UPLINK_FAR)
    }
}

fn downlink_pdr<'a>(wanted: &'a Establishment<'_>) -> CreatePdr<'a> {
    let mut pdi = Pdi {
        source_interface: SourceInterface::CORE,
        source_interface_type: Some(InterfaceType::N6),
        network_instance: Some(Name(&wanted.network)),
        ..Pdi::default()
    };
    pdi.ue_ip_address.push(ue_address(wanted, true));
    CreatePdr {
        pdr_id: DOWNLINK_PDR,
        pdi,
        ..pdr(wanted, DOWNLINK_FAR)
    }
}

fn pdr<'a>(wanted: &Establishment<'_>, far_id: FarId) -> CreatePdr<'a> {
    let measured = wanted.charging_octets.map(|_| USAGE_URR);
    CreatePdr {
        precedence: LAST,
        far_id: Some(far_id),
        urr_id: measured.into_iter().collect(),
        qer_id: [FLOW_QER, AMBR_QER].into_iter().collect(),
        ..CreatePdr::default()
    }
}

/// The UE's own address, or a wish that the UPF choose one.
fn ue_address(wanted: &Establishment<'_>, destination: bool) -> UeIpAddress {
    let kind = wanted.session.session_type;
    let (with_ipv4, with_ipv6) = (kind != SessionType::Ipv6, kind != SessionType::Ipv4);
    let ipv4 = wanted.own.ipv4.filter(|_| with_ipv4);
    let ipv6 = wanted.own.ipv6_prefix.filter(|_| with_ipv6);
    UeIpAddress {
        destination,
        ipv4,
        ipv6: ipv6.map(prefix_address),
        choose_ipv4: with_ipv4 && ipv4.is_none(),
        choose_ipv6: with_ipv6 && ipv6.is_none(),
        ..UeIpAddress::default()
    }
}

/// The first address of a /64 prefix.
pub(crate) fn prefix_address([a, b, c, d, e, f, g, h]: [u8; 8]) -> Ipv6Addr {
    Ipv6Addr::from([a, b, c, d, e, f, g, h, 0, 0, 0, 0, 0, 0, 0, 0])
}

fn uplink_far<'a>(wanted: &'a Establishment<'_>) -> CreateFar<'a> {
    CreateFar {
        far_id: UPLINK_FAR,
        apply_action: ApplyAction::FORW,
        forwarding_parameters: Some(ForwardingParameters {
            destination_interface: DestinationInterface::CORE,
            destination_interface_type: Some(InterfaceType::N6),
            network_instance: Some(Name(&wanted.network)),
            ..ForwardingParameters::default()
        }),
        ..CreateFar::default()
    }
}

/// Before the gNB is known there is nowhere to go.
fn downlink_far<'a>(wanted: &'a Establishment<'_>) -> CreateFar<'a> {
    let downlink = wanted.restored.map(|restored| restored.downlink);
    let header = match downlink {
        Some(Downlink::Forward(gnb)) => outer_header(gnb, wanted.n3),
        _ => None,
    };
    let apply_action = match (&header, downlink) {
        (Some(_), _) => ApplyAction::FORW,
        (None, Some(Downlink::Wait)) => ApplyAction::BUFF | ApplyAction::NOCP,
        (None, _) => ApplyAction::DROP,
    };
    CreateFar {
        far_id: DOWNLINK_FAR,
        apply_action,
        forwarding_parameters: header.map(|header| ForwardingParameters {
            destination_interface: DestinationInterface::ACCESS,
            destination_interface_type: Some(InterfaceType::N3_3GPP_ACCESS),
            network_instance: wanted.access.as_deref().map(Name),
            outer_header_creation: Some(header),
            ..ForwardingParameters::default()
        }),
        ..CreateFar::default()
    }
}

/// Towards a gNB's end of a tunnel, in a family that the UPF has, too; IPv4 if both have both. What
/// both do not have in common the UPF refuses.
pub(crate) fn outer_header(
    gnb: Tunnel,
    [has_ipv4, has_ipv6]: [bool; 2],
) -> Option<OuterHeaderCreation> {
    let teid = Teid::new(gnb.teid)?;
    let is_ipv6_alone = has_ipv6 && !has_ipv4;
    match (gnb.ipv4, gnb.ipv6) {
        (Some(_), Some(ipv6)) if is_ipv6_alone => Some(OuterHeaderCreation::gtpu_v6(teid, ipv6)),
        (Some(ipv4), _) => Some(OuterHeaderCreation::gtpu_v4(teid, ipv4)),
        (None, Some(ipv6)) => Some(OuterHeaderCreation::gtpu_v6(teid, ipv6)),
        (None, None) => None,
    }
}

/// A UPF towards gNBs.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Access {
    /// Network Instance, as the UPF reads it.
    pub instance: Option<Vec<u8>>,
    /// Whether its tunnels have addresses of IPv4 and IPv6.
    pub n3: [bool; 2],
    /// Whether it sends End Markers (EMPU).
    pub sends_end_markers: bool,
}

impl Access {
    /// The Network Instance, if it is named.
    pub fn name(&self) -> Option<Name<'_>> {
        self.instance.as_deref().map(Name)
    }
}

/// Treatment of downlink packets.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Downlink {
    /// They go to the gNB.
    Forward(Tunnel),
    /// They wait until the UE is connected, and the SMF is told of the first.
    Wait,
    /// They are dropped, and so are those that wait: the UE cannot be reached.
    Drop,
}

/// Session Modification Request (7.5.4).
pub(crate) fn write_downlink(
    w: &mut Writer<'_>,
    downlink: Downlink,
    access: &Access,
) -> Result<(), Full> {
    let gnb = match downlink {
        Downlink::Forward(gnb) => Some(gnb),
        Downlink::Wait | Downlink::Drop => None,
    };
    let header = gnb.and_then(|gnb| outer_header(gnb, access.n3));
    let parameters = header.map(|header| UpdateForwardingParameters {
        destination_interface: Some(DestinationInterface::ACCESS),
        destination_interface_type: Some(InterfaceType::N3_3GPP_ACCESS),
        network_instance: access.name().map(Edit::Set),
        outer_header_creation: Some(Edit::Set(header)),
        ..UpdateForwardingParameters::default()
    });
    let action = match (&parameters, downlink) {
        (Some(_), _) => ApplyAction::FORW,
        (None, Downlink::Drop) => ApplyAction::DROP,
        (None, _) => ApplyAction::BUFF | ApplyAction::NOCP,
    };
    let far = UpdateFar {
        far_id: DOWNLINK_FAR,
        apply_action: Some(action),
        update_forwarding_parameters: parameters,
        ..UpdateFar::default()
    };
    put(w, IeType::UPDATE_FAR, &far)?;
    if downlink == Downlink::Drop {
        let flags = SessionModificationRequestFlags::DROBU;
        put(w, IeType::PFCPSMREQ_FLAGS, &flags)?;
    }
    Ok(())
}

/// Ours, at an address.
pub(crate) fn f_seid(number: u64, at: core::net::IpAddr) -> FSeid {
    match at {
        core::net::IpAddr::V4(ipv4) => FSeid::v4(Seid(number), ipv4),
        core::net::IpAddr::V6(ipv6) => FSeid::v6(Seid(number), ipv6),
    }
}
