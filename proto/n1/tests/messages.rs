//! Messages of N1: written and read by both ends, as others write them, and octets that are none.

#![forbid(unsafe_code)]

use proptest::prelude::*;
use sluice_ids::{AmfId, Guami, Guti, Plmn, Snssai, Suci, Tac, Tai, Tmsi};
use sluice_n1::{
    AuthenticationRequest, Cause, ConfigurationUpdate, DeregistrationRequest, Downlink, EapRequest,
    Envelope, IdentityKind, MobileIdentity, NetworkTime, Reactivation, RegistrationAccept,
    RegistrationKind, RegistrationRequest, RequestType, SecurityModeCommand, ServiceRequest,
    Uplink, UplinkPayload,
};
use sluice_security::{Ciphering, Integrity, SecurityCapability};

fn plmn() -> Plmn {
    Plmn::new("208", "93").expect("digits")
}

fn guti() -> Guti {
    let amf = AmfId::new(0xca, 0x3fe, 0).expect("small");
    Guti {
        guami: Guami { plmn: plmn(), amf },
        tmsi: Tmsi([0x11, 0x22, 0x33, 0x44]),
    }
}

fn capability() -> SecurityCapability {
    SecurityCapability::from_octets(&[0xf0, 0x70, 0xf0, 0x70]).expect("four octets")
}

fn octets(text: &str) -> Vec<u8> {
    let pair = |at: usize| u8::from_str_radix(&text[at..at + 2], 16).expect("digits");
    (0..text.len()).step_by(2).map(pair).collect()
}

/// A Registration Request with all that it may have.
fn whole_registration() -> RegistrationRequest {
    RegistrationRequest {
        kind: RegistrationKind::Mobility,
        follow_on: true,
        ngksi: 3,
        identity: MobileIdentity::Guti(guti()),
        mm_capability: Some(vec![0x03]),
        capability: Some(capability()),
        requested_nssai: Some(vec![Snssai::new(1, None), Snssai::new(2, Some([0, 0, 10]))]),
        session_status: Some(0x0020),
        uplink_data: Some(0x0020),
        drx: Some(2),
        has_new_radio: true,
        container: Some(vec![1, 2, 3, 4]),
    }
}

#[test]
fn every_uplink_message_is_read_as_it_was_written() {
    let suci = Suci::new(plmn(), 0, 0, &[0, 0, 0, 0x10, 0x02]).expect("short");
    for message in [
        Uplink::RegistrationRequest(Box::new(whole_registration())),
        Uplink::RegistrationRequest(Box::new(RegistrationRequest::initial(
            MobileIdentity::Suci(suci),
            capability(),
        ))),
        Uplink::RegistrationComplete,
        Uplink::DeregistrationRequest(DeregistrationRequest {
            switch_off: true,
            ngksi: 1,
            identity: MobileIdentity::Guti(guti()),
        }),
        Uplink::DeregistrationAccept,
        Uplink::ServiceRequest(ServiceRequest {
            ngksi: 1,
            kind: 1,
            identity: MobileIdentity::STmsi(guti().s_tmsi()),
            session_status: Some(0x20),
            uplink_data: Some(0x20),
            container: Some(vec![1, 2, 3, 4]),
        }),
        Uplink::AuthenticationResponse([9; 16]),
        Uplink::EapResponse(vec![2, 7, 0, 8, 50, 2, 0, 0]),
        Uplink::AuthenticationFailure {
            cause: Cause::SYNCH_FAILURE,
            auts: Some([3; 14]),
        },
        Uplink::AuthenticationFailure {
            cause: Cause::MAC_FAILURE,
            auts: None,
        },
        Uplink::IdentityResponse(MobileIdentity::Suci(suci)),
        Uplink::SecurityModeComplete {
            imeisv: None,
            container: Some(vec![0x7e, 0, 0x41, 1]),
        },
        Uplink::SecurityModeReject(Cause::SECURITY_CAPABILITIES_MISMATCH),
        Uplink::ConfigurationUpdateComplete,
        Uplink::UlNasTransport(Box::new(UplinkPayload {
            kind: 1,
            session: Some(5),
            payload: vec![0x2e, 5, 1, 0xc1],
            ..UplinkPayload::default()
        })),
        Uplink::UlNasTransport(Box::new(UplinkPayload {
            kind: 1,
            session: Some(5),
            request: Some(RequestType::Initial),
            slice: Some(Snssai::new(1, Some([0, 0, 10]))),
            dnn: Some(b"\x08internet".to_vec()),
            payload: vec![0x2e, 5, 1, 0xc1],
        })),
        Uplink::Status(Cause::PROTOCOL_ERROR),
    ] {
        assert_eq!(Uplink::decode(&message.encode()), Ok(message));
    }
}

fn update() -> ConfigurationUpdate {
    ConfigurationUpdate {
        register: true,
        acknowledge: true,
        guti: Some(guti()),
        full_name: Some("Sluice in a box".to_owned()),
        short_name: Some("Sluice".to_owned()),
        time: None,
    }
}

#[test]
fn a_deregistration_by_the_network_is_read_as_it_was_written() {
    for registers_again in [false, true] {
        for cause in [None, Some(Cause::SERVICES_NOT_ALLOWED)] {
            let message = Downlink::DeregistrationRequest {
                registers_again,
                cause,
            };
            assert_eq!(Downlink::decode(&message.encode()), Ok(message));
        }
    }
}

#[test]
fn messages_about_keys_are_read_as_they_were_written() {
    let command = SecurityModeCommand {
        ciphering: Ciphering::Nea2,
        integrity: Integrity::Nia2,
        ngksi: 2,
        capability: capability(),
        ask_imeisv: true,
        ask_initial_message: true,
        derives_key: false,
        abba: Some([0, 0]),
        eap: None,
    };
    let by_derivation = SecurityModeCommand {
        derives_key: true,
        ask_initial_message: false,
        ..command.clone()
    };
    let by_eap = SecurityModeCommand {
        eap: Some(vec![3, 7, 0, 4]),
        ..command.clone()
    };
    let eap = EapRequest {
        ngksi: 1,
        abba: [0, 0],
        eap: vec![1, 7, 0, 8, 50, 1, 0, 0],
    };
    for message in [
        Downlink::EapRequest(eap.clone()),
        Downlink::AuthenticationResult(eap),
        Downlink::EapReject(vec![4, 7, 0, 4]),
        Downlink::SecurityModeCommand(by_eap),
        Downlink::SecurityModeCommand(by_derivation),
        Downlink::SecurityModeCommand(command),
    ] {
        assert_eq!(Downlink::decode(&message.encode()), Ok(message));
    }
}

#[test]
fn every_downlink_message_is_read_as_it_was_written() {
    let accept = RegistrationAccept {
        guti: Some(guti()),
        equivalent_plmns: vec![Plmn::new("001", "01").expect("digits")],
        areas: vec![Tai {
            plmn: plmn(),
            tac: Tac([0, 0, 1]),
        }],
        allowed_nssai: vec![Snssai::new(1, None)],
        rejected_nssai: vec![(Snssai::new(9, Some([1, 2, 3])), sluice_n1::RejectedIn::Area)],
        configured_nssai: vec![Snssai::new(1, None), Snssai::new(2, None)],
        ims_voice: true,
        session_status: Some(0),
        reactivation: Some(Reactivation::default()),
        t3512_s: Some(50 * 60),
        t3502_s: Some(12 * 60),
        drx: Some(3),
    };
    let request = AuthenticationRequest {
        ngksi: 0,
        abba: [0, 0],
        rand: [0x23; 16],
        autn: [0x55; 16],
    };
    for message in [
        Downlink::RegistrationAccept(Box::new(accept)),
        Downlink::RegistrationAccept(Box::default()),
        Downlink::RegistrationReject(Cause::NO_NETWORK_SLICES.into()),
        Downlink::DeregistrationAccept,
        Downlink::ServiceAccept {
            session_status: Some(0x22),
            reactivation: Some(Reactivation {
                failed: vec![(5, Cause::INSUFFICIENT_USER_PLANE_RESOURCES)],
            }),
        },
        Downlink::ServiceAccept {
            session_status: None,
            reactivation: None,
        },
        Downlink::ServiceReject(Cause::IDENTITY_UNKNOWN.into()),
        Downlink::AuthenticationRequest(request),
        Downlink::AuthenticationReject,
        Downlink::IdentityRequest(IdentityKind::Suci),
        Downlink::IdentityRequest(IdentityKind::Imeisv),
        Downlink::DlNasTransport {
            kind: 1,
            session: Some(5),
            cause: Some(Cause::PAYLOAD_NOT_FORWARDED),
            back_off_s: None,
            payload: vec![0x2e, 5, 1, 0xc1],
        },
        Downlink::ConfigurationUpdateCommand(update()),
        Downlink::ConfigurationUpdateCommand(ConfigurationUpdate::default()),
        Downlink::Status(Cause::MESSAGE_TYPE),
    ] {
        assert_eq!(Downlink::decode(&message.encode()), Ok(message));
    }
}

/// As UERANSIM and PacketRusher send it.
#[test]
fn a_registration_request_of_others_is_read() {
    let request = octets("7e004179000d0102f8390000000000000010022e08a020000000000000");
    let Ok(Uplink::RegistrationRequest(request)) = Uplink::decode(&request) else {
        panic!("not read");
    };
    assert_eq!(
        (request.kind, request.follow_on),
        (RegistrationKind::Initial, true)
    );
    assert_eq!(request.ngksi, sluice_n1::NO_KEY);
    let MobileIdentity::Suci(suci) = request.identity else {
        panic!("{:?}", request.identity);
    };
    assert_eq!(
        (suci.home, suci.output()),
        (plmn(), &[0, 0, 0, 0x10, 0x02][..])
    );
    let capability = request.capability.expect("there is one");
    assert_eq!((capability.ea(), capability.ia()), (0xa0, 0x20));
}

#[test]
fn what_is_unknown_or_cut_short_is_answered_by_its_cause() {
    let cause = |text: &str| {
        Uplink::decode(&octets(text))
            .expect_err("not a message")
            .cause
    };
    assert_eq!(cause("7e0001"), Some(Cause::MESSAGE_TYPE));
    assert_eq!(
        cause("7e004179000d01"),
        Some(Cause::INVALID_MANDATORY_INFORMATION)
    );
    assert_eq!(cause("7e0057"), Some(Cause::INVALID_MANDATORY_INFORMATION));
    // Too short to have a type, of session management, of another system.
    assert_eq!(cause("7e00"), None);
    assert_eq!(cause("2e0501c1ffff"), None);
    assert_eq!(cause("074103"), None);
    assert_eq!(
        Uplink::decode(&[0x7e; 9000]).expect_err("too long").cause,
        None
    );
}

#[test]
fn only_the_messages_of_4_4_4_3_are_taken_without_protection() {
    assert!(Uplink::AuthenticationResponse([0; 16]).may_be_unprotected());
    assert!(!Uplink::RegistrationComplete.may_be_unprotected());
    assert!(
        !Uplink::SecurityModeComplete {
            imeisv: None,
            container: None
        }
        .may_be_unprotected()
    );
    assert!(!Uplink::ConfigurationUpdateComplete.may_be_unprotected());
    // Only a SUCI may be asked for before there is security.
    assert!(!Uplink::IdentityResponse(MobileIdentity::Guti(guti())).may_be_unprotected());
}

proptest! {
    #[test]
    fn any_octets_are_read_or_refused(octets in proptest::collection::vec(any::<u8>(), 0..300)) {
        let _ = Uplink::decode(&octets);
        let _ = Downlink::decode(&octets);
        let _ = Envelope::open(&octets);
    }

    /// Changed messages reach deeper than random octets.
    #[test]
    fn any_changed_message_is_read_or_refused(
        kind in any::<u8>(),
        changes in proptest::collection::vec((any::<usize>(), any::<u8>()), 0..6),
        length in any::<usize>(),
    ) {
        let request = "7e004179000d0102f8390000000000000010022e08a020000000000000\
            2f0901010401020304050610010750022000";
        let mut octets = octets(&request.replace(' ', ""));
        octets[2] = kind;
        for (at, value) in changes {
            let at = at % octets.len();
            octets[at] = value;
        }
        octets.truncate(length % (octets.len() + 1));
        let _ = Uplink::decode(&octets).map(|message| message.encode());
        let _ = Downlink::decode(&octets).map(|message| message.encode());
    }
}

#[test]
fn a_configuration_update_tells_the_time_as_others_read_it() {
    let update = ConfigurationUpdate {
        acknowledge: false,
        guti: None,
        time: Some(NetworkTime {
            unix_s: 1_795_527_068,
            offset_quarters: 8,
        }),
        ..ConfigurationUpdate::default()
    };
    let octets = Downlink::ConfigurationUpdateCommand(update).encode();
    let zone_and_time = [0x46, 0x80, 0x47, 0x62, 0x11, 0x42, 0x31, 0x13, 0x80, 0x80];
    assert_eq!(octets, [&[0x7e, 0, 0x54][..], &zone_and_time].concat());
}

/// TS 24.501, 7.6.3, and an IE that has to be comprehended (7.5.1, 7.6.1).
#[test]
fn of_ies_that_stand_twice_the_first_counts() {
    let whole = "7e004179000d0102f8390000000000000010022e04f070f0702f020101";
    let Ok(Uplink::RegistrationRequest(request)) = Uplink::decode(&octets(whole)) else {
        panic!("not read");
    };
    for again in ["2e028080", "2f020102", "2e0280802f020102"] {
        let twice = Uplink::decode(&octets(&format!("{whole}{again}")));
        assert_eq!(
            twice,
            Ok(Uplink::RegistrationRequest(request.clone())),
            "{again}"
        );
    }
    // UL NAS Transport with two PDU session identities, and two Request types.
    let twice = octets("7e0067010004c1020304120512068185");
    let Ok(Uplink::UlNasTransport(payload)) = Uplink::decode(&twice) else {
        panic!("not read");
    };
    let request = Some(sluice_n1::RequestType::Initial);
    assert_eq!((payload.session, payload.request), (Some(5), request));
    // 5GSM causes in a Modification Request.
    let twice = octets("2e0509c959535954");
    let Ok(sluice_n1::SessionUplink::ModificationRequest(request)) =
        sluice_n1::SessionUplink::decode(&twice)
    else {
        panic!("not read");
    };
    let first = Some(sluice_n1::SessionCause::SEMANTICS_OF_QOS);
    assert_eq!(request.cause, first);
    for message in [format!("{whole}0a0100"), format!("{whole}0a")] {
        let cause = Uplink::decode(&octets(&message))
            .expect_err("not comprehended")
            .cause;
        assert_eq!(cause, Some(Cause::INVALID_MANDATORY_INFORMATION));
    }
    let cause = sluice_n1::SessionUplink::decode(&octets("2e0509c90a0100"));
    assert_eq!(
        cause,
        Err(sluice_n1::SessionCause::INVALID_MANDATORY_INFORMATION)
    );
}
