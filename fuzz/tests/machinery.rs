//! The machinery itself: the kept corpus is what the generators make, and a planted bug is found.

#![forbid(unsafe_code)]

use sluice_fuzz::corpus::{generated, kept};
use sluice_fuzz::runner::{Origin, Plan};
use sluice_fuzz::targets::{TARGETS, Target, find};
use sluice_wire::gtpu::Message;
use sluice_wire::pfcp::message::{
    AssociationSetupRequest, NodeReportRequest, SessionEstablishmentRequest,
    SessionModificationRequest, SessionReportRequest,
};
use sluice_wire::pfcp::{Header, MessageType};

#[test]
fn the_kept_corpus_is_what_the_generators_make() {
    for target in TARGETS {
        let kept = kept(target.name);
        let made = generated(target.name);
        assert!(!made.is_empty(), "{} has samples", target.name);
        for entry in &made {
            let found = kept.iter().find(|kept| kept.name == entry.name);
            assert!(
                found == Some(entry),
                "{}/{}: run `cargo run -p sluice-fuzz` and look at the difference",
                target.name,
                entry.name
            );
        }
    }
}

#[test]
fn the_gtpu_samples_are_sound_but_for_those_that_say_otherwise() {
    let broken = [
        "g_pdu_extension_length_0",
        "g_pdu_teid_0",
        "g_pdu_unknown_extension_must_be_comprehended",
        "gtp_prime",
        "unknown_message",
    ];
    for entry in generated("gtpu_parse") {
        let read = Message::parse(&entry.bytes);
        let expected = !broken.contains(&entry.name.as_str());
        assert_eq!(read.is_ok(), expected, "{}: {read:?}", entry.name);
    }
}

#[test]
fn the_session_samples_are_what_a_up_function_reads() {
    for entry in generated("pfcp_parse") {
        let Ok((header, body)) = Header::parse(&entry.bytes) else {
            assert_eq!(entry.name, "version_2");
            continue;
        };
        let refused = match header.message_type {
            MessageType::SESSION_ESTABLISHMENT_REQUEST => {
                SessionEstablishmentRequest::parse(body).err()
            }
            MessageType::SESSION_MODIFICATION_REQUEST => {
                SessionModificationRequest::parse(body).err()
            }
            MessageType::SESSION_REPORT_REQUEST => SessionReportRequest::parse(body).err(),
            MessageType::NODE_REPORT_REQUEST => NodeReportRequest::parse(body).err(),
            MessageType::ASSOCIATION_SETUP_REQUEST => AssociationSetupRequest::parse(body).err(),
            _ => None,
        };
        assert_eq!(refused, None, "{}", entry.name);
    }
}

/// Fails on an association setup that can be read and is longer than 40 octets.
fn planted(data: &[u8]) {
    if let Ok((header, body)) = Header::parse(data) {
        let is_setup = header.message_type.0 == 5;
        let understood = AssociationSetupRequest::parse(body).is_ok();
        assert!(!is_setup || !understood || body.len() < 40, "planted");
    }
}

#[test]
fn a_planted_bug_is_found_made_smaller_and_can_be_repeated() {
    let planted = Target {
        run: planted,
        ..find("pfcp_parse").expect("a target")
    };
    let found = Plan::new(planted, 1000)
        .seeded(1)
        .run()
        .expect_err("it is found");
    assert!(matches!(found.origin, Origin::Kept(_)), "{found}");
    assert!(found.input.len() <= found.original_len);
    assert!(found.input.len() < 65, "{found}");
    let text = found.to_string();
    assert!(
        text.contains("planted") && text.contains("SLUICE_INPUT="),
        "{text}"
    );
    let again = std::panic::catch_unwind(|| (planted.run)(&found.input));
    assert!(again.is_err());
}

/// Fails on a bundle of three messages, of which no sample begins with version 2.
fn planted_deeper(data: &[u8]) {
    let second = data.get(16..18);
    assert_ne!(second, Some(&[0x40, 1][..]), "planted");
}

#[test]
fn mutants_reach_what_no_kept_input_reaches() {
    let planted = Target {
        run: planted_deeper,
        ..find("pfcp_parse").expect("a target")
    };
    let run = |seed| Plan::new(planted, 200_000).seeded(seed).run();
    let found = run(1).expect_err("it is found");
    assert!(
        matches!(found.origin, Origin::Mutant { seed: 1, .. }),
        "{found}"
    );
    assert_eq!(
        run(1).expect_err("again"),
        found,
        "a seed repeats its finding"
    );
}
