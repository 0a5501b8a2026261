//! What sessions are built on: TEID slots, lines, blocks, peers and meters, and the list of what
//! one message has taken, so that a refused one leaves everything as it was.

use crate::network::{Network, Side};
use crate::session::limits::TEID_REST_S;
use crate::session::meter::Meter;
use crate::session::names::NameId;
use crate::session::places::{Places, Taken};
use crate::session::random::Random;
use crate::session::rules::{Endpoint, Key, Origin};
use crate::session::slab::Slab;
use arrayvec::ArrayVec;
use core::net::Ipv4Addr;
use sluice_mem::prefetch;
use sluice_path::foreign::{ForeignKey, ForeignReader, ForeignWriter};
use sluice_path::layout::{InstanceId, Layout};
use sluice_path::limits::{BLOCK_CHAIN, SHARDS};
use sluice_path::tables::PeerId;

/// The allocators.
pub struct Ground {
    /// Where lines lie.
    pub layout: Layout,
    /// Usage of all URRs.
    pub meters: Slab<Meter>,
    slots: Places,
    lines: Places,
    blocks: Places,
    /// By slot: the last TEID that it was given out under.
    teids: Vec<u32>,
    /// One bit for each line: a pool line that is taken.
    pool: Vec<u64>,
    foreign: ForeignWriter,
    known: ForeignReader,
    random: Random,
    peers_held: usize,
}

/// Something that a message took.
#[derive(Clone, Copy, Debug)]
enum Claim {
    /// With the TEID that it was last given out under.
    Slot(Taken, u32),
    Line(Taken),
    Block(Taken),
    Pool(u32),
    Key(ForeignKey),
    Peer(PeerId),
    Meter(u32),
}

/// Claims of one message: for each PDR an endpoint with a foreign key and blocks, for each FAR a
/// peer, for each URR a meter.
const CLAIMS: usize = 512;

/// All that the message at hand took so far.
#[derive(Debug, Default)]
pub struct Claims {
    /// What would be given back.
    claims: ArrayVec<Claim, CLAIMS>,
    /// The same as it was asked for; it stays after the message, for those who learn from it.
    steps: ArrayVec<Step, CLAIMS>,
}

/// Something that was asked for, and what was given.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Step {
    /// A TEID of ours.
    NewTeid {
        /// Number of the address.
        local: u8,
        /// The TEID.
        teid: u32,
        /// Its line.
        line: u32,
    },
    /// A TEID that the CP function named.
    NamedTeid {
        /// Number of the address.
        local: u8,
        /// The TEID.
        teid: u32,
        /// Its line.
        line: u32,
        /// Where the line comes from.
        origin: Origin,
    },
    /// The line of a UE address.
    UeLine {
        /// The network instance.
        instance: u8,
        /// The address.
        address: u32,
        /// The line.
        line: u32,
        /// Where the line comes from.
        origin: Origin,
    },
    /// An extension block.
    Block {
        /// The block.
        block: u32,
    },
    /// A meter.
    Meter {
        /// The meter.
        meter: u32,
    },
    /// A peer.
    Peer {
        /// Side of the FAR.
        side: Side,
        /// Network instance of the FAR.
        instance: NameId,
        /// The peer's address.
        address: u32,
        /// The peer.
        peer: PeerId,
    },
}

/// An allocator has nothing left.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Exhausted;

/// Why an identifier cannot be had.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Denied {
    /// Another session has it.
    InUse,
    /// Its line belongs to another shard than the session.
    OtherShard,
    /// No line is left.
    Exhausted,
}

/// How many of each are given out.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct InUse {
    /// TEIDs of ours.
    pub teids: usize,
    /// Lines of UE addresses in pools.
    pub pool_lines: usize,
    /// Lines of TEIDs and addresses that others chose.
    pub foreign_lines: usize,
    /// Extension blocks.
    pub blocks: usize,
    /// Usage meters.
    pub meters: usize,
    /// Peers held.
    pub peers: usize,
}

impl Ground {
    /// Allocators over `layout`, with `blocks` extension blocks and `meters` meters.
    pub fn new(
        layout: Layout,
        blocks: u32,
        meters: usize,
        foreign: ForeignWriter,
        random: Random,
    ) -> Self {
        let (first, len) = layout.foreign();
        Self {
            slots: Places::new(0, layout.endpoints(), TEID_REST_S, false),
            lines: Places::new(first, len, 0, false),
            blocks: Places::new(0, blocks, 0, true),
            teids: vec![0; layout.endpoints() as usize],
            pool: vec![0; layout.lines().div_ceil(64)],
            meters: Slab::new(meters),
            known: foreign.reader(),
            foreign,
            random,
            layout,
            peers_held: 0,
        }
    }

    /// Where the random numbers are, to [go on](Self::go_on_from) from there again.
    pub fn random_state(&self) -> Random {
        self.random.clone()
    }

    /// Random numbers go on from there, as if none had been drawn since.
    pub fn go_on_from(&mut self, random: Random) {
        self.random = random;
    }

    /// A random number.
    pub fn random(&mut self) -> u32 {
        self.random.next_u32()
    }

    /// How many of each are given out.
    pub fn in_use(&self) -> InUse {
        InUse {
            teids: self.slots.used(),
            pool_lines: self.pool.iter().map(|w| w.count_ones() as usize).sum(),
            foreign_lines: self.lines.used(),
            blocks: self.blocks.used(),
            meters: self.meters.used(),
            peers: self.peers_held,
        }
    }

    /// True if `shard` has a TEID to give.
    pub fn has_teid(&self, shard: u32, now_s: u32) -> bool {
        self.slots.has_room(shard, now_s)
    }

    /// Asks the caches for what the next [TEID](Self::new_teid) of `shard` is made of.
    pub fn prefetch_teid(&self, shard: u32) {
        if let Some(slot) = self.slots.prefetch_next(shard) {
            prefetch::read_index(&self.teids, slot as usize);
        }
    }

    /// Asks the caches for what a [TEID that is named](Self::named_teid) is put into.
    pub fn prefetch_named_teid(&self, shard: u32, local: u8, teid: u32) {
        self.known.prefetch(ForeignKey::teid(local, teid));
        self.lines.prefetch_next(shard);
    }

    /// Asks the caches for what the next [block](Self::block) of `shard` is made of.
    pub fn prefetch_block(&self, shard: u32) {
        self.blocks.prefetch_next(shard);
    }

    /// An endpoint will be [released](Self::release) soon: asks the caches for where it goes.
    pub fn prefetch_release(&self, endpoint: &Endpoint) {
        match endpoint.origin {
            Origin::Slot => self.slots.prefetch(endpoint.line),
            Origin::Foreign => {
                let key = foreign_key(endpoint.key);
                key.into_iter().for_each(|key| self.known.prefetch(key));
                self.lines.prefetch(endpoint.line);
            }
            Origin::Pool | Origin::None => {}
        }
    }

    /// A TEID of ours in `shard`, different from the last of its slot and from every foreign one.
    pub fn new_teid(
        &mut self,
        shard: u32,
        local: u8,
        now_s: u32,
        claims: &mut Claims,
    ) -> Result<(u32, Endpoint), Exhausted> {
        let taken = self.slots.take(shard, now_s).ok_or(Exhausted)?;
        let slot = taken.place();
        let last = self.teids.get(slot as usize).copied().unwrap_or(0);
        claims.push(Claim::Slot(taken, last))?;
        for _ in 0..16 {
            let check = self.random.next_u32();
            let Some(teid) = self.layout.teid(slot, check) else {
                break;
            };
            let teid = teid.get();
            if teid != last && !self.known.knows(ForeignKey::teid(local, teid)) {
                self.set_teid(slot, teid);
                let line = slot;
                claims.note(Step::NewTeid { local, teid, line });
                return Ok((teid, slot_endpoint(local, teid, slot)));
            }
        }
        Err(Exhausted)
    }

    /// A TEID that the CP function names: our own slot if it has that form and is free, else a
    /// foreign line.
    pub fn named_teid(
        &mut self,
        shard: u32,
        local: u8,
        teid: u32,
        now_s: u32,
        claims: &mut Claims,
    ) -> Result<Endpoint, Denied> {
        let endpoint = self.named_endpoint(shard, (local, teid), now_s, claims)?;
        claims.note(Step::NamedTeid {
            local,
            teid,
            line: endpoint.line,
            origin: endpoint.origin,
        });
        Ok(endpoint)
    }

    fn named_endpoint(
        &mut self,
        shard: u32,
        (local, teid): (u8, u32),
        now_s: u32,
        claims: &mut Claims,
    ) -> Result<Endpoint, Denied> {
        if let Some(slot) = self.layout.own_teid(teid) {
            if self.slots.is_used(slot) && self.teids.get(slot as usize) == Some(&teid) {
                return Err(Denied::InUse);
            }
            let congruent = slot % SHARDS == shard;
            let key = ForeignKey::teid(local, teid);
            if congruent
                && !self.known.knows(key)
                && let Some(taken) = self.slots.take_named(slot)
            {
                let last = self.teids.get(slot as usize).copied().unwrap_or(0);
                claims
                    .push(Claim::Slot(taken, last))
                    .map_err(Denied::from)?;
                self.set_teid(slot, teid);
                return Ok(slot_endpoint(local, teid, slot));
            }
        }
        let line = self.foreign_line(shard, ForeignKey::teid(local, teid), now_s, claims)?;
        Ok(endpoint(Key::Tunnel { local, teid }, line, Origin::Foreign))
    }

    /// The line of a UE address.
    pub fn ue_line(
        &mut self,
        shard: u32,
        instance: u8,
        address: u32,
        now_s: u32,
        claims: &mut Claims,
    ) -> Result<Endpoint, Denied> {
        let endpoint = self.ue_endpoint(shard, (instance, address), now_s, claims)?;
        claims.note(Step::UeLine {
            instance,
            address,
            line: endpoint.line,
            origin: endpoint.origin,
        });
        Ok(endpoint)
    }

    fn ue_endpoint(
        &mut self,
        shard: u32,
        (instance, address): (u8, u32),
        now_s: u32,
        claims: &mut Claims,
    ) -> Result<Endpoint, Denied> {
        if address % SHARDS != shard {
            return Err(Denied::OtherShard);
        }
        let key = Key::Ue { instance, address };
        match self.layout.pool_line(InstanceId(instance), address) {
            Some(line) => {
                let (word, bit) = (line as usize / 64, 1 << (line % 64));
                let word = self.pool.get_mut(word).ok_or(Denied::Exhausted)?;
                if *word & bit != 0 {
                    return Err(Denied::InUse);
                }
                claims.push(Claim::Pool(line)).map_err(Denied::from)?;
                *word |= bit;
                Ok(endpoint(key, line, Origin::Pool))
            }
            None => {
                let foreign = ForeignKey::ue(instance, address);
                let line = self.foreign_line(shard, foreign, now_s, claims)?;
                Ok(endpoint(key, line, Origin::Foreign))
            }
        }
    }

    fn foreign_line(
        &mut self,
        shard: u32,
        key: ForeignKey,
        now_s: u32,
        claims: &mut Claims,
    ) -> Result<u32, Denied> {
        if self.known.knows(key) {
            return Err(Denied::InUse);
        }
        let taken = self.lines.take(shard, now_s).ok_or(Denied::Exhausted)?;
        claims.push(Claim::Line(taken)).map_err(Denied::from)?;
        let placed = self.foreign.insert(key, taken.place());
        placed.map_err(|_| Denied::Exhausted)?;
        claims.push(Claim::Key(key)).map_err(|full| {
            self.foreign.remove(key);
            Denied::from(full)
        })?;
        Ok(taken.place())
    }

    /// An extension block.
    pub fn block(&mut self, shard: u32, claims: &mut Claims) -> Result<u32, Exhausted> {
        let taken = self.blocks.take(shard, 0).ok_or(Exhausted)?;
        claims.push(Claim::Block(taken))?;
        let block = taken.place();
        claims.note(Step::Block { block });
        Ok(block)
    }

    /// A meter.
    pub fn meter(&mut self, meter: Meter, claims: &mut Claims) -> Result<u32, Exhausted> {
        let at = self.meters.insert(meter).ok_or(Exhausted)?;
        claims.push(Claim::Meter(at))?;
        claims.note(Step::Meter { meter: at });
        Ok(at)
    }

    /// Remembers a peer that the caller just held.
    pub fn peer_held(&mut self, peer: PeerId, claims: &mut Claims) -> Result<(), Exhausted> {
        self.peers_held += 1;
        claims.push(Claim::Peer(peer))
    }

    /// Gives a peer back.
    pub fn release_peer(&mut self, peer: PeerId, net: &mut impl Network) {
        self.peers_held -= 1;
        net.release_peer(peer);
    }

    /// Gives a line and its key back. Its blocks go one by one.
    pub fn release(&mut self, endpoint: &Endpoint, now_s: u32) {
        let line = endpoint.line;
        match endpoint.origin {
            Origin::Slot => self.slots.give(line, now_s),
            Origin::Pool => self.clear_pool(line),
            Origin::Foreign => {
                if let Some(key) = foreign_key(endpoint.key) {
                    self.foreign.remove(key);
                }
                self.lines.give(line, now_s);
            }
            Origin::None => {}
        }
    }

    /// Gives a block back.
    pub fn release_block(&mut self, block: u32) {
        self.blocks.give(block, 0);
    }

    /// Takes everything back that a refused message took, the last first.
    pub fn undo(&mut self, claims: &mut Claims, net: &mut impl Network) {
        while let Some(claim) = claims.claims.pop() {
            match claim {
                Claim::Slot(taken, last) => {
                    self.set_teid(taken.place(), last);
                    self.slots.untake(taken);
                }
                Claim::Line(taken) => self.lines.untake(taken),
                Claim::Block(taken) => self.blocks.untake(taken),
                Claim::Pool(line) => self.clear_pool(line),
                Claim::Key(key) => {
                    self.foreign.remove(key);
                }
                Claim::Peer(peer) => self.release_peer(peer, net),
                Claim::Meter(at) => self.meters.remove(at),
            }
        }
    }

    fn clear_pool(&mut self, line: u32) {
        if let Some(word) = self.pool.get_mut(line as usize / 64) {
            *word &= !(1 << (line % 64));
        }
    }

    fn set_teid(&mut self, slot: u32, teid: u32) {
        if let Some(last) = self.teids.get_mut(slot as usize) {
            *last = teid;
        }
    }
}

impl Claims {
    fn push(&mut self, claim: Claim) -> Result<(), Exhausted> {
        self.claims.try_push(claim).map_err(|_| Exhausted)
    }

    /// A message begins.
    pub fn begin(&mut self) {
        self.steps.clear();
    }

    /// Notes what was asked for. There are no more steps than claims.
    pub fn note(&mut self, step: Step) {
        let _ = self.steps.try_push(step);
    }

    /// What the message, or the last one, asked for.
    pub fn steps(&self) -> &[Step] {
        &self.steps
    }

    /// The message was accepted: what it took is the session's.
    pub fn keep(&mut self) {
        self.claims.clear();
    }
}

impl From<Exhausted> for Denied {
    fn from(_: Exhausted) -> Self {
        Self::Exhausted
    }
}

/// A group of blocks without a line.
pub fn spare() -> Endpoint {
    endpoint(Key::Spare, 0, Origin::None)
}

fn endpoint(key: Key, line: u32, origin: Origin) -> Endpoint {
    Endpoint {
        key,
        line,
        origin,
        blocks: [0; BLOCK_CHAIN],
    }
}

fn slot_endpoint(local: u8, teid: u32, slot: u32) -> Endpoint {
    endpoint(Key::Tunnel { local, teid }, slot, Origin::Slot)
}

fn foreign_key(key: Key) -> Option<ForeignKey> {
    match key {
        Key::Tunnel { local, teid } => Some(ForeignKey::teid(local, teid)),
        Key::Ue { instance, address } => Some(ForeignKey::ue(instance, address)),
        Key::Spare => None,
    }
}

/// The shard of a UE address.
pub fn shard_of(address: Ipv4Addr) -> u32 {
    u32::from(address) % SHARDS
}
