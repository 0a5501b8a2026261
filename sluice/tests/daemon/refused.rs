//! What peers are refused, and who hears of it: associations of others, the log, `ctl refusals`.

use std::sync::Arc;

use serde_json::Value;
use sluice::cli::args::CtlQuery;
use sluice_smf_emulator::Network;
use sluice_wire::pfcp::{Cause, MessageType};

use super::kit::*;

const SETUP: MessageType = MessageType::ASSOCIATION_SETUP_RESPONSE;
const RELEASE: MessageType = MessageType::ASSOCIATION_RELEASE_RESPONSE;

fn refusals(daemon: &Daemon) -> Value {
    daemon.ask(&CtlQuery::Refusals)
}

/// Lines of the log with this in it.
fn lines(daemon: &Daemon, what: &str) -> usize {
    daemon
        .log()
        .lines()
        .filter(|line| line.contains(what))
        .count()
}

#[test]
fn an_association_is_neither_ended_nor_taken_from_elsewhere_while_its_smf_lives() {
    let Some(lab) = Lab::new("holder") else {
        return;
    };
    let daemon = Daemon::start(&lab, &Config::new());
    let (smf, gnb) = (lab.smf(), lab.gnb());
    let ue = Ue::attach(&lab, &smf, gnb.handle(), 0);
    let stranger = PfcpSocket::open(&lab, N4_SMFS[1]);
    stranger.send(&association_release(N4_SMFS[0], 1));
    let unknown = Cause::NO_ESTABLISHED_PFCP_ASSOCIATION;
    assert_eq!(stranger.cause_in(RELEASE), unknown);
    stranger.send(&association_setup(N4_SMFS[0], 2));
    assert_eq!(stranger.cause_in(SETUP), Cause::REQUEST_REJECTED);
    assert_eq!(ue.ping(&lab, 3, 84), 3, "the session is as it was");
    let told = refusals(&daemon);
    assert_eq!(told["total"], 2, "{told:#}");
    let newest = &told["refusals"][0];
    assert_eq!(newest["cause"], 64, "{newest:#}");
    assert_eq!(newest["peer"], format!("{}:8805", N4_SMFS[1]));
    assert_eq!(newest["holder"], format!("{}:8805", N4_SMFS[0]));
    assert_eq!(told["refusals"][1]["cause"], 72);
    let table = daemon.ctl(&["refusals"]).out;
    assert!(
        table.contains("No established PFCP Association (72)"),
        "{table}"
    );
    eventually("both are in the log", || {
        lines(&daemon, "refused: No established PFCP Association (72)") == 1
            && lines(
                &daemon,
                "refused: Request rejected (reason not specified) (64), its Node ID",
            ) == 1
    });
    // It is gone without a word: whoever names it next is believed after T1.
    smf.stop().unwrap();
    let mut sequence = 2;
    eventually("the holder's last answer is more than T1 ago", || {
        sequence += 1;
        stranger.send(&association_setup(N4_SMFS[0], sequence));
        stranger.cause_in(SETUP) == Cause::REQUEST_ACCEPTED
    });
    eventually("that is in the log", || {
        lines(&daemon, "has set up N4 association") == 1
    });
    assert_eq!(daemon.ask(&CtlQuery::Status)["sessions"], 0);
}

#[test]
fn a_storm_of_set_ups_and_refusals_is_a_few_lines_and_the_list_stays_bounded() {
    let Some(lab) = Lab::new("storm") else {
        return;
    };
    let daemon = Daemon::start(&lab, &Config::new());
    let peer = PfcpSocket::open(&lab, N4_SMFS[0]);
    let before = daemon.log().lines().count();
    let storm = 2_000;
    for sequence in 0..storm {
        // It "started anew", and releases what nobody has.
        peer.send(&association_setup(N4_SMFS[0], 2 * sequence));
        peer.send(&association_release([10, 9, 9, 9], 2 * sequence + 1));
        if sequence % 16 == 0 {
            peer.cause_in(RELEASE);
        }
    }
    eventually("all are dealt with", || {
        let counters = daemon.ask(&CtlQuery::Counters);
        counters["n4"]["received_association_setup_request"].as_u64() > Some(u64::from(storm) / 2)
    });
    let told = refusals(&daemon);
    assert_eq!(told["refusals"].as_array().unwrap().len(), 256);
    assert!(
        told["total"].as_u64() > Some(u64::from(storm) / 2),
        "{}",
        told["total"]
    );
    eventually("the rest is told of", || {
        lines(&daemon, "more not logged") >= 2
    });
    let written = daemon.log().lines().count() - before;
    assert!(written < 100, "{written} lines:\n{}", daemon.log());
}

#[test]
fn a_refused_session_tells_its_cause_ie_and_rule() {
    let Some(lab) = Lab::new("refused") else {
        return;
    };
    let daemon = Daemon::start(&lab, &Config::new());
    let smf = lab.smf();
    let mut plan = Ue::plan(N3_GNB, 0);
    plan.network = Arc::new(Network::new("internet", "access", "elsewhere").unwrap());
    let rejection = smf.establish(plan).unwrap_err();
    let told = refusals(&daemon)["refusals"][0].take();
    let cause = rejection.cause().unwrap();
    assert_eq!(told["cause"], cause.0, "{told:#}");
    assert_eq!(told["request"], "Session Establishment Request");
    assert!(
        told["offending_ie"].is_string() && told["rule"].is_string(),
        "{told:#}"
    );
    assert!(told["cp_seid"].is_string(), "{told:#}");
    let words = ["why", "remedy"].map(|key| told[key].as_str().unwrap().to_owned());
    assert!(words[0].contains("Network Instance"), "{words:?}");
    let table = daemon.ctl(&["refusals"]).out;
    for text in &words {
        assert!(table.contains(text), "{table}");
    }
    eventually("they are in the log", || {
        lines(&daemon, &words.join("; ")) == 1
    });
}

/// An SMF that nobody named is not answered, and the operator hears of it.
#[test]
fn an_smf_whose_address_is_not_allowed_stands_in_the_log_and_in_refusals() {
    let Some(lab) = Lab::new("unknown") else {
        return;
    };
    let daemon = Daemon::start(&lab, &Config::new());
    let stranger = PfcpSocket::open(&lab, N4_SMFS[2]);
    stranger.send(&association_setup(N4_SMFS[2], 1));
    eventually("it stands in the list", || {
        let told = refusals(&daemon);
        told["strangers"][0]["peer"] == format!("{}:8805", N4_SMFS[2])
    });
    let told = refusals(&daemon);
    assert_eq!(told["strangers"][0]["request"], "Association Setup Request");
    assert_eq!(told["total"], 0, "it is not answered");
    eventually("it is in the log", || {
        lines(&daemon, "is not answered: the address is none of n4.peers") == 1
    });
    let table = daemon.ctl(&["refusals"]).out;
    assert!(table.contains("none of n4.peers in upf.yaml"), "{table}");
}
