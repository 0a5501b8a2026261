//! Identifiers of the packet path: workers, interfaces, next hops, peers, egresses.

/// A worker.
pub type WorkerId = u8;

/// No worker: nobody owns it, or it is on its way.
pub const NO_WORKER: WorkerId = u8::MAX;

/// A place in [`Tables::interfaces`](crate::tables::Tables).
pub type InterfaceId = u8;
/// A slot of [`Tables::next_hops`](crate::tables::Tables).
pub type NextHopId = u16;
/// No next hop: no route leads to the peer.
pub const NO_NEXT_HOP: NextHopId = NextHopId::MAX;
/// A slot of [`Tables::peers`](crate::tables::Tables).
pub type PeerId = u16;
/// A place in [`Tables::egresses`](crate::tables::Tables).
pub type EgressId = u16;
