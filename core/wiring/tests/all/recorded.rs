//! Octets that live gNBs sent, and what went wrong with them. They are not part of the repository: they lie in
//! `shared/interop` in a folder above, and tests that find none are skipped.

use std::fs;
use std::path::Path;

use sluice_ids::Tac;
use sluice_n1::Downlink;
use sluice_n2::{Cause, DownlinkNasTransport, ErrorIndication, FromAmf, FromRan};
use sluice_testbed::apart;

use crate::world::{GNB, TestNetwork, config, core, tai};

/// The lines of a recording that are a name and octets.
fn recording(name: &str) -> Option<Vec<(String, Vec<u8>)>> {
    let above = Path::new(env!("CARGO_MANIFEST_DIR")).ancestors();
    let mut files = above.map(|folder| folder.join("shared/interop").join(name));
    let Some(file) = files.find(|file| file.is_file()) else {
        println!("skipped: no shared/interop/{name} beside the repository");
        return None;
    };
    let text = fs::read_to_string(file).expect("a text");
    let line = |line: &str| {
        let (name, digits) = line.split_once(' ')?;
        let pair = |at: usize| u8::from_str_radix(digits.get(at..at + 2)?, 16).ok();
        let octets: Option<Vec<u8>> = (0..digits.len()).step_by(2).map(pair).collect();
        Some((name.to_owned(), octets?))
    };
    Some(text.lines().filter_map(line).collect())
}

/// A periodic registration whose ngKSI says "no key", by a name that this core has not given, and answers to
/// challenges of another core.
#[test]
fn what_a_live_gnb_sent_when_registrations_failed_is_read_and_answered() {
    let Some(messages) = recording("ran-failures.txt") else {
        return;
    };
    // The gNB's area is the second of that core.
    let mut config = config();
    let mut area = tai();
    area.tac = Tac([0, 0, 2]);
    config.areas.push(area);
    let mut world = TestNetwork::of(core(config, true), &[1]);
    world.set_up();
    let mut seen = Vec::new();
    for (name, octets) in messages {
        let now = world.now;
        match name.as_str() {
            "InitialUEMessage" => {
                world.core.n2(now, GNB, 0, &octets);
                // The AMF that has given the name is asked for before the UE is.
                apart::carry(&mut world.core, now);
                let told = world.core.take_to_ran();
                let [answer] = &told[..] else {
                    panic!("one answer");
                };
                let Ok(FromAmf::DownlinkNasTransport(DownlinkNasTransport { nas, .. })) =
                    FromAmf::decode(&answer.octets)
                else {
                    panic!("another message");
                };
                assert!(matches!(
                    Downlink::decode(&nas),
                    Ok(Downlink::IdentityRequest(_))
                ));
            }
            "UplinkNASTransport" => {
                assert!(matches!(
                    FromRan::decode(&octets),
                    Ok(FromRan::UplinkNasTransport(_))
                ));
                world.core.n2(now, GNB, 0, &octets);
                let told = world.core.take_to_ran();
                let answers = told.iter().map(|one| FromAmf::decode(&one.octets));
                let answers: Vec<_> = answers.collect();
                let [Ok(FromAmf::ErrorIndication(ErrorIndication { cause, .. }))] = answers[..]
                else {
                    panic!("{answers:?}");
                };
                assert_eq!(cause, Some(Cause::UNKNOWN_LOCAL_ID));
            }
            "DownlinkNASTransport" => {
                assert!(FromAmf::decode(&octets).is_ok());
            }
            _ => continue,
        }
        seen.push(name);
    }
    assert!(seen.len() >= 4, "{seen:?}");
    assert_eq!(world.amf().counters().panics, 0);
}
