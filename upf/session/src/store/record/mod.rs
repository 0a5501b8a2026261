//! Session records: usage, user and rules in as few octets as they take, one behind the other, so
//! that a session of the usual kind takes 128 octets.
//!
//! In order: usage, head (what follows, and how often), user, session sets, the UE's addresses, URRs, cells of the usage
//! record, inactivity timer, endpoints, IPv6 addresses of F-TEIDs, PDRs, FARs, QERs, BARs. URRs stand first because what their meters are is asked for before
//! all else; endpoints before the PDRs that name them.

mod decode;
mod encode;
mod octets;

use crate::limits::{BARS, ENDPOINTS, FARS, PDRS, QERS, SETS, SPARE_CELLS, URRS};
use crate::rules::{
    Endpoint, Families, Far, Given, Key, Pdr, Rules, UeAddresses, UeMatch, UeRoutes,
};
use crate::session_sets::{SetId, SetList};
use crate::store::head::User;
use core::net::Ipv4Addr;
use core::num::NonZeroU64;
use decode::{RuleDecoder, Tunnels};
use encode::RuleEncoder;
use octets::most;
use sluice_datapath::session::flow_filter::FilterRun;
use sluice_datapath::session::txn::Usage;

pub use octets::{Kinds, OctetReader, OctetWriter};

/// Octets of the usage at the start.
const USAGE_LEN: usize = 2 * (OCTETS_LEN + PACKETS_LEN);
/// Room for 72 PB of one direction, and for 281 trillion packets, as many as a million a second are in nine years.
const OCTETS_LEN: usize = 7;
const PACKETS_LEN: usize = 6;
const HEAD_LEN: usize = 7;
const DIGITS_LEN: usize = 8;
/// Timer and cell.
const INACTIVITY_LEN: usize = 8;

/// Octets of the longest record.
pub const RECORD_MAX: usize = USAGE_LEN
    + HEAD_LEN
    + 2 * DIGITS_LEN
    + 1
    + 2 * SETS
    + UE_MAX
    // One with a Monitoring Time counts as two, so it has the room of another one.
    + URRS * octets::URR_MAX
    + 1
    + 4 * SPARE_CELLS
    + INACTIVITY_LEN
    + ENDPOINTS * octets::ENDPOINT_MAX
    + octets::IPV6_TUNNELS_MAX
    + PDRS * octets::PDR_MAX
    + FARS * octets::FAR_MAX
    + QERS * octets::QER_MAX
    + 1
    + BARS * octets::BAR_MAX;

const _: () = assert!(octets::MONITORING_MAX <= octets::URR_MAX);
const _: () = assert!(RECORD_MAX <= super::span_alloc::RUN_MAX * super::span_alloc::GRANULE);
// Each count is one octet at the most.
const _: () = assert!(PDRS < 256 && FARS < 256 && QERS < 256 && URRS < 256 && ENDPOINTS < 256);

/// Writes a session's record and gives its length. Only the part behind the usage is written:
/// that counts on where it stands.
pub fn write(room: &mut [u8], user: &User, rules: &Rules, known: &TunnelIpv4) -> usize {
    let room = room.get_mut(USAGE_LEN..).unwrap_or_default();
    let pen = &mut OctetWriter::new(room);
    let kinds = Kinds::of(user, rules, known);
    pen.u16(kinds.bits());
    let counts = octets::counts(rules);
    if kinds.has(Kinds::FEW) {
        pen.low::<3>(counts.iter().fold(0, |all, count| all << 4 | *count as u64))
    } else {
        pen.put(counts.map(|count| count as u8))
    }
    user.write(kinds, pen);
    write_sets(kinds, &rules.sets, pen);
    let ue = RecordUe::of(rules);
    ue.write(pen);
    let mut writer = RuleEncoder::new(kinds, ue, rules);
    rules.urrs.iter().for_each(|urr| writer.urr(pen, urr));
    writer.cells(pen);
    rules.endpoints.iter().for_each(|e| writer.endpoint(pen, e));
    writer.tunnel_addresses(pen);
    rules.pdrs.iter().for_each(|pdr| writer.pdr(pen, pdr));
    rules.fars.iter().for_each(|far| writer.far(pen, far));
    rules.qers.iter().for_each(|qer| writer.qer(pen, qer));
    writer.bars(pen);
    USAGE_LEN + pen.len()
}

/// What IPv6 addresses of tunnels add at the most.
fn ipv6_octets(rules: &Rules) -> usize {
    let has_one = |far: &&Far| far.tunnel().is_some_and(|tunnel| tunnel.address.is_ipv6());
    let pdrs = if octets::has_ipv6_tunnels(rules) {
        octets::IPV6_TUNNELS_MAX + rules.pdrs.len() * octets::PDR_IPV6
    } else {
        0
    };
    pdrs + rules.fars.iter().filter(has_one).count() * octets::FAR_IPV6
}

/// What FARs that mark add.
fn marking_octets(rules: &Rules) -> usize {
    let marking = rules.fars.iter().filter(|far| far.marks());
    marking.count() * octets::FAR_MARKED
}

/// Octets that [`write()`] needs at the most.
pub fn len_at_most(rules: &Rules) -> usize {
    let chains: usize = rules.endpoints.iter().map(|e| 4 * e.blocks().count()).sum();
    let lists: usize = rules
        .pdrs
        .iter()
        .map(|p| 4 * (p.qers.len() + p.urrs.len()))
        .sum();
    USAGE_LEN
        + HEAD_LEN
        + 2 * DIGITS_LEN
        + 1
        + 2 * rules.sets.len()
        + UE_MAX
        + chains
        + lists
        + rules.urrs.len() * octets::URR_MAX
        + rules.urrs.iter().filter(|u| u.is_monitored()).count() * octets::MONITORING_MAX
        + 1
        + 4 * rules.spare_cells.len()
        + INACTIVITY_LEN
        + rules.endpoints.len() * octets::ENDPOINT_MIN
        + rules.pdrs.len() * octets::PDR_MIN
        + rules.fars.len() * octets::FAR_MIN
        + ipv6_octets(rules)
        + marking_octets(rules)
        + rules.qers.len() * octets::QER_MAX
        + 1
        + rules.bars.len() * octets::BAR_MAX
}

/// What stands before the rules.
struct RecordStart<'r> {
    kinds: Kinds,
    counts: [usize; 5],
    eye: OctetReader<'r>,
}

impl<'r> RecordStart<'r> {
    fn read(record: &'r [u8]) -> Self {
        let mut eye = OctetReader::new(record.get(USAGE_LEN..).unwrap_or_default());
        let kinds = Kinds::from_bits(eye.u16());
        let [urrs, endpoints, pdrs, fars, qers] = if kinds.has(Kinds::FEW) {
            let all = eye.low::<3>() as usize;
            [16, 12, 8, 4, 0].map(|at| all >> at & 15)
        } else {
            eye.get::<5>().map(usize::from)
        };
        let counts = [
            urrs.min(URRS),
            endpoints.min(ENDPOINTS),
            pdrs.min(PDRS),
            fars.min(FARS),
            qers.min(QERS),
        ];
        Self { kinds, counts, eye }
    }
}

/// Writes what stands in a record from its FARs on, and gives its length; `None` if a FAR has a field that is too
/// wide for how the record is written. All before depends on other rules alone.
pub fn write_fars(room: &mut [u8], record: &[u8], rules: &Rules) -> Option<usize> {
    let RecordStart { kinds, .. } = RecordStart::read(record);
    if !kinds.holds(rules) {
        return None;
    }
    let pen = &mut OctetWriter::new(room);
    let ue = RecordUe::of(rules);
    let writer = RuleEncoder::new(kinds, ue, rules);
    rules.fars.iter().for_each(|far| writer.far(pen, far));
    rules.qers.iter().for_each(|qer| writer.qer(pen, qer));
    writer.bars(pen);
    Some(pen.len())
}

/// Reads all rules. Gives the place where the FARs begin.
pub fn read(record: &[u8], rules: &mut Rules, known: &TunnelIpv4) -> usize {
    rules.clear();
    let RecordStart {
        kinds,
        counts: [urrs, endpoints, pdrs, fars, qers],
        mut eye,
    } = RecordStart::read(record);
    let eye = &mut eye;
    User::pass(kinds, eye);
    rules.sets.extend(read_sets(kinds, eye));
    let ue = RecordUe::read(kinds, eye);
    rules.ue = ue.addresses;
    rules.routes = ue.routes;
    let reader = RuleDecoder { kinds, ue };
    rules.urrs.extend((0..urrs).map(|_| reader.urr(eye)));
    (rules.spare_cells, rules.inactivity) = reader.cells(eye);
    rules
        .endpoints
        .extend((0..endpoints).map(|_| reader.endpoint(eye)));
    let addresses = reader.tunnel_addresses(eye);
    for _ in 0..pdrs {
        let tunnels = Tunnels {
            endpoints: &rules.endpoints,
            ipv6: &addresses,
            ipv4: known,
        };
        let pdr = reader.pdr(eye, &tunnels, rules.pdrs.last());
        rules.pdrs.push(pdr);
    }
    let fars_at = record.len() - eye.left();
    rules.fars.extend((0..fars).map(|_| reader.far(eye)));
    rules.qers.extend((0..qers).map(|_| reader.qer(eye)));
    rules.bars.extend(reader.bars(eye));
    fars_at
}

/// Reads the user.
pub fn read_user(record: &[u8]) -> User {
    let mut front = RecordStart::read(record);
    User::read(front.kinds, &mut front.eye)
}

/// The UE's addresses, and the endpoints.
pub fn endpoints(record: &[u8]) -> (UeAddresses, impl Iterator<Item = Endpoint>) {
    let RecordStart {
        kinds,
        counts: [urrs, endpoints, ..],
        mut eye,
    } = RecordStart::read(record);
    User::pass(kinds, &mut eye);
    read_sets(kinds, &mut eye).for_each(drop);
    let ue = RecordUe::read(kinds, &mut eye);
    let reader = RuleDecoder { kinds, ue };
    (0..urrs).for_each(|_| {
        reader.urr(&mut eye);
    });
    reader.cells(&mut eye);
    let endpoints = (0..endpoints).map(move |_| reader.endpoint(&mut eye));
    (ue.addresses, endpoints)
}

/// The meters of the URRs.
pub fn meters(record: &[u8]) -> impl Iterator<Item = u32> {
    let RecordStart {
        kinds,
        counts: [urrs, ..],
        mut eye,
    } = RecordStart::read(record);
    User::pass(kinds, &mut eye);
    read_sets(kinds, &mut eye).for_each(drop);
    let ue = RecordUe::read(kinds, &mut eye);
    let reader = RuleDecoder { kinds, ue };
    (0..urrs).map(move |_| reader.urr(&mut eye).meter)
}

/// The session sets.
pub fn sets(record: &[u8]) -> impl Iterator<Item = SetId> {
    let RecordStart { kinds, mut eye, .. } = RecordStart::read(record);
    User::pass(kinds, &mut eye);
    let sets: SetList = read_sets(kinds, &mut eye).collect();
    sets.into_iter()
}

fn write_sets(kinds: Kinds, sets: &SetList, pen: &mut OctetWriter<'_>) {
    if kinds.has(Kinds::SETS) {
        pen.u8(sets.len() as u8);
        sets.iter().for_each(|set| pen.u16(set.0));
    }
}

fn read_sets(kinds: Kinds, eye: &mut OctetReader<'_>) -> impl Iterator<Item = SetId> {
    let len = if kinds.has(Kinds::SETS) {
        usize::from(eye.u8()).min(SETS)
    } else {
        0
    };
    (0..len).map(|_| SetId(eye.u16()))
}

/// Uplink and downlink usage.
pub fn usage(record: &[u8]) -> [Usage; 2] {
    let mut eye = OctetReader::new(record);
    [(); 2].map(|()| Usage {
        bytes: eye.low::<OCTETS_LEN>(),
        packets: eye.low::<PACKETS_LEN>(),
    })
}

/// Sets uplink and downlink usage; what is more than there is room for counts as the most that there is.
pub fn set_usage(record: &mut [u8], usage: [Usage; 2]) {
    let mut pen = OctetWriter::new(record);
    for Usage { bytes, packets } in usage {
        pen.low::<OCTETS_LEN>(bytes.min(most::<OCTETS_LEN>()));
        pen.low::<PACKETS_LEN>(packets.min(most::<PACKETS_LEN>()));
    }
}

/// Octets at the most.
pub const UE_MAX: usize = 4 + 8 + 1 + 2 + 5;

/// The addresses, and the network instance of the first entry for them.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct RecordUe {
    pub addresses: UeAddresses,
    pub routes: UeRoutes,
    pub instance: u8,
}

impl RecordUe {
    /// Of a session.
    pub fn of(rules: &Rules) -> Self {
        let mut keys = rules.endpoints.iter().map(|e| e.key);
        let instance = keys.find_map(|key| match key {
            Key::Ue { instance } => Some(instance),
            _ => None,
        });
        let addresses = rules.ue;
        let instance = instance.filter(|_| !addresses.families().is_none());
        Self {
            addresses,
            routes: rules.routes,
            instance: instance.unwrap_or(0),
        }
    }

    pub fn write(&self, pen: &mut OctetWriter<'_>) {
        let UeAddresses {
            ipv4,
            prefix,
            given,
        } = self.addresses;
        if let Some(address) = ipv4 {
            pen.u32(address.into());
        }
        if let Some(prefix) = prefix {
            pen.u64(prefix.get());
        }
        if ipv4.is_some() || prefix.is_some() {
            pen.u8(self.instance);
        }
        if given != Given::default() {
            pen.u8(given.families.bits());
            pen.u8(given.instance);
        }
        if self.routes != UeRoutes::default() {
            pen.u8(self.routes.families.bits());
            pen.u32(self.routes.run.bits());
        }
    }

    pub fn read(kinds: Kinds, eye: &mut OctetReader<'_>) -> Self {
        let (has_ipv4, has_prefix) = (kinds.has(Kinds::UE_IPV4), kinds.has(Kinds::UE_PREFIX));
        let mut addresses = UeAddresses {
            ipv4: has_ipv4.then(|| Ipv4Addr::from(eye.u32())),
            prefix: if has_prefix {
                NonZeroU64::new(eye.u64())
            } else {
                None
            },
            given: Given::default(),
        };
        let instance = if has_ipv4 || has_prefix { eye.u8() } else { 0 };
        if kinds.has(Kinds::GIVEN) {
            addresses.given.families = Families::from_bits(eye.u8());
            addresses.given.instance = eye.u8();
        }
        let mut routes = UeRoutes::default();
        if kinds.has(Kinds::ROUTES) {
            routes.families = Families::from_bits(eye.u8());
            routes.run = FilterRun::from_bits(eye.u32());
        }
        Self {
            addresses,
            routes,
            instance,
        }
    }

    /// What a PDR says of the UE that says the usual: all of the addresses, and where they are looked up.
    pub fn usual(&self, has_tunnel: bool) -> UeMatch {
        UeMatch {
            families: self.addresses.families(),
            instance: if has_tunnel { 0 } else { self.instance },
        }
    }

    /// What it says if that is something else.
    pub fn unusual(&self, pdr: &Pdr) -> Option<UeMatch> {
        pdr.ue.filter(|ue| *ue != self.usual(pdr.tunnel.is_some()))
    }
}

/// The IPv4 addresses of our tunnel endpoints by their numbers on the path, as sessions told them first. A few stand
/// here once, and not in each record.
#[derive(Clone, Debug)]
pub struct TunnelIpv4(Box<[Option<Ipv4Addr>; 256]>);

impl Default for TunnelIpv4 {
    fn default() -> Self {
        Self(Box::new([None; 256]))
    }
}

impl TunnelIpv4 {
    /// That of an endpoint.
    pub fn get(&self, local: u8) -> Option<Ipv4Addr> {
        self.0[usize::from(local)]
    }

    /// Learns the addresses of endpoints that have told none yet.
    pub fn learn(&mut self, rules: &Rules) {
        for tunnel in rules.pdrs.iter().filter_map(|pdr| pdr.tunnel) {
            let known = &mut self.0[usize::from(tunnel.local)];
            *known = known.or(tunnel.addresses.ipv4);
        }
    }

    /// True if all F-TEIDs with an IPv4 address have the one that is known of their endpoint.
    pub fn has_all(&self, rules: &Rules) -> bool {
        let mut tunnels = rules.pdrs.iter().filter_map(|pdr| pdr.tunnel);
        tunnels.all(|tunnel| {
            let ipv4 = tunnel.addresses.ipv4;
            ipv4.is_none() || ipv4 == self.get(tunnel.local)
        })
    }
}

#[cfg(test)]
mod tests;
