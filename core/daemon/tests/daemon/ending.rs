//! The end: gNBs and UPFs are told in order, sessions are released or kept, and it takes no longer than it may.

use std::fs;
use std::process::Command;
use std::thread::sleep;
use std::time::{Duration, Instant};

use crate::place::{Core, KEY, LIMIT, Place, Ran, ue};
use crate::upf::{USED, Upf};
use serde_json::Value;
use sluice_n1::SessionType;
use sluice_ue::WantedSession;
use sluice_wire::pfcp::MessageType;

/// A core with a UPF, and a connected UE with a session.
pub fn with_session(place: &Place, upf: &Upf, more: &str) -> (Core, Ran) {
    let records = place.folder.path().join("records.jsonl");
    let config = place.config().replace(
        "{name: internet}\ncontrol",
        "{name: internet, charging_octets: 1000000}\ncontrol",
    );
    let records = format!("charging_records: {}\n", records.display());
    let core = Core::start_with(place, &format!("{more}{records}{config}"));
    let mut first = ue("0000000001", KEY);
    first.follow_on = true;
    let mut ran = Ran::connect(place, [0, 0, 7], vec![first]);
    let end = Instant::now() + LIMIT;
    while core.ask("status")["upfs"][0]["associated"] != true {
        assert!(Instant::now() < end, "no association");
        sleep(Duration::from_millis(20));
    }
    ran.register(0);
    let wanted = WantedSession {
        session_type: Some(SessionType::Ipv4),
        ..WantedSession::default()
    };
    let nas = ran.phones[0].0.establish(5, &wanted);
    let at = ran.phones[0].1.expect("connected");
    if let Some(octets) = ran.gnb.uplink(at, nas) {
        ran.send(1, &octets);
    }
    ran.wait("a session", |ran| {
        ran.phones[0].0.sessions().get(5).is_some()
    });
    while upf.count(MessageType::SESSION_MODIFICATION_REQUEST) == 0 {
        assert!(Instant::now() < end, "no tunnel of the gNB");
        ran.turn();
    }
    (core, ran)
}

fn records(place: &Place) -> Vec<Value> {
    let text = fs::read_to_string(place.folder.path().join("records.jsonl")).unwrap();
    let lines = text.lines();
    lines
        .map(|line| serde_json::from_str(line).unwrap())
        .collect()
}

pub fn terminate(core: &Core) {
    let pid = core.child.id().to_string();
    let killed = Command::new("kill").args(["-TERM", &pid]).status().unwrap();
    assert!(killed.success());
}

#[test]
fn sessions_are_released_and_charged_and_all_sides_are_told() {
    let place = Place::new();
    let upf = Upf::start(&place, false);
    let (core, mut ran) = with_session(&place, &upf, "");
    terminate(&core);
    ran.wait("the end", |ran| ran.is_lost);
    assert!(ran.gnb.is_left, "AMF Status Indication comes first");
    assert!(ran.is_shut_down, "in order, not by an abort");
    let (code, log) = core.stop();
    assert_eq!(code, Some(0), "{log}");
    assert_eq!(upf.count(MessageType::SESSION_DELETION_REQUEST), 1);
    assert_eq!(upf.count(MessageType::ASSOCIATION_RELEASE_REQUEST), 1);
    let records = records(&place);
    let last = records.last().unwrap();
    assert_eq!(last["is_last"], true, "{last}");
    assert_eq!(last["uplink_octets"], USED.0);
    assert_eq!(last["downlink_octets"], USED.1);
}

#[test]
fn sessions_are_kept_where_that_is_wanted() {
    let place = Place::new();
    let upf = Upf::start(&place, false);
    let (core, mut ran) = with_session(&place, &upf, "end: {sessions: keep}\n");
    terminate(&core);
    ran.wait("the end", |ran| ran.is_lost);
    assert!(ran.gnb.is_left);
    let (code, log) = core.stop();
    assert_eq!(code, Some(0), "{log}");
    assert!(log.contains("1 sessions stay at their UPFs"), "{log}");
    let asked = [
        MessageType::SESSION_DELETION_REQUEST,
        MessageType::ASSOCIATION_RELEASE_REQUEST,
    ];
    assert_eq!(asked.map(|kind| upf.count(kind)), [0, 0]);
}

#[test]
fn a_upf_that_does_not_answer_is_not_waited_for_longer_than_allowed() {
    let place = Place::new();
    let upf = Upf::start(&place, true);
    let (core, _ran) = with_session(&place, &upf, "end: {within_s: 1}\n");
    // The gNB says nothing any more, either.
    let (code, log) = core.stop();
    assert_eq!(code, Some(0), "{log}");
    assert!(
        log.contains("1 sessions are deleted with the associations"),
        "{log}"
    );
    assert_eq!(upf.count(MessageType::ASSOCIATION_RELEASE_REQUEST), 1);
}

#[test]
fn a_second_signal_ends_it_at_once() {
    let place = Place::new();
    let upf = Upf::start(&place, true);
    let (core, _ran) = with_session(&place, &upf, "end: {within_s: 60}\n");
    terminate(&core);
    // It is at it.
    let end = Instant::now() + LIMIT;
    while upf.count(MessageType::SESSION_DELETION_REQUEST) == 0 {
        assert!(Instant::now() < end, "nothing is released");
        sleep(Duration::from_millis(10));
    }
    let (code, log) = core.stop();
    assert_eq!(code, Some(0), "{log}");
    // Had it waited for the UPF, it would have said so.
    assert!(
        !log.contains("sessions are deleted with the associations"),
        "{log}"
    );
}
