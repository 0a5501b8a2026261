//! Session records: usage, user and rules in as few octets as they take, one behind the other, so
//! that a session of the usual kind takes 128 octets.
//!
//! In order: usage, head (what follows, and how often), user, session sets, the UE's addresses, URRs, cells of the usage
//! record, inactivity timer, endpoints, IPv6 addresses of F-TEIDs, PDRs, FARs, QERs, BARs. URRs stand first because what their meters are is asked for before
//! all else; endpoints before the PDRs that name them.

mod decode;
mod encode;
mod form;
mod kinds;
mod octets;
mod ue;

use crate::limits::{BARS, ENDPOINTS, FARS, PDRS, QERS, SETS, SPARE_CELLS, URRS};
use crate::rules::{Endpoint, Far, Rules, UeAddresses};
use crate::session_sets::{SetId, SetList};
use crate::store::user::User;
use decode::{RuleDecoder, Tunnels};
use encode::RuleEncoder;
pub use kinds::Kinds;
use octets::most;
pub use octets::{OctetReader, OctetWriter};
use sluice_datapath::session::txn::Usage;
pub use ue::TunnelIpv4;
use ue::{RecordUe, UE_MAX};

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
    + URRS * form::URR_MAX
    + 1
    + 4 * SPARE_CELLS
    + INACTIVITY_LEN
    + ENDPOINTS * form::ENDPOINT_MAX
    + form::IPV6_TUNNELS_MAX
    + PDRS * form::PDR_MAX
    + FARS * form::FAR_MAX
    + QERS * form::QER_MAX
    + 1
    + BARS * form::BAR_MAX;

const _: () = assert!(form::MONITORING_MAX <= form::URR_MAX);
const _: () = assert!(RECORD_MAX <= super::span_alloc::RUN_MAX * super::granules::GRANULE);
// Each count is one octet at the most.
const _: () = assert!(PDRS < 256 && FARS < 256 && QERS < 256 && URRS < 256 && ENDPOINTS < 256);

/// Writes a session's record and gives its length. Only the part behind the usage is written:
/// that counts on where it stands.
pub fn write(room: &mut [u8], user: &User, rules: &Rules, known: &TunnelIpv4) -> usize {
    let room = room.get_mut(USAGE_LEN..).unwrap_or_default();
    let pen = &mut OctetWriter::new(room);
    let kinds = Kinds::of(user, rules, known);
    pen.u16(kinds.bits());
    let counts = kinds::counts(rules);
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
    let pdrs = if kinds::has_ipv6_tunnels(rules) {
        form::IPV6_TUNNELS_MAX + rules.pdrs.len() * form::PDR_IPV6
    } else {
        0
    };
    pdrs + rules.fars.iter().filter(has_one).count() * form::FAR_IPV6
}

/// What FARs that mark add.
fn marking_octets(rules: &Rules) -> usize {
    let marking = rules.fars.iter().filter(|far| far.marks());
    marking.count() * form::FAR_MARKED
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
        + rules.urrs.len() * form::URR_MAX
        + rules.urrs.iter().filter(|u| u.is_monitored()).count() * form::MONITORING_MAX
        + 1
        + 4 * rules.spare_cells.len()
        + INACTIVITY_LEN
        + rules.endpoints.len() * form::ENDPOINT_MIN
        + rules.pdrs.len() * form::PDR_MIN
        + rules.fars.len() * form::FAR_MIN
        + ipv6_octets(rules)
        + marking_octets(rules)
        + rules.qers.len() * form::QER_MAX
        + 1
        + rules.bars.len() * form::BAR_MAX
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

#[cfg(test)]
mod tests;
