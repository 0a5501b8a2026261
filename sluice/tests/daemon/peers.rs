//! SMFs that fall silent, come back, start anew, come in pairs, or are nobody's.

use std::net::{Ipv4Addr, SocketAddrV4};
use std::time::Duration;

use serde_json::Value;
use sluice::cli::args::CtlQuery;
use sluice_host::packet::PacketSocket;
use sluice_smf_emulator::Smf;
use sluice_wire::eth::Eth;
use sluice_wire::ipv4::Ipv4;
use sluice_wire::pfcp;

use super::kit::*;

#[test]
fn sessions_of_a_silent_smf_are_kept_for_a_while_and_then_end() {
    let Some(lab) = Lab::new("silent") else {
        return;
    };
    let daemon = Daemon::start(&lab, &Config::new().n4("peer_loss_keep_s", 8));
    let (smf, gnb) = (lab.smf(), lab.gnb());
    let ue = Ue::attach(&lab, &smf, gnb.handle(), 0);
    smf.stop().unwrap();
    eventually("the SMF is seen to be silent", || {
        association(&daemon)["silent"] == true
    });
    assert_eq!(ue.ping(&lab, 3, 84), 3);
    assert_eq!(sessions(&daemon), 1);
    eventually("the session ends", || sessions(&daemon) == 0);
    assert_eq!(ue.ping_in_vain(&lab, 1, 84), 0);
    assert_eq!(counter(&daemon, "peer_lost"), 1);
    assert!(daemon.dropped("unknown_teid") > 0);
    let log = daemon.log();
    for words in [
        "is silent, its sessions stay for 8 s",
        "stayed silent, 1 sessions end",
    ] {
        assert!(log.contains(words), "{words}: {log}");
    }
    let address = format!(" at {}:8805)", N4_SMFS[0]);
    let names_it = |line: &&str| line.contains("N4 association") && line.contains(&address);
    assert!(
        log.lines().filter(names_it).count() >= 3,
        "{address}: {log}"
    );
    // One that starts anew is welcome.
    let smf = lab.smf();
    let ue = Ue::attach(&lab, &smf, gnb.handle(), 1);
    assert_eq!(ue.ping(&lab, 3, 84), 3);
}

#[test]
fn the_upf_sets_up_the_association_where_it_is_told_to() {
    let Some(lab) = Lab::new("caller") else {
        return;
    };
    let daemon = Daemon::start(&lab, &Config::new().n4("associate", N4_SMFS[0]));
    // Nobody is there yet.
    eventually("it has given up once", || counter(&daemon, "timed_out") > 0);
    let smf = lab.smf_at(0);
    let is_up = |smf: &Smf| smf.peer().unwrap().is_some();
    eventually("the association is up", || is_up(&smf));
    let gnb = lab.gnb();
    let mut ue = Ue::attach(&lab, &smf, gnb.handle(), 0);
    assert_eq!(ue.ping(&lab, 3, 84), 3);
    // One that starts anew is called again. Time stamps count whole seconds.
    smf.stop().unwrap();
    std::thread::sleep(Duration::from_millis(1100));
    let smf = lab.smf_at(0);
    eventually("the association is up again", || is_up(&smf));
    eventually("its old sessions have gone", || sessions(&daemon) == 0);
    ue.establish_again(&smf, gnb.handle());
    assert_eq!(ue.ping(&lab, 3, 84), 3);
}

#[test]
fn an_smf_that_was_cut_off_finds_its_sessions() {
    let Some(lab) = Lab::new("cut") else { return };
    let daemon = Daemon::start(&lab, &Config::new().n4("peer_loss_keep_s", 60));
    let (smf, gnb) = (lab.smf(), lab.gnb());
    let ue = Ue::attach(&lab, &smf, gnb.handle(), 0);
    lab.n4.a().down().unwrap();
    eventually("the SMF is seen to be silent", || {
        association(&daemon)["silent"] == true
    });
    assert_eq!(ue.ping(&lab, 3, 84), 3);
    lab.n4.a().up().unwrap();
    eventually("the SMF is heard again", || {
        association(&daemon)["silent"] == false
    });
    let usage = smf.delete(ue.cp_seid()).unwrap();
    assert_eq!(usage.urrs[0].traffic().uplink_octets, 3 * 84);
    assert!(daemon.log().contains("answers again"), "{}", daemon.log());
}

#[test]
fn sessions_of_an_smf_that_started_anew_end() {
    let Some(lab) = Lab::new("anew") else { return };
    let daemon = Daemon::start(&lab, &Config::new());
    let (smf, gnb) = (lab.smf(), lab.gnb());
    let mut ue = Ue::attach(&lab, &smf, gnb.handle(), 0);
    smf.stop().unwrap();
    // The recovery time stamp counts whole seconds.
    std::thread::sleep(Duration::from_millis(1100));
    // It sets up nothing yet: its answers to heartbeats tell of the restart.
    let smf = lab.smf_at(0);
    eventually("the session ends", || sessions(&daemon) == 0);
    assert_eq!(counter(&daemon, "peer_restarted"), 1);
    assert_eq!(ue.ping_in_vain(&lab, 1, 84), 0);
    smf.associate().unwrap();
    ue.establish_again(&smf, gnb.handle());
    assert_eq!(ue.ping(&lab, 3, 84), 3);
    // A set-up from a known node, without a restart that heartbeats could have told of before.
    smf.stop().unwrap();
    std::thread::sleep(Duration::from_millis(1100));
    let smf = lab.smf();
    eventually("the session ends", || sessions(&daemon) == 0);
    ue.establish_again(&smf, gnb.handle());
    assert_eq!(ue.ping(&lab, 3, 84), 3);
}

#[test]
fn two_smfs_have_their_own_sessions() {
    let Some(lab) = Lab::new("two") else { return };
    let daemon = Daemon::start(&lab, &Config::new());
    let (first, gnb) = (lab.smf(), lab.gnb());
    let second = lab.smf_at(1);
    second.associate().unwrap();
    let of_first = Ue::attach(&lab, &first, gnb.handle(), 0);
    let of_second = Ue::attach(&lab, &second, gnb.handle(), 1);
    // An address belongs to one session, whosever it is.
    let taken = second.establish(Ue::plan(N3_GNB, 0)).unwrap_err();
    assert!(taken.cause().is_some(), "{taken}");
    for ue in [&of_first, &of_second] {
        assert_eq!(ue.ping(&lab, 3, 84), 3);
    }
    let peers = daemon.ask(&CtlQuery::Peers);
    let names: Vec<_> = peers["associations"].as_array().unwrap().iter().collect();
    assert!(names.iter().all(|a| a["sessions"] == 1), "{names:?}");
    assert_eq!(names.len(), 2);
    first.release().unwrap();
    eventually("the sessions of one end", || sessions(&daemon) == 1);
    assert_eq!(of_first.ping_in_vain(&lab, 1, 84), 0);
    assert_eq!(of_second.ping(&lab, 3, 84), 3);
    assert_eq!(association(&daemon)["node_id"], N4_SMFS[1].to_string());
}

#[test]
fn a_peer_that_is_not_allowed_gets_no_answer_and_is_counted() {
    let Some(lab) = Lab::new("stranger") else {
        return;
    };
    let daemon = Daemon::start(&lab, &Config::new());
    let stranger = lab.smf_at(2);
    assert!(stranger.associate().is_err());
    // As often as it asked.
    let asked = stranger.counters().unwrap();
    let asked = asked.sent(pfcp::MessageType::ASSOCIATION_SETUP_REQUEST);
    assert!(counter(&daemon, "not_allowed") >= asked && asked > 0);
    let peers = daemon.ask(&CtlQuery::Peers);
    assert_eq!(peers["associations"].as_array().unwrap().len(), 0);
    let smf = lab.smf();
    assert!(smf.peer().unwrap().is_some());
}

#[test]
fn answers_come_from_the_address_that_was_asked() {
    const OTHER: Ipv4Addr = Ipv4Addr::new(198, 18, 4, 9);
    let Some(lab) = Lab::new("doors") else { return };
    lab.n4.b().add_address(OTHER, 24).unwrap();
    let mut config = Config::new().n4("node_id", "upf.example.org");
    config.n4 = config
        .n4
        .replace("listen: 198.18.4.1", "listen: [198.18.4.1; 198.18.4.9]");
    config.n4 = config.n4.replace("; ", ", ");
    let _daemon = Daemon::start(&lab, &config);
    let gnb = lab.gnb();
    for (number, asked) in [(0, N4_UPF), (1, OTHER)] {
        let seen = PacketSocket::open(lab.n4.a()).unwrap();
        let mut config = lab.smf_config(usize::from(number));
        config.upf = SocketAddrV4::new(asked, pfcp::PORT);
        let smf = Smf::start(&config).unwrap();
        smf.associate().unwrap();
        let ue = Ue::attach(&lab, &smf, gnb.handle(), number);
        assert_eq!(ue.ping(&lab, 2, 84), 2);
        // Heartbeats of ours, too: they come from nothing that was just received.
        std::thread::sleep(Duration::from_millis(1200));
        smf.delete(ue.cp_seid()).unwrap();
        smf.release().unwrap();
        let sources = sources(&seen, N4_SMFS[usize::from(number)]);
        assert!(sources.len() >= 5, "{sources:?}");
        assert!(sources.iter().all(|s| *s == asked), "{asked}: {sources:?}");
    }
}

/// Where the packets to `destination` came from that a socket has seen.
fn sources(seen: &PacketSocket, destination: Ipv4Addr) -> Vec<Ipv4Addr> {
    let mut sources = Vec::new();
    while let Some(frame) = seen.recv(Duration::ZERO).unwrap() {
        let eth = Eth::parse(&frame).unwrap();
        if let Ok(ip) = Ipv4::parse(eth.payload())
            && ip.destination() == destination
        {
            sources.push(ip.source());
        }
    }
    sources
}

fn sessions(daemon: &Daemon) -> Value {
    daemon.ask(&CtlQuery::Status)["sessions"].take()
}

/// The only association.
fn association(daemon: &Daemon) -> Value {
    let mut peers = daemon.ask(&CtlQuery::Peers);
    assert_eq!(
        peers["associations"].as_array().unwrap().len(),
        1,
        "{peers:#}"
    );
    peers["associations"][0].take()
}

fn counter(daemon: &Daemon, name: &str) -> u64 {
    daemon.ask(&CtlQuery::Counters)["n4"][name]
        .as_u64()
        .unwrap()
}
