//! Session plan: what the SMF provisions, whatever the dialect.

use std::net::Ipv4Addr;
use std::sync::Arc;

use sluice_wire::ids::{Qfi, Teid};
use sluice_wire::pfcp::value::{BitRate, SNssai};

use crate::names::{Imsi, Network};

/// One PDU session of type IPv4 with one QoS flow.
#[derive(Clone, Debug)]
pub struct SessionPlan {
    /// The UE's address, chosen by the SMF.
    pub ue_ipv4: Ipv4Addr,
    /// The data network and the network instances that lead to it; shared by many sessions.
    pub network: Arc<Network>,
    /// The slice.
    pub slice: SNssai,
    /// The subscriber, for dialects that name it (User ID).
    pub imsi: Option<Imsi>,
    /// The QoS flow.
    pub qfi: Qfi,
    /// Whether packets in tunnels have a PDU Session Container: without, no rule of dialects that
    /// leave the choice names the QFI, and outer headers are 36 octets as in the EPC.
    pub container: bool,
    /// Session AMBR, kilobits per second.
    pub ambr: Option<BitRate>,
    /// The flow's own maximum rate, kilobits per second.
    pub flow_mbr: Option<BitRate>,
    /// What a closed gate lets through: nothing. Open in both directions as a rule.
    pub gates: GateStatus,
    /// Whether usage is measured, with the URRs of the dialect.
    pub measured: bool,
    /// The gNB's end of the tunnel, if it is known when the session is established.
    pub gnb: Option<Tunnel>,
    /// Who chooses the UPF's end of the tunnel.
    pub uplink: UplinkTeid,
}

pub use sluice_wire::pfcp::value::GateStatus;

impl SessionPlan {
    /// A session without AMBR, usage measurement and known gNB; the UPF chooses its TEID.
    pub fn new(ue_ipv4: Ipv4Addr, network: Arc<Network>, qfi: Qfi) -> Self {
        Self {
            ue_ipv4,
            network,
            slice: SNssai { sst: 1, sd: None },
            imsi: None,
            qfi,
            container: true,
            ambr: None,
            flow_mbr: None,
            gates: GateStatus::OPEN,
            measured: false,
            gnb: None,
            uplink: UplinkTeid::ChosenByUp,
        }
    }
}

/// A GTP-U tunnel endpoint at an IPv4 address.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Tunnel {
    /// The TEID.
    pub teid: Teid,
    /// The address.
    pub ipv4: Ipv4Addr,
}

/// Who chooses the UPF's F-TEID for uplink packets (TS 29.244, 5.5).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum UplinkTeid {
    /// The UP function (5.5.3, CHOOSE).
    ChosenByUp,
    /// The CP function, up to Release 15 (5.5.2): this one, at an address of the UPF.
    ChosenByCp(Tunnel),
}
