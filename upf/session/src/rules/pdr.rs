//! Packet Detection Rules, the endpoints at which they detect packets, and lists of rule IDs.

use crate::names::NameId;
use crate::network::{Side, TunnelAddresses, TunnelEndpoint};
use crate::rules::{Families, UeMatch};
use sluice_datapath::ids::EntryId;
use sluice_datapath::limits::BLOCK_CHAIN;
use sluice_datapath::session::flow_filter::FilterRun;
use sluice_wire::ids::{FarId, PdrId, Teid};
use sluice_wire::limits::{QERS_PER_PDR, URRS_PER_PDR};
use sluice_wire::pfcp::value::FTeid;

/// A Packet Detection Rule.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Pdr {
    /// PDR ID.
    pub id: PdrId,
    /// Precedence; lower values are tried first.
    pub precedence: u32,
    /// Source Interface.
    pub source: Side,
    /// Network Instance of the PDI.
    pub instance: NameId,
    /// Local F-TEID, whoever chose it.
    pub tunnel: Option<LocalTunnel>,
    /// The CHOOSE ID that the F-TEID was given for: others of the session with it get the same
    /// (TS 29.244, 5.5.3).
    pub choose_id: Option<u8>,
    /// UE IP Address; without F-TEID always there, as packets enter by it.
    pub ue: Option<UeMatch>,
    /// QFIs of the PDI, one bit each; 0 matches all.
    pub qfis: u64,
    /// What the SDF filters say, or the application.
    pub filter: Filter,
    /// Outer Header Removal: GTP-U/UDP/IP.
    pub removes_outer: bool,
    /// Its FAR.
    pub far: FarId,
    /// Its QERs.
    pub qers: IdList<QERS_PER_PDR>,
    /// Its URRs.
    pub urrs: IdList<URRS_PER_PDR>,
}

/// What a PDR's SDF filters let through.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Filter {
    /// Packets of these families.
    pub families: Families,
    /// Of these, packets that meet one filter of the run.
    pub run: FilterRun,
    /// Of these, packets of the UE's link alone: from or to link-local addresses, or to groups.
    pub is_link: bool,
    /// Whose filters they are.
    pub origin: FilterOrigin,
}

/// Where the filters of a PDR come from.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Default)]
pub enum FilterOrigin {
    /// The PDI has them.
    #[default]
    Pdi,
    /// The PDR stands back: predefined rules that it activates match in its place.
    StandsBack,
    /// They are those of the predefined rule with this number: the PDR is one of them.
    Predefined(u16),
    /// They are those of the application with this number, which the PDI names.
    Application(u16),
}

impl Filter {
    /// Everything.
    pub const ALL: Self = Self {
        families: Families::BOTH,
        run: FilterRun::NONE,
        is_link: false,
        origin: FilterOrigin::Pdi,
    };

    /// Nothing.
    pub const NOTHING: Self = Self {
        families: Families::NONE,
        ..Self::ALL
    };

    /// Nothing: predefined rules match in the PDR's place.
    pub const STANDS_BACK: Self = Self {
        origin: FilterOrigin::StandsBack,
        ..Self::NOTHING
    };
}

/// A tunnel endpoint of ours.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct LocalTunnel {
    /// Its TEID.
    pub teid: u32,
    /// Its addresses, those that were asked for.
    pub addresses: TunnelAddresses,
    /// The endpoint's number on the path.
    pub local: u8,
}

impl LocalTunnel {
    /// True if it was given with these addresses at this endpoint.
    pub fn is_at(&self, endpoint: &TunnelEndpoint) -> bool {
        self.local == endpoint.local && self.addresses == endpoint.addresses
    }

    /// As it stands in an F-TEID; none of TEID 0, which is nobody's.
    pub fn f_teid(&self) -> Option<FTeid> {
        let TunnelAddresses { ipv4, ipv6 } = self.addresses;
        let teid = Teid::new(self.teid)?;
        Some(FTeid::Assigned { teid, ipv4, ipv6 })
    }
}

impl Pdr {
    /// True for packets that the RAN sends, or another UPF nearer to it.
    pub fn is_from_access(&self) -> bool {
        self.source == Side::Access
    }

    /// True for a PDR as the CP function knows it, false for a predefined rule that matches in its place.
    pub fn is_own(&self) -> bool {
        !matches!(self.filter.origin, FilterOrigin::Predefined(_))
    }

    /// The entry by which its packets enter.
    pub fn key(&self) -> Option<Key> {
        match (self.tunnel, self.ue) {
            (Some(t), _) => Some(Key::Tunnel {
                local: t.local,
                teid: t.teid,
            }),
            (None, Some(ue)) => Some(Key::Ue {
                instance: ue.instance,
            }),
            (None, None) => None,
        }
    }
}

/// A short list of identifiers that can be copied.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct IdList<const N: usize> {
    len: u8,
    ids: [u32; N],
}

impl<const N: usize> Default for IdList<N> {
    fn default() -> Self {
        Self {
            len: 0,
            ids: [0; N],
        }
    }
}

impl<const N: usize> IdList<N> {
    /// The identifiers.
    pub fn as_slice(&self) -> &[u32] {
        self.ids.get(..usize::from(self.len)).unwrap_or_default()
    }

    /// So many identifiers of which no two are the same.
    pub fn of_distinct(len: usize, mut next: impl FnMut() -> u32) -> Self {
        let mut list = Self::default();
        for id in list.ids.iter_mut().take(len) {
            *id = next();
            list.len += 1;
        }
        list
    }

    /// One more, unless it is there already; false if the list is full.
    pub fn push(&mut self, id: u32) -> bool {
        if self.as_slice().contains(&id) {
            return true;
        }
        let Some(place) = self.ids.get_mut(usize::from(self.len)) else {
            return false;
        };
        *place = id;
        self.len += 1;
        true
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        usize::from(self.len)
    }

    /// True if `id` is there.
    pub fn contains(&self, id: u32) -> bool {
        self.as_slice().contains(&id)
    }
}

impl<const N: usize> FromIterator<u32> for IdList<N> {
    /// What does not fit is left out.
    fn from_iter<I: IntoIterator<Item = u32>>(iter: I) -> Self {
        let mut list = Self::default();
        for id in iter {
            list.push(id);
        }
        list
    }
}

/// By what packets find an entry.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Key {
    /// A TEID at a local address.
    Tunnel {
        /// The address's number.
        local: u8,
        /// The TEID.
        teid: u32,
    },
    /// The session's UE addresses, of both families, in a network instance.
    Ue {
        /// The network instance.
        instance: u8,
    },
    /// Nothing: a group of blocks that hold buckets.
    Spare,
}

/// Where an entry comes from, and so where it goes back to.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Origin {
    /// A TEID slot of ours.
    Slot,
    /// A configured pool of UE addresses.
    Pool,
    /// The entries for what others chose.
    Foreign,
    /// It is no entry.
    None,
}

/// An entry of the session with its extension blocks.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Endpoint {
    /// By what packets find it.
    pub key: Key,
    /// The entry.
    pub entry: EntryId,
    /// Where the entry comes from.
    pub origin: Origin,
    /// Extension blocks in order, 0 for none.
    pub blocks: [u32; BLOCK_CHAIN],
    /// The blocks hold rules for packets of the UE's link alone; the rule for all others stands in the
    /// entry.
    pub link_rules: bool,
}

impl Endpoint {
    /// True if rules or buckets of it stand in extension blocks.
    pub fn has_blocks(&self) -> bool {
        self.blocks[0] != 0
    }

    /// Its extension blocks.
    pub fn blocks(&self) -> impl Iterator<Item = u32> {
        self.blocks.into_iter().take_while(|b| *b != 0)
    }
}
