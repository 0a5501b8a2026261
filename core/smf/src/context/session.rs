//! State of a session.

use core::net::SocketAddr;
use std::collections::VecDeque;

use sluice_ids::{Dnn, Plmn, Snssai, Supi};
use sluice_n1::{PduAddress, SessionType};
use sluice_n2::{SecurityResult, Tunnel};
use sluice_n4::AssociationId;
use sluice_sbi::{Instant, Key, RequestId, Slot, SmfEvent, TaskId};
use sluice_wire::ids::Seid;

use crate::context::flows::Flows;
use crate::leases::lease::Lease;
use crate::procedure::user_plane::security::Security;

/// The default flow.
pub(crate) const QFI: u8 = 1;

/// A session; its SEID and its name for the AMF are made of this.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub(crate) struct SessionId(pub Key);

impl SessionId {
    /// As the UPF and the AMF are told. It is never 0, which a SEID may not be.
    pub fn number(self) -> u64 {
        let Key { slot, generation } = self.0;
        (u64::from(generation) << 32) | (u64::from(slot) + 1)
    }

    /// As they say.
    pub fn from_number(number: u64) -> Self {
        Self(Key {
            slot: (number as u32).wrapping_sub(1),
            generation: (number >> 32) as u16,
        })
    }
}

/// Octets, both ways.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Usage {
    /// From the UE.
    pub uplink_octets: u64,
    /// To the UE.
    pub downlink_octets: u64,
}

impl Usage {
    /// Difference to another usage.
    pub(crate) fn without(self, other: Self) -> Self {
        Self {
            uplink_octets: self.uplink_octets.saturating_sub(other.uplink_octets),
            downlink_octets: self.downlink_octets.saturating_sub(other.downlink_octets),
        }
    }

    pub(crate) fn add(&mut self, other: Self) {
        self.uplink_octets = self.uplink_octets.saturating_add(other.uplink_octets);
        self.downlink_octets = self.downlink_octets.saturating_add(other.downlink_octets);
    }
}

/// QoS of a session and its default flow.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct Qos {
    /// Session AMBR, bits per second, down and up.
    pub ambr_bps: (u64, u64),
    /// 5QI of the default flow.
    pub five_qi: u8,
    /// ARP priority level.
    pub priority: u8,
}

/// A session at its UPF.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct AtUpf {
    pub association: AssociationId,
    /// Destination of its requests (TS 29.244, 5.6.2).
    pub to: Option<SocketAddr>,
    pub seid: Seid,
    /// The UPF's end of the tunnel; TEID 0 if it told none.
    pub uplink: Tunnel,
    /// The UE's IPv6 prefix, which it hears of by Router Advertisement.
    pub ipv6_prefix: Option<[u8; 8]>,
}

/// Whether the UPF has a session that it should have.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Loss {
    /// The UPF has the session.
    None,
    /// The UPF was restarted, and gets the session again once it is associated.
    Restarted,
    /// The UPF is gone.
    Gone,
}

/// Way to deliver packets that wait for a UE.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Reaching {
    /// The AMF is asked now.
    Asked,
    /// The AMF pages it, or its gNB is asked; no longer than until then. So often it was tried.
    Trying(u8),
    /// The AMF cannot now, and is asked again then. So often it was asked.
    Again(u8),
    /// The UE cannot be reached: packets are dropped until then.
    Dropping,
}

/// Handovers of a session.
#[derive(Debug, Default)]
pub(crate) struct Mobility {
    /// The procedure that is under way.
    pub task: Option<TaskId>,
    /// The request that it has to answer.
    pub request: Option<RequestId>,
    /// Requests that wait until it ends.
    pub pending: VecDeque<(RequestId, Slot)>,
    /// The source reaches the target, so the UPF need not forward anything.
    pub is_direct: bool,
    /// The target's end of the tunnel, until the UE has come there.
    pub target: Option<Tunnel>,
    /// Flows that it has.
    pub qfis: Vec<u8>,
    /// Flows that the target was asked for, a bit for each.
    pub asked: u64,
    /// Protection of the user plane as its gNB reports it.
    pub security: Option<SecurityResult>,
    /// The UPF forwards packets, or may do so.
    pub forwards: bool,
    /// Flows that it forwards by rules of their own.
    pub forwarded: Vec<u8>,
    /// Until then.
    pub until: Option<Instant>,
}

/// Registration of a session at the UDM (Nudm_UECM of TS 29.503).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct AtUdm {
    /// Network in which the UE asked for it; none of one of before a restart.
    pub plmn: Option<Plmn>,
    /// The UDM has been asked to register it, and may have done so: it is asked to deregister it when it is over.
    pub may_have_it: bool,
    /// The UDM has it registered.
    pub has_it: bool,
    /// The UDM was asked to tell of changes of the subscription, and may do so.
    pub may_tell: bool,
    /// The UDM tells of them.
    pub tells: bool,
}

/// A session.
#[derive(Debug)]
pub(crate) struct Session {
    pub supi: Supi,
    /// PDU session identity.
    pub identity: u8,
    /// Procedure transaction of the UE's last request.
    pub transaction: u8,
    pub slice: Snssai,
    pub dnn: Dnn,
    /// State of its registration at the UDM.
    pub at_udm: AtUdm,
    pub session_type: SessionType,
    pub qos: Qos,
    /// Protection of its user plane.
    pub security: Security,
    /// Flows beside the default one.
    pub flows: Flows,
    pub address: PduAddress,
    /// Lease of the SMF, which gives what its UPF does not.
    pub lease: Lease,
    /// Lease of what its UPF may have had of it before.
    pub replaced_lease: Lease,
    /// The AMF has forgotten it: nobody is told of it any more, and it ends with what is under way.
    pub is_forgotten: bool,
    /// The UE has accepted it, or been sent the accept.
    pub is_accepted: bool,
    /// Event of it that subscribers were shown last.
    pub shown: Option<SmfEvent>,
    /// None before it is established and after it is deleted.
    pub upf: Option<AtUpf>,
    /// The gNB's end of the tunnel; none while the user plane is down.
    pub downlink: Option<Tunnel>,
    pub usage: Usage,
    /// When it was asked for, seconds since 1970.
    pub begun_unix_s: u64,
    /// The procedure that is under way.
    pub task: Option<TaskId>,
    /// The request that the procedure has to answer.
    pub request: Option<RequestId>,
    /// Requests that wait until the procedure ends.
    pub pending: VecDeque<(RequestId, Slot)>,
    /// Whether the UPF has it.
    pub loss: Loss,
    /// Packets have come while it had no user plane, and no procedure has begun for them.
    pub has_packets: bool,
    /// Whether the gNB reported the tunnel as unknown, and nothing has been done about it yet.
    pub is_tunnel_lost: bool,
    /// Way to deliver waiting packets, and its deadline.
    pub reaching: Option<(Reaching, Instant)>,
    /// How long the AMF will not page the UE.
    pub guard_ms: u64,
    /// Handovers of the session.
    pub mobility: Mobility,
    /// The address of the UPF that is asked for it and has not answered.
    pub asks: Option<SocketAddr>,
    /// Whether the result of the last request to the UPF is unknown.
    pub is_unsettled: bool,
    /// The restarted UPF to which a process before this one may have given it again: nobody has heard the answer.
    pub may_be_at: Option<SocketAddr>,
    /// The fingerprint of what is stored of it.
    pub kept: Option<u64>,
}

impl Session {
    pub fn new(supi: Supi, identity: u8, slice: Snssai, dnn: Dnn) -> Self {
        Self {
            supi,
            identity,
            transaction: 0,
            slice,
            dnn,
            at_udm: AtUdm::default(),
            session_type: SessionType::Ipv4,
            qos: Qos::default(),
            security: Security::default(),
            flows: Flows::default(),
            address: PduAddress::default(),
            lease: Lease::default(),
            replaced_lease: Lease::default(),
            is_forgotten: false,
            is_accepted: false,
            shown: None,
            upf: None,
            downlink: None,
            usage: Usage::default(),
            begun_unix_s: 0,
            task: None,
            request: None,
            pending: VecDeque::new(),
            loss: Loss::None,
            has_packets: false,
            is_tunnel_lost: false,
            reaching: None,
            guard_ms: 0,
            mobility: Mobility::default(),
            asks: None,
            is_unsettled: false,
            may_be_at: None,
            kept: None,
        }
    }

    /// Whether its UPF may have it otherwise: a procedure is under way, or what it was told last is not known.
    pub fn may_differ_at_upf(&self) -> bool {
        self.is_unsettled || self.task.is_some() || self.mobility.task.is_some()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_carries_its_generation_and_is_never_zero() {
        for (slot, generation) in [(0, 0), (7, 1), (999_999, 0xffff)] {
            let id = SessionId(Key { slot, generation });
            assert_ne!(id.number(), 0);
            assert_eq!(SessionId::from_number(id.number()), id);
        }
    }
}
