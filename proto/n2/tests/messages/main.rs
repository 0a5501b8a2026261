//! Messages of N2: written and read by both ends, answers to faulty ones, and octets that are none.

#![forbid(unsafe_code)]

mod handover;
mod octets;
mod samples;

use proptest::prelude::*;
use sluice_n2::notify::{self, Notified};
use sluice_n2::{
    AmfUeId, Cause, DownlinkNasTransport, ErrorIndication, FromAmf, FromRan, NgSetupFailure,
    PROCEDURES, RanUeId, Side, UeContextReleaseCommand, UeContextReleaseRequest,
};

use samples::*;

fn octets(text: &str) -> Vec<u8> {
    let pair = |at: usize| u8::from_str_radix(&text[at..at + 2], 16).expect("digits");
    (0..text.len()).step_by(2).map(pair).collect()
}

#[test]
fn every_message_of_a_gnb_is_read_as_it_was_written() {
    let sessions = sessions_from_ran();
    for message in from_ran()
        .into_iter()
        .chain(sessions)
        .chain(of_configuration().0)
    {
        assert_eq!(FromRan::decode(&message.encode()), Ok(message));
    }
}

#[test]
fn every_message_of_an_amf_is_read_as_it_was_written() {
    let others = [paging(false), paging(true)]
        .into_iter()
        .chain(of_configuration().1);
    let sessions = sessions_from_amf();
    for message in from_amf().into_iter().chain(sessions).chain(others) {
        assert_eq!(FromAmf::decode(&message.encode()), Ok(message));
    }
}

/// A foreign release request, as it is printed in the codec's documents.
#[test]
fn a_release_request_of_others_is_read() {
    let request = octets("002a4015000003000a0002002a005500020007000f40020500");
    let ids = (AmfUeId(42), RanUeId(7));
    let expected = FromRan::UeContextReleaseRequest(UeContextReleaseRequest {
        ids,
        cause: Cause::USER_INACTIVITY,
    });
    assert_eq!(FromRan::decode(&request), Ok(expected));
}

#[test]
fn a_setup_request_without_its_ies_is_refused_with_diagnostics() {
    // Default Paging DRX alone: no Global RAN Node ID, no Supported TA List.
    let request = octets("00150008000001001540014000");
    let request = &request[..request.len() - 1];
    let faulty = FromRan::decode(request).expect_err("mandatory IEs are missing");
    assert_eq!(faulty.cause, Cause::ABSTRACT_SYNTAX_REJECT);
    let answer = faulty.answer.expect("a setup is always answered");
    let expected = FromAmf::NgSetupFailure(NgSetupFailure {
        cause: Cause::ABSTRACT_SYNTAX_REJECT,
    });
    assert_eq!(FromAmf::decode(&answer), Ok(expected));
    // Criticality Diagnostics name both.
    assert!(answer.windows(2).any(|pair| pair == [0, 27]) && answer.contains(&102));
}

#[test]
fn what_is_no_message_and_what_is_not_offered_is_answered_by_error_indication() {
    for octets in [vec![], vec![0xff; 20], vec![0; sluice_n2::LONGEST + 1]] {
        let faulty = FromRan::decode(&octets).expect_err("no message");
        let answer = FromAmf::decode(&faulty.answer.expect("an answer"));
        let cause = Some(Cause::TRANSFER_SYNTAX);
        assert_eq!(
            answer,
            Ok(FromAmf::ErrorIndication(ErrorIndication {
                amf: None,
                ran: None,
                cause
            }))
        );
    }
    // What only an AMF sends.
    let command = FromAmf::RanConfigurationUpdateAcknowledge.encode();
    let faulty = FromRan::decode(&command).expect_err("not for an AMF");
    assert_eq!(faulty.answer, None, "a response is not answered");
    let transport = FromAmf::DownlinkNasTransport(DownlinkNasTransport {
        ids: IDS,
        nas: vec![0x7e, 0, 0x5b, 1],
    });
    let faulty = FromRan::decode(&transport.encode()).expect_err("not for an AMF");
    assert!(!faulty.is_served);
    assert_eq!(faulty.answer, None, "its criticality is to be ignored");
    let command = FromAmf::UeContextReleaseCommand(UeContextReleaseCommand {
        ue: (IDS.0, Some(IDS.1)),
        cause: Cause::USER_INACTIVITY,
    });
    let faulty = FromRan::decode(&command.encode()).expect_err("not for an AMF");
    let answer = FromAmf::decode(&faulty.answer.expect("an answer"));
    let cause = Some(Cause::ABSTRACT_SYNTAX_REJECT);
    let (amf, ran) = (None, None);
    assert_eq!(
        answer,
        Ok(FromAmf::ErrorIndication(ErrorIndication {
            amf,
            ran,
            cause
        }))
    );
}

/// An NGAP PDU that begins a procedure (9.4.3), with no IEs.
fn beginning(code: u8, criticality: u8) -> Vec<u8> {
    vec![0, code, criticality << 6, 3, 0, 0, 0]
}

/// Of each code there is what becomes of its first message: of procedures that are not served, or that an AMF
/// begins, the criticality says it.
#[test]
fn each_procedure_is_served_or_answered_by_its_criticality() {
    const REJECT: u8 = 0;
    const IGNORE: u8 = 1;
    for code in 0..=u8::MAX {
        let known = PROCEDURES.get(usize::from(code));
        assert!(known.is_none_or(|one| one.code == code));
        let begins = known.is_some_and(|one| one.is_served && one.side != Side::Amf);
        for criticality in [REJECT, IGNORE] {
            let read = FromRan::decode(&beginning(code, criticality));
            let Err(faulty) = read else {
                // The one message that may have nothing in it.
                assert!(begins, "{code}");
                continue;
            };
            assert_eq!(faulty.is_served, begins, "{code}: {known:?}");
            if !begins {
                assert_eq!(faulty.cause, Cause::ABSTRACT_SYNTAX_REJECT);
                assert_eq!(faulty.answer.is_some(), criticality == REJECT, "{code}");
            }
        }
    }
}

#[test]
fn the_page_lists_every_procedure() {
    let page = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../../docs/conformance/ngap-nas.md"
    );
    let page = std::fs::read_to_string(page).expect("the page");
    for one in PROCEDURES {
        let side = match one.side {
            Side::Gnb => "gNB",
            Side::Amf => "AMF",
            Side::Both => "either",
        };
        let row = format!("| {} | {} | {side} | ", one.clause, one.name);
        let rest = page.lines().find_map(|line| line.strip_prefix(&row));
        let rest = rest.unwrap_or_else(|| panic!("no row {row}"));
        assert_eq!(rest.starts_with("yes |"), one.is_served, "{row}{rest}");
    }
}

#[test]
fn flows_that_a_gnb_tells_of_are_read_as_they_are_written() {
    assert_eq!(Notified::decode(&notified().encode()), Some(notified()));
    assert_eq!(Notified::decode(&[0xff; 3]), None);
    let released = notify::notify_released(Cause::RADIO_LOST);
    assert_eq!(notify::read_notify_released(&released), Cause::RADIO_LOST);
    assert_eq!(notify::read_notify_released(&[]), Cause::Unknown);
}

proptest! {
    #[test]
    fn any_octets_are_read_or_refused(octets in proptest::collection::vec(any::<u8>(), 0..300)) {
        let _ = FromRan::decode(&octets);
        let _ = FromAmf::decode(&octets);
    }

    /// Changed messages reach deeper than random octets.
    #[test]
    fn any_changed_message_is_read_or_refused(
        which in any::<proptest::sample::Index>(),
        changes in proptest::collection::vec((any::<usize>(), any::<u8>()), 1..6),
        length in any::<usize>(),
    ) {
        let messages: Vec<Vec<u8>> = from_ran()
            .iter()
            .map(FromRan::encode)
            .chain(sessions_from_ran().iter().map(FromRan::encode))
            .chain(from_amf().iter().map(FromAmf::encode))
            .chain(sessions_from_amf().iter().map(FromAmf::encode))
            .chain([paging(true).encode()])
            .chain(of_configuration().0.iter().map(FromRan::encode))
            .chain(of_configuration().1.iter().map(FromAmf::encode))
            .collect();
        let mut octets = which.get(&messages).clone();
        for (at, value) in changes {
            let at = at % octets.len();
            octets[at] = value;
        }
        octets.truncate(length % (2 * octets.len()));
        let _ = FromRan::decode(&octets);
        let _ = FromAmf::decode(&octets);
    }
}
