//! The generator on simulated ports, in virtual time: what links do to packets is reported
//! exactly. What happened is known twice: from the simulation's own ledger, and from captures of
//! what left and what arrived, read by a naive counter.
#![allow(clippy::unwrap_used, reason = "a failed step is a failed test")]

use std::sync::Arc;

use crate::kit::*;
use sluice_load::engine::{Engine, Loopback, Phase, Trial};
use sluice_load::report::LaneName;
use sluice_load::source::{Plan, Popularity, RateStep, Sizes, Unit};
use sluice_load::{Direction, TimeSummary};
use sluice_port::PortId;
use sluice_port_sim::{HeapPool, LinkConfig, SimNet, SimPortConfig};

const MS: u64 = 1_000_000;
const S: u64 = 1_000 * MS;

fn uplink_only(pps: f64) -> Trial {
    Trial {
        uplink: Some(lane(Plan::constant(Unit::Packets, pps, S))),
        ..Trial::default()
    }
}

#[test]
fn a_perfect_link_loses_nothing_and_takes_its_time() {
    let mut world = World::new(10, link(50_000));
    let report = world.run(&Trial {
        downlink: Some(lane(Plan::constant(Unit::Packets, 3_000.0, S))),
        ..uplink_only(7_000.0)
    });
    for (lane, sent) in [(LaneName::Uplink, 7_000), (LaneName::Downlink, 3_000)] {
        let lane = of(&report, lane);
        assert_eq!((lane.offered, lane.sent, lane.received), (sent, sent, sent));
        assert_eq!(
            (lane.lost, lane.duplicates, lane.reordered, lane.undecided),
            (0, 0, 0, 0)
        );
        assert_eq!((lane.late, lane.refused, lane.unsent), (0, 0, 0));
        assert_eq!(lane.latency, always(sent, 50_000));
        assert_eq!(lane.latency_from_sent, always(sent, 50_000));
        assert_eq!(lane.jitter_max_ns, 0.0);
        assert_eq!(lane.sent_pps, sent as f64);
        assert_eq!((lane.flows, lane.flows_with_loss), (10, 0));
    }
    assert_eq!(report.strays, Default::default());
}

#[test]
fn injected_loss_is_reported_exactly() {
    for (seed, loss_ppm) in [(1, 1_000), (2, 50_000), (3, 500_000)] {
        let mut world = World::seeded(
            seed,
            100,
            LinkConfig {
                loss_ppm,
                ..link(1_000)
            },
        );
        let report = world.run(&uplink_only(20_000.0));
        let lane = of(&report, LaneName::Uplink);
        let ledger = world.net.ledger();
        assert!(ledger.lost > 0);
        assert_eq!((lane.sent, lane.lost), (20_000, ledger.lost));
        assert_eq!(lane.received, 20_000 - ledger.lost);
        assert_eq!((lane.duplicates, lane.reordered, lane.undecided), (0, 0, 0));
        assert_eq!(lane.latency, always(lane.received, 1_000));
        world.matches_the_captures(Direction::Uplink, lane);
    }
}

#[test]
fn injected_duplicates_are_reported_exactly() {
    let duplicate_ppm = 30_000;
    let mut world = World::seeded(
        4,
        100,
        LinkConfig {
            duplicate_ppm,
            ..link(1_000)
        },
    );
    let report = world.run(&uplink_only(20_000.0));
    let lane = of(&report, LaneName::Uplink);
    let ledger = world.net.ledger();
    assert!(ledger.duplicated > 0);
    assert_eq!((lane.lost, lane.duplicates), (0, ledger.duplicated));
    assert_eq!((lane.received, lane.reordered), (20_000, 0));
    world.matches_the_captures(Direction::Uplink, lane);
}

#[test]
fn everything_at_once_is_what_the_captures_show() {
    let broken = LinkConfig {
        delay_ns: 30_000,
        loss_ppm: 20_000,
        duplicate_ppm: 10_000,
        reorder_ppm: 40_000,
        reorder_delay_ns: 400_000,
    };
    let mut world = World::seeded(5, 50, broken);
    let trial = Trial {
        downlink: Some(lane(Plan::constant(Unit::Packets, 40_000.0, S))),
        ..uplink_only(60_000.0)
    };
    let report = world.run(&trial);
    let (up, down) = (
        of(&report, LaneName::Uplink),
        of(&report, LaneName::Downlink),
    );
    let ledger = world.net.ledger();
    assert_eq!(up.lost + down.lost, ledger.lost);
    // Lost packets are not doubled; what is doubled arrives twice, and is known the second time.
    assert_eq!(up.duplicates + down.duplicates, ledger.duplicated);
    assert!(up.reordered > 0 && down.reordered > 0);
    assert_eq!((up.undecided, down.undecided), (0, 0));
    for lane in [up, down] {
        assert_eq!(
            (lane.latency.min_ns, lane.latency.max_ns),
            (30_000, 430_000)
        );
        assert!(lane.latency.p90_ns < 30_050 && lane.latency.p99_ns > 429_000);
    }
    world.matches_the_captures(Direction::Uplink, up);
    world.matches_the_captures(Direction::Downlink, down);
    assert!(ledger.is_balanced());
}

#[test]
fn a_reordered_packet_is_one_below_the_highest_of_its_flow() {
    // One in ten takes longer by a gap and a half, so that one packet overtakes it.
    let late = LinkConfig {
        reorder_ppm: 100_000,
        reorder_delay_ns: 1_500_000,
        ..link(0)
    };
    let mut world = World::seeded(6, 1, late);
    let report = world.run(&uplink_only(1_000.0));
    let lane = of(&report, LaneName::Uplink);
    assert!(lane.reordered > 0);
    assert_eq!(lane.lost, 0);
    world.matches_the_captures(Direction::Uplink, lane);
}

#[test]
fn ports_without_room_are_told_apart_from_a_slow_generator() {
    // A wire that carries half of what is offered: the port refuses the rest.
    let mut world = World::with_rate(1, link(0), Some(8_000_000));
    let trial = Trial {
        patience_ns: 2 * MS,
        ..uplink_only(20_000.0)
    };
    let report = world.run(&trial);
    let lane = of(&report, LaneName::Uplink);
    assert!(lane.refused > 5_000, "{}", lane.refused);
    assert_eq!(lane.offered, lane.sent + lane.refused);
    assert_eq!(
        lane.lost, lane.refused,
        "what a port has no room for is lost"
    );
    assert!(!lane.is_generator_bound());
    // Waiting for the door counts from the due time, and only from there.
    assert!(lane.latency.p50_ns > lane.latency_from_sent.p50_ns);
    assert!(lane.lateness.max_ns > 100_000 && lane.late > 0);
}

#[test]
fn a_generator_that_stops_is_late_and_says_what_it_never_sent() {
    let mut world = World::new(1, link(0));
    let trial = uplink_only(10_000.0);
    world.engine.start(&trial).unwrap();
    world.go_until(500 * MS);
    // Nobody calls it for 200 ms; then it sends what was due, late.
    world.net.advance_to(700 * MS);
    world.go_until(900 * MS);
    // And not again until long after the end.
    world.net.advance_to(2 * S);
    world.go_until(4 * S);
    let report = world.engine.finish().unwrap();
    let lane = of(&report, LaneName::Uplink);
    assert_eq!(lane.offered, 10_000);
    assert!(lane.unsent.abs_diff(1_000) < 50, "{}", lane.unsent);
    assert!(lane.is_generator_bound());
    assert_eq!(lane.lost, 0, "what was never sent is not lost");
    assert!(lane.late.abs_diff(2_000) < 50, "{}", lane.late);
    assert!(lane.latency.max_ns > 199 * MS, "coordinated omission");
    assert_eq!(lane.latency_from_sent.max_ns, 0);
}

#[test]
fn a_generator_that_was_away_at_the_end_sends_the_rest_late() {
    let mut world = World::new(1, link(0));
    world.engine.start(&uplink_only(10_000.0)).unwrap();
    world.go_until(970 * MS);
    world.net.advance_to(1_030 * MS);
    world.go_until(2 * S);
    let report = world.engine.finish().unwrap();
    let lane = of(&report, LaneName::Uplink);
    assert_eq!((lane.sent, lane.unsent, lane.lost), (10_000, 0, 0));
    assert!(lane.late.abs_diff(300) < 20, "{}", lane.late);
    assert!(!lane.is_generator_bound());
}

#[test]
fn a_closed_loop_keeps_its_window_and_survives_loss() {
    let plan = Plan::Window {
        packets: 16,
        duration_ns: S,
    };
    let trial = Trial {
        uplink: Some(lane(plan)),
        ..Trial::default()
    };
    let mut world = World::new(4, link(MS));
    let report = world.run(&trial);
    let lane = of(&report, LaneName::Uplink);
    // 16 packets every millisecond.
    assert!(lane.sent.abs_diff(16_000) <= 16, "{}", lane.sent);
    assert_eq!(lane.lost, 0);
    let lossy = LinkConfig {
        loss_ppm: 100_000,
        ..link(MS)
    };
    let mut world = World::seeded(8, 4, lossy);
    let report = world.run(&trial);
    let lane = of(&report, LaneName::Uplink);
    assert_eq!(lane.lost, world.net.ledger().lost);
    assert!(lane.sent > 1_000, "{}", lane.sent);
}

#[test]
fn a_mirror_gives_round_trips() {
    let mut world = World::new(5, link(20_000));
    let trial = Trial {
        mirror: true,
        ..uplink_only(1_000.0)
    };
    let report = world.run(&trial);
    // The simulated link takes off no tunnel, so the mirror finds no bare packet to send back.
    assert_eq!(of(&report, LaneName::RoundTrip).received, 0);
    let mut world = World::with_upf(5, link(10_000));
    let report = world.run(&trial);
    assert_eq!(report.strays.misdelivered, 0);
    let (there, back) = (
        of(&report, LaneName::Uplink),
        of(&report, LaneName::RoundTrip),
    );
    assert_eq!(
        (there.received, back.received, back.lost),
        (1_000, 1_000, 0)
    );
    assert_eq!(there.latency, always(1_000, 20_000));
    assert_eq!(back.latency, always(1_000, 40_000));
}

#[test]
fn steps_show_in_the_timeline() {
    let steps = [1_000.0, 4_000.0]
        .map(|pps| RateStep::constant(pps, 2 * S))
        .to_vec();
    let unit = Unit::Packets;
    let trial = Trial {
        uplink: Some(lane(Plan::Steps { unit, steps })),
        ..Trial::default()
    };
    let report = World::new(5, link(1_000)).run(&trial);
    let sent: Vec<u64> = report
        .timeline
        .iter()
        .map(|line| line.lanes[0].sent)
        .collect();
    assert_eq!(sent[..4], [1_000, 1_000, 4_000, 4_000]);
    let received: u64 = report
        .timeline
        .iter()
        .map(|line| line.lanes[0].received)
        .sum();
    assert_eq!(received, 10_000);
}

#[test]
fn bits_mixes_and_popularity_make_what_they_say() {
    let mut world = World::new(1000, link(0));
    let mut up = lane(Plan::constant(Unit::Bits, 80e6, S));
    up.sizes = Sizes::imix();
    up.popularity = Popularity::Hot {
        ues: (0..100).collect(),
        share: 0.9,
    };
    let report = world.run(&Trial {
        uplink: Some(up),
        ..Trial::default()
    });
    let lane = of(&report, LaneName::Uplink);
    assert!(
        (lane.sent_bps / 80e6 - 1.0).abs() < 1e-3,
        "{}",
        lane.sent_bps
    );
    assert_eq!((lane.lost, lane.received_bps), (0, lane.sent_bps));
    let counts = world.arrivals_by_flow(Direction::Uplink);
    let hot: u64 = (0..100).filter_map(|flow| counts.get(&flow)).sum();
    let share = hot as f64 / lane.received as f64;
    assert!((share - 0.9).abs() < 0.01, "{share}");
}

#[test]
fn runs_do_not_mix() {
    // Packets of the first run are still on their way when the second begins.
    let mut world = World::new(1, link(600 * MS));
    world.engine.start(&uplink_only(1_000.0)).unwrap();
    world.go_until(500 * MS);
    let report = world.run(&uplink_only(1_000.0));
    let lane = of(&report, LaneName::Uplink);
    assert_eq!((lane.received, lane.lost, lane.duplicates), (1_000, 0, 0));
    assert!(report.strays.stale > 400, "{:?}", report.strays);
}

#[test]
fn what_is_for_another_ue_is_misdelivered_and_lost() {
    let mut world = World::checking(5, link(0));
    // Uplink arrives in its tunnel, as no UPF takes it off.
    let report = world.run(&uplink_only(100.0));
    let lane = of(&report, LaneName::Uplink);
    assert_eq!((lane.lost, report.strays.misdelivered), (100, 100));
}

fn always(count: u64, ns: u64) -> TimeSummary {
    TimeSummary {
        count,
        min_ns: ns,
        mean_ns: ns as f64,
        p50_ns: ns,
        p90_ns: ns,
        p99_ns: ns,
        p999_ns: ns,
        p9999_ns: ns,
        max_ns: ns,
    }
}

#[test]
fn through_a_upf_everything_arrives_for_whom_it_was_sent() {
    let mut world = World::with_upf(20, link(5_000));
    let report = world.run(&Trial {
        downlink: Some(lane(Plan::constant(Unit::Packets, 2_000.0, S))),
        ..uplink_only(2_000.0)
    });
    for lane in &report.lanes {
        assert_eq!((lane.received, lane.lost), (2_000, 0));
        assert_eq!(lane.latency, always(2_000, 10_000));
    }
    assert_eq!(report.strays, Default::default());
}

#[test]
fn the_same_source_runs_into_a_loopback_for_its_own_limit() {
    let (net, pool) = (SimNet::new(1), HeapPool::default());
    let ports = ["n3", "n6"].map(|name| net.add_port(SimPortConfig::named(name)));
    let io = Loopback::new(net.io(&ports, pool.clone()), [PortId(0), PortId(1)]);
    let clock = || sluice_host::clock::monotonic_ns();
    let mut engine = Engine::new(io, clock, &config(false));
    engine.set_flows(Arc::new(flows(10)));
    let flood = || {
        Some(lane(Plan::Flood {
            duration_ns: 20 * MS,
        }))
    };
    let trial = Trial {
        uplink: flood(),
        downlink: flood(),
        ..Trial::default()
    };
    engine.start(&trial).unwrap();
    while engine.phase() != Phase::Done {
        engine.turn();
    }
    let report = engine.finish().unwrap();
    for lane in &report.lanes {
        assert!(
            lane.sent > 100 && lane.lost == 0 && lane.reordered == 0,
            "{lane:?}"
        );
    }
    drop(engine);
    assert_eq!((pool.live(), pool.leaked()), (0, 0));
}
