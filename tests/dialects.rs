//! Every SMF dialect in every procedure against the whole UPF, with packets: what the SMF asked
//! for is what happens to them, what left is what is reported, and nothing is left over.

#![forbid(unsafe_code)]
#![allow(clippy::unwrap_used, reason = "a failed step is a failed test")]

mod kit;

use kit::frames::N3Frame;
use kit::ue::{QFI, Ue, plan};
use kit::world::World;
use kit::{N3, SECOND_SERVER, SERVER, gnb, tunnel};
use sluice_datapath::drop::DropReason;
use sluice_session::MbrZero;
use sluice_smf_emulator::dialect::profile::{BeforeGnb, Idle, PathSwitch, QerStyle, UrrStyle};
use sluice_smf_emulator::{Change, Dialect, Flow, FlowPackets, Report, SmfError, UplinkTeid};
use sluice_wire::ids::{Precedence, Qfi};
use sluice_wire::pfcp::value::{BitRate, ReportingTriggers};
use sluice_wire::pfcp::{Cause, IeType};

macro_rules! each_dialect {
    ($($name:ident = $dialect:ident,)*) => {
        $(mod $name {
            use super::{Dialect, World, life};

            #[test]
            fn carries_packets_through_every_procedure_on_one_worker() {
                life(World::new(1), Dialect::$dialect).close();
            }

            #[test]
            fn carries_packets_through_every_procedure_on_two_workers() {
                life(World::new(2), Dialect::$dialect).close();
            }

            #[test]
            fn carries_packets_through_every_procedure_with_n4_on_a_port() {
                let world = life(World::with_n4_on_a_port(2), Dialect::$dialect);
                let link = world.n4_link.as_ref().unwrap();
                let counted = world.upf.core.n4_counters();
                assert_eq!((link.asked, counted.unresolved), (1, 0));
                assert_eq!((counted.malformed, counted.reassembly), (0, 0));
                assert!(counted.received > 8 && counted.fragments > 0, "{counted:?}");
                world.close();
            }
        })*
    };
}

each_dialect! {
    ts = Ts,
    open5gs = Open5gs,
    free5gc = Free5gc,
    oai = Oai,
    sdcore = SdCore,
    marking = Marking,
}

/// One session from association to release. The UE's number is odd: with two workers the one
/// that owns its session receives nothing itself.
fn life(mut world: World, dialect: Dialect) -> World {
    let smf = world.add_smf(dialect);
    let mut ue = Ue::establish(&mut world, smf, dialect, 7);
    before_the_gnb_is_known(&mut world, &mut ue);
    let to = ue.gnb();
    ue.change(&mut world, Change::Connect(to));
    gets_what_waited(&mut world, &mut ue, &[], 64);
    talk(&mut world, &mut ue);
    switch_path(&mut world, &mut ue);
    talk(&mut world, &mut ue);
    idle(&mut world, &mut ue);
    activate(&mut world, &mut ue);
    talk(&mut world, &mut ue);
    query(&mut world, &mut ue);
    drop_downlink(&mut world, &mut ue);
    ue.delete(&mut world);
    world.assert_vacant();
    world.release(smf);
    world
}

fn talk(world: &mut World, ue: &mut Ue) {
    for len in [28, 100, 1000, 1400] {
        ue.sends(world, len);
        ue.receives(world, len + 1);
    }
}

fn before_the_gnb_is_known(world: &mut World, ue: &mut Ue) {
    ue.sends(world, 64);
    let reason = match ue.dialect.profile().far.before_gnb {
        BeforeGnb::Absent => DropReason::UnknownUe,
        BeforeGnb::Buffer => return ue.waits(world, 64),
        BeforeGnb::Drop | BeforeGnb::ForwardWithoutTunnel => DropReason::FarDrop,
    };
    ue.misses(world, 64, reason);
}

/// A packet that was held leaves by the UE's tunnel, behind these frames.
fn gets_what_waited(world: &mut World, ue: &mut Ue, before: &[N3Frame], len: usize) {
    world.settle();
    let mut out = world.n3_output();
    let held = ue.waiting.take().map(|packet| (out.pop(), packet));
    assert_eq!(out, before, "{}", ue.dialect);
    if let Some((frame, packet)) = held {
        ue.assert_is_data(frame, &packet);
        ue.received.add(len);
    }
}

/// Downlink packets come all the while: they go to the old gNB, then comes the End Marker, then
/// they go to the new one.
fn switch_path(world: &mut World, ue: &mut Ue) {
    let (old, new) = (gnb(1, ue.n), gnb(2, ue.n));
    let packet = ue.packet_to(200);
    let mut injected = 0;
    let mut one_more = |world: &mut World| {
        world.inject_downlink(&packet);
        injected += 1;
    };
    one_more(world);
    world.settle();
    ue.change_while(world, Change::SwitchPath(new), &mut one_more);
    one_more(world);
    world.settle();
    ue.at = 2;
    let mut out = world.n3_output();
    let asks_for_marker = ue.dialect.profile().change.path_switch == PathSwitch::EndMarker;
    let markers = out
        .iter()
        .filter(|f| **f == N3Frame::EndMarker(old))
        .count();
    assert_eq!(markers, usize::from(asks_for_marker), "{}", ue.dialect);
    let by = |frame: &N3Frame, tunnel| matches!(frame, N3Frame::Data { to, .. } if *to == tunnel);
    let before = out.iter().take_while(|frame| by(frame, old)).count();
    assert!(
        before > 0,
        "{}: something left by the old tunnel",
        ue.dialect
    );
    let mut after = out.split_off(before);
    if asks_for_marker {
        assert_eq!(after.remove(0), N3Frame::EndMarker(old), "{}", ue.dialect);
    }
    assert!(
        !after.is_empty() && after.iter().all(|frame| by(frame, new)),
        "{after:?}"
    );
    assert_eq!(
        before + after.len(),
        injected,
        "{}: no packet was lost",
        ue.dialect
    );
    for _ in 0..injected {
        ue.received.add(200);
    }
}

fn idle(world: &mut World, ue: &mut Ue) {
    ue.change(world, Change::Idle);
    match ue.dialect.profile().change.idle {
        Idle::Buffer { .. } => {
            world.reports(ue.smf);
            ue.waits(world, 300);
            let notified = matches!(
                &world.reports(ue.smf)[..],
                [Report::Session(report)] if report.downlink_data.len() == 1
            );
            assert!(notified, "{}", ue.dialect);
            ue.sends(world, 300);
        }
        Idle::Remove => {
            ue.misses(world, 300, DropReason::UnknownUe);
            ue.uplink = Some(ue.session.uplink);
            ue.sends_in_vain(world, 300, DropReason::UnknownTeid);
            let indication =
                N3Frame::ErrorIndication(ue.gnb().ipv4().unwrap(), ue.session.uplink.teid.get());
            assert_eq!(world.n3_output(), [indication]);
        }
    }
}

fn activate(world: &mut World, ue: &mut Ue) {
    let (old, new) = (gnb(2, ue.n), gnb(3, ue.n));
    ue.change(world, Change::Activate(new));
    world.settle();
    ue.at = 3;
    let style = &ue.dialect.profile().change;
    let marks = matches!(
        style.idle,
        Idle::Buffer {
            end_marker_after: true,
            ..
        }
    );
    let expected: &[N3Frame] = if marks {
        &[N3Frame::EndMarker(old)]
    } else {
        &[]
    };
    gets_what_waited(world, ue, expected, 300);
    let is_new = ue.uplink != Some(ue.session.uplink);
    assert_eq!(is_new, style.idle == Idle::Remove, "{}", ue.dialect);
}

/// Usage is told when it is asked for; where the dialect never measures there is nothing to ask.
fn query(world: &mut World, ue: &mut Ue) {
    if ue.dialect.profile().urr.is_empty() {
        let refused = world.change(ue.smf, ue.session.cp_seid, Change::Query);
        assert!(
            matches!(refused, Err(SmfError::NotMeasured(_))),
            "{refused:?}"
        );
        return;
    }
    let reported = ue.change(world, Change::Query).usage;
    let octets: u64 = reported
        .urrs
        .iter()
        .map(|urr| urr.traffic().total_octets)
        .sum();
    // Where a threshold was reached the usage up to there was reported before.
    let has_thresholds = ue
        .dialect
        .profile()
        .urr
        .iter()
        .any(|urr| urr.triggers.contains(ReportingTriggers::VOLTH));
    assert!(octets > 0 || has_thresholds, "{}", ue.dialect);
    let again = ue.change(world, Change::Query).usage;
    let octets: u64 = again
        .urrs
        .iter()
        .map(|urr| urr.traffic().total_octets)
        .sum();
    assert_eq!(octets, 0, "{}: nothing is told twice", ue.dialect);
    talk(world, ue);
}

fn drop_downlink(world: &mut World, ue: &mut Ue) {
    ue.change(world, Change::DropDownlink);
    ue.misses(world, 100, DropReason::FarDrop);
    ue.sends(world, 100);
}

#[test]
fn smfs_of_all_dialects_share_one_upf_with_many_sessions() {
    for workers in [1, 2] {
        let mut world = World::new(workers);
        let mut ues = Vec::new();
        for (smf, dialect) in (0..).zip(Dialect::ALL) {
            let id = world.add_smf(dialect);
            for n in 0..8 {
                ues.push(Ue::establish(&mut world, id, dialect, 100 + 8 * smf + n));
            }
        }
        for ue in &mut ues {
            let to = ue.gnb();
            ue.change(&mut world, Change::Connect(to));
        }
        for round in 0..3 {
            for ue in &mut ues {
                ue.sends(&mut world, 100 + usize::from(ue.n) + round);
                ue.receives(&mut world, 600 + usize::from(ue.n) + round);
            }
        }
        let sessions = 8 * Dialect::ALL.len();
        assert_eq!(world.upf.core.up.session_count(), sessions);
        // The last of one dialect first, so that neighbours go before those that talk on.
        while let Some(gone) = ues.pop() {
            gone.delete(&mut world);
            if let Some(ue) = ues.first_mut() {
                ue.sends(&mut world, 77);
                ue.receives(&mut world, 78);
            }
        }
        world.assert_vacant();
        world.close();
    }
}

#[test]
fn a_restarted_smf_finds_a_upf_without_its_sessions_and_with_those_of_others() {
    for dialect in Dialect::ALL {
        let mut world = World::new(2);
        let restarting = world.add_smf(dialect);
        let staying = world.add_smf(Dialect::Ts);
        for n in 1..=4 {
            let mut ue = Ue::establish(&mut world, restarting, dialect, n);
            let to = ue.gnb();
            ue.change(&mut world, Change::Connect(to));
            talk(&mut world, &mut ue);
        }
        let mut other = Ue::establish(&mut world, staying, Dialect::Ts, 9);
        let to = other.gnb();
        other.change(&mut world, Change::Connect(to));
        world.restart_smf(restarting, dialect);
        world.settle();
        assert_eq!(world.upf.core.up.session_count(), 1, "{dialect}");
        talk(&mut world, &mut other);
        let mut ue = Ue::establish(&mut world, restarting, dialect, 1);
        let to = ue.gnb();
        ue.change(&mut world, Change::Connect(to));
        talk(&mut world, &mut ue);
        ue.delete(&mut world);
        other.delete(&mut world);
        world.assert_vacant();
        world.close();
    }
}

#[test]
fn a_teid_that_two_smfs_choose_belongs_to_the_first() {
    let mut world = World::new(1);
    let (first, second) = (
        world.add_smf(Dialect::Free5gc),
        world.add_smf(Dialect::SdCore),
    );
    let mut ue = Ue::establish(&mut world, first, Dialect::Free5gc, 1);
    let mut same = plan(Dialect::SdCore, 2);
    same.uplink = UplinkTeid::ChosenByCp(ue.session.uplink);
    let refused = world.establish(second, same).unwrap_err();
    let SmfError::Rejected { rejection, .. } = refused else {
        panic!("{refused}");
    };
    assert_eq!(rejection.cause, Cause::RULE_CREATION_MODIFICATION_FAILURE);
    assert_eq!(rejection.offending_ie, Some(IeType::F_TEID));
    ue.sends(&mut world, 100);
    ue.delete(&mut world);
    world.assert_vacant();
    world.close();
}

#[test]
fn a_packet_of_another_qos_flow_is_no_packet_of_a_rule_with_a_qfi() {
    for dialect in Dialect::ALL {
        let mut world = World::new(1);
        let smf = world.add_smf(dialect);
        let ue = Ue::establish(&mut world, smf, dialect, 7);
        let inner = kit::frames::packet(kit::ue_address(7), kit::SERVER, 50, 1);
        let other = Qfi::new(QFI + 1).unwrap();
        world.inject_uplink(1, ue.session.uplink, other, &inner);
        world.settle();
        let asked = dialect.profile().pdr.uplink_qfi;
        assert_eq!(
            world.dropped(DropReason::NoPdr),
            u64::from(asked),
            "{dialect}"
        );
        assert_eq!(world.n6_output().len(), usize::from(!asked), "{dialect}");
        world.delete(smf, ue.session.cp_seid).unwrap();
        world.assert_vacant();
        world.close();
    }
}

#[test]
fn the_log_names_smfs_that_choose_teids_or_ask_for_reports_that_are_not_made() {
    for dialect in Dialect::ALL {
        let mut world = World::new(1);
        let smf = world.add_smf(dialect);
        let ue = Ue::establish(&mut world, smf, dialect, 7);
        assert_eq!(ue.session.uplink.ipv4(), Some(N3), "{dialect}");
        let chosen = ue.session.uplink == tunnel(0x0500_0007, N3);
        assert_eq!(chosen, dialect.chooses_teids(), "{dialect}");
        let log = world.notices();
        let told = |what: &str| log.iter().any(|line| line.contains(what));
        assert_eq!(told("chooses TEIDs itself"), chosen, "{dialect}: {log:?}");
        let served = ReportingTriggers(
            ReportingTriggers::VOLTH.0
                | ReportingTriggers::VOLQU.0
                | ReportingTriggers::START.0
                | ReportingTriggers::PERIO.0
                | ReportingTriggers::TIMTH.0
                | ReportingTriggers::TIMQU.0
                | ReportingTriggers::QUHTI.0
                | ReportingTriggers::QUVTI.0,
        );
        let is_other = |urr: &UrrStyle| urr.triggers.0 & !served.0 != 0;
        let asks = dialect.profile().urr.iter().any(is_other);
        assert_eq!(told("asks for usage reports"), asks, "{dialect}: {log:?}");
        ue.delete(&mut world);
        world.assert_vacant();
        world.close();
    }
}

#[test]
fn sessions_without_rates_and_usage_and_with_the_gnb_known_at_once_work_too() {
    for dialect in Dialect::ALL {
        let mut world = World::new(2);
        let smf = world.add_smf(dialect);
        let mut bare = plan(dialect, 7);
        (bare.ambr, bare.measured, bare.gnb) = (None, false, Some(gnb(1, 7)));
        let mut ue = Ue::with(&mut world, smf, dialect, 7, bare);
        if dialect.profile().far.before_gnb == BeforeGnb::Absent {
            ue.change(&mut world, Change::Connect(gnb(1, 7)));
        }
        talk(&mut world, &mut ue);
        ue.delete_unmeasured(&mut world);
        world.assert_vacant();
        world.close();
    }
}

/// 1 Mbit/s: the bucket holds 100 ms, 12,500 octets.
const SLOW: BitRate = BitRate {
    uplink_kbps: 1000,
    downlink_kbps: 1000,
};

#[test]
fn the_lower_of_session_and_flow_rate_holds_and_what_exceeds_it_counts_where_a_urr_asks() {
    for dialect in Dialect::ALL {
        let has_flow_rate = dialect.profile().qer != QerStyle::Merged { flow_apart: false };
        for of_flow in [false, true].into_iter().filter(|of| !of || has_flow_rate) {
            let mut world = World::new(2);
            let smf = world.add_smf(dialect);
            let mut slow = plan(dialect, 7);
            match of_flow {
                true => slow.flow_mbr = Some(SLOW),
                false => slow.ambr = Some(SLOW),
            }
            let mut ue = Ue::with(&mut world, smf, dialect, 7, slow);
            let to = ue.gnb();
            ue.change(&mut world, Change::Connect(to));
            let left = ue.floods(&mut world, 40, 1000);
            assert_eq!(left, [12, 12], "{dialect}, of the flow: {of_flow}");
            assert_eq!(world.dropped(DropReason::MbrExceeded), 2 * (40 - 12));
            ue.delete(&mut world);
            world.assert_vacant();
            world.close();
        }
    }
}

#[test]
fn rates_of_zero_close_nothing_that_oai_wants_open_however_they_are_read() {
    for mbr_zero in [MbrZero::Unlimited, MbrZero::Closed] {
        let mut world = World::with(1, |config| config.mbr_zero = mbr_zero);
        let smf = world.add_smf(Dialect::Oai);
        let mut ue = Ue::establish(&mut world, smf, Dialect::Oai, 7);
        let to = ue.gnb();
        ue.change(&mut world, Change::Connect(to));
        talk(&mut world, &mut ue);
        ue.delete(&mut world);
        world.assert_vacant();
        world.close();
    }
}

#[test]
fn a_gnb_that_forgot_its_tunnel_is_reported_once_and_the_session_goes_on() {
    for dialect in Dialect::ALL {
        let mut world = World::new(2);
        let smf = world.add_smf(dialect);
        let mut ue = Ue::establish(&mut world, smf, dialect, 7);
        let lost = ue.gnb();
        ue.change(&mut world, Change::Connect(lost));
        for _ in 0..3 {
            world.gnb_forgot(1, lost);
        }
        let reports = world.reports(smf);
        let [Report::Session(report)] = reports.as_slice() else {
            panic!("{dialect}: {reports:?}");
        };
        assert_eq!(report.error_indications, [lost], "{dialect}");
        assert_eq!(report.cp_seid, ue.session.cp_seid, "{dialect}");
        ue.change(&mut world, Change::Idle);
        ue.change(&mut world, Change::Activate(gnb(2, 7)));
        ue.at = 2;
        world.settle();
        world.n3_output();
        talk(&mut world, &mut ue);
        ue.delete(&mut world);
        world.assert_vacant();
        world.close();
    }
}

/// An SMF marks outer headers by 5QI: each flow has the DSCP of its own, and a flow that the SMF has none for has none.
#[test]
fn outer_headers_of_each_flow_have_the_dscp_of_its_5qi() {
    let (marked, unmarked) = ((2, 34), (3, 0));
    for (of_5qi, dscp) in [marked, unmarked] {
        let mut world = World::new(1);
        let smf = world.add_smf(Dialect::Marking);
        let mut plan = plan(Dialect::Marking, 7);
        plan.flow = Some(Flow {
            packets: FlowPackets::Described(
                format!("permit out ip from {SECOND_SERVER}/32 to assigned").into(),
            ),
            precedence: Precedence(100),
            qfi: Qfi::new(of_5qi).unwrap(),
            mbr: None,
            gbr: None,
        });
        let mut ue = Ue::with(&mut world, smf, Dialect::Marking, 7, plan);
        for change in [Change::Connect(gnb(1, 7)), Change::SwitchPath(gnb(2, 7))] {
            ue.change(&mut world, change);
            world.n3_output();
            for server in [SERVER, SECOND_SERVER] {
                let packet = kit::frames::packet(server, kit::ue_address(7), 100, 1);
                world.inject_downlink(&packet);
            }
            world.settle();
            let marks = |frame: &N3Frame| match frame {
                N3Frame::Data { qfi, dscp, .. } => Some((*qfi, *dscp)),
                _ => None,
            };
            let left: Vec<_> = world.n3_output().iter().filter_map(marks).collect();
            assert_eq!(left, [(Some(QFI), 10), (Some(of_5qi), dscp)]);
        }
        world.delete(smf, ue.session.cp_seid).unwrap();
        world.assert_vacant();
        world.close();
    }
}

/// The SMF's own packets for a UE, as its router advertisements are, reach it as they were.
#[test]
fn open5gs_reaches_its_ues_by_n4_u() {
    let mut world = World::new(2);
    let smf = world.add_smf(Dialect::Open5gs);
    let mut ue = Ue::establish(&mut world, smf, Dialect::Open5gs, 7);
    let to = ue.gnb();
    ue.change(&mut world, Change::Connect(to));
    world.n3_output();
    let session = world.upf.core.up.session(ue.session.up_seid.0).unwrap();
    let teid = |id| session.pdr.iter().find(|pdr| pdr.id == id).unwrap().teid;
    let (channel, uplink) = (teid(3).unwrap(), teid(2));
    assert_eq!(uplink, Some(ue.session.uplink.teid.get()));
    assert_eq!(teid(4), uplink, "they have a CHOOSE ID in common");
    assert_ne!(Some(channel), uplink);
    let to_channel = tunnel(channel, N3);
    let advertisement = kit::frames::packet(kit::SERVER, kit::ue_address(7), 50, 1);
    let astray = kit::frames::packet(kit::SERVER, kit::ue_address(9), 50, 1);
    for packet in [&advertisement, &astray] {
        let frame = kit::frames::without_container(4, to_channel, packet);
        world.upf.n3.inject(&frame);
    }
    world.settle();
    let output = world.n3_output();
    let [
        N3Frame::Data {
            to: left, inner, ..
        },
    ] = &output[..]
    else {
        panic!("{output:?}")
    };
    assert_eq!((*left, inner), (to, &advertisement));
    assert_eq!(world.dropped(DropReason::UeDestination), 1);
    // It counts for the session, and for no URR.
    let seen = world.seen_by_operator(ue.session.up_seid);
    assert_eq!(seen, [(0, 0), (50, 1)]);
    world.delete(smf, ue.session.cp_seid).unwrap();
    world.assert_vacant();
    world.close();
}
