//! Flows: UE address, TEID, QFI and port of generated packets.

use std::net::Ipv4Addr;

use sluice_wire::ids::{Qfi, Teid};

use crate::LoadError;
use crate::stamp::FLOWS_MAX;

/// Which way a packet goes.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash, serde::Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Direction {
    /// From the gNB to the data network.
    Uplink,
    /// From the data network to the gNB.
    Downlink,
}

impl Direction {
    pub const ALL: [Self; 2] = [Self::Uplink, Self::Downlink];
}

/// One UE with one QoS flow, in 16 octets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Flow {
    pub ue: Ipv4Addr,
    /// The UPF's end of its tunnel.
    pub uplink: Teid,
    /// The gNB's end.
    pub downlink: Teid,
    /// Index of the tunnel in [`Flows::tunnels`].
    pub tunnel: u16,
    /// The QoS flow of its uplink packets; none: no PDU Session Container is sent, as on S1-U.
    pub qfi: Option<Qfi>,
}

/// Both ends of tunnels that many UEs share.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct TunnelEnds {
    /// The gNB's address, which is ours.
    pub gnb: Ipv4Addr,
    pub upf: Ipv4Addr,
}

/// All UEs that send or get packets.
#[derive(Clone, Debug, Default)]
pub struct Flows {
    list: Vec<Flow>,
    tunnels: Vec<TunnelEnds>,
}

impl Flows {
    /// From a list.
    ///
    /// # Errors
    /// If there are none, too many, or one has no tunnel.
    pub fn new(list: Vec<Flow>, tunnels: Vec<TunnelEnds>) -> Result<Self, LoadError> {
        if list.is_empty() {
            return Err(LoadError::NoFlows);
        }
        if list.len() > FLOWS_MAX as usize {
            return Err(LoadError::TooManyFlows(list.len()));
        }
        let astray = |flow: &Flow| usize::from(flow.tunnel) >= tunnels.len();
        if let Some(flow) = list.iter().position(astray) {
            let tunnel = list.get(flow).map_or(0, |flow| flow.tunnel);
            return Err(LoadError::NoSuchTunnel {
                flow,
                tunnel,
                tunnels: tunnels.len(),
            });
        }
        Ok(Self { list, tunnels })
    }

    pub fn count(&self) -> u32 {
        self.list.len() as u32
    }

    #[inline]
    pub fn get(&self, number: u32) -> Option<&Flow> {
        self.list.get(number as usize)
    }

    pub fn tunnels(&self) -> &[TunnelEnds] {
        &self.tunnels
    }
}
