//! Steps, frames and outcomes for people.

use crate::spec::{Change, Rules, Step};
use sluice_twin::Outcome;
use sluice_wire::pfcp::group::UsageReport;
use std::fmt::{Debug, Write};
use std::net::Ipv6Addr;

pub fn step(step: &Step) -> String {
    match step {
        Step::Establish(slot, rules) => format!("establish session {slot}: {}", rules_text(rules)),
        Step::Modify(slot, change) => format!("modify session {slot}: {}", change_text(change)),
        Step::Delete(slot) => format!("delete session {slot}"),
        Step::DeleteSets(sets) => format!("delete sets {sets:?}"),
        Step::Pfds(told) => format!("tell flows {told:?}"),
        Step::Advance(ns) => format!("advance {} us", ns / 1000),
        Step::Packets(packets) => format!("receive {} packets", packets.len()),
    }
}

fn rules_text(rules: &Rules) -> String {
    let Rules {
        pdn_type,
        inactivity,
        sets,
        pdrs,
        fars,
        qers,
        urrs,
        bars,
    } = rules;
    let mut head = pdn_type.map_or(String::new(), |t| format!("PDN type {t}"));
    if let Some(time_s) = inactivity {
        head += &format!(" inactivity timer {time_s} s");
    }
    let lists = [
        head,
        lines(sets),
        lines(pdrs),
        lines(fars),
        lines(qers),
        lines(urrs),
        lines(bars),
    ];
    lists.concat()
}

fn change_text(change: &Change) -> String {
    let mut text = format!(
        "remove PDRs {:?} FARs {:?} QERs {:?} URRs {:?} BARs {:?}, query {:?} all {}, discards {}",
        change.remove_pdrs,
        change.remove_fars,
        change.remove_qers,
        change.remove_urrs,
        change.remove_bars,
        change.query,
        change.query_all,
        change.discards_held
    );
    text += &rules_text(&change.create);
    text += &lines(&change.pdrs);
    text += &lines(&change.fars);
    text += &lines(&change.qers);
    text += &lines(&change.urrs);
    text += &lines(&change.bars);
    text
}

fn lines<T: Debug>(list: &[T]) -> String {
    let lines = list.iter().map(|element| format!("\n    {element:?}"));
    lines.collect()
}

pub fn reports(all: &[UsageReport<'_>]) -> String {
    all.iter().map(report).collect()
}

pub fn report(report: &UsageReport<'_>) -> String {
    format!(
        "\n    URR {} report {} {:?}, {:?} to {:?}: {:?} {:?}",
        report.urr_id,
        report.ur_seqn,
        report.usage_report_trigger,
        report.start_time,
        report.end_time,
        report.volume_measurement,
        report.duration_measurement
    )
}

pub fn received(port: u16, bytes: &[u8], outcomes: &[Outcome]) -> String {
    let mut text = format!("  port {port} receives {}", frame(bytes));
    for outcome in outcomes {
        let _ = match outcome {
            Outcome::Sent(s) => {
                write!(text, "\n    leaves by port {}: {}", s.port, frame(&s.frame))
            }
            other => write!(text, "\n    {other:?}"),
        };
    }
    text
}

/// Decoded in a line, and in hex.
pub fn frame(bytes: &[u8]) -> String {
    format!(
        "{} bytes: {}\n      {}",
        bytes.len(),
        decoded(bytes),
        hex(bytes)
    )
}

/// Bytes shown in hex.
const SHOWN: usize = 128;

fn hex(bytes: &[u8]) -> String {
    let mut text = String::new();
    for byte in bytes.iter().take(SHOWN) {
        let _ = write!(text, "{byte:02x}");
    }
    // Payloads count up from 0.
    text + if bytes.len() > SHOWN { "..." } else { "" }
}

fn decoded(bytes: &[u8]) -> String {
    let mut text = String::new();
    let mut at = 12;
    if bytes.get(12..14) == Some(&[0x81, 0]) {
        let _ = write!(text, "vlan {} ", word(bytes, 14) & 0x0fff);
        at = 16;
    }
    match word(bytes, at) {
        0x0800 | 0x86dd => ip(&mut text, bytes.get(at + 2..).unwrap_or_default()),
        other => drop(write!(text, "ether type {other:#06x}")),
    }
    text
}

fn ip(text: &mut String, p: &[u8]) {
    if p.len() >= 40 && p[0] >> 4 == 6 {
        return ipv6(text, p);
    }
    if p.len() < 20 {
        return text.push_str("ip cut short");
    }
    let address = |at: usize| format!("{}.{}.{}.{}", p[at], p[at + 1], p[at + 2], p[at + 3]);
    let _ = write!(
        text,
        "ip {} > {} ttl {} len {} proto {}",
        address(12),
        address(16),
        p[8],
        word(p, 2),
        p[9]
    );
    let fragment = word(p, 6);
    if fragment & 0x3fff != 0 {
        let more = fragment >> 13 & 1;
        let _ = write!(text, " fragment at {} more {more}", (fragment & 0x1fff) * 8);
    }
    let payload = p.get(usize::from(p[0] & 15) * 4..).unwrap_or_default();
    if p[9] == 17 && payload.len() >= 8 {
        let (from, to) = (word(payload, 0), word(payload, 2));
        let _ = write!(text, " udp {from} > {to} len {}", word(payload, 4));
        if to == 2152 {
            gtpu(text, &payload[8..]);
        }
    }
}

fn ipv6(text: &mut String, p: &[u8]) {
    let address = |at: usize| {
        let bytes = <[u8; 16]>::try_from(&p[at..at + 16]);
        bytes.map_or(Ipv6Addr::UNSPECIFIED, Ipv6Addr::from)
    };
    let (source, destination) = (address(8), address(24));
    let (next, hops, len) = (p[6], p[7], word(p, 4));
    let _ = write!(
        text,
        "ipv6 {source} > {destination} hops {hops} len {len} next {next} ports {} > {}",
        word(p, 40),
        word(p, 42)
    );
}

fn gtpu(text: &mut String, p: &[u8]) {
    if p.len() < 8 {
        return text.push_str(" gtpu cut short");
    }
    let teid = u32::from(word(p, 4)) << 16 | u32::from(word(p, 6));
    let (flags, message) = (p[0], p[1]);
    let length = word(p, 2);
    let _ = write!(
        text,
        " gtpu flags {flags:#x} type {message} len {length} teid {teid:#x}"
    );
    let mut at = 8;
    let mut next = 0;
    if flags & 7 != 0 {
        next = p.get(11).copied().unwrap_or(0) * (flags >> 2 & 1);
        at = 12;
    }
    while let (true, Some(words)) = (next != 0, p.get(at).copied().filter(|w| *w > 0)) {
        let end = at + usize::from(words) * 4;
        let _ = write!(text, " ext {next:#x}");
        if next == 0x85 {
            let _ = write!(text, " qfi {}", p.get(at + 2).copied().unwrap_or(0) & 63);
        }
        next = p.get(end - 1).copied().unwrap_or(0);
        at = end;
    }
    if let Some(inner) = p.get(at..).filter(|i| !i.is_empty()) {
        text.push_str(" | ");
        ip(text, inner);
    }
}

fn word(bytes: &[u8], at: usize) -> u16 {
    match bytes.get(at..at + 2) {
        Some(b) => u16::from_be_bytes([b[0], b[1]]),
        None => 0,
    }
}
