//! Session records: usage, user and rules in as few octets as they take, one behind the other, so
//! that a session of the usual kind takes 128 octets.
//!
//! In order: usage, head (what follows, and how often), user, session sets, the UE's addresses, URRs, cells of the usage
//! record, inactivity timer, endpoints, IPv6 addresses of F-TEIDs, PDRs, FARs, QERs, BARs. URRs stand first because what their meters are is asked for before
//! all else; endpoints before the PDRs that name them.

use crate::limits::{
    BARS, ENDPOINTS, FARS, PDRS, QERS, SETS, SPARE_CELLS, TUNNEL_IPV6_ADDRESSES, URRS,
};
use crate::rules::octets::{Kinds, OctetReader, OctetWriter, bit8, most};
use crate::rules::{
    BAR_MAX, Bar, ENDPOINT_MAX, ENDPOINT_MIN, Endpoint, FAR_IPV6, FAR_MARKED, FAR_MAX, FAR_MIN,
    Far, Given, IPV6_TUNNELS_MAX, Inactivity, MONITORING_MAX, PDR_IPV6, PDR_MAX, PDR_MIN, Pdr,
    PdrForm, QER_MAX, Qer, RecordUe, Rules, TunnelIpv4, TunnelIpv6, UE_MAX, URR_MAX, UeAddresses,
    UeRoutes, Urr,
};
use crate::session_sets::{SetId, SetList};
use crate::store::head::User;
use arrayvec::ArrayVec;
use sluice_datapath::session::txn::Usage;

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
    + URRS * URR_MAX
    + 1
    + 4 * SPARE_CELLS
    + INACTIVITY_LEN
    + ENDPOINTS * ENDPOINT_MAX
    + IPV6_TUNNELS_MAX
    + PDRS * PDR_MAX
    + FARS * FAR_MAX
    + QERS * QER_MAX
    + 1
    + BARS * BAR_MAX;

const _: () = assert!(MONITORING_MAX <= URR_MAX);
const _: () = assert!(RECORD_MAX <= super::span_alloc::RUN_MAX * super::span_alloc::GRANULE);
// Each count is one octet at the most.
const _: () = assert!(PDRS < 256 && FARS < 256 && QERS < 256 && URRS < 256 && ENDPOINTS < 256);

/// Writes a session's record and gives its length. Only the part behind the usage is written:
/// that counts on where it stands.
pub fn write(room: &mut [u8], user: &User, rules: &Rules, known: &TunnelIpv4) -> usize {
    let room = room.get_mut(USAGE_LEN..).unwrap_or_default();
    let pen = &mut OctetWriter::new(room);
    let kinds = kinds_of(user, rules, known);
    pen.u16(kinds.bits());
    let counts = counts(rules);
    if kinds.has(Kinds::FEW) {
        pen.low::<3>(counts.iter().fold(0, |all, count| all << 4 | *count as u64))
    } else {
        pen.put(counts.map(|count| count as u8))
    }
    user.write(kinds, pen);
    write_sets(kinds, &rules.sets, pen);
    let ue = RecordUe::of(rules.ue, rules.routes, &rules.endpoints);
    ue.write(pen);
    rules.urrs.iter().for_each(|urr| urr.write(kinds, pen));
    write_cells(kinds, rules, pen);
    let endpoints = &rules.endpoints;
    endpoints.iter().for_each(|e| e.write(ue.instance, pen));
    let ipv6 = write_tunnel_addresses(kinds, rules, pen);
    let form = PdrForm {
        kinds,
        ue,
        endpoints,
        ipv6: &ipv6,
        ipv4: known,
    };
    let mut before = None;
    for pdr in &rules.pdrs {
        pdr.write(&form, before.replace(pdr), pen);
    }
    write_behind_pdrs(kinds, rules, pen);
    USAGE_LEN + pen.len()
}

/// What IPv6 addresses of tunnels add at the most.
fn ipv6_octets(rules: &Rules) -> usize {
    let has_one = |far: &&Far| far.tunnel().is_some_and(|tunnel| tunnel.address.is_ipv6());
    let pdrs = if has_ipv6_tunnels(rules) {
        IPV6_TUNNELS_MAX + rules.pdrs.len() * PDR_IPV6
    } else {
        0
    };
    pdrs + rules.fars.iter().filter(has_one).count() * FAR_IPV6
}

/// What FARs that mark add.
fn marking_octets(rules: &Rules) -> usize {
    let marking = rules.fars.iter().filter(|far| far.marks());
    marking.count() * FAR_MARKED
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
        + rules.urrs.len() * URR_MAX
        + rules.urrs.iter().filter(|u| u.is_monitored()).count() * MONITORING_MAX
        + 1
        + 4 * rules.spare_cells.len()
        + INACTIVITY_LEN
        + rules.endpoints.len() * ENDPOINT_MIN
        + rules.pdrs.len() * PDR_MIN
        + rules.fars.len() * FAR_MIN
        + ipv6_octets(rules)
        + marking_octets(rules)
        + rules.qers.len() * QER_MAX
        + 1
        + rules.bars.len() * BAR_MAX
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
    if !holds(kinds, rules) {
        return None;
    }
    let pen = &mut OctetWriter::new(room);
    write_behind_pdrs(kinds, rules, pen);
    Some(pen.len())
}

fn write_behind_pdrs(kinds: Kinds, rules: &Rules, pen: &mut OctetWriter<'_>) {
    rules.fars.iter().for_each(|far| far.write(kinds, pen));
    rules.qers.iter().for_each(|qer| qer.write(kinds, pen));
    if kinds.has(Kinds::BARS) {
        pen.u8(rules.bars.len() as u8);
        rules.bars.iter().for_each(|bar| bar.write(pen));
    }
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
    rules.urrs.extend((0..urrs).map(|_| Urr::read(kinds, eye)));
    (rules.spare_cells, rules.inactivity) = read_cells(kinds, eye);
    let own = ue.instance;
    let all = (0..endpoints).map(|_| Endpoint::read(own, eye));
    rules.endpoints.extend(all);
    let form = PdrForm {
        kinds,
        ue,
        endpoints: &rules.endpoints,
        ipv6: &read_tunnel_addresses(kinds, eye),
        ipv4: known,
    };
    for _ in 0..pdrs {
        let pdr = Pdr::read(&form, rules.pdrs.last(), eye);
        rules.pdrs.push(pdr);
    }
    let fars_at = record.len() - eye.left();
    rules.fars.extend((0..fars).map(|_| Far::read(kinds, eye)));
    rules.qers.extend((0..qers).map(|_| Qer::read(kinds, eye)));
    if kinds.has(Kinds::BARS) {
        let bars = usize::from(eye.u8()).min(BARS);
        rules.bars.extend((0..bars).map(|_| Bar::read(eye)));
    }
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
    (0..urrs).for_each(|_| {
        Urr::read(kinds, &mut eye);
    });
    read_cells(kinds, &mut eye);
    let endpoints = (0..endpoints).map(move |_| Endpoint::read(ue.instance, &mut eye));
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
    RecordUe::read(kinds, &mut eye);
    (0..urrs).map(move |_| Urr::read(kinds, &mut eye).meter)
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

/// The parts of a session's record.
fn kinds_of(user: &User, rules: &Rules, known: &TunnelIpv4) -> Kinds {
    [
        (Kinds::FEW, counts(rules).iter().all(|count| *count < 16)),
        (Kinds::KNOWN_TUNNELS, known.has_all(rules)),
        (Kinds::IMSI, !user.imsi.is_empty()),
        (Kinds::MSISDN, !user.msisdn.is_empty()),
        (Kinds::WIDE, is_wide(rules)),
        (Kinds::NARROW, is_narrow(rules)),
        (Kinds::SETS, !rules.sets.is_empty()),
        (Kinds::IPV6_TUNNELS, has_ipv6_tunnels(rules)),
        (Kinds::BARS, !rules.bars.is_empty()),
        (Kinds::UE_IPV4, rules.ue.ipv4.is_some()),
        (Kinds::UE_PREFIX, rules.ue.prefix.is_some()),
        (Kinds::ROUTES, rules.routes != UeRoutes::default()),
        (Kinds::GIVEN, rules.ue.given != Given::default()),
        (
            Kinds::CELLS,
            !rules.spare_cells.is_empty() || rules.inactivity.is_some(),
        ),
    ]
    .into_iter()
    .fold(Kinds::from_bits(0), |all, (part, on)| all.with_if(part, on))
}

/// True if these rules can be written as a record of this kind has them: no field of theirs is too wide.
fn holds(kinds: Kinds, rules: &Rules) -> bool {
    let is_wide_enough = kinds.has(Kinds::WIDE) || !is_wide(rules);
    is_wide_enough && (!kinds.has(Kinds::NARROW) || is_narrow(rules))
}

/// True if some F-TEID of ours has an IPv6 address.
fn has_ipv6_tunnels(rules: &Rules) -> bool {
    let mut tunnels = rules.pdrs.iter().filter_map(|pdr| pdr.tunnel);
    tunnels.any(|tunnel| tunnel.addresses.ipv6.is_some())
}

/// True if some identifier or precedence needs more than 16 bits.
fn is_wide(rules: &Rules) -> bool {
    let pdrs = rules.pdrs.iter().map(|pdr| {
        let names = pdr.qers.as_slice().iter().chain(pdr.urrs.as_slice());
        names.fold(pdr.precedence | pdr.far.0, |sum, id| sum | id)
    });
    let fars = rules.fars.iter().map(|far| far.id.0);
    let qers = rules.qers.iter().map(|qer| qer.id.0);
    let urrs = rules.urrs.iter().map(|urr| urr.id.0);
    let all = pdrs.chain(fars).chain(qers).chain(urrs);
    all.fold(0, |sum, id| sum | id) > u32::from(u16::MAX)
}

/// How many of each kind of rule there are: URRs, endpoints, PDRs, FARs, QERs.
fn counts(rules: &Rules) -> [usize; 5] {
    [
        rules.urrs.len(),
        rules.endpoints.len(),
        rules.pdrs.len(),
        rules.fars.len(),
        rules.qers.len(),
    ]
}

/// True if one octet is enough for all that [`Kinds::NARROW`] names.
fn is_narrow(rules: &Rules) -> bool {
    let pdrs = rules.pdrs.iter().map(|pdr| {
        let names = pdr.qers.as_slice().iter().chain(pdr.urrs.as_slice());
        let own = u32::from(pdr.id.0 | pdr.instance.number()) | pdr.far.0;
        names.fold(own, |sum, id| sum | id)
    });
    let fars = rules.fars.iter().map(|far| {
        let instance = far.forwarding.map_or(0, |f| f.instance.number());
        let egress = far.egress.map_or(0, |egress| egress.0);
        u32::from(far.flags | instance | egress) | far.id.0
    });
    let qers = rules.qers.iter().map(|qer| qer.id.0);
    let urrs = rules.urrs.iter().map(|urr| urr.id.0);
    let all = pdrs.chain(fars).chain(qers).chain(urrs);
    let fits = all.fold(0, |sum, field| sum | field) <= u32::from(u8::MAX);
    fits && rules.urrs.iter().all(|urr| urr.measures().is_some())
}

/// Bit of the number of cells for rules alone: the session's timer and its cell follow.
const CELLS_TIMER: u8 = 1 << 7;
const _: () = assert!(SPARE_CELLS < CELLS_TIMER as usize);

fn write_cells(kinds: Kinds, rules: &Rules, pen: &mut OctetWriter<'_>) {
    if kinds.has(Kinds::CELLS) {
        let timer = bit8(CELLS_TIMER, rules.inactivity.is_some());
        pen.u8(rules.spare_cells.len() as u8 | timer);
        rules.spare_cells.iter().for_each(|cell| pen.u32(*cell));
        if let Some(inactivity) = rules.inactivity {
            pen.u32(inactivity.timer_s);
            pen.u32(inactivity.cell);
        }
    }
}

/// Cells for rules alone, and that of the session with its timer.
fn read_cells(
    kinds: Kinds,
    eye: &mut OctetReader<'_>,
) -> (ArrayVec<u32, SPARE_CELLS>, Option<Inactivity>) {
    let bits = if kinds.has(Kinds::CELLS) { eye.u8() } else { 0 };
    let len = usize::from(bits & !CELLS_TIMER).min(SPARE_CELLS);
    let cells = (0..len).map(|_| eye.u32()).collect();
    let has_timer = bits & CELLS_TIMER != 0;
    let inactivity = has_timer.then(|| Inactivity::standing(eye.u32(), eye.u32()));
    (cells, inactivity)
}

/// The IPv6 addresses of F-TEIDs, if there are any.
fn write_tunnel_addresses(kinds: Kinds, rules: &Rules, pen: &mut OctetWriter<'_>) -> TunnelIpv6 {
    if !kinds.has(Kinds::IPV6_TUNNELS) {
        return TunnelIpv6::new();
    }
    let all = rules.tunnel_ipv6_addresses();
    pen.u8(all.len() as u8);
    all.iter().for_each(|address| pen.u128((*address).into()));
    all
}

fn read_tunnel_addresses(kinds: Kinds, eye: &mut OctetReader<'_>) -> TunnelIpv6 {
    let len = if kinds.has(Kinds::IPV6_TUNNELS) {
        usize::from(eye.u8()).min(TUNNEL_IPV6_ADDRESSES)
    } else {
        0
    };
    (0..len).map(|_| eye.u128().into()).collect()
}

#[cfg(test)]
mod tests;
