//! The limit: the cheapest loop that could do the same work. Parse, one line by direct index with
//! identity, target and usage, pointer move, headers written, transmit; no checks, rates, choices.

use super::fifo::{Check, Fifo};
use super::public;
use super::testbed::Testbed;
use super::traffic::{Direction, Form, Frames, OUTER_LEN, TEID_AT, UE_PORT};
use crate::Failure;
use crate::measure::STAGES;
use sluice_datapath::limits::SHARDS;
use sluice_mem::arena::Arena;
use sluice_mem::prefetch;
use sluice_port::{BURST_MAX, Burst, Packet};
use sluice_wire::checksum::{Sum, update, update_u16, update_u32};
use sluice_wire::{ipv4::decrement_ttl, ipv6::decrement_hop_limit, udp::not_zero};

sluice_mem::zeroable_struct! {
    /// State of the limit's loop for a session and direction: one cache line, independent of the path's own entry.
    #[derive(Clone, Copy, Default, Debug)]
    #[repr(C, align(64))]
    pub struct LimitLine {
        pub key: u32,
        /// TEID of the outer header.
        pub teid: u32,
        /// Number of the peer whose headers are written.
        pub peer: u64,
        pub bytes: u64,
        pub packets: u64,
        /// The UE's address on the other side, and the first port of its block there, where it is translated.
        pub address: u32,
        pub port: u32,
        rest: [u64; 3],
    }
}

/// The limit's own tables, of both directions.
pub struct Limit {
    uplink: Tables,
    downlink: Tables,
}

struct Tables {
    lines: Arena<LimitLine>,
    fronts: Vec<[u8; 14 + OUTER_LEN]>,
    /// Octets around the inner packets.
    outer_len: usize,
    is_translated: bool,
}

impl Limit {
    /// For the sessions of `testbed`.
    pub fn new<P: Packet>(testbed: &Testbed<P>) -> Result<Self, Failure> {
        let len = (2 * testbed.flows.len() as u32)
            .next_power_of_two()
            .max(SHARDS) as usize;
        let is_translated = testbed.variant.is_translated();
        let frames = Frames::new(Form::USUAL, testbed.variant.servers);
        let tables = |name, fronts| -> Result<Tables, Failure> {
            Ok(Tables {
                lines: Arena::new(name, len).map_err(|e| e.to_string())?,
                fronts,
                outer_len: OUTER_LEN,
                is_translated,
            })
        };
        let mut limit = Self {
            uplink: tables("limit-uplink", frames.uplink_fronts())?,
            downlink: tables("limit-downlink", frames.downlink_fronts())?,
        };
        limit.set_forms(testbed.variant.forms);
        let (up, down) = (
            limit.uplink.lines.as_mut_slice(),
            limit.downlink.lines.as_mut_slice(),
        );
        for flow in testbed.flows.iter() {
            let mut line = LimitLine {
                key: flow.teid,
                teid: flow.gnb_teid,
                peer: frames.way_out(flow) as u64,
                ..LimitLine::default()
            };
            let (address, first_port) = public::of(flow, 0);
            (line.address, line.port) = (address, first_port.into());
            up[flow.teid as usize & (len - 1)] = line;
            line.key = match is_translated {
                true => public::session_of(address, first_port),
                false => flow.ue,
            };
            (line.address, line.port) = (flow.ue, public::in_block(UE_PORT, 0).into());
            line.peer = flow.gnb() as u64;
            down[line.key as usize & (len - 1)] = line;
        }
        Ok(limit)
    }

    /// Packets have these forms from now on.
    pub fn set_forms(&mut self, forms: &[Form]) {
        self.uplink.outer_len = forms[0].outer_len();
    }

    /// Sends the packets of all sessions through the limit and compares every byte.
    pub fn prove<P: Packet>(&mut self, testbed: &mut Testbed<P>) -> Result<u64, Failure> {
        testbed.open(&[], Check::Every);
        // It knows the usual header alone.
        let ways = match testbed.variant.has_container() {
            true => &Direction::BOTH[..],
            false => &[Direction::Uplink],
        };
        for _ in 0..testbed.flows.len().div_ceil(STAGES[2]) {
            self.turn(testbed, ways, STAGES[2])?;
        }
        testbed.verdict()
    }

    /// A turn in each of these directions.
    pub fn turn<P: Packet>(
        &mut self,
        testbed: &mut Testbed<P>,
        ways: &[Direction],
        stage: usize,
    ) -> Result<(), Failure> {
        ways.iter()
            .try_for_each(|way| self.turn_one(testbed, *way, stage))
    }

    #[inline(always)]
    fn turn_one<P: Packet>(
        &mut self,
        testbed: &mut Testbed<P>,
        way: Direction,
        stage: usize,
    ) -> Result<(), Failure> {
        let io = testbed.worker.io();
        let (tables, fifo) = match way {
            Direction::Uplink => (&mut self.uplink, &mut io.uplink),
            Direction::Downlink => (&mut self.downlink, &mut io.downlink),
        };
        let from = (way, tables.outer_len, fifo);
        let (lines, fronts) = (tables.lines.as_mut_slice(), &tables.fronts[..]);
        let done = match tables.is_translated {
            false => turn::<P, false>(from, lines, fronts, stage),
            true => turn::<P, true>(from, lines, fronts, stage),
        };
        done.map(drop)
            .ok_or_else(|| "the limit does not know a session".to_owned())
    }
}

/// Takes up to `stage` packets from `io`, uplink ones with `outer_len` octets around the inner packet, and gives them
/// back done; None if one has no line among `lines`, a power of two. `fronts` are the headers to be written, by peer.
/// With `NAT` the UE has another address and port in the data network.
#[inline(never)]
fn turn<P: Packet, const NAT: bool>(
    (way, outer_len, io): (Direction, usize, &mut Fifo<P>),
    lines: &mut [LimitLine],
    fronts: &[[u8; 14 + OUTER_LEN]],
    stage: usize,
) -> Option<usize> {
    let up = way == Direction::Uplink;
    let (mut burst, mut keys, mask) = (Burst::new(), [0; BURST_MAX], lines.len() - 1);
    io.receive(&mut burst, stage);
    burst.iter().take(8).for_each(P::prefetch);
    for (i, packet) in burst.iter().enumerate() {
        burst.get(i + 8).into_iter().for_each(P::prefetch);
        let frame = packet.data().first_chunk::<{ TEID_AT + 4 }>()?;
        let is_ipv6 = frame[12..14] == [0x86, 0xdd] && !up;
        let is_ipv4 = frame[12..15] == [8, 0, 0x45];
        let known = is_ipv6 || is_ipv4 && (!up || frame[36..38] == [8, 104]);
        let at = match (up, is_ipv6) {
            (true, _) => TEID_AT,
            (false, false) => 30,
            (false, true) => 42,
        };
        let mut key = u32::from_be_bytes(*frame[at..].first_chunk()?);
        if NAT && !up {
            key = public::session_of(key, u16::from_be_bytes([frame[36], frame[37]]));
        }
        keys[i] = key * u32::from(known);
        prefetch::write(&lines[keys[i] as usize & mask]);
    }
    for (packet, key) in burst.iter_mut().zip(keys) {
        let line = &mut lines[key as usize & mask];
        let front = fronts.get(line.peer as usize).filter(|_| line.key == key)?;
        packet.pull_front(if up { outer_len } else { 0 }).ok()?;
        let len = packet.len() as u16 - 14;
        let inner = &mut packet.data_mut()[14..];
        let is_ipv6 = inner[0] >> 4 == 6;
        match is_ipv6 {
            false => decrement_ttl(inner.first_chunk_mut()?).ok()?,
            true => decrement_hop_limit(inner.first_chunk_mut()?).ok()?,
        }
        line.bytes += u64::from(len);
        line.packets += 1;
        if NAT {
            translate(inner, up, (line.address, line.port as u16))?;
        }
        if up {
            packet.data_mut()[..14].copy_from_slice(&front[..14]);
            if is_ipv6 {
                packet.data_mut()[12..14].copy_from_slice(&[0x86, 0xdd]);
            }
            continue;
        }
        packet.push_front(OUTER_LEN).ok()?;
        let out = packet.data_mut().first_chunk_mut::<{ 14 + OUTER_LEN }>()?;
        *out = *front;
        let old_len = u16::from_be_bytes([out[16], out[17]]);
        for (at, more) in [(16, 44), (38, 24), (44, 8)] {
            out[at..at + 2].copy_from_slice(&(len + more).to_be_bytes());
        }
        let sum = u16::from_be_bytes([out[24], out[25]]);
        out[24..26].copy_from_slice(&update_u16(sum, old_len, len + 44).to_be_bytes());
        out[TEID_AT..TEID_AT + 4].copy_from_slice(&line.teid.to_be_bytes());
    }
    Some(io.give_back(&mut burst))
}

/// Writes the UE's other address, and the port that has the place of its own in the other block.
#[inline(always)]
fn translate(inner: &mut [u8], up: bool, (address, first_port): (u32, u16)) -> Option<()> {
    let packet = inner.first_chunk_mut::<28>()?;
    let (address_at, port_at) = if up { (12, 20) } else { (16, 22) };
    let word = |packet: &[u8; 28], at: usize| u16::from_be_bytes([packet[at], packet[at + 1]]);
    let old_port = word(packet, port_at);
    let port = public::in_block(first_port, old_port);
    let old = u32::from_be_bytes(*packet[address_at..].first_chunk()?);
    let ip_sum = update_u32(word(packet, 10), old, address);
    let before = Sum::ZERO.add_u32(old).add_u16(old_port);
    let after = Sum::ZERO.add_u32(address).add_u16(port);
    let udp_sum = not_zero(update(word(packet, 26), before, after));
    packet[address_at..address_at + 4].copy_from_slice(&address.to_be_bytes());
    for (at, value) in [(10, ip_sum), (port_at, port), (26, udp_sum)] {
        packet[at..at + 2].copy_from_slice(&value.to_be_bytes());
    }
    Some(())
}
