//! Messages of N2: written and read by both ends, answers to faulty ones, and octets that are none.

#![forbid(unsafe_code)]

use proptest::prelude::*;
use sluice_ids::{
    AmfId, Guami, NrCellIdentity, Plmn, Snssai, Tac, Tai, Tmsi, UpProtection, UpSecurity,
};
use sluice_n2::notify::{self, Notified};
use sluice_n2::{
    AmfUeId, Cause, Connection, ContextModification, FromAmf, FromRan, Gnb, InitialContext,
    InitialUeMessage, Location, NgSetupRequest, NgSetupResponse, Overload, OverloadAction,
    PROCEDURES, PacketType, Paging, PagingCapability, PlmnSlices, ProtectedRate, RanUeId,
    SecurityIndication, SecurityResult, SessionResults, SessionSetup, SetupRequest, SetupResponse,
    Side, SupportedArea, Tunnel, session,
};
use sluice_security::{Kgnb, SecurityCapability};

fn plmn() -> Plmn {
    Plmn::new("208", "93").expect("digits")
}

fn guami() -> Guami {
    Guami {
        plmn: plmn(),
        amf: AmfId::new(2, 5, 1).expect("small"),
    }
}

fn slices() -> Vec<PlmnSlices> {
    let slices = vec![Snssai::new(1, None), Snssai::new(2, Some([0, 0, 10]))];
    vec![PlmnSlices {
        plmn: plmn(),
        slices,
    }]
}

fn location() -> Location {
    let tai = Tai {
        plmn: plmn(),
        tac: Tac([0, 0, 1]),
    };
    Location {
        plmn: plmn(),
        cell: NrCellIdentity([0, 0, 0x12, 0x34, 0x50]),
        tai,
    }
}

fn setup() -> NgSetupRequest {
    NgSetupRequest {
        gnb: Gnb {
            plmn: plmn(),
            id: 0x123456,
            bits: 24,
        },
        name: Some("gnb-1".to_owned()),
        areas: vec![SupportedArea {
            tac: Tac([0, 0, 1]),
            plmns: slices(),
        }],
        retains_ues: false,
    }
}

const IDS: (AmfUeId, RanUeId) = (AmfUeId(0xff_0000_0001), RanUeId(7));

fn connection() -> Connection {
    Connection {
        amf: Some(IDS.0),
        ran: Some(IDS.1),
    }
}

fn octets(text: &str) -> Vec<u8> {
    let pair = |at: usize| u8::from_str_radix(&text[at..at + 2], 16).expect("digits");
    (0..text.len()).step_by(2).map(pair).collect()
}

fn tunnel() -> Tunnel {
    Tunnel {
        ipv4: Some([192, 0, 2, 1].into()),
        ipv6: None,
        teid: 7,
    }
}

fn transfer_response() -> SetupResponse {
    SetupResponse {
        downlink: tunnel(),
        qfis: vec![1],
        failed: Vec::new(),
        security: Some(SecurityResult {
            integrity: false,
            confidentiality: true,
        }),
    }
}

/// How fast is told of both directions apart.
fn security() -> SecurityIndication {
    SecurityIndication {
        policy: UpSecurity {
            integrity: UpProtection::Required,
            confidentiality: UpProtection::Preferred,
        },
        rates: Some((ProtectedRate::Kbps64, ProtectedRate::MaximumUeRate)),
    }
}

fn session_setup(nas: Option<Vec<u8>>) -> SessionSetup {
    let request = SetupRequest {
        ambr_bps: (1_000_000_000, 500_000_000),
        uplink: tunnel(),
        packets: PacketType::Ipv4v6,
        security: Some(security()),
        flows: vec![sluice_n2::QosFlow::new(1, 9, 8)],
    };
    SessionSetup {
        session: 5,
        nas,
        slice: Snssai::new(1, None),
        transfer: request.encode(),
    }
}

fn notified() -> Notified {
    Notified {
        released: vec![2, 63],
        unfulfilled: vec![3],
        fulfilled: vec![4],
    }
}

fn xn_wanted() -> Vec<u8> {
    let (gnb, tai) = (setup().gnb, location().tai);
    sluice_n2::xn_addresses_wanted((&Gnb { id: 1, ..gnb }, &tai), (&gnb, &tai))
}

/// Of sessions, and what has several forms.
fn sessions_from_ran() -> Vec<FromRan> {
    let ids = IDS;
    let results = SessionResults {
        done: vec![(5, transfer_response().encode())],
        failed: vec![(6, session::setup_failure(Cause::RADIO_LOST))],
    };
    vec![
        FromRan::InitialContextSetupResponse {
            ids,
            sessions: results.clone(),
        },
        FromRan::PduSessionSetupResponse {
            ids,
            sessions: results,
        },
        FromRan::PduSessionReleaseResponse {
            ids,
            sessions: vec![(5, session::release_response())],
        },
        FromRan::PduSessionNotify {
            ids,
            sessions: vec![(5, notified().encode())],
            released: vec![(6, notify::notify_released(Cause::RADIO_LOST))],
        },
        FromRan::PduSessionModifyIndication {
            ids,
            sessions: vec![(5, vec![1, 2, 3]), (6, vec![4])],
        },
        FromRan::ConfigurationTransfer {
            target: Some(setup().gnb),
            transfer: xn_wanted(),
        },
        FromRan::UeRadioCapability {
            ids,
            capability: vec![1, 2, 3],
            for_paging: Some(PagingCapability {
                nr: Some(vec![4, 5]),
                eutra: Some(vec![6]),
            }),
        },
    ]
}

fn sessions_from_amf() -> Vec<FromAmf> {
    vec![
        FromAmf::ConfigurationTransfer {
            transfer: xn_wanted(),
        },
        FromAmf::PduSessionSetupRequest {
            ids: IDS,
            ambr_bps: Some((1_000_000_000, 500_000_000)),
            sessions: vec![session_setup(Some(vec![0x7e, 2]))],
        },
        FromAmf::PduSessionSetupRequest {
            ids: IDS,
            ambr_bps: None,
            sessions: vec![session_setup(None)],
        },
        FromAmf::PduSessionModifyConfirm {
            ids: IDS,
            sessions: SessionResults {
                done: vec![(5, vec![1, 2, 3])],
                failed: vec![(6, vec![4])],
            },
        },
        FromAmf::PduSessionReleaseCommand {
            ids: IDS,
            nas: Some(vec![0x7e, 2]),
            sessions: vec![(5, session::release_command(Cause::NORMAL_RELEASE))],
        },
        FromAmf::PduSessionReleaseCommand {
            ids: IDS,
            nas: None,
            sessions: vec![(5, session::release_command(Cause::NORMAL_RELEASE))],
        },
    ]
}

/// Of configuration, overload and keys.
fn of_configuration() -> (Vec<FromRan>, Vec<FromAmf>) {
    let (ids, cause) = (IDS, Cause::UNSPECIFIED);
    let update = |name: Option<&str>, areas| FromRan::RanConfigurationUpdate {
        name: name.map(str::to_owned),
        areas,
    };
    let from_ran = vec![
        update(None, Some(setup().areas)),
        update(Some("gnb-2"), None),
        FromRan::AmfConfigurationUpdateAcknowledge,
        FromRan::AmfConfigurationUpdateFailure { cause },
        FromRan::UeContextModificationResponse { ids },
        FromRan::UeContextModificationFailure { ids, cause },
    ];
    let from_amf = vec![
        FromAmf::AmfConfigurationUpdate(NgSetupResponse {
            name: "amf".to_owned(),
            guamis: vec![guami()],
            capacity: 17,
            plmns: slices(),
            retains_ues: false,
        }),
        FromAmf::RanConfigurationUpdateAcknowledge,
        FromAmf::RanConfigurationUpdateFailure { cause },
        FromAmf::AmfStatusIndication {
            unavailable: vec![guami()],
        },
        FromAmf::OverloadStart(Overload::default()),
        FromAmf::OverloadStart(Overload {
            action: OverloadAction::PermitHighPriority,
            percent: Some(30),
        }),
        FromAmf::OverloadStop,
        FromAmf::UeContextModificationRequest(Box::new(ContextModification {
            ids,
            key: Some(Kgnb::new([9; 32])),
            capability: SecurityCapability::from_octets(&[0x70, 0x70, 0, 0]),
        })),
    ];
    (from_ran, from_amf)
}

fn paging(is_whole: bool) -> FromAmf {
    let guti = sluice_ids::Guti {
        guami: guami(),
        tmsi: Tmsi([1, 2, 3, 4]),
    };
    let capability = PagingCapability {
        nr: Some(vec![1, 2]),
        eutra: Some(vec![3]),
    };
    FromAmf::Paging(Box::new(Paging {
        s_tmsi: guti.s_tmsi(),
        drx: is_whole.then_some(3),
        areas: vec![location().tai; 1 + usize::from(is_whole)],
        capability: is_whole.then_some(capability),
        attempt: (2, 3),
    }))
}

fn from_ran() -> Vec<FromRan> {
    let s_tmsi = sluice_ids::Guti {
        guami: guami(),
        tmsi: Tmsi([1, 2, 3, 4]),
    }
    .s_tmsi();
    let initial = |s_tmsi| InitialUeMessage {
        ran: IDS.1,
        nas: vec![0x7e, 0, 0x41],
        location: location(),
        establishment_cause: 3,
        s_tmsi,
        context_requested: true,
    };
    let (ids, nas) = (IDS, vec![0x7e, 0, 0x43]);
    vec![
        FromRan::NgSetupRequest(setup()),
        FromRan::NgSetupRequest(NgSetupRequest {
            retains_ues: true,
            ..setup()
        }),
        FromRan::InitialUeMessage(initial(None)),
        FromRan::InitialUeMessage(initial(Some(s_tmsi))),
        FromRan::UplinkNasTransport {
            ids,
            nas: nas.clone(),
            location: Some(location()),
        },
        FromRan::UplinkNasTransport {
            ids,
            nas: nas.clone(),
            location: None,
        },
        FromRan::NasNonDelivery {
            ids,
            nas,
            cause: Cause::RADIO_LOST,
        },
        FromRan::InitialContextSetupResponse {
            ids,
            sessions: SessionResults::default(),
        },
        FromRan::InitialContextSetupFailure {
            ids,
            cause: Cause::Transport(1),
        },
        FromRan::UeContextReleaseRequest {
            ids,
            cause: Cause::USER_INACTIVITY,
        },
        FromRan::UeContextReleaseComplete { ids },
        FromRan::UeRadioCapability {
            ids,
            capability: vec![1, 2, 3],
            for_paging: None,
        },
        FromRan::NgReset {
            cause: Cause::UNSPECIFIED,
            connections: None,
        },
        FromRan::NgReset {
            cause: Cause::UNSPECIFIED,
            connections: Some(vec![connection()]),
        },
        FromRan::ErrorIndication {
            connection: connection(),
            cause: Some(Cause::SEMANTIC_ERROR),
        },
    ]
}

fn from_amf() -> Vec<FromAmf> {
    let response = NgSetupResponse {
        name: "amf".to_owned(),
        guamis: vec![guami()],
        capacity: 255,
        plmns: slices(),
        retains_ues: false,
    };
    let context = InitialContext {
        ids: IDS,
        guami: guami(),
        ambr_bps: Some((1_000_000_000, 500_000_000)),
        sessions: vec![session_setup(None), session_setup(Some(vec![0x7e, 2]))],
        allowed_nssai: vec![Snssai::new(1, None)],
        capability: SecurityCapability::from_octets(&[0x70, 0x70, 0x70, 0x70]).expect("four"),
        key: Kgnb::new([7; 32]),
        masked_imeisv: Some([0x12, 0x34, 0x56, 0x78, 0x90, 0xff, 0xff, 0x56]),
        radio_capability: Some(vec![1, 2, 3]),
        nas: Some(vec![0x7e, 2, 1, 2, 3, 4, 0, 9]),
    };
    let bare = InitialContext {
        ambr_bps: None,
        sessions: Vec::new(),
        masked_imeisv: None,
        radio_capability: None,
        nas: None,
        ..context.clone()
    };
    vec![
        FromAmf::NgSetupResponse(response),
        FromAmf::NgSetupFailure {
            cause: Cause::UNKNOWN_PLMN,
        },
        FromAmf::DownlinkNasTransport {
            ids: IDS,
            nas: vec![0x7e, 0, 0x5b, 1],
        },
        FromAmf::InitialContextSetupRequest(Box::new(context)),
        FromAmf::InitialContextSetupRequest(Box::new(bare)),
        FromAmf::UeContextReleaseCommand {
            amf: IDS.0,
            ran: Some(IDS.1),
            cause: Cause::NORMAL_RELEASE,
        },
        FromAmf::UeContextReleaseCommand {
            amf: IDS.0,
            ran: None,
            cause: Cause::DEREGISTER,
        },
        FromAmf::NgResetAcknowledge { connections: None },
        FromAmf::NgResetAcknowledge {
            connections: Some(vec![connection()]),
        },
        FromAmf::ErrorIndication {
            connection: Some(connection()),
            cause: Some(Cause::UNKNOWN_LOCAL_ID),
        },
        FromAmf::ErrorIndication {
            connection: None,
            cause: Some(Cause::TRANSFER_SYNTAX),
        },
    ]
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

/// What others send: a release request, as it is printed in the codec's documents.
#[test]
fn a_release_request_of_others_is_read() {
    let request = octets("002a4015000003000a0002002a005500020007000f40020500");
    let ids = (AmfUeId(42), RanUeId(7));
    let expected = FromRan::UeContextReleaseRequest {
        ids,
        cause: Cause::USER_INACTIVITY,
    };
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
    let expected = FromAmf::NgSetupFailure {
        cause: Cause::ABSTRACT_SYNTAX_REJECT,
    };
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
            Ok(FromAmf::ErrorIndication {
                connection: None,
                cause
            })
        );
    }
    // What only an AMF sends.
    let command = FromAmf::NgResetAcknowledge { connections: None }.encode();
    let faulty = FromRan::decode(&command).expect_err("not for an AMF");
    assert_eq!(faulty.answer, None, "a response is not answered");
    let transport = FromAmf::DownlinkNasTransport {
        ids: IDS,
        nas: vec![0x7e, 0, 0x5b, 1],
    };
    let faulty = FromRan::decode(&transport.encode()).expect_err("not for an AMF");
    assert!(!faulty.is_served);
    assert_eq!(faulty.answer, None, "its criticality is to be ignored");
    let command = FromAmf::UeContextReleaseCommand {
        amf: IDS.0,
        ran: Some(IDS.1),
        cause: Cause::USER_INACTIVITY,
    };
    let faulty = FromRan::decode(&command.encode()).expect_err("not for an AMF");
    let answer = FromAmf::decode(&faulty.answer.expect("an answer"));
    let cause = Some(Cause::ABSTRACT_SYNTAX_REJECT);
    let connection = None;
    assert_eq!(answer, Ok(FromAmf::ErrorIndication { connection, cause }));
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
        "/../../docs/operator/conformance.md"
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
