//! Dialects beside what the live SMFs sent, IE by IE; SEIDs, TEIDs, addresses and digits of subscribers are not
//! compared.

use std::net::{Ipv4Addr, Ipv6Addr};
use std::sync::Arc;

use crate::common::recorded::recorded;
use crate::common::{N3, SMF, gnb, tunnel};
use sluice_smf_emulator::encode::{encode_deletion, encode_establishment, encode_modification};
use sluice_smf_emulator::{
    CpNode, Dialect, Flow, FlowPackets, Imsi, Network, SessionChange, SessionPlan, SessionView,
    TbcdDigits, Tunnel, UeAddresses, UplinkTeid,
};
use sluice_wire::ids::{Precedence, Qfi, Seid};
use sluice_wire::pfcp::SequenceNumber;
use sluice_wire::pfcp::value::{BitRate, SNssai};

const UE: Ipv4Addr = Ipv4Addr::new(10, 45, 0, 50);
const UE_V6: Ipv6Addr = Ipv6Addr::new(0x2001, 0xdb8, 0xcafe, 1, 0, 0, 0, 2);

/// Header and IEs, one a line: depth, type, length, and the value as far as it is compared.
fn lines(message: &[u8]) -> Vec<String> {
    let priority = message[0] & 2 != 0;
    let priority = priority.then_some(message[15] >> 4);
    let head = format!("flags {:#x} type {} {priority:?}", message[0], message[1]);
    let mut lines = vec![head];
    walk(&message[16..], 0, &mut lines);
    lines
}

fn walk(mut body: &[u8], depth: usize, lines: &mut Vec<String>) {
    while let [t1, t2, l1, l2, rest @ ..] = body {
        let ie = u16::from_be_bytes([*t1, *t2]);
        let length = usize::from(u16::from_be_bytes([*l1, *l2]));
        let (value, rest) = rest.split_at(length);
        let kept = compared(ie, value);
        let group = is_group(ie);
        let told = if group { &[] } else { &value[..kept] };
        lines.push(format!("{:depth$}{ie} length {length}: {told:02x?}", ""));
        if group {
            walk(value, depth + 2, lines);
        }
        body = rest;
    }
}

fn is_group(ie: u16) -> bool {
    matches!(ie, 1..=4 | 6 | 7 | 9..=11 | 14 | 85)
}

/// How many octets are compared; behind them are addresses, TEIDs, SEIDs or digits.
fn compared(ie: u16, value: &[u8]) -> usize {
    match ie {
        // F-SEID, Node ID, UE IP Address, User ID: the flags.
        57 | 60 | 93 | 141 => 1,
        // F-TEID: flags, and a CHOOSE ID.
        21 if value[0] & 4 != 0 => value.len(),
        21 => 1,
        // Outer Header Creation: the description.
        84 => 2,
        _ => value.len(),
    }
}

/// IEs in whatever order, where an SMF keeps its rules in a map: each top IE with what is in it.
fn sorted(lines: &[String]) -> Vec<Vec<&str>> {
    let mut tops: Vec<Vec<&str>> = Vec::new();
    for line in lines {
        match tops.last_mut() {
            Some(top) if line.starts_with(' ') => top.push(line),
            _ => tops.push(vec![line]),
        }
    }
    for top in &mut tops {
        if let Some(inner) = top.get_mut(1..) {
            inner.sort_unstable();
        }
    }
    tops.sort_unstable();
    tops
}

fn rate(kbps: u64) -> BitRate {
    BitRate {
        uplink_kbps: kbps,
        downlink_kbps: kbps,
    }
}

fn plan(ue: UeAddresses) -> SessionPlan {
    let network = Network::new("internet", "internet", "internet").unwrap();
    let mut plan = SessionPlan::new(ue, Arc::new(network), Qfi::new(1).unwrap());
    plan.slice = SNssai { sst: 1, sd: None };
    plan.imsi = Some(Imsi::new("999700000000001").unwrap());
    plan.imeisv = Some(TbcdDigits::new("4370816125816151").unwrap());
    plan.msisdn = Some(TbcdDigits::new("0900000000").unwrap());
    plan.ambr = Some(rate(1_000_000));
    plan.measured = true;
    plan
}

fn view(plan: &SessionPlan, gnb: Option<Tunnel>) -> SessionView<'_> {
    SessionView {
        plan,
        cp_seid: Seid(1),
        up_seid: Seid(2),
        gnb,
        generation: 0,
    }
}

/// Message of the dialect for a plan: the establishment, or a step from a session's state.
fn ours(
    dialect: Dialect,
    plan: &SessionPlan,
    step: Option<(SessionChange, Option<Tunnel>)>,
) -> Vec<u8> {
    let (cp, sequence) = (CpNode::new(SMF), SequenceNumber::wrapping(1));
    let mut room = vec![0; 2048];
    let length = match step {
        None => encode_establishment(&mut room, dialect, &cp, plan, Seid(1), sequence),
        Some((step, gnb)) => {
            let session = view(plan, gnb);
            encode_modification(&mut room, dialect, &cp, &session, step, sequence)
        }
    };
    room.truncate(length.unwrap());
    room
}

fn connect() -> SessionChange {
    SessionChange::Connect {
        gnb: gnb(1),
        end_marker: false,
    }
}

/// An Open5GS message, in its order.
fn same(live: &[u8], ours: &[u8], what: &str) {
    assert_eq!(lines(ours), lines(live), "{what}");
}

#[test]
fn open5gs_dialect_attaches_ipv4_as_open5gs_does() {
    let Some(live) = recorded("open5gs-ipv4.txt") else {
        return;
    };
    let (dialect, plan) = (Dialect::Open5gs, plan(UeAddresses::V4(UE)));
    same(&live[1].1, &ours(dialect, &plan, None), "establishment");
    let steps = [
        (2, connect(), None),
        (3, SessionChange::Buffer, Some(gnb(1))),
        (4, connect(), Some(gnb(1))),
    ];
    for (index, step, gnb) in steps {
        let message = ours(dialect, &plan, Some((step, gnb)));
        same(&live[index].1, &message, &format!("{step:?}"));
    }
    let mut room = [0; 64];
    let (cp, view) = (CpNode::new(SMF), view(&plan, None));
    let sequence = SequenceNumber::wrapping(1);
    let length = encode_deletion(&mut room, dialect, &cp, &view, sequence).unwrap();
    same(&live[5].1, &room[..length], "deletion");
}

#[test]
fn open5gs_dialect_names_ipv6_prefixes_as_open5gs_does() {
    let Some(live) = recorded("open5gs-ipv4v6.txt") else {
        return;
    };
    let all = [
        UeAddresses::V4V6(UE, UE_V6),
        UeAddresses::V6(UE_V6),
        UeAddresses::V4(UE),
    ];
    for ((_, live), ue) in live[1..].iter().zip(all) {
        let message = ours(Dialect::Open5gs, &plan(ue), None);
        same(live, &message, &format!("{ue:?}"));
        let at = live.windows(3).position(|w| w == [0, 93, 0]).unwrap();
        let at_ours = message.windows(3).position(|w| w == [0, 93, 0]).unwrap();
        // The interface identifier is there too.
        let tail = |bytes: &[u8], at: usize| {
            bytes[at + 4 + usize::from(bytes[at + 3]) - 7..][..6].to_vec()
        };
        if ue.ipv6().is_some() {
            assert_eq!(tail(live, at), tail(&message, at_ours), "{ue:?}");
        }
    }
}

#[test]
fn open5gs_dialect_adds_a_dedicated_flow_as_open5gs_does() {
    let Some(live) = recorded("open5gs-flow.txt") else {
        return;
    };
    let mut plan = plan(UeAddresses::V4(UE));
    same(
        &live[1].1,
        &ours(Dialect::Open5gs, &plan, None),
        "establishment",
    );
    plan.flow = Some(Flow {
        packets: FlowPackets::Described("permit out ip from 10.100.6.2/32 to assigned".into()),
        precedence: Precedence(100),
        qfi: Qfi::new(2).unwrap(),
        mbr: Some(rate(1000)),
        gbr: Some(rate(500)),
    });
    let message = ours(
        Dialect::Open5gs,
        &plan,
        Some((SessionChange::AddFlow, None)),
    );
    same(&live[2].1, &message, "flow");
    plan.flow = None;
    let step = SessionChange::SwitchPath { gnb: gnb(2) };
    let message = ours(Dialect::Open5gs, &plan, Some((step, Some(gnb(1)))));
    same(&live[4].1, &message, "path switch");
}

/// The filter of free5GC's default subscriber.
fn default_subscriber() -> Flow {
    Flow {
        packets: FlowPackets::Described("permit out ip from 1.1.1.1/32 to any".into()),
        precedence: Precedence(128),
        qfi: Qfi::new(2).unwrap(),
        mbr: Some(rate(208_000)),
        gbr: Some(rate(108_000)),
    }
}

#[test]
fn free5gc_dialect_speaks_as_free5gc_does_with_and_without_urrs_and_filter() {
    let Some(live) = recorded("free5gc.txt") else {
        return;
    };
    for (measured, filtered) in [(false, false), (false, true), (true, false), (true, true)] {
        let mut plan = plan(UeAddresses::V4(UE));
        plan.measured = measured;
        plan.uplink = UplinkTeid::ChosenByCp(tunnel(0x11, N3));
        plan.flow = filtered.then(default_subscriber);
        let handover = SessionChange::SwitchPath { gnb: gnb(2) };
        let steps = [
            ("establishment", None),
            ("activate", Some((connect(), None))),
            ("idle", Some((SessionChange::Buffer, Some(gnb(1))))),
            ("handover", Some((handover, Some(gnb(1))))),
        ];
        for (name, step) in steps {
            let name = format!("{name},urr={measured},sdf={filtered}");
            let (_, live) = live.iter().find(|(known, _)| *known == name).unwrap();
            let (live, ours) = (lines(live), lines(&ours(Dialect::Free5gc, &plan, step)));
            assert_eq!(sorted(&ours), sorted(&live), "{name}");
        }
    }
}
