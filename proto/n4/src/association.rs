//! One PFCP association: the peer's name, addresses, features and condition.

use core::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

use arrayvec::ArrayVec;
use sluice_wire::pfcp::value::{
    CpFunctionFeatures, NtpTime, SourceInterface, UpFunctionFeatures,
    UserPlaneIpResourceInformation,
};

use crate::node_id::NodeId;
use crate::time::Instant;

/// Addresses of one peer that are known at a time.
pub const ADDRESSES: usize = 16;

/// Names one association of one endpoint; void when the association has ended.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub struct AssociationId {
    pub(crate) slot: u32,
    pub(crate) generation: u32,
}

impl AssociationId {
    /// A place from 0 up to the limit of associations, for tables of the layer above; it is
    /// used again when the association has ended.
    pub fn index(self) -> usize {
        self.slot as usize
    }
}

impl fmt::Display for AssociationId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.slot, self.generation)
    }
}

/// State of an association.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum State {
    /// Our Association Setup Request has no response yet.
    Connecting,
    /// Our set-up failed and waits for its next try.
    Waiting,
    /// Set up.
    Up,
    /// Our Association Release Request has no response yet.
    Releasing,
}

/// A function's optional features; a function states those of its own role.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Features {
    /// CP Function Features (TS 29.244, 8.2.58).
    pub cp: Option<CpFunctionFeatures>,
    /// UP Function Features (TS 29.244, 8.2.25).
    pub up: Option<UpFunctionFeatures>,
}

impl Features {
    /// The features of a CP function.
    pub const fn of_cp(features: CpFunctionFeatures) -> Self {
        Self {
            cp: Some(features),
            up: None,
        }
    }

    /// The features of a UP function.
    pub const fn of_up(features: UpFunctionFeatures) -> Self {
        Self {
            cp: None,
            up: Some(features),
        }
    }

    /// Enhanced PFCP Association Release (TS 29.244, 5.18), stated by either kind of function.
    pub fn epfar(&self) -> bool {
        self.cp
            .is_some_and(|cp| cp.contains(CpFunctionFeatures::EPFAR))
            || self
                .up
                .is_some_and(|up| up.contains(UpFunctionFeatures::EPFAR))
    }

    /// These features with those of `newer` in their place where it states any.
    #[must_use]
    pub fn updated(self, newer: Self) -> Self {
        Self {
            cp: newer.cp.or(self.cp),
            up: newer.up.or(self.up),
        }
    }
}

/// Place at a UP function where a CP function may assign F-TEIDs (User Plane IP Resource Information, TS 29.244 up to
/// Release 15, 8.2.82).
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct UserPlaneResource {
    /// How many leading bits of TEIDs are fixed (TEIDRI), and their octet.
    pub teid_range: (u8, u8),
    /// The IPv4 address.
    pub ipv4: Option<Ipv4Addr>,
    /// The IPv6 address.
    pub ipv6: Option<Ipv6Addr>,
    /// The Network Instance, in either of its codings.
    pub network_instance: Option<Vec<u8>>,
    /// The side of the UP function.
    pub source_interface: Option<SourceInterface>,
}

impl From<&UserPlaneIpResourceInformation<'_>> for UserPlaneResource {
    fn from(told: &UserPlaneIpResourceInformation<'_>) -> Self {
        Self {
            teid_range: (told.teid_range_bits, told.teid_range),
            ipv4: told.ipv4,
            ipv6: told.ipv6,
            network_instance: told.network_instance.map(|name| name.0.to_vec()),
            source_interface: told.source_interface,
        }
    }
}

/// An association with one peer.
#[derive(Clone, Debug)]
pub struct Association {
    pub(crate) state: State,
    pub(crate) node_id: Option<NodeId>,
    pub(crate) addresses: ArrayVec<SocketAddr, ADDRESSES>,
    pub(crate) primary: SocketAddr,
    /// Of the addresses those that the peer did not tell in an association message: what comes from there acts on
    /// sessions of that address alone.
    pub(crate) borrowed: ArrayVec<IpAddr, ADDRESSES>,
    pub(crate) features: Features,
    pub(crate) resources: Vec<UserPlaneResource>,
    pub(crate) recovery_time_stamp: NtpTime,
    /// We set it up, so we do it again when the peer has restarted.
    pub(crate) initiated_here: bool,
    /// Whether our next set-up asks the peer to retain sessions.
    pub(crate) retain: bool,
    pub(crate) lost: bool,
    pub(crate) preparing_release: bool,
    pub(crate) heartbeat_at: Instant,
    pub(crate) retry_at: Instant,
    /// End of the graceful period, ours or the peer's.
    pub(crate) release_at: Instant,
    /// When the peer last answered that it still holds its Node ID.
    pub(crate) answered_at: Option<Instant>,
}

impl Association {
    /// An association that is about to be set up with the peer at `primary`.
    pub(crate) fn new(primary: SocketAddr) -> Self {
        Self {
            state: State::Connecting,
            node_id: None,
            addresses: ArrayVec::new(),
            primary,
            borrowed: ArrayVec::new(),
            features: Features::default(),
            resources: Vec::new(),
            recovery_time_stamp: NtpTime(0),
            initiated_here: false,
            retain: false,
            lost: false,
            preparing_release: false,
            heartbeat_at: Instant::NEVER,
            retry_at: Instant::NEVER,
            release_at: Instant::NEVER,
            answered_at: None,
        }
    }

    /// State of the association.
    pub fn state(&self) -> State {
        self.state
    }

    /// Whether sessions can be worked on: it is set up and its release not yet confirmed.
    pub fn is_established(&self) -> bool {
        matches!(self.state, State::Up | State::Releasing)
    }

    /// The peer's name; unknown until the peer has answered.
    pub fn node_id(&self) -> Option<&NodeId> {
        self.node_id.as_ref()
    }

    /// Address of our requests unless another is given.
    pub fn primary(&self) -> SocketAddr {
        self.primary
    }

    /// The peer's known addresses; a port of 0 stands for any.
    pub fn addresses(&self) -> &[SocketAddr] {
        &self.addresses
    }

    /// Whether a message from there speaks for the peer as a whole: from the address that it associated from, or
    /// that it told when it did.
    pub fn speaks_for_itself(&self, from: SocketAddr) -> bool {
        let from = from.ip().to_canonical();
        self.primary.ip().to_canonical() == from || !self.borrowed.contains(&from)
    }

    /// The peer's features.
    pub fn features(&self) -> Features {
        self.features
    }

    /// Places at the peer where F-TEIDs may be assigned, as it says; none of one that says nothing.
    pub fn resources(&self) -> &[UserPlaneResource] {
        &self.resources
    }

    /// When the peer started, by its own clock.
    pub fn recovery_time_stamp(&self) -> NtpTime {
        self.recovery_time_stamp
    }

    /// Whether the peer has stopped answering heartbeats.
    pub fn is_lost(&self) -> bool {
        self.lost
    }

    /// Whether either side has announced the release: no new sessions should be established.
    pub fn is_ending(&self) -> bool {
        self.preparing_release || self.state == State::Releasing || self.release_at < Instant::NEVER
    }

    pub(crate) fn next_timer(&self) -> Instant {
        self.heartbeat_at.min(self.retry_at).min(self.release_at)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn epfar_may_be_stated_by_either_function() {
        assert!(Features::of_cp(CpFunctionFeatures::EPFAR).epfar());
        assert!(Features::of_up(UpFunctionFeatures::EPFAR).epfar());
        assert!(!Features::of_cp(CpFunctionFeatures::LOAD).epfar());
        assert!(!Features::default().epfar());
    }

    #[test]
    fn an_update_replaces_only_what_it_states() {
        let known = Features::of_up(UpFunctionFeatures::FTUP);
        assert_eq!(known.updated(Features::default()), known);
        let newer = Features::of_up(UpFunctionFeatures::EMPU);
        assert_eq!(known.updated(newer), newer);
    }
}
