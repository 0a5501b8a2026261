//! Octets that no gNB, UE or UPF would send about sessions: nothing panics, and others are served as ever.

use sluice_n1::{
    EstablishmentRequest, N1_SM, RequestType, SessionCause, SessionDownlink, SessionType,
    SessionUplink, Transaction, Uplink, UplinkPayload, options,
};
use sluice_n2::FromRan;

use crate::flows::voice;
use crate::harness::*;
use crate::modification::{allowing, asks, own_flow, own_rule, plain, start, with};
use crate::two_gnbs::Two;
use crate::world::{self, TestNetwork, sequence};

/// How many worlds each kind of octets comes to.
const WORLDS: usize = 40;

/// Fills octets.
type Fill = dyn FnMut(&mut [u8]);

/// Numbers that look random and are the same in each run.
struct Numbers(Box<Fill>);

impl Numbers {
    fn new(seed: u64) -> Self {
        Self(Box::new(sequence(seed)))
    }

    fn below(&mut self, bound: usize) -> usize {
        let mut octets = [0; 4];
        (self.0)(&mut octets);
        u32::from_le_bytes(octets) as usize % bound
    }

    /// A few octets are others, and what is behind one of them may be missing.
    fn changed(&mut self, octets: &[u8]) -> Vec<u8> {
        let mut octets = octets.to_vec();
        for _ in 0..=self.below(4) {
            let at = self.below(octets.len());
            octets[at] = self.below(256) as u8;
        }
        if self.below(4) == 0 {
            let len = 1 + self.below(octets.len());
            octets.truncate(len);
        }
        octets
    }
}

/// Nothing has panicked, and another UE is served.
#[track_caller]
fn assert_served(world: &mut TestNetwork, what: &str) {
    for _ in 0..200 {
        if !world.wait() {
            break;
        }
    }
    // The gNB may have been said to have forgotten all.
    world.gnb.restart();
    for phone in &mut world.ues {
        phone.at = None;
    }
    world.set_up();
    world.register(1);
    world.assert_registered(1);
    establish(world, 1, 7, &wanted(SessionType::Ipv4));
    assert!(goes_up(world, 1, 7), "{what}: {}", world.call_flow);
    let smf = world.core.smf().unwrap().counters();
    let panics = (world.amf().counters().panics, smf.panics);
    assert_eq!(panics, (0, 0), "{what}");
}

/// Each message of a gNB that there is about sessions.
fn said_of_sessions() -> TestNetwork {
    let mut world = plain();
    start(&mut world, voice(64_000)).unwrap();
    let ran = at(&world, 0);
    let indication = world.gnb.move_sessions(ran, &[5]).unwrap();
    let notify = world.gnb.take_flows_away(ran, 5, &[2]).unwrap();
    for octets in [indication, notify] {
        world.tell_amf(&octets);
        world.run();
    }
    establish(&mut world, 0, 6, &wanted(SessionType::Ipv4v6));
    let nas = world.ue_mut(0).release(6);
    world.say(0, nas);
    world
}

#[test]
fn any_message_of_a_gnb_about_sessions_is_survived() {
    let mut numbers = Numbers::new(22);
    for number in 0..WORLDS {
        let mut world = said_of_sessions();
        let said = world.transcript.iter();
        let said = said.filter(|octets| FromRan::decode(octets).is_ok());
        let said: Vec<Vec<u8>> = said.cloned().collect();
        assert!(said.len() > 10);
        for _ in 0..8 {
            let which = numbers.below(said.len());
            let octets = numbers.changed(&said[which]);
            world.tell_amf(&octets);
            world.run();
        }
        assert_served(&mut world, &format!("gNB {number}"));
    }
}

#[test]
fn any_session_message_of_a_ue_is_survived() {
    let mut numbers = Numbers::new(23);
    let of = Transaction {
        session: 5,
        procedure: 9,
    };
    let asked = asks(own_rule(7_000), own_flow(64_000));
    let messages = [
        SessionUplink::EstablishmentRequest(EstablishmentRequest {
            ssc_mode: Some(1),
            always_on: true,
            options: Some(options::ask()),
            ..EstablishmentRequest::default()
        })
        .encode(of),
        SessionUplink::ModificationRequest(Box::new(asked)).encode(of),
        SessionUplink::ModificationComplete.encode(of),
        SessionUplink::ReleaseRequest(None).encode(of),
        SessionUplink::ReleaseComplete.encode(of),
        // What only a network says.
        SessionDownlink::ReleaseCommand(SessionCause::REGULAR_DEACTIVATION).encode(of),
    ];
    for number in 0..WORLDS {
        let mut world = with(vec![allowing()]);
        for _ in 0..8 {
            let which = numbers.below(messages.len());
            let payload = numbers.changed(&messages[which]);
            let request = [
                None,
                Some(RequestType::Initial),
                Some(RequestType::Modification),
            ];
            let uplink = Uplink::UlNasTransport(Box::new(UplinkPayload {
                kind: N1_SM,
                session: Some(5),
                request: request[numbers.below(3)],
                payload,
                ..UplinkPayload::default()
            }));
            let nas = world.ue_mut(0).protect(&uplink);
            world.say(0, nas);
        }
        assert_served(&mut world, &format!("UE {number}"));
    }
}

#[test]
fn any_message_of_a_upf_is_survived() {
    let mut numbers = Numbers::new(24);
    for number in 0..WORLDS {
        let mut world = plain();
        let kind = [ESTABLISHMENT, MODIFICATION, DELETION][number % 3];
        upf(&mut world).next = Some((kind, 0, Fate::Late));
        match kind {
            ESTABLISHMENT => {
                establish(&mut world, 0, 6, &wanted(SessionType::Ipv4v6));
            }
            MODIFICATION => go_idle(&mut world, 0),
            _ => {
                let nas = world.ue_mut(0).release(5);
                world.say(0, nas);
            }
        }
        let answers = std::mem::take(&mut upf(&mut world).kept);
        // One of them may name another address for the session.
        world.has_strays = true;
        assert_eq!(answers.len(), 1);
        // Others first, of which one may be taken for it; then what the UPF has said.
        for _ in 0..8 {
            let octets = numbers.changed(&answers[0]);
            world.core.n4(world.now, world::N4, &octets);
            world.run();
        }
        world.core.n4(world.now, world::N4, &answers[0]);
        world.run();
        assert_served(&mut world, &format!("UPF {number}"));
    }
}

/// The last IE of NGAP that Release 17 has at least (TS 38.413, 9.4.7): what comes later has a higher number.
const LAST_IE: u16 = 359;

/// A length determinant in aligned PER (X.691, 11.9), and what is behind it.
fn length(octets: &[u8]) -> (usize, &[u8]) {
    match *octets {
        [first, ref rest @ ..] if first < 0x80 => (first.into(), rest),
        [first, second, ref rest @ ..] => {
            (usize::from(first & 0x3f) << 8 | usize::from(second), rest)
        }
        _ => panic!("no length"),
    }
}

/// The procedure and the IEs of a message of NGAP.
fn ies(message: &[u8]) -> (u8, Vec<u16>) {
    let (_, value) = length(&message[3..]);
    // A bit of extension, and how many IEs there are.
    let (number, mut rest) = (u16::from_be_bytes([value[1], value[2]]), &value[3..]);
    let mut found = Vec::new();
    for _ in 0..number {
        found.push(u16::from_be_bytes([rest[0], rest[1]]));
        let (len, after) = length(&rest[3..]);
        rest = &after[len..];
    }
    assert!(rest.is_empty());
    (message[1], found)
}

#[test]
fn nothing_newer_than_release_17_is_said_on_n2() {
    let mut two = Two::of(said_of_sessions(), &[7]);
    two.by_xn();
    two.ask_n2(false);
    two.settle();
    go_idle(&mut two.world, 0);
    let ue = address(&two.world, 0, 7);
    goes_down(&mut two.world, ue);
    two.run();
    let (mut procedures, mut newest) = (std::collections::BTreeSet::new(), 0);
    for message in &two.world.transcript {
        let (procedure, ies) = ies(message);
        procedures.insert(procedure);
        newest = ies.into_iter().fold(newest, u16::max);
    }
    assert!(procedures.len() > 15, "{procedures:?}");
    let is_known = |code: &u8| usize::from(*code) < sluice_n2::PROCEDURES.len();
    assert!(procedures.iter().all(is_known), "{procedures:?}");
    assert!((100..=LAST_IE).contains(&newest), "{newest}");
}
