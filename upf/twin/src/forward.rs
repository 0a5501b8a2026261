//! Forwarding: QERs, the FAR, and the frame that leaves.

use crate::config::{Link, Nat, Shaping, Side, TwinConfig};
use crate::fragment::fragment;
use crate::ip::Packet;
use crate::ipv4;
use crate::mss;
use crate::nat::Nats;
use crate::outcome::{Drop, IcmpCause, Notice, Outcome, Sender, Sent};
use crate::outer;
use crate::pdr_detection::Detected;
use crate::rules::{Far, Forwarding, Pdr, Qer, Remote, Session};
use crate::shaping::Before;
use sluice_wire::pfcp::value::Gate;
use std::net::{IpAddr, Ipv4Addr};

const G_PDU: u8 = 255;
const END_MARKER: u8 = 254;

/// Everything that happens to a packet once its PDR is known. It may leave in pieces.
pub fn forward(
    config: &TwinConfig,
    session: &mut Session,
    detected: &Detected<'_>,
    draw: Draw,
    translation: &mut Translation<'_>,
) -> Vec<Outcome> {
    match decide(config, session, detected, draw, translation) {
        Ok(outcomes) => outcomes,
        Err((drop, notice)) => vec![Outcome::Dropped(drop, notice)],
    }
}

/// Where packets to a data network get other addresses, and those that come back from there.
pub struct Translation<'a> {
    pub nats: &'a mut Nats,
    /// The link that they come back by, and the packet.
    pub turned: &'a mut Vec<(usize, Vec<u8>)>,
}

impl Translation<'_> {
    /// The packet as it leaves.
    fn of(
        &mut self,
        nat: Option<(usize, &Nat)>,
        session: u64,
        packet: Vec<u8>,
        now_ns: u64,
    ) -> Result<Vec<u8>, End> {
        let Some((nat, _)) = nat else {
            return Ok(packet);
        };
        let translated = self.nats.leaves(now_ns, nat, session, &packet);
        translated.map_err(|why| (why, None))
    }
}

type End = (Drop, Option<Notice>);

/// When a packet comes to its rates, and what is before it; nothing if it has paid.
#[derive(Clone, Copy)]
pub struct Draw {
    pub now_ns: u64,
    pub before: Option<Before>,
}

fn decide(
    config: &TwinConfig,
    session: &mut Session,
    detected: &Detected<'_>,
    draw: Draw,
    translation: &mut Translation<'_>,
) -> Result<Vec<Outcome>, End> {
    let pdr = session.matched(detected.pdr, &detected.packet);
    let uplink = session.is_uplink(&pdr);
    let packet = detected.packet.bytes();
    let dst = detected.packet.destination();
    if let Some(outcome) = stops(config, session, detected, (&pdr, uplink), draw)? {
        return Ok(vec![outcome]);
    }
    let to = destination(&session.fars[&pdr.far])?.clone();
    let now_ns = draw.now_ns;
    let nat = translated(config, &to, dst);
    let whose = (&pdr, uplink);
    if turns_back(config, session, whose, detected, now_ns, (nat, translation))? {
        return Ok(Vec::new());
    }
    if is_own(config, &to, dst) {
        count(session, &pdr, uplink, packet.len());
        return Ok(vec![Outcome::Arrived(packet.to_vec())]);
    }
    let relayed = detected.tunnelled && to.tunnel.is_some();
    let inner = match relayed {
        true => packet.to_vec(),
        false if detected.packet.hops() <= 1 => {
            let sender = sender(config, detected, &to);
            let notice = Notice::Icmp(IcmpCause::TtlExceeded, packet.to_vec(), sender);
            return Err((Drop::TtlExceeded, Some(notice)));
        }
        false => detected.packet.with_one_hop_less(),
    };
    let way = way_out(config, &to, dst)?;
    let extensions = extension_headers(session, &pdr, uplink, relayed, detected);
    let overhead = to.tunnel.map_or(0, |t| {
        outer::header(way.local, t, (G_PDU, 0), &extensions, 0).len()
    });
    let fits = way.link.mtu_bytes - overhead as u16;
    if inner.len() > usize::from(fits) && !detected.packet.may_be_cut() {
        let sender = sender(config, detected, &to);
        let notice = Notice::Icmp(IcmpCause::TooBig(fits), inner, sender);
        return Err((Drop::TooBig, Some(notice)));
    }
    let inner = translation.of(nat, detected.session, inner, now_ns)?;
    let (inner, is_clamped) = clamp(config, detected, way.link, inner);
    let pieces = pieces(&inner, fits)?;
    let mac = way.link.mac_of(way.station);
    if mac.is_some() {
        count(session, &pdr, uplink, packet.len());
    }
    let dscp = marked(&to, dscp(config, session, &pdr));
    let tos = dscp << 2 | detected.packet.traffic_class() & 3;
    let mut outcomes = Vec::new();
    for piece in pieces {
        let Some(mac) = mac else {
            outcomes.push(Outcome::Held);
            continue;
        };
        let header = |to| outer::header(way.local, to, (G_PDU, tos), &extensions, piece.len());
        let headers = to.tunnel.map(header).unwrap_or_default();
        let kind = ether_type(&to, &detected.packet);
        outcomes.push(Outcome::Sent(Sent {
            port: way.link.port,
            source_port_at: to
                .tunnel
                .map(|remote| outer::source_port_at(way.link, remote)),
            has_checksum: to.tunnel.is_some_and(|remote| remote.address.is_ipv6()),
            frame: frame(way.link, mac, kind, &[&headers[..], &piece].concat()),
            flow: detected.packet.flow(),
            stream: (detected.session, pdr.source == Side::Access),
            is_clamped,
        }));
    }
    Ok(outcomes)
}

/// The packet, and true if it was a SYN that offered more than the links allow by which it comes and leaves.
fn clamp(config: &TwinConfig, came: &Detected<'_>, to: &Link, packet: Vec<u8>) -> (Vec<u8>, bool) {
    let links = [&config.links[came.link], to];
    let lowest = links.into_iter().filter_map(|link| link.clamp_bytes).min();
    match lowest.and_then(|bytes| mss::clamped(&packet, bytes)) {
        Some(clamped) => (clamped, true),
        None => (packet, false),
    }
}

/// What becomes of a packet that does not go on now, by its link, gates, FAR, quotas and rates.
fn stops(
    config: &TwinConfig,
    session: &mut Session,
    detected: &Detected<'_>,
    (pdr, uplink): (&Pdr, bool),
    draw: Draw,
) -> Result<Option<Outcome>, End> {
    if let Some(outcome) = stays_on_the_link(session, pdr, detected) {
        return Ok(Some(outcome));
    }
    let bytes = detected.packet.bytes().len();
    if let Err(end) = gates(config, session, pdr, uplink) {
        session.count_dropped(pdr, uplink, bytes);
        return Err(end);
    }
    if session.fars[&pdr.far].buffers {
        return Ok(Some(Outcome::Buffered));
    }
    if let Err(end) = destination(&session.fars[&pdr.far]) {
        if end.0 == Drop::FarDrop {
            session.lose(pdr, bytes);
        }
        return Err(end);
    }
    quotas(session, pdr, uplink)?;
    match waits(config, session, (pdr, uplink), bytes, draw) {
        Ok(until_ns) => Ok(until_ns.map(Outcome::Shaped)),
        Err(end) => {
            session.count_dropped(pdr, uplink, bytes);
            Err(end)
        }
    }
}

/// True if a packet comes to a FAR that buffers.
pub fn holds(config: &TwinConfig, session: &Session, detected: &Detected<'_>) -> bool {
    let pdr = &session.matched(detected.pdr, &detected.packet);
    let stays = stays_on_the_link(session, pdr, detected).is_some();
    let passes = gates(config, session, pdr, session.is_uplink(pdr)).is_ok();
    !stays && passes && session.fars[&pdr.far].buffers
}

/// A packet of a UE to a public address is translated and comes in again; then this is true.
fn turns_back(
    config: &TwinConfig,
    session: &mut Session,
    (pdr, uplink): (&Pdr, bool),
    detected: &Detected<'_>,
    now_ns: u64,
    (nat, translation): (Option<(usize, &Nat)>, &mut Translation<'_>),
) -> Result<bool, End> {
    let (Some((at, of)), IpAddr::V4(public)) = (nat, detected.packet.destination()) else {
        return Ok(false);
    };
    if !of.addresses.contains(&public) {
        return Ok(false);
    }
    if !of.hairpins {
        return Err((Drop::NatHairpin, None));
    }
    if detected.packet.hops() <= 1 {
        let about = detected.packet.bytes().to_vec();
        let sender = Sender::Ue(of.place.instance.clone());
        let notice = Notice::Icmp(IcmpCause::TtlExceeded, about, sender);
        return Err((Drop::TtlExceeded, Some(notice)));
    }
    let turned = detected.packet.with_one_hop_less();
    let turned = translation.of(nat, detected.session, turned, now_ns)?;
    if ipv4::read(&turned).is_ok_and(|p| p.header.is_fragmenting_payload()) {
        return Err((Drop::NatFragment, None));
    }
    let held = translation.nats.holder(at, &turned);
    held.map_err(|why| (why, None))?;
    count(session, pdr, uplink, turned.len());
    let mut links = config.links.iter();
    let link = links.position(|l| l.plain.as_ref() == Some(&of.place));
    translation.turned.push((link.unwrap_or_default(), turned));
    Ok(true)
}

/// The sender of a packet that goes to `to`.
fn sender(config: &TwinConfig, detected: &Detected<'_>, to: &Forwarding) -> Sender {
    if !detected.tunnelled {
        return came_from(&config.links[detected.link]);
    }
    let plain = || config.data_network(to.side, to.instance.as_deref());
    match to.tunnel {
        Some(_) => Sender::Relayed,
        None => plain().map_or(Sender::Relayed, |place| Sender::Ue(place.instance.clone())),
    }
}

/// The sender of a packet that came by a link without a tunnel.
pub fn came_from(link: &Link) -> Sender {
    let place = link.plain.as_ref();
    Sender::DataNetwork(place.map_or_else(String::new, |place| place.instance.clone()))
}

/// The translation on a FAR's way without a tunnel; IPv6 has none.
fn translated<'a>(
    config: &'a TwinConfig,
    to: &Forwarding,
    dst: IpAddr,
) -> Option<(usize, &'a Nat)> {
    let place = config.data_network(to.side, to.instance.as_deref());
    let is_plain = to.tunnel.is_none() && dst.is_ipv4();
    config.nat(place.filter(|_| is_plain))
}

/// A packet cut for a link; one that has no pieces is too long.
fn pieces(packet: &[u8], mtu: u16) -> Result<Vec<Vec<u8>>, End> {
    let pieces = fragment(packet, usize::from(mtu));
    match pieces.is_empty() {
        true => Err((Drop::TooBig, None)),
        false => Ok(pieces),
    }
}

/// What a packet is marked with.
pub fn qfi(session: &Session, pdr: &Pdr) -> Option<u8> {
    let qfis = pdr.qers.iter().filter_map(|q| session.qers[q].qfi);
    // 0 stands in some SMFs' session QERs; it gives way to the QFI of a flow.
    qfis.reduce(|first, next| if first == 0 { next } else { first })
}

/// The DSCP of the outer headers of a PDR's packets.
fn dscp(config: &TwinConfig, session: &Session, pdr: &Pdr) -> u8 {
    let qfi = qfi(session, pdr);
    let configured = config.dscp.iter().find(|(of, _)| Some(*of) == qfi);
    configured.map_or(0, |(_, dscp)| *dscp)
}

/// A DSCP with those bits that the FAR marks (5.4.4).
fn marked(to: &Forwarding, dscp: u8) -> u8 {
    let (value, mask) = to.marking;
    dscp & !(mask >> 2) | (value & mask) >> 2
}

/// The extension headers of a new outer header, types and contents.
fn extension_headers(
    session: &Session,
    pdr: &Pdr,
    uplink: bool,
    relayed: bool,
    detected: &Detected<'_>,
) -> Vec<(u8, Vec<u8>)> {
    let to = session.fars[&pdr.far].forwarding.as_ref();
    let sides = [Some(pdr.source), to.map(|to| to.side)];
    // N3 and N9 are ends of one tunnel (8.2.64); N4-u begins and ends here.
    let is_of_one = sides
        .iter()
        .all(|side| matches!(side, Some(Side::Access | Side::Core)));
    match qfi(session, pdr) {
        Some(qfi) => vec![(0x85, vec![u8::from(uplink) << 4, qfi])],
        None if relayed && is_of_one && detected.has_flow => passed_on(&detected.passed_on),
        None => vec![],
    }
}

/// What becomes of an IPv6 packet between addresses of a link (RFC 4291, 2.5.6): routers do not forward
/// it. A tunnel that goes on is part of the UE's link.
fn stays_on_the_link(session: &Session, pdr: &Pdr, detected: &Detected<'_>) -> Option<Outcome> {
    let Packet::V6(packet) = &detected.packet else {
        return None;
    };
    let to = session.fars.get(&pdr.far).filter(|far| far.forwards);
    let to = to.and_then(|far| far.forwarding.as_ref());
    let goes_on = to.is_some_and(|to| to.tunnel.is_some());
    if !packet.is_of_the_link() || (detected.tunnelled && goes_on) {
        return None;
    }
    let from_ue = detected.tunnelled && session.is_uplink(pdr);
    match from_ue && packet.is_router_solicitation() {
        true => Some(Outcome::RouterSolicitation(packet.bytes.to_vec())),
        false => Some(Outcome::Dropped(Drop::LinkLocal, None)),
    }
}

/// That of the outer header, if there is one.
fn ether_type(to: &Forwarding, packet: &Packet<'_>) -> [u8; 2] {
    match to.tunnel {
        Some(remote) => outer::ether_type(remote),
        None => packet.ether_type(),
    }
}

/// No quota may be used up (5.2.2.2.1).
fn quotas(session: &mut Session, pdr: &Pdr, uplink: bool) -> Result<(), End> {
    let urrs = || pdr.urrs.iter().filter_map(|urr| session.urrs.get(urr));
    if urrs().all(|urr| urr.lets_pass(uplink)) {
        return Ok(());
    }
    for urr in &pdr.urrs {
        if let Some(urr) = session.urrs.get_mut(urr) {
            urr.judge_quota();
        }
    }
    Err((Drop::QuotaExhausted, None))
}

/// The packet leaves: all of the PDR's URRs count it, whole and once.
fn count(session: &mut Session, pdr: &Pdr, uplink: bool, bytes: usize) {
    session.inactivity.packet();
    for urr in &pdr.urrs {
        if let Some(urr) = session.urrs.get_mut(urr) {
            urr.count(uplink, bytes);
        }
    }
}

/// True if a FAR's way without a tunnel has come to its end: at an address of ours on a link of
/// that data network.
fn is_own(config: &TwinConfig, to: &Forwarding, dst: IpAddr) -> bool {
    let place = match to.tunnel {
        None => config.data_network(to.side, to.instance.as_deref()),
        Some(_) => None,
    };
    let links = || config.links.iter().filter(|l| l.plain.as_ref() == place);
    place.is_some() && links().any(|l| l.is_ours(dst))
}

/// What a relay keeps of the extension headers: from the first on as many as 124 octets hold.
fn passed_on(all: &[(u8, &[u8])]) -> Vec<(u8, Vec<u8>)> {
    let mut left = 124;
    let mut kept = Vec::new();
    for (kind, content) in all {
        if content.len() + 2 > left {
            break;
        }
        left -= content.len() + 2;
        kept.push((*kind, content.to_vec()));
    }
    kept
}

/// All gates must be open (5.4.3).
fn gates(config: &TwinConfig, session: &Session, pdr: &Pdr, uplink: bool) -> Result<(), End> {
    for qer in &pdr.qers {
        let qer = &session.qers[qer];
        let (gate, kbps) = match uplink {
            true => (qer.gate.uplink, qer.mbr.map(|m| m.uplink_kbps)),
            false => (qer.gate.downlink, qer.mbr.map(|m| m.downlink_kbps)),
        };
        let closed_by_rate = config.zero_rate_closes && kbps == Some(0);
        if gate == Gate::Closed || closed_by_rate {
            return Err((Drop::GateClosed, None));
        }
    }
    Ok(())
}

/// Until when a packet has to wait for its rates, if it has not.
fn waits(
    config: &TwinConfig,
    session: &mut Session,
    way: (&Pdr, bool),
    bytes: usize,
    draw: Draw,
) -> Result<Option<u64>, End> {
    let Some(before) = draw.before else {
        return Ok(None);
    };
    let until_ns = rates(config.shaping, session, way, bytes, (draw.now_ns, before))?;
    Ok(Some(until_ns).filter(|until_ns| *until_ns > draw.now_ns))
}

/// All rates must have room (5.4.4), now or soon; a packet that exceeds one costs none. When it leaves.
fn rates(
    shaping: Option<Shaping>,
    session: &mut Session,
    (pdr, uplink): (&Pdr, bool),
    bytes: usize,
    (now_ns, before): (u64, Before),
) -> Result<u64, End> {
    let mut until_ns = now_ns.max(before.not_before_ns);
    for qer in &pdr.qers {
        let Some(qer) = session.qers.get_mut(qer) else {
            continue;
        };
        let Some(kbps) = limit_kbps(qer, uplink) else {
            continue;
        };
        let shaping = shaping.filter(|s| s.all || !is_of_gbr_flow(qer));
        let bucket = match uplink {
            true => &mut qer.uplink,
            false => &mut qer.downlink,
        };
        bucket.refill(now_ns, kbps * 1000);
        match shaping {
            None if bucket.has_room(bytes) => {}
            None => return Err((Drop::MbrExceeded, None)),
            Some(shaping) => {
                let wait_ns = bucket.wait_ns(bytes, shaping.burst_ns);
                if wait_ns > shaping.delay_ns.max(bucket.least_ns()) {
                    return Err((Drop::ShapingDelay, None));
                }
                until_ns = until_ns.max(now_ns + wait_ns);
            }
        }
    }
    if until_ns > now_ns && !before.has_room {
        return Err((Drop::ShapingFull, None));
    }
    for qer in &pdr.qers {
        let limited = |q: &&mut Qer| limit_kbps(q, uplink).is_some();
        match (session.qers.get_mut(qer).filter(limited), uplink) {
            (Some(qer), true) => qer.uplink.pay(bytes),
            (Some(qer), false) => qer.downlink.pay(bytes),
            (None, _) => {}
        }
    }
    Ok(until_ns)
}

/// A guaranteed bit rate makes a GBR flow.
fn is_of_gbr_flow(qer: &Qer) -> bool {
    let gbr = qer.gbr.unwrap_or_default();
    gbr.uplink_kbps > 0 || gbr.downlink_kbps > 0
}

/// The rate that a QER allows in a direction, if it limits it.
fn limit_kbps(qer: &Qer, uplink: bool) -> Option<u64> {
    let mbr = qer.mbr?;
    let kbps = match uplink {
        true => mbr.uplink_kbps,
        false => mbr.downlink_kbps,
    };
    (kbps > 0).then_some(kbps)
}

/// Where the FAR sends packets. Towards the RAN there is no way without a tunnel: a FAR whose
/// tunnel is not known yet drops.
fn destination(far: &Far) -> Result<&Forwarding, End> {
    match &far.forwarding {
        Some(to) if far.forwards && to.is_lost() => Err((Drop::N4uAbsent, None)),
        Some(to) if far.forwards && (to.tunnel.is_some() || to.is_plain()) => Ok(to),
        _ => Err((Drop::FarDrop, None)),
    }
}

/// A link, our address there, and the next hop.
struct Output<'a> {
    link: &'a Link,
    local: IpAddr,
    station: IpAddr,
}

fn way_out<'a>(config: &'a TwinConfig, to: &Forwarding, dst: IpAddr) -> Result<Output<'a>, End> {
    let instance = to.instance.as_deref();
    let no_route = (Drop::NoRoute, None);
    if let Some(remote) = to.tunnel {
        return tunnel_way(config, to, remote).ok_or(no_route);
    }
    let place = config.data_network(to.side, instance);
    let place = place.ok_or(no_route.clone())?;
    let of_place = |l: &&Link| l.plain.as_ref() == Some(place);
    let links = || config.links.iter().filter(of_place);
    // The longest prefix decides: of two of one length the link comes before the route, and the first
    // before the second.
    let connected = links().filter_map(|l| Some((l.longest_link(dst)?, l)));
    let connected = connected.collect::<Vec<_>>().into_iter().rev();
    let connected = connected.max_by_key(|(len, _)| *len);
    let routed = links().filter_map(|l| Some((l.longest_route(dst)?, l)));
    let routed = routed.collect::<Vec<_>>().into_iter().rev();
    let routed = routed.max_by_key(|((len, _), _)| *len);
    match (connected, routed) {
        (Some((link_len, link)), routed) if routed.is_none_or(|((len, _), _)| link_len >= len) => {
            Ok(plain_way(link, dst))
        }
        (_, routed) => {
            let ((_, gateway), link) = routed.ok_or(no_route)?;
            Ok(plain_way(link, gateway))
        }
    }
}

fn plain_way(link: &Link, station: IpAddr) -> Output<'_> {
    Output {
        link,
        local: Ipv4Addr::UNSPECIFIED.into(),
        station,
    }
}

fn tunnel_way<'a>(config: &'a TwinConfig, to: &Forwarding, remote: Remote) -> Option<Output<'a>> {
    let (at, end) = config.tunnels(to.side, to.instance.as_deref())?;
    let link = &config.links[at];
    Some(Output {
        link,
        local: end.towards(remote.address)?,
        station: link.station_towards(remote.address)?,
    })
}

/// An End Marker on its way to a tunnel that was left, or why it does not get there.
pub fn end_marker(
    config: &TwinConfig,
    stream: (u64, bool),
    marker: &crate::admit::EndMarker,
) -> Result<Sent, Drop> {
    let to = Forwarding {
        side: marker.side,
        instance: marker.instance.clone(),
        tunnel: Some(marker.to),
        marking: marker.marking,
    };
    let way = tunnel_way(config, &to, marker.to).ok_or(Drop::NoRoute)?;
    let mac = way.link.mac_of(way.station);
    let mac = mac.ok_or(Drop::NextHopUnresolved)?;
    let tos = marked(&to, 0) << 2;
    let packet = outer::header(way.local, marker.to, (END_MARKER, tos), &[], 0);
    Ok(Sent {
        port: way.link.port,
        frame: frame(way.link, mac, outer::ether_type(marker.to), &packet),
        source_port_at: Some(outer::source_port_at(way.link, marker.to)),
        has_checksum: marker.to.address.is_ipv6(),
        flow: Vec::new(),
        stream,
        is_clamped: false,
    })
}

fn frame(link: &Link, to: [u8; 6], ether_type: [u8; 2], packet: &[u8]) -> Vec<u8> {
    let mut frame = [to, link.mac].concat();
    if let Some(vlan) = link.vlan {
        frame.extend([0x81, 0x00]);
        frame.extend(vlan.to_be_bytes());
    }
    frame.extend(ether_type);
    frame.extend(packet);
    frame
}
