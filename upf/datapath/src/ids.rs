//! Identifiers of the packet path: workers, interfaces, next hops, peers, egresses, session entries,
//! extension blocks, usage records.

use core::fmt;

macro_rules! ids {
    ($($(#[$meta:meta])* $name:ident($int:ty);)*) => {$(
        sluice_mem::zeroable_struct! {
            $(#[$meta])*
            #[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Default)]
            #[repr(transparent)]
            pub struct $name(pub $int);
        }

        impl $name {
            /// As a place in a list.
            #[inline(always)]
            pub const fn index(self) -> usize {
                self.0 as usize
            }

            /// The one in this place of a list; lists are bounded so that each has its number.
            #[inline]
            pub const fn at(index: usize) -> Self {
                debug_assert!(index <= <$int>::MAX as usize);
                Self(index as $int)
            }
        }

        impl From<$name> for usize {
            #[inline(always)]
            fn from(id: $name) -> Self {
                id.index()
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                self.0.fmt(f)
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, concat!(stringify!($name), "({})"), self.0)
            }
        }
    )*};
}

ids! {
    /// A worker.
    WorkerId(u8);
    /// A place in [`Tables::interfaces`](crate::tables::Tables).
    InterfaceId(u8);
    /// A slot of [`Tables::next_hops`](crate::tables::Tables).
    NextHopId(u16);
    /// A slot of [`Tables::peers`](crate::tables::Tables), or with the highest bit of
    /// [`Tables::peers_ipv6`](crate::tables::Tables).
    PeerId(u16);
    /// A place in [`Tables::egresses`](crate::tables::Tables).
    EgressId(u16);
    /// A session entry; it belongs to the shard of its lowest bits.
    EntryId(u32);
    /// An extension block; 0 is none.
    BlockId(u32);
    /// A usage record, which its first cell names; 0 is none.
    RecordId(u32);
}

impl PeerId {
    /// Peers of one family: the highest bit tells the family.
    pub const PER_FAMILY: usize = 1 << 15;

    /// The IPv6 peer in this slot.
    #[inline]
    pub const fn ipv6(slot: usize) -> Self {
        debug_assert!(slot < Self::PER_FAMILY);
        Self(slot as u16 | Self::PER_FAMILY as u16)
    }

    /// Whether tunnels to the peer go over IPv6.
    #[inline(always)]
    pub const fn is_ipv6(self) -> bool {
        self.0 & Self::PER_FAMILY as u16 != 0
    }

    /// Its slot among the peers of its family.
    #[inline(always)]
    pub const fn slot(self) -> usize {
        self.0 as usize % Self::PER_FAMILY
    }
}

/// No worker: nobody owns it, or it is on its way.
pub const NO_WORKER: WorkerId = WorkerId(u8::MAX);

/// No next hop: no route leads to the peer.
pub const NO_NEXT_HOP: NextHopId = NextHopId(u16::MAX);
