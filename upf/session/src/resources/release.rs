//! Release of resources: claims that a refused message gives back, and resources that sessions no longer need; and
//! prefetch of those that the next message takes or releases.

use crate::index::slot_allocator::TakenSlot;
use crate::network::Network;
use crate::resources::address_pools::{PoolKey, TakenAddress};
use crate::resources::identifiers::exact_keys;
use crate::resources::resting_numbers::Holder;
use crate::resources::{Exhausted, Resources};
use crate::rules::{Endpoint, Families, Key, Origin, UeAddresses};
use arrayvec::ArrayVec;
use sluice_datapath::ids::EntryId;
use sluice_datapath::lookup::exact_match::{ExactKey, RoutePrefix};
use sluice_datapath::session::flow_filter::FilterRun;
use sluice_datapath::tables::PeerId;

impl Resources {
    /// Gives a peer back.
    pub fn release_peer(&mut self, peer: PeerId, net: &mut impl Network) {
        self.peers_held -= 1;
        net.release_peer(peer);
    }

    /// Gives an entry of a session with these UE addresses back, and its keys. Its blocks go one by one.
    pub fn release(
        &mut self,
        endpoint: &Endpoint,
        (ue, routes): (&UeAddresses, FilterRun),
        now_s: u32,
    ) {
        let entry = endpoint.entry;
        for key in exact_keys(&self.known, endpoint, ue) {
            self.foreign.remove(key);
        }
        if let Key::Ue { instance } = endpoint.key {
            for key in pool_keys(instance, ue, Families::BOTH) {
                self.addresses.release(key, Holder::Entry, now_s);
            }
            self.nat.release(entry);
            for prefix in self.routes_of(routes) {
                self.release_route(instance, prefix);
            }
        }
        match endpoint.origin {
            Origin::Slot => self.slots.give(entry.0, now_s),
            Origin::Pool => self.pool.clear(entry.0),
            Origin::Foreign => self.entries.give(entry.0, now_s),
            Origin::None => {}
        }
    }

    /// A session ends: the addresses that it was given rest from now on.
    pub fn release_given(&mut self, ue: &UeAddresses, now_s: u32) {
        for key in pool_keys(ue.given.instance, ue, ue.given.families) {
            self.addresses.release(key, Holder::Session, now_s);
        }
    }

    /// Gives a block back.
    pub fn release_block(&mut self, block: u32) {
        self.blocks.give(block, 0);
    }

    /// Gives a cell of a usage record back.
    pub fn release_cell(&mut self, cell: u32) {
        self.cells.give(cell, 0);
    }

    /// Takes everything back that a refused message took, the last first.
    pub fn undo(&mut self, claims: &mut Claims, net: &mut impl Network) {
        while let Some(claim) = claims.pop() {
            match claim {
                Claim::Slot(taken, last) => {
                    self.set_teid(taken.place(), last);
                    self.slots.untake(taken);
                }
                Claim::Entry(taken) => self.entries.untake(taken),
                Claim::Block(taken) => self.blocks.untake(taken),
                Claim::Cell(taken) => self.cells.untake(taken),
                Claim::Pool(entry) => self.pool.clear(entry),
                Claim::Key(key) => {
                    self.foreign.remove(key);
                }
                Claim::Peer(peer) => self.release_peer(peer, net),
                Claim::Meter(at) => self.meters.remove(at),
                Claim::Run(run) => self.filters.release(run),
                Claim::Address(taken) => self.addresses.untake(taken),
                Claim::Nat(entry) => self.nat.undo(entry),
                Claim::Route(instance, prefix) => self.release_route(instance, prefix),
            }
        }
    }
}

impl Resources {
    /// A session of `shard` is about to be established: asks the caches for what its next
    /// [TEID](Self::new_teid) and [block](Self::block) are made of.
    pub fn prefetch_taking(&self, shard: u32) {
        if let Some(slot) = self.slots.prefetch_next(shard) {
            self.teids.prefetch(slot);
        }
        self.blocks.prefetch_next(shard);
    }

    /// An endpoint will be [released](Self::release) soon: asks the caches for where it goes.
    pub fn prefetch_release(&self, endpoint: &Endpoint, ue: &UeAddresses) {
        exact_keys(&self.known, endpoint, ue).for_each(|key| self.known.prefetch(key));
        match endpoint.origin {
            Origin::Slot => self.slots.prefetch(endpoint.entry.0),
            Origin::Foreign => self.entries.prefetch(endpoint.entry.0),
            Origin::Pool | Origin::None => {}
        }
    }
}

/// What pools know a UE's addresses of these families by.
pub(super) fn pool_keys(
    instance: u8,
    ue: &UeAddresses,
    families: Families,
) -> impl Iterator<Item = PoolKey> + use<> {
    let UeAddresses { ipv4, prefix, .. } = ue.of(families);
    let ipv4 = ipv4.map(|address| PoolKey::ipv4(instance, address));
    let ipv6 = prefix.map(|prefix| PoolKey::ipv6(instance, prefix.get()));
    ipv4.into_iter().chain(ipv6)
}

/// Something that a message took.
#[derive(Clone, Copy, Debug)]
pub(super) enum Claim {
    /// With the TEID that it was last given out under.
    Slot(TakenSlot, u32),
    Entry(TakenSlot),
    Block(TakenSlot),
    Cell(TakenSlot),
    Pool(u32),
    Key(ExactKey),
    Peer(PeerId),
    Meter(u32),
    Run(FilterRun),
    Address(TakenAddress),
    /// A UE's first block of public ports, by its entry.
    Nat(EntryId),
    Route(u8, RoutePrefix),
}

/// Claims of one message: for each PDR an endpoint with foreign keys and blocks, addresses of pools, and a run of
/// filters, for each FAR a peer, for each URR a meter.
const CLAIMS: usize = 512;

/// All that the message at hand took so far, to be given back if it is refused.
#[derive(Debug, Default)]
pub struct Claims(ArrayVec<Claim, CLAIMS>);

impl Claims {
    pub(super) fn push(&mut self, claim: Claim) -> Result<(), Exhausted> {
        self.0.try_push(claim).map_err(|_| Exhausted)
    }

    /// Takes the last claim off the list.
    pub(super) fn pop(&mut self) -> Option<Claim> {
        self.0.pop()
    }

    /// The message was accepted: what it took is the session's.
    pub fn keep(&mut self) {
        self.0.clear();
    }
}
