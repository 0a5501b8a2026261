//! Rules of a session whose UE goes to another gNB (TS 29.244, 5.2.3.1 and 7.5.4): End Markers, and packets
//! that the UPF forwards from one gNB to the next.

use sluice_n2::Tunnel;
use sluice_wire::ids::{FarId, PdrId, Precedence};
use sluice_wire::pfcp::group::{
    CreateFar, CreatePdr, ForwardingParameters, Pdi, RemoveFar, RemovePdr, UpdateFar,
    UpdateForwardingParameters,
};
use sluice_wire::pfcp::value::{
    ApplyAction, DestinationInterface, Edit, FTeid, InterfaceType, Name, OuterHeaderRemoval,
    SessionModificationRequestFlags, SourceInterface,
};
use sluice_wire::pfcp::{Full, IeType, Writer};

use crate::rules::{DOWNLINK_FAR, FLOW_QER, outer_header, put};

/// The rule of packets that are forwarded.
pub(crate) const PDR: PdrId = PdrId(100);
const FAR: FarId = FarId(100);

/// Downlink packets go to another gNB; the one before gets an End Marker, if there is one.
pub(crate) fn write_switch(
    w: &mut Writer<'_>,
    gnb: Tunnel,
    ends_another: bool,
    access: Option<&str>,
    n3: [bool; 2],
) -> Result<(), Full> {
    let flags = SessionModificationRequestFlags::SNDEM;
    let far = UpdateFar {
        far_id: DOWNLINK_FAR,
        apply_action: Some(ApplyAction::FORW),
        update_forwarding_parameters: Some(UpdateForwardingParameters {
            destination_interface: Some(DestinationInterface::ACCESS),
            network_instance: access.map(|name| Edit::Set(Name(name.as_bytes()))),
            outer_header_creation: outer_header(gnb, n3).map(Edit::Set),
            pfcpsmreq_flags: ends_another.then_some(flags),
            ..UpdateForwardingParameters::default()
        }),
        ..UpdateFar::default()
    };
    put(w, IeType::UPDATE_FAR, &far)
}

/// The UPF takes packets of the source and passes them on to the target.
pub(crate) fn write_forwarding(
    w: &mut Writer<'_>,
    target: Tunnel,
    access: Option<&str>,
    n3: [bool; 2],
) -> Result<(), Full> {
    let network_instance = access.map(|name| Name(name.as_bytes()));
    let pdr = CreatePdr {
        pdr_id: PDR,
        precedence: Precedence(1),
        pdi: Pdi {
            source_interface: SourceInterface::ACCESS,
            source_interface_type: Some(InterfaceType::N3_FOR_DATA_FORWARDING),
            local_f_teid: Some(FTeid::Choose {
                ipv4: n3[0],
                ipv6: n3[1],
                choose_id: None,
            }),
            network_instance,
            ..Pdi::default()
        },
        outer_header_removal: Some(OuterHeaderRemoval::GTPU_UDP_IP),
        far_id: Some(FAR),
        qer_id: [FLOW_QER].into_iter().collect(),
        ..CreatePdr::default()
    };
    put(w, IeType::CREATE_PDR, &pdr)?;
    let far = CreateFar {
        far_id: FAR,
        apply_action: ApplyAction::FORW,
        forwarding_parameters: Some(ForwardingParameters {
            destination_interface: DestinationInterface::ACCESS,
            network_instance,
            outer_header_creation: outer_header(target, n3),
            destination_interface_type: Some(InterfaceType::N3_FOR_DATA_FORWARDING),
            ..ForwardingParameters::default()
        }),
        ..CreateFar::default()
    };
    put(w, IeType::CREATE_FAR, &far)
}

/// It does so no more.
pub(crate) fn write_end_of_forwarding(w: &mut Writer<'_>) -> Result<(), Full> {
    put(w, IeType::REMOVE_PDR, &RemovePdr { pdr_id: PDR })?;
    put(w, IeType::REMOVE_FAR, &RemoveFar { far_id: FAR })
}
