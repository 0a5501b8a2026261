//! Rules of Open5GS's CP-function channels, for router solicitations and advertisements.

use sluice_wire::ids::{Precedence, Teid};
use sluice_wire::pfcp::group::{CreateFar, CreatePdr, ForwardingParameters, Pdi};
use sluice_wire::pfcp::value::{
    ApplyAction, DestinationInterface, FTeid, OuterHeaderCreation, SdfFilter, SourceInterface,
};

use super::context::{Direction, EncodeContext};
use crate::{Tunnel, UplinkTeid};

/// Precedence of Open5GS's channels between UE and CP function.
const CHANNEL_PRECEDENCE: Precedence = Precedence(255);
/// SDF filter of packets from the UE to the CP function: Router Solicitations.
const ROUTER_SOLICITATION: &[u8] = b"permit out 58 from ff02::2/128 to assigned";

impl<'a> EncodeContext<'a> {
    /// The pair of PDRs: CP to UE, UE to CP.
    pub(super) fn channel_pdrs(&self) -> [CreatePdr<'a>; 2] {
        let [to_ue, to_cp] = self.channel_pdr_ids();
        let removal = Some(self.profile.pdr.outer_header_removal);
        let from_cp = CreatePdr {
            pdr_id: to_ue,
            precedence: CHANNEL_PRECEDENCE,
            pdi: Pdi {
                source_interface: SourceInterface::CP_FUNCTION,
                local_f_teid: Some(self.channel_f_teid()),
                ..Pdi::default()
            },
            outer_header_removal: removal,
            far_id: Some(self.far_id(Direction::Downlink)),
            ..CreatePdr::default()
        };
        let from_ue = CreatePdr {
            pdr_id: to_cp,
            precedence: CHANNEL_PRECEDENCE,
            pdi: Pdi {
                source_interface: SourceInterface::ACCESS,
                local_f_teid: Some(self.uplink_f_teid(self.profile.f_teid.choose_id)),
                network_instance: Some(self.source_name(Direction::Uplink)),
                sdf_filter: std::iter::once(SdfFilter::flow(ROUTER_SOLICITATION)).collect(),
                source_interface_type: self.profile.pdr.uplink_type,
                ..Pdi::default()
            },
            outer_header_removal: removal,
            far_id: Some(self.channel_far_id()),
            ..CreatePdr::default()
        };
        [from_cp, from_ue]
    }

    /// F-TEID at which packets of the CP function for the UE arrive.
    fn channel_f_teid(&self) -> FTeid {
        match (self.uplink_f_teid(None), self.plan.uplink) {
            (FTeid::Assigned { .. }, UplinkTeid::ChosenByCp(tunnel)) => {
                // Another TEID than that of the UE; 0 cannot come out of it.
                let teid = Teid::new(tunnel.teid.get() ^ 0x8000_0000).unwrap_or(tunnel.teid);
                Tunnel { teid, ..tunnel }.f_teid()
            }
            (choose, _) => choose,
        }
    }

    /// Sends the UE's router solicitations to the CP function.
    pub(super) fn channel_far(&self) -> CreateFar<'a> {
        let teid = Teid::new(self.cp_seid.0 as u32);
        let header = teid.map(|teid| OuterHeaderCreation::gtpu_v4(teid, self.cp.ipv4));
        CreateFar {
            far_id: self.channel_far_id(),
            apply_action: self.action(ApplyAction::FORW),
            forwarding_parameters: Some(ForwardingParameters {
                destination_interface: DestinationInterface::CP_FUNCTION,
                outer_header_creation: header,
                ..ForwardingParameters::default()
            }),
            ..CreateFar::default()
        }
    }
}
