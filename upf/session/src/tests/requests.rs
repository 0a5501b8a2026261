//! Pieces of requests.

use super::bench::{CP, GNB};
use core::net::Ipv4Addr;
use sluice_wire::ids::{FarId, PdrId, Precedence, QerId, Qfi, Seid, Teid, UrrId};
use sluice_wire::pfcp::group::{
    CreateFar, CreatePdr, CreateQer, CreateUrr, ForwardingParameters, Pdi, UpdateFar,
    UpdateForwardingParameters,
};
use sluice_wire::pfcp::message::{SessionEstablishmentRequest, SessionModificationRequest};
use sluice_wire::pfcp::value::*;

pub fn establishment(cp: Ipv4Addr, cp_seid: u64) -> SessionEstablishmentRequest<'static> {
    SessionEstablishmentRequest {
        node_id: sluice_wire::pfcp::value::NodeId::V4(cp),
        cp_f_seid: FSeid::v4(Seid(cp_seid), cp),
        ..Default::default()
    }
}

pub fn uplink_pdr(id: u16, far: u32) -> CreatePdr<'static> {
    CreatePdr {
        pdr_id: PdrId(id),
        precedence: Precedence(100),
        pdi: Pdi {
            source_interface: SourceInterface::ACCESS,
            local_f_teid: Some(FTeid::Choose {
                ipv4: true,
                ipv6: false,
                choose_id: None,
            }),
            ..Default::default()
        },
        outer_header_removal: Some(OuterHeaderRemoval::GTPU_UDP_IP),
        far_id: Some(FarId(far)),
        ..Default::default()
    }
}

pub fn downlink_pdr(id: u16, far: u32, ue: Ipv4Addr) -> CreatePdr<'static> {
    let mut pdr = CreatePdr {
        pdr_id: PdrId(id),
        precedence: Precedence(100),
        pdi: Pdi {
            source_interface: SourceInterface::CORE,
            network_instance: Some(Name(b"internet")),
            ..Default::default()
        },
        far_id: Some(FarId(far)),
        ..Default::default()
    };
    pdr.pdi.ue_ip_address.push(UeIpAddress::v4(ue, true));
    pdr
}

pub fn to_core(id: u32) -> CreateFar<'static> {
    CreateFar {
        far_id: FarId(id),
        apply_action: ApplyAction::FORW,
        forwarding_parameters: Some(ForwardingParameters {
            destination_interface: DestinationInterface::CORE,
            ..Default::default()
        }),
        ..Default::default()
    }
}

pub fn to_gnb(id: u32, teid: u32) -> CreateFar<'static> {
    let ohc = OuterHeaderCreation::gtpu_v4(Teid::new(teid).unwrap(), GNB);
    CreateFar {
        far_id: FarId(id),
        apply_action: ApplyAction::FORW,
        forwarding_parameters: Some(ForwardingParameters {
            destination_interface: DestinationInterface::ACCESS,
            outer_header_creation: Some(ohc),
            ..Default::default()
        }),
        ..Default::default()
    }
}

pub fn qer(id: u32, mbr: Option<(u64, u64)>, qfi: Option<u8>) -> CreateQer<'static> {
    CreateQer {
        qer_id: QerId(id),
        gate_status: GateStatus::OPEN,
        maximum_bitrate: mbr.map(|(uplink_kbps, downlink_kbps)| BitRate {
            uplink_kbps,
            downlink_kbps,
        }),
        qos_flow_identifier: qfi.and_then(Qfi::new),
        ..Default::default()
    }
}

pub fn urr(id: u32) -> CreateUrr<'static> {
    CreateUrr {
        urr_id: UrrId(id),
        measurement_method: MeasurementMethod::VOLUM,
        ..Default::default()
    }
}

/// PDR 1 up, 2 down; FAR 1 to the core, 2 to the gNB; QER 1 with QFI 9.
pub fn default_session(ue: Ipv4Addr, cp_seid: u64) -> SessionEstablishmentRequest<'static> {
    let mut request = establishment(CP, cp_seid);
    let mut up = uplink_pdr(1, 1);
    up.pdi.ue_ip_address.push(UeIpAddress::v4(ue, false));
    up.qer_id.push(QerId(1));
    let mut down = downlink_pdr(2, 2, ue);
    down.qer_id.push(QerId(1));
    request.create_pdr.extend([up, down]);
    let teid = 0xd000 + u32::from(ue.octets()[3]);
    request.create_far.extend([to_core(1), to_gnb(2, teid)]);
    request
        .create_qer
        .push(qer(1, Some((10_000, 20_000)), Some(9)));
    request
}

/// Path switch: FAR 2 sends into another tunnel of the gNB.
pub fn path_switch(teid: u32) -> SessionModificationRequest<'static> {
    let ohc = OuterHeaderCreation::gtpu_v4(Teid::new(teid).unwrap(), GNB);
    let mut change = SessionModificationRequest::default();
    change.update_far.push(UpdateFar {
        far_id: FarId(2),
        update_forwarding_parameters: Some(UpdateForwardingParameters {
            outer_header_creation: Some(Edit::Set(ohc)),
            ..Default::default()
        }),
        ..Default::default()
    });
    change
}

/// All PDIs that name the UE name it so.
pub fn on_ue(request: &mut SessionEstablishmentRequest<'_>, address: UeIpAddress) {
    let pdis = request.create_pdr.iter_mut().map(|pdr| &mut pdr.pdi);
    for pdi in pdis.filter(|pdi| !pdi.ue_ip_address.is_empty()) {
        pdi.ue_ip_address[0] = address;
    }
}

/// The rule that a refusal names.
pub const fn pdr(id: u16) -> FailedRuleId {
    FailedRuleId::Pdr(PdrId(id))
}

pub const fn far(id: u32) -> FailedRuleId {
    FailedRuleId::Far(FarId(id))
}

pub const fn qer_rule(id: u32) -> FailedRuleId {
    FailedRuleId::Qer(QerId(id))
}

pub const IPV6_REMOVAL: OuterHeaderRemoval = OuterHeaderRemoval {
    description: OuterHeaderRemovalDescription::GTPU_UDP_IPV6,
    ..OuterHeaderRemoval::GTPU_UDP_IP
};

/// Forwarding Parameters of a FAR that has some.
pub fn forwarding<'r>(
    request: &'r mut SessionEstablishmentRequest<'static>,
    far: usize,
) -> &'r mut ForwardingParameters<'static> {
    let parameters = request.create_far[far].forwarding_parameters.as_mut();
    parameters.unwrap()
}

/// QERs of five rates for one PDR.
pub fn five_rates(request: &mut SessionEstablishmentRequest<'static>) {
    for id in 2..6 {
        request.create_qer.push(qer(id, Some((1, 1)), None));
        request.create_pdr[0].qer_id.push(QerId(id));
    }
}
