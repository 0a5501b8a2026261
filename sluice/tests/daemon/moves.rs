//! `sluice ctl move` and `scale` on a daemon with three workers, while its UEs' packets flow.

use std::thread;

use serde_json::Value;
use sluice::cli::args::CtlQuery;

use super::kit::*;

const UES: u8 = 4;
/// 5 s of pings, 20 ms apart.
const PINGS: u32 = 250;

/// Three workers on whatever cores there are, each with a queue of both ports, among which the kernel
/// spreads the packets without a thought of shards.
fn three_workers() -> Config {
    let mut config = Config::new();
    config.more = "workers: {count: 3, share_cores: true}\n".to_owned();
    config
}

fn workers(daemon: &Daemon) -> Vec<(u64, u64)> {
    let answer = daemon.ask(&CtlQuery::Workers);
    let number = |worker: &Value, key: &str| worker[key].as_u64().unwrap();
    let workers = answer["workers"].as_array().unwrap().iter();
    workers
        .map(|w| (number(w, "shards"), number(w, "rx_queues")))
        .collect()
}

#[test]
fn shards_and_queues_move_and_no_packet_is_lost() {
    let Some(lab) = Lab::new("move") else { return };
    let daemon = Daemon::start(&lab, &three_workers());
    let (smf, gnb) = (lab.smf(), lab.gnb());
    let ues: Vec<_> = (0..UES)
        .map(|n| Ue::attach(&lab, &smf, gnb.handle(), n))
        .collect();
    // Neighbours are known from here on.
    ues.iter()
        .for_each(|ue| assert_eq!(ue.ping(&lab, 1, 84), 1));
    let answers: Vec<u32> = thread::scope(|scope| {
        let pings = ues
            .iter()
            .map(|ue| scope.spawn(|| ue.ping_for_a_while(&lab, PINGS, 200)));
        let pings: Vec<_> = pings.collect();
        let mut round = 0;
        while !pings.iter().all(|ping| ping.is_finished()) {
            about(&daemon, &ues, round);
            round += 1;
        }
        assert!(round > 5, "{round} rounds");
        pings.into_iter().map(|ping| ping.join().unwrap()).collect()
    });
    assert_eq!(answers, [PINGS; UES as usize]);
    let ledger = daemon.ledger();
    assert_eq!(ledger["dropped_total"], 0, "{ledger:#}");
}

/// Each UE to some worker, then all to as many as `round` says.
fn about(daemon: &Daemon, ues: &[Ue], round: usize) {
    for (number, ue) in ues.iter().enumerate() {
        let to = ((round + number) % 3).to_string();
        let said = daemon.ctl(&["move", &ue.address.to_string(), &to, "--json"]);
        assert_eq!(said.code, Some(0), "{}", said.err);
        let answer: Value = serde_json::from_str(&said.out).unwrap();
        assert_eq!(answer["to"].to_string(), to);
    }
    let wanted = 1 + round % 3;
    let said = daemon.ctl(&["scale", &wanted.to_string()]);
    assert_eq!(said.code, Some(0), "{}", said.err);
    let workers = workers(daemon);
    let (working, parked) = workers.split_at(wanted);
    assert!(parked.iter().all(|w| *w == (0, 0)), "{workers:?}");
    let shards: u64 = working.iter().map(|w| w.0).sum();
    assert!(
        working.iter().all(|w| w.0 >= 4096 / wanted as u64),
        "{workers:?}"
    );
    assert_eq!(
        (shards, working.iter().map(|w| w.1).sum::<u64>()),
        (4096, 6)
    );
}

/// The counters `key` of all workers.
fn counters(daemon: &Daemon, key: &str) -> Vec<u64> {
    let answer = daemon.ask(&CtlQuery::Workers);
    let workers = answer["workers"].as_array().unwrap().iter();
    workers.map(|w| w[key].as_u64().unwrap()).collect()
}

/// What the daemon's workers did with pings of all UEs: packets handed over and sent by each.
fn pings(lab: &Lab, daemon: &Daemon, ues: &[Ue]) -> [Vec<u64>; 2] {
    const EACH: u32 = 25;
    let keys = ["handed_out", "transmitted"];
    let before = keys.map(|key| counters(daemon, key));
    for (ue, bytes) in ues.iter().zip([84, 1_200, 84, 1_200]) {
        assert_eq!(ue.ping(lab, EACH, bytes), EACH);
    }
    let mut after = keys.map(|key| counters(daemon, key));
    for (after, before) in after.iter_mut().zip(&before) {
        after.iter_mut().zip(before).for_each(|(a, b)| *a -= b);
    }
    // Each way, and back.
    let sent: u64 = after[1].iter().sum();
    assert!(sent >= 2 * u64::from(EACH) * ues.len() as u64, "{after:?}");
    after
}

#[test]
fn every_execution_model_carries_the_same_packets() {
    let Some(lab) = Lab::new("model") else { return };
    let daemon = Daemon::start(&lab, &three_workers());
    let (smf, gnb) = (lab.smf(), lab.gnb());
    let attach = |n| Ue::attach(&lab, &smf, gnb.handle(), n);
    let ues: Vec<_> = (0..UES).map(attach).collect();
    for ue in &ues {
        assert_eq!(ue.ping(&lab, 1, 84), 1);
    }
    // Run-to-completion: one polls all, and all is its own.
    assert_eq!(daemon.ctl(&["scale", "1"]).code, Some(0));
    let [handed, sent] = pings(&lab, &daemon, &ues);
    assert_eq!((handed, &sent[1..]), (vec![0; 3], &[0, 0][..]));
    // A pipeline: it still polls all, and the others own every UE.
    for (ue, to) in ues.iter().zip(["1", "2"].iter().cycle()) {
        let said = daemon.ctl(&["move", &ue.address.to_string(), to]);
        assert_eq!(said.code, Some(0), "{}", said.err);
    }
    assert_eq!(workers(&daemon)[0].1, 6);
    let [handed, sent] = pings(&lab, &daemon, &ues);
    assert_eq!(handed[0], sent[1] + sent[2], "{handed:?} {sent:?}");
    assert!(sent[1] >= 100 && sent[2] >= 100, "{sent:?}");
    // A mixture: shards and queues are dealt out, and know nothing of each other.
    assert_eq!(daemon.ctl(&["scale", "3"]).code, Some(0));
    let [handed, _] = pings(&lab, &daemon, &ues);
    assert!(handed.iter().sum::<u64>() > 0, "{handed:?}");
    assert_eq!(daemon.ledger()["dropped_total"], 0);
}

#[test]
fn with_little_to_do_all_but_one_worker_are_sent_to_rest() {
    let Some(lab) = Lab::new("auto") else { return };
    let daemon = Daemon::start(&lab, &three_workers());
    let (smf, gnb) = (lab.smf(), lab.gnb());
    let ue = Ue::attach(&lab, &smf, gnb.handle(), 0);
    assert_eq!(ue.ping(&lab, 1, 84), 1);
    let said = daemon.ctl(&["scale", "auto"]);
    assert_eq!(said.code, Some(0), "{}", said.err);
    assert!(said.out.contains("policy: cycles"), "{}", said.out);
    let mut pings = (0, 0);
    eventually("two workers rest", || {
        pings = (pings.0 + 10, pings.1 + ue.ping(&lab, 10, 84));
        workers(&daemon)[1..] == [(0, 0), (0, 0)]
    });
    let told = || (daemon.ledger(), daemon.ask(&CtlQuery::Ports));
    assert_eq!(pings.0, pings.1, "{:#?}", told());
    // A number ends it.
    assert_eq!(daemon.ctl(&["scale", "3"]).code, Some(0));
    std::thread::sleep(std::time::Duration::from_secs(2));
    assert!(workers(&daemon).iter().all(|(shards, _)| *shards > 1_000));
    assert_eq!(daemon.ledger()["dropped_total"], 0);
}

#[test]
fn a_configured_policy_keeps_its_bounds() {
    let Some(lab) = Lab::new("least") else { return };
    let mut config = three_workers();
    config.more =
        "workers: {count: 3, share_cores: true, scaling: cycles, working_min: 2}\n".into();
    let daemon = Daemon::start(&lab, &config);
    eventually("one worker rests", || workers(&daemon)[2] == (0, 0));
    std::thread::sleep(std::time::Duration::from_secs(2));
    let two = workers(&daemon)[..2]
        .iter()
        .map(|(shards, _)| shards)
        .sum::<u64>();
    assert!(
        workers(&daemon)[..2]
            .iter()
            .all(|(shards, _)| *shards > 1_000)
    );
    assert_eq!(two, 4096);
    let said = daemon.ctl(&["scale", "auto"]);
    assert!(said.out.contains("working_min: 2"), "{}", said.out);
}

#[test]
fn what_cannot_be_moved_is_refused() {
    let Some(lab) = Lab::new("norm") else { return };
    let daemon = Daemon::start(&lab, &Config::new());
    let refused = |arguments: &[&str], code: i32, why: &str| {
        let said = daemon.ctl(arguments);
        assert_eq!(said.code, Some(code), "{arguments:?}: {said:?}");
        assert!(said.err.contains(why), "{arguments:?}: {}", said.err);
    };
    refused(
        &["move", "10.60.0.9", "0"],
        1,
        "no session has the UE address 10.60.0.9",
    );
    refused(&["move", "4096", "0"], 2, "expected a shard from 0 to 4095");
    refused(&["move", "7", "1"], 1, "worker 1: expected 0 to 0");
    refused(&["scale", "0"], 1, "0 workers: expected 1 to 1");
    refused(
        &["scale", "many"],
        2,
        "expected a number of workers, or auto",
    );
    refused(&["scale", "2"], 1, "2 workers: expected 1 to 1");
    assert_eq!(daemon.ctl(&["scale", "1"]).code, Some(0));
    assert_eq!(daemon.ctl(&["move", "7", "0"]).code, Some(0));
}
