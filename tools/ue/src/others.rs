//! An emulated gNB and its UEs at the cores of others: what Open5GS and free5GC sent, in its order, has them register and
//! get sessions, as if they were spoken with.

use std::collections::BTreeMap;

use sluice_ids::{Plmn, Tac, Tai};
use sluice_n1::{Envelope, Header, RegistrationKind};
use sluice_n2::{DownlinkNasTransport, FromAmf, FromRan, NgSetupRequest, RanUeId};
use sluice_security::{K, Opc, SecurityCapability};

use crate::{FromGnb, Gnb, Sim, Ue, UeState};

#[path = "../../../proto/n1/tests/fixture/mod.rs"]
mod fixture;

/// The key and OPc of the subscribers of the captures, which are those of PacketRusher's examples.
const K_OF_ALL: [u8; 16] = 0x8baf_473f_2f8f_d094_87cc_cbd7_097c_6862_u128.to_be_bytes();
const OPC_OF_ALL: [u8; 16] = 0x8e27_b6af_0e69_2e75_0f32_667a_3b14_605d_u128.to_be_bytes();

fn plmn() -> Plmn {
    Plmn::new("208", "93").expect("digits")
}

fn gnb() -> Gnb {
    let tai = Tai {
        plmn: plmn(),
        tac: Tac([0, 0, 1]),
    };
    let setup = NgSetupRequest {
        gnb: sluice_n2::Gnb {
            plmn: plmn(),
            id: 8,
            bits: 24,
        },
        name: None,
        areas: Vec::new(),
        retains_ues: false,
    };
    Gnb::new(setup, tai)
}

/// The captures do not say which of the eight subscribers a challenge is for: all take it, and the MAC of what follows
/// tells whose keys these are.
fn subscribers() -> Vec<Ue> {
    let ue = |number: u32| {
        let sim = Sim::new(
            plmn(),
            &format!("{number:010}"),
            &K::new(K_OF_ALL),
            &Opc::new(OPC_OF_ALL),
        );
        let mut ue = Ue::new(sim, plmn()).expect("capabilities");
        // EA2 and IA2, which the network repeats.
        ue.capability = SecurityCapability::from_octets(&[0x20, 0x20]).expect("two");
        ue.register(RegistrationKind::Initial);
        ue
    };
    (1..=8).map(ue).collect()
}

/// Messages and results of one core.
#[derive(Default)]
struct Driven {
    ues: BTreeMap<RanUeId, Vec<Ue>>,
    /// Answers to the core, by their names.
    answers: BTreeMap<&'static str, usize>,
    secured: usize,
    registered: usize,
    sessions: usize,
    released: usize,
}

impl Driven {
    /// A UE hears a message.
    fn hear(&mut self, ran: RanUeId, nas: &[u8]) {
        if matches!(
            Envelope::open(nas),
            Some(Envelope::Plain([0x7e, 0, 0x56, ..]))
        ) {
            self.ues.entry(ran).or_insert_with(subscribers);
        }
        let Some(ues) = self.ues.get_mut(&ran) else {
            return;
        };
        let is_new = |octets: &[u8]| match Envelope::open(octets) {
            Some(Envelope::Protected(message)) => message.header == Header::CipheredNew,
            _ => false,
        };
        let mut complete = Vec::new();
        for (at, ue) in ues.iter_mut().enumerate() {
            let before = (ue.state(), ue.sessions().status().count_ones());
            if ue.receive(nas).iter().any(|octets| is_new(octets)) {
                complete.push(at);
            }
            let is_accepted = before.0 != UeState::Registered && ue.state() == UeState::Registered;
            self.registered += usize::from(is_accepted);
            let sessions = ue.sessions().status().count_ones();
            self.sessions += sessions.saturating_sub(before.1) as usize;
        }
        // Security Mode Complete: one of them is whom the network means.
        if let [it] = complete[..] {
            self.secured += 1;
            let it = ues.swap_remove(it);
            *ues = vec![it];
        }
    }

    fn carry_out(&mut self, done: FromGnb) {
        match done {
            FromGnb::ToAmf(octets) => {
                let answer = FromRan::decode(&octets).expect("an AMF reads it");
                *self.answers.entry(answer.name()).or_default() += 1;
            }
            FromGnb::ToUe(ran, nas) => self.hear(ran, &nas),
            FromGnb::Released(ran) => {
                self.released += 1;
                self.ues.remove(&ran);
            }
        }
    }
}

/// Has a gNB hear all that a core sent.
fn drive(lines: &[Vec<String>], core: &str) -> (Gnb, Driven) {
    let (mut gnb, mut driven) = (gnb(), Driven::default());
    let of_core = lines.iter().filter(|line| line[4].starts_with(core));
    for line in of_core.filter(|line| line[5] == "core to RAN") {
        let octets = fixture::octets(&line[1]);
        // The gNB of the captures began with 0; a UE's first message is not among these.
        if let Ok(FromAmf::DownlinkNasTransport(DownlinkNasTransport { ids, .. })) =
            FromAmf::decode(&octets)
        {
            gnb.ues.entry(ids.1).or_default();
        }
        for done in gnb.receive(&octets) {
            driven.carry_out(done);
        }
    }
    (gnb, driven)
}

#[test]
fn cores_of_others_have_phones_register_and_get_sessions() {
    let Some(lines) = fixture::captured("oxirush-ngap-0.5.0") else {
        return;
    };
    for (core, secured) in [("free5GC", 13), ("Open5GS", 15)] {
        let (mut gnb, driven) = drive(&lines, core);
        let slices = &gnb.response().expect("set up").plmns[0];
        assert!(slices.plmn == plmn() && !slices.slices.is_empty(), "{core}");
        assert_eq!(gnb.take_paged().len(), 1, "{core}");
        // All that were accepted, by keys of their own, and answered as the AMF waits for it.
        let came = [driven.secured, driven.registered, driven.sessions];
        assert_eq!(came, [secured, 4, 5], "{core}: {:?}", driven.answers);
        for (answer, number) in [
            ("Initial Context Setup Response", 4),
            ("PDU Session Resource Setup Response", 5),
            ("PDU Session Resource Release Response", 3),
            ("UE Context Release Complete", driven.released),
            ("Handover Request Acknowledge", 1),
        ] {
            assert_eq!(
                driven.answers.get(answer),
                Some(&number),
                "{core}: {answer}"
            );
        }
    }
}
