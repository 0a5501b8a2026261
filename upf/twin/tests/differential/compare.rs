//! What the twin expects against what was seen.

use crate::real::Seen;
use crate::show;
use crate::world::CP_N4U;
use sluice_twin::{Notice, Outcome, Paged, Sent, SessionId};
use sluice_wire::pfcp::Header;
use sluice_wire::pfcp::group::UsageReport;
use sluice_wire::pfcp::message::SessionReportRequest;
use std::collections::{BTreeMap, HashMap};

/// What differs between the twin and the real thing, in words.
pub type Difference = String;

/// What an outcome is counted under.
pub fn name(outcome: &Outcome) -> &'static str {
    match outcome {
        // The flow begins with the addresses.
        Outcome::Sent(sent) if sent.is_clamped => match sent.flow.len() {
            0..32 => "SYN over IPv4 lowered",
            _ => "SYN over IPv6 lowered",
        },
        Outcome::Sent(sent) if is_to_cp(sent) => "sent to the CP function",
        Outcome::Sent(sent) if sent.has_checksum => "sent over IPv6",
        Outcome::Sent(_) => "sent",
        Outcome::Dropped(drop, _) => drop.name(),
        Outcome::Control => "to control",
        Outcome::Arrived(_) => "arrived",
        Outcome::RouterSolicitation(_) => "router solicitation",
        Outcome::Held => "held",
        Outcome::Buffered => "held for a UE",
        Outcome::Shaped(_) => "shaped",
        Outcome::Merged => "merged",
    }
}

/// True for a packet into a tunnel of the CP function. N3 has no VLAN.
fn is_to_cp(sent: &Sent) -> bool {
    let destination = sent.frame.get(30..34);
    sent.source_port_at.is_some() && destination == Some(&CP_N4U.octets()[..])
}

/// Everything but frames: drops, notices, and packets that went elsewhere.
pub fn same_books(seen: &Seen, expected: &[Outcome], held: u64) -> Result<(), Difference> {
    same_drops(&seen.drops, expected)?;
    same_notices(&seen.notices, expected)?;
    let count = |of: Outcome| expected.iter().filter(|o| **o == of).count() as u64;
    let arrived = |o: &Outcome| match o {
        Outcome::Arrived(packet) => Some(packet.clone()),
        _ => None,
    };
    same_packets("arrived", &seen.arrived, expected, arrived)?;
    let solicits = |o: &Outcome| match o {
        Outcome::RouterSolicitation(packet) => Some(packet.clone()),
        _ => None,
    };
    same_packets(
        "router solicitations",
        &seen.solicitations,
        expected,
        solicits,
    )?;
    let (control, merged) = (count(Outcome::Control), count(Outcome::Merged));
    let control = control + (seen.arrived.len() + seen.solicitations.len()) as u64;
    for (what, real, twin) in [
        ("packets for the control core", seen.to_control, control),
        ("merged fragments", seen.merged, merged),
        ("packets held", seen.held, held),
    ] {
        if real != twin {
            return Err(format!("{what}: really {real}, the twin says {twin}"));
        }
    }
    Ok(())
}

fn same_drops(seen: &[(&'static str, u64)], expected: &[Outcome]) -> Result<(), Difference> {
    let mut drops: BTreeMap<&str, u64> = BTreeMap::new();
    for outcome in expected {
        if let Outcome::Dropped(drop, _) = outcome {
            *drops.entry(drop.name()).or_default() += 1;
        }
    }
    let seen: BTreeMap<&str, u64> = seen.iter().copied().collect();
    match seen == drops {
        true => Ok(()),
        false => Err(format!("drops: really {seen:?}, the twin says {drops:?}")),
    }
}

/// Packets of one kind of outcome, in any order.
fn same_packets(
    what: &str,
    seen: &[Vec<u8>],
    expected: &[Outcome],
    packet: impl Fn(&Outcome) -> Option<Vec<u8>>,
) -> Result<(), Difference> {
    let mut twin: Vec<Vec<u8>> = expected.iter().filter_map(packet).collect();
    let mut seen = seen.to_vec();
    seen.sort();
    twin.sort();
    match seen == twin {
        true => Ok(()),
        false => Err(format!("{what}: really {seen:x?}, the twin says {twin:x?}")),
    }
}

fn same_notices(seen: &[Notice], expected: &[Outcome]) -> Result<(), Difference> {
    let mut left: Vec<&Notice> = Vec::new();
    for outcome in expected {
        if let Outcome::Dropped(_, Some(notice)) = outcome {
            left.push(notice);
        }
    }
    for notice in seen {
        match left.iter().position(|n| *n == notice) {
            Some(at) => drop(left.remove(at)),
            None => return Err(format!("really {notice:?}, of the twin's {left:?}")),
        }
    }
    match left.first() {
        None => Ok(()),
        Some(notice) => Err(format!("the twin alone says {notice:?}")),
    }
}

/// Downlink Data Reports: whose flow, by the SEID of the CP function, its PDR, DSCP and QFI; PDR and DSCP are
/// those of the first packet, and count where it is known which that is.
pub fn same_paged(
    twin: &[(u64, Paged)],
    real: &[(u64, u16, Option<u8>, Option<u8>)],
    any_is_first: bool,
) -> Result<(), Difference> {
    let told = twin.iter();
    let told = told.map(|(cp, told)| (*cp, told.pdr, Some(told.dscp), told.qfi));
    let (mut twin, mut real): (Vec<_>, Vec<_>) = (told.collect(), real.to_vec());
    if any_is_first {
        let flows = twin.iter_mut().chain(&mut real);
        flows.for_each(|(_, pdr, dscp, _)| (*pdr, *dscp) = (0, None));
    }
    twin.sort_unstable();
    real.sort_unstable();
    match twin == real {
        true => Ok(()),
        false => Err(format!("paged: really {real:?}, the twin says {twin:?}")),
    }
}

/// Sessions that were told to be inactive, in any order.
pub fn same_inactive(mut twin: Vec<u64>, real: &[u64]) -> Result<(), Difference> {
    let mut real = real.to_vec();
    twin.sort_unstable();
    real.sort_unstable();
    match twin == real {
        true => Ok(()),
        false => Err(format!("inactive: really {real:?}, the twin says {twin:?}")),
    }
}

/// Usage Reports, by URR.
pub fn same_reports(
    twin: &[UsageReport<'static>],
    real: &[UsageReport<'_>],
) -> Result<(), Difference> {
    let mut real: Vec<_> = real.iter().collect();
    real.sort_by_key(|r| r.urr_id.0);
    let same = twin.len() == real.len() && twin.iter().zip(&real).all(|(t, r)| t == *r);
    match same {
        true => Ok(()),
        false => {
            let real = real.into_iter().map(show::report);
            let twin = twin.iter().map(show::report);
            let (real, twin) = (real.collect::<String>(), twin.collect::<String>());
            Err(format!("usage: really {real}\nthe twin says {twin}"))
        }
    }
}

/// What sessions report by themselves: of each session the same reports in the same order.
pub fn same_own_reports(
    twin: &[(SessionId, Vec<UsageReport<'static>>)],
    real: &[Vec<u8>],
    cp_names: &BTreeMap<u64, SessionId>,
) -> Result<(), Difference> {
    let mut left: BTreeMap<SessionId, Vec<&Vec<UsageReport<'static>>>> = BTreeMap::new();
    for (id, reports) in twin {
        left.entry(*id).or_default().push(reports);
    }
    for message in real {
        let (header, body) = Header::parse(message).map_err(|e| e.to_string())?;
        let mut request = SessionReportRequest::default();
        request.parse_into(body).map_err(|e| format!("{e:?}"))?;
        if request.usage_report.is_empty() {
            continue;
        }
        let id = header.seid.and_then(|cp| cp_names.get(&cp.0));
        let expected = id.and_then(|id| left.get_mut(id));
        let expected = expected.filter(|e| !e.is_empty()).map(|e| e.remove(0));
        let none = Vec::new();
        let real: Vec<_> = request.usage_report.iter().cloned().collect();
        same_reports(expected.unwrap_or(&none), &real)?;
    }
    match left.into_values().flatten().next() {
        None => Ok(()),
        Some(reports) => Err(format!("the twin alone reports {}", show::reports(reports))),
    }
}

/// The source port that each flow has been given.
#[derive(Default)]
pub struct Flows(HashMap<Vec<u8>, u16>);

impl Flows {
    /// Every frame, in the order of its session and direction.
    pub fn same_frames(
        &mut self,
        seen: &[(u16, Vec<u8>)],
        expected: &[Outcome],
    ) -> Result<(), Difference> {
        let mut left: Vec<&Sent> = Vec::new();
        for outcome in expected {
            if let Outcome::Sent(sent) = outcome {
                left.push(sent);
            }
        }
        for (port, frame) in seen {
            let Some(at) = next_of_a_stream(&left, *port, frame) else {
                let shown = show::frame(frame);
                return Err(format!(
                    "a frame left by port {port} that should not: {shown}"
                ));
            };
            self.same_source_port(left.remove(at), frame)?;
        }
        match left.first() {
            None => Ok(()),
            Some(sent) => {
                let shown = show::frame(&sent.frame);
                Err(format!(
                    "a frame did not leave by port {}: {shown}",
                    sent.port
                ))
            }
        }
    }

    /// From the dynamic range, and one for each flow.
    fn same_source_port(&mut self, sent: &Sent, frame: &[u8]) -> Result<(), Difference> {
        let Some(at) = sent.source_port_at else {
            return Ok(());
        };
        let port = u16::from_be_bytes([frame[at], frame[at + 1]]);
        let before = *self.0.entry(sent.flow.clone()).or_insert(port);
        if port < 0xc000 || port != before {
            return Err(format!("source port {port}, {before} before in this flow"));
        }
        Ok(())
    }
}

/// Where among the frames that are left this one is. Of each stream only the first may come.
fn next_of_a_stream(left: &[&Sent], port: u16, frame: &[u8]) -> Option<usize> {
    let mut begun = Vec::new();
    left.iter().position(|sent| {
        let stream = (sent.port, sent.stream);
        let first = !begun.contains(&stream);
        begun.push(stream);
        first && is(sent, port, frame)
    })
}

/// True if a UDP datagram over IPv6 has a checksum, and a right one (RFC 8200, 8.1).
fn has_good_checksum(ends: &[u8], datagram: &[u8]) -> bool {
    let len = (datagram.len() as u32).to_be_bytes();
    let all = [ends, &len, &[0, 0, 0, 17], datagram].concat();
    let words = all
        .chunks(2)
        .map(|pair| u64::from(pair[0]) << 8 | u64::from(*pair.get(1).unwrap_or(&0)));
    let is_there = datagram.get(6..8).is_some_and(|sum| sum != [0, 0]);
    // A sum of ones' complement is a multiple of 2^16 - 1 if it comes out.
    is_there && words.sum::<u64>() % 0xffff == 0
}

/// True if the frame is what was expected, but for a source port that is the sender's choice.
fn is(sent: &Sent, port: u16, frame: &[u8]) -> bool {
    let same_length = sent.port == port && sent.frame.len() == frame.len();
    same_length
        && match sent.source_port_at {
            None => sent.frame == frame,
            Some(at) if sent.has_checksum => {
                let ends = &frame[at - 32..at];
                sent.frame[..at] == frame[..at]
                    && sent.frame[at + 2..at + 6] == frame[at + 2..at + 6]
                    && sent.frame[at + 8..] == frame[at + 8..]
                    && has_good_checksum(ends, &frame[at..])
            }
            Some(at) => sent.frame[..at] == frame[..at] && sent.frame[at + 2..] == frame[at + 2..],
        }
}
