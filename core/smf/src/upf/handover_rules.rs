//! Rules of a session whose UE goes to another gNB (TS 29.244, 5.2.3.1 and 7.5.4): End Markers, and packets
//! that the UPF forwards from one gNB to the next.

use sluice_n2::Tunnel;
use sluice_wire::ids::{FarId, PdrId, Precedence, QerId, Qfi};
use sluice_wire::pfcp::group::{
    CreateFar, CreatePdr, CreateQer, ForwardingParameters, Pdi, RemoveFar, RemovePdr, RemoveQer,
    UpdateFar, UpdateForwardingParameters,
};
use sluice_wire::pfcp::value::{
    ApplyAction, DestinationInterface, Edit, FTeid, GateStatus, InterfaceType, OuterHeaderRemoval,
    SessionModificationRequestFlags, SourceInterface,
};
use sluice_wire::pfcp::{Full, IeType, Writer};

use crate::upf::rules::{Access, DOWNLINK_FAR, FLOW_QER, assigned_f_teid, outer_header, put};

/// The rule of packets that are forwarded.
pub(crate) const PDR: PdrId = PdrId(100);
const FAR: FarId = FarId(100);

/// Names the tunnel that rules of forwarding share while the UPF has not chosen it.
const CHOOSE_ID: u8 = 2;

/// The rule of a flow's packets that are forwarded; flows have six bits.
fn pdr_of(qfi: u8) -> PdrId {
    PdrId(PDR.0 + u16::from(qfi))
}

/// QER that marks the packets of a flow.
fn qer_of(qfi: u8) -> QerId {
    QerId(100 + u32::from(qfi))
}

/// Downlink packets go to another gNB; the one before gets an End Marker, if there is one.
pub(crate) fn write_switch(
    w: &mut Writer<'_>,
    gnb: Tunnel,
    ends_another: bool,
    access: &Access,
) -> Result<(), Full> {
    let flags = SessionModificationRequestFlags::SNDEM;
    let far = UpdateFar {
        far_id: DOWNLINK_FAR,
        apply_action: Some(ApplyAction::FORW),
        update_forwarding_parameters: Some(UpdateForwardingParameters {
            destination_interface: Some(DestinationInterface::ACCESS),
            destination_interface_type: Some(InterfaceType::N3_3GPP_ACCESS),
            network_instance: access.name().map(Edit::Set),
            outer_header_creation: outer_header(gnb, access.n3).map(Edit::Set),
            pfcpsmreq_flags: (ends_another && access.sends_end_markers).then_some(flags),
            ..UpdateForwardingParameters::default()
        }),
        ..UpdateFar::default()
    };
    put(w, IeType::UPDATE_FAR, &far)
}

/// The UPF takes packets of the source and passes them on to the target, by one tunnel, each in its flow: those
/// of these flows by rules of their own, the rest in the default flow. The tunnel's end is `here`, or the UPF chooses it.
pub(crate) fn write_forwarding(
    w: &mut Writer<'_>,
    (here, target): (Option<Tunnel>, Tunnel),
    access: &Access,
    flows: &[u8],
) -> Result<(), Full> {
    let network_instance = access.name();
    let choice = FTeid::Choose {
        ipv4: access.n3[0],
        ipv6: access.n3[1],
        choose_id: (!flows.is_empty()).then_some(CHOOSE_ID),
    };
    let here = here.and_then(assigned_f_teid).unwrap_or(choice);
    let pdi = || Pdi {
        source_interface: SourceInterface::ACCESS,
        source_interface_type: Some(InterfaceType::N3_FOR_DATA_FORWARDING),
        local_f_teid: Some(here),
        network_instance,
        ..Pdi::default()
    };
    let pdr = |pdr_id, precedence, pdi, qer| CreatePdr {
        pdr_id,
        precedence: Precedence(precedence),
        pdi,
        outer_header_removal: Some(OuterHeaderRemoval::GTPU_UDP_IP),
        far_id: Some(FAR),
        qer_id: [qer].into_iter().collect(),
        ..CreatePdr::default()
    };
    put(w, IeType::CREATE_PDR, &pdr(PDR, 2, pdi(), FLOW_QER))?;
    for qfi in flows {
        let mut pdi = pdi();
        pdi.qfi.extend(Qfi::new(*qfi));
        put(
            w,
            IeType::CREATE_PDR,
            &pdr(pdr_of(*qfi), 1, pdi, qer_of(*qfi)),
        )?;
    }
    let far = CreateFar {
        far_id: FAR,
        apply_action: ApplyAction::FORW,
        forwarding_parameters: Some(ForwardingParameters {
            destination_interface: DestinationInterface::ACCESS,
            network_instance,
            outer_header_creation: outer_header(target, access.n3),
            destination_interface_type: Some(InterfaceType::N3_FOR_DATA_FORWARDING),
            ..ForwardingParameters::default()
        }),
        ..CreateFar::default()
    };
    put(w, IeType::CREATE_FAR, &far)?;
    for qfi in flows {
        let qer = CreateQer {
            qer_id: qer_of(*qfi),
            gate_status: GateStatus::OPEN,
            qos_flow_identifier: Qfi::new(*qfi),
            ..CreateQer::default()
        };
        put(w, IeType::CREATE_QER, &qer)?;
    }
    Ok(())
}

/// Removes the rules of forwarding.
pub(crate) fn write_end_of_forwarding(w: &mut Writer<'_>, flows: &[u8]) -> Result<(), Full> {
    put(w, IeType::REMOVE_PDR, &RemovePdr { pdr_id: PDR })?;
    for qfi in flows {
        let pdr_id = pdr_of(*qfi);
        put(w, IeType::REMOVE_PDR, &RemovePdr { pdr_id })?;
    }
    put(w, IeType::REMOVE_FAR, &RemoveFar { far_id: FAR })?;
    for qfi in flows {
        let qer_id = qer_of(*qfi);
        put(w, IeType::REMOVE_QER, &RemoveQer { qer_id })?;
    }
    Ok(())
}
