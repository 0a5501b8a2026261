//! Session plan: what the SMF provisions, whatever the dialect.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::sync::Arc;

use sluice_wire::ids::{Precedence, Qfi, Teid};
use sluice_wire::pfcp::value::{BitRate, FTeid, OuterHeaderCreation, PdnType, SNssai, UeIpAddress};

use crate::names::{Imsi, Network, TbcdDigits};

/// Bits of the prefix that a UE's own addresses have (TS 23.501, 5.8.2.2.3).
const PREFIX_BITS: u8 = 64;

/// One PDU session with its default QoS flow, and perhaps a dedicated one.
#[derive(Clone, Debug)]
pub struct SessionPlan {
    /// The UE's addresses, chosen by the SMF; they tell the PDU session type.
    pub ue: UeAddresses,
    /// Networks behind the UE (TS 23.501, 5.6.14), as RADIUS has them (RFC 2865, 5.22; of IPv6 RFC 3162, 2.5).
    pub framed_routes: Vec<String>,
    /// Length of the UE's IPv6 prefix in bits, at most 64; what is beyond its first /64 the UE may delegate
    /// (TS 29.244, 5.14).
    pub ipv6_prefix_bits: u8,
    /// The application whose packets are the session's, of which the UPF knows the flows; all packets without.
    pub application: Option<Box<str>>,
    /// The data network and the network instances that lead to it; shared by many sessions.
    pub network: Arc<Network>,
    pub slice: SNssai,
    /// The subscriber, for dialects that name it (User ID).
    pub imsi: Option<Imsi>,
    /// The subscriber's equipment, for dialects that name it.
    pub imeisv: Option<TbcdDigits>,
    /// The subscriber's number, for dialects that name it.
    pub msisdn: Option<TbcdDigits>,
    pub qfi: Qfi,
    /// Whether packets in tunnels have a PDU Session Container: without, no rule of dialects that
    /// leave the choice names the QFI, and outer headers are 36 octets as in the EPC.
    pub container: bool,
    /// Session AMBR, kilobits per second.
    pub ambr: Option<BitRate>,
    /// The flow's own maximum rate, kilobits per second.
    pub flow_mbr: Option<BitRate>,
    /// Gates of uplink and downlink; a closed gate forwards nothing. Usually both are open.
    pub gates: GateStatus,
    /// A dedicated flow: made with the session, or where the dialect does so by
    /// [`crate::Change::AddFlow`].
    pub flow: Option<Flow>,
    /// Whether usage is measured, with the URRs of the dialect.
    pub measured: bool,
    /// Octets that may pass, both directions together, where usage is measured; the UPF tells when they are used up
    /// (VOLQU).
    pub quota_octets: Option<u64>,
    /// The UPF reports after so many octets of both directions, where usage is measured (VOLTH), and not after as
    /// many as the dialect has.
    pub threshold_octets: Option<u64>,
    /// The UPF reports each time so many seconds have passed, where usage is measured (PERIO), and not in the
    /// period of the dialect.
    pub report_period_s: Option<u32>,
    /// The UPF tells when so many packets to the UE were lost, where usage is measured (DROTH).
    pub lost_packets: Option<u64>,
    /// The UPF tells when no packet came for so many seconds (User Plane Inactivity Timer).
    pub inactivity_s: Option<u32>,
    /// The gNB's end of the tunnel, if it is known when the session is established.
    pub gnb: Option<Tunnel>,
    /// Allocation of the UPF's end of the tunnel.
    pub uplink: UplinkTeid,
}

pub use sluice_wire::pfcp::value::GateStatus;

impl SessionPlan {
    /// A session without AMBR, usage measurement and known gNB; the UPF chooses its TEID.
    pub fn new(ue: impl Into<UeAddresses>, network: Arc<Network>, qfi: Qfi) -> Self {
        Self {
            ue: ue.into(),
            framed_routes: Vec::new(),
            ipv6_prefix_bits: PREFIX_BITS,
            application: None,
            network,
            slice: SNssai { sst: 1, sd: None },
            imsi: None,
            imeisv: None,
            msisdn: None,
            qfi,
            container: true,
            ambr: None,
            flow_mbr: None,
            gates: GateStatus::OPEN,
            flow: None,
            measured: false,
            quota_octets: None,
            threshold_octets: None,
            report_period_s: None,
            lost_packets: None,
            inactivity_s: None,
            gnb: None,
            uplink: UplinkTeid::ChosenByUp,
        }
    }
}

/// The addresses of a PDU session of type IPv4, IPv6 or IPv4v6 (TS 23.501, 5.8.2.2.1).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum UeAddresses {
    /// An IPv4 address.
    V4(Ipv4Addr),
    /// A prefix of 64 bits, and the interface identifier for the UE's link-local address.
    V6(Ipv6Addr),
    V4V6(Ipv4Addr, Ipv6Addr),
}

impl UeAddresses {
    /// The IPv4 address.
    pub fn ipv4(self) -> Option<Ipv4Addr> {
        match self {
            Self::V4(ipv4) | Self::V4V6(ipv4, _) => Some(ipv4),
            Self::V6(_) => None,
        }
    }

    /// Prefix and interface identifier.
    pub fn ipv6(self) -> Option<Ipv6Addr> {
        match self {
            Self::V6(ipv6) | Self::V4V6(_, ipv6) => Some(ipv6),
            Self::V4(_) => None,
        }
    }

    /// The PDU session type as PDN Type (TS 29.244, 8.2.79).
    pub fn pdn_type(self) -> PdnType {
        match self {
            Self::V4(_) => PdnType::IPV4,
            Self::V6(_) => PdnType::IPV6,
            Self::V4V6(..) => PdnType::IPV4V6,
        }
    }

    /// The UE IP Address IE, with the interface identifier or 0 in its place, and a prefix of so many bits.
    pub(crate) fn element(
        self,
        destination: bool,
        interface_identifier: bool,
        prefix_bits: u8,
    ) -> UeIpAddress {
        let prefix = |ipv6: Ipv6Addr| Ipv6Addr::from_bits(ipv6.to_bits() >> 64 << 64);
        let ipv6 = self.ipv6().map(|ipv6| match interface_identifier {
            true => ipv6,
            false => prefix(ipv6),
        });
        UeIpAddress {
            destination,
            ipv4: self.ipv4(),
            ipv6,
            ipv6_prefix_delegation_bits: ipv6
                .and(PREFIX_BITS.checked_sub(prefix_bits))
                .filter(|delegated| *delegated > 0),
            ..UeIpAddress::default()
        }
    }
}

impl Tunnel {
    /// An endpoint at an IPv4 address.
    pub fn v4(teid: Teid, ipv4: Ipv4Addr) -> Self {
        let address = IpAddr::V4(ipv4);
        Self { teid, address }
    }

    /// The address, if it is an IPv4 one.
    pub fn ipv4(self) -> Option<Ipv4Addr> {
        match self.address {
            IpAddr::V4(ipv4) => Some(ipv4),
            IpAddr::V6(_) => None,
        }
    }

    /// The F-TEID that names it (TS 29.244, 8.2.3).
    pub fn f_teid(self) -> FTeid {
        match self.address {
            IpAddr::V4(ipv4) => FTeid::v4(self.teid, ipv4),
            IpAddr::V6(ipv6) => FTeid::v6(self.teid, ipv6),
        }
    }

    /// That of an F-TEID; of two addresses the IPv6 one where it `prefers_ipv6`.
    pub(crate) fn of(f_teid: &FTeid, prefers_ipv6: bool) -> Option<Self> {
        let FTeid::Assigned { teid, ipv4, ipv6 } = *f_teid else {
            return None;
        };
        let (ipv4, ipv6) = (ipv4.map(IpAddr::V4), ipv6.map(IpAddr::V6));
        let address = match prefers_ipv6 {
            true => ipv6.or(ipv4),
            false => ipv4.or(ipv6),
        }?;
        Some(Self { teid, address })
    }

    /// The outer header that leads to it (8.2.56).
    pub fn outer_header(self) -> OuterHeaderCreation {
        match self.address {
            IpAddr::V4(ipv4) => OuterHeaderCreation::gtpu_v4(self.teid, ipv4),
            IpAddr::V6(ipv6) => OuterHeaderCreation::gtpu_v6(self.teid, ipv6),
        }
    }
}

impl From<Ipv4Addr> for UeAddresses {
    fn from(ipv4: Ipv4Addr) -> Self {
        Self::V4(ipv4)
    }
}

/// Which packets are of a dedicated flow.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum FlowPackets {
    /// Packets of a flow description, such as `permit out ip from 198.18.6.2/32 to assigned` (TS 29.212, 5.4.2).
    Described(Box<str>),
    /// Packets of a predefined rule of the UP function (TS 29.244, 5.19).
    Predefined(Box<str>),
}

impl FlowPackets {
    /// The description or the name.
    pub fn text(&self) -> &str {
        match self {
            Self::Described(text) | Self::Predefined(text) => text,
        }
    }
}

/// A dedicated QoS flow (TS 23.501, 5.7.1.5).
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Flow {
    pub packets: FlowPackets,
    /// Precedence of its PDRs; the lower value wins.
    pub precedence: Precedence,
    pub qfi: Qfi,
    /// Maximum rate, kilobits per second.
    pub mbr: Option<BitRate>,
    /// Guaranteed rate, kilobits per second.
    pub gbr: Option<BitRate>,
}

/// A GTP-U tunnel endpoint: one address, of either family.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Tunnel {
    pub teid: Teid,
    pub address: IpAddr,
}

/// Allocation of the UPF's F-TEID for uplink packets (TS 29.244, 5.5).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum UplinkTeid {
    /// The UP function (5.5.3, CHOOSE), at an IPv4 address of its.
    ChosenByUp,
    /// The UP function, at an IPv6 address of its.
    ChosenByUpAtIpv6,
    /// The CP function, up to Release 15 (5.5.2): this one, at an address of the UPF.
    ChosenByCp(Tunnel),
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_two_addresses_the_wanted_one_is_taken() {
        let teid = Teid::new(7).unwrap_or_else(|| unreachable!("7 is a TEID"));
        let (ipv4, ipv6) = (Ipv4Addr::LOCALHOST, Ipv6Addr::LOCALHOST);
        let both = FTeid::Assigned {
            teid,
            ipv4: Some(ipv4),
            ipv6: Some(ipv6),
        };
        let tunnels = [false, true].map(|prefers| Tunnel::of(&both, prefers));
        let address = tunnels.map(|tunnel| tunnel.map(|tunnel| tunnel.address));
        assert_eq!(address, [Some(ipv4.into()), Some(ipv6.into())]);
        for alone in [FTeid::v4(teid, ipv4), FTeid::v6(teid, ipv6)] {
            for prefers in [false, true] {
                let tunnel = Tunnel::of(&alone, prefers);
                assert_eq!(tunnel.map(Tunnel::f_teid), Some(alone));
            }
        }
    }
}
