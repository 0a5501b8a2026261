//! NAS of a UE and of the network, plain and inside of a security header; NGAP of a gNB and of an AMF.

use sluice_n1::{Downlink, Envelope, SessionDownlink, SessionUplink, Uplink, options, transaction};
use sluice_n2::notify::Notified;
use sluice_n2::{
    DownlinkConfigurationTransfer, FromAmf, FromRan, ModifyConfirm, ModifyIndication, SetupRequest,
    SetupResponse, session,
};

/// Longest message that is taken.
const LONGEST: usize = 8_192;

/// Reads a message as either end would, and what is inside of it.
pub fn nas_parse(data: &[u8]) {
    match Envelope::open(data) {
        Some(Envelope::Plain(plain)) => plain_message(plain),
        Some(Envelope::Protected(protected)) => {
            if let Some(plain) = protected.readable() {
                plain_message(plain);
            }
        }
        None => {}
    }
    session_message(data);
    let _ = options::read(data);
}

fn plain_message(plain: &[u8]) {
    match Uplink::decode(plain) {
        Ok(Uplink::UlNasTransport(payload)) => {
            assert!(payload.payload.len() <= LONGEST);
            session_message(&payload.payload);
            // It may have to come back to the UE.
            let back = Downlink::DlNasTransport {
                kind: payload.kind,
                session: payload.session,
                cause: Some(sluice_n1::Cause::PAYLOAD_NOT_FORWARDED),
                back_off_s: None,
                payload: payload.payload,
            };
            assert_eq!(Downlink::decode(&back.encode()), Ok(back));
        }
        Ok(message) => assert!(!message.name().is_empty()),
        Err(_) => {}
    }
    let _ = Downlink::decode(plain);
}

fn session_message(octets: &[u8]) {
    if SessionUplink::decode(octets).is_ok() || SessionDownlink::decode(octets).is_ok() {
        assert!(transaction(octets).is_some());
    }
}

/// Reads a message as either end would.
pub fn ngap_parse(data: &[u8]) {
    match FromRan::decode(data) {
        // It is said to another gNB, which reads it.
        Ok(FromRan::ConfigurationTransfer(message)) if message.target().is_some() => {
            let transfer = message.transfer;
            let relayed =
                FromAmf::ConfigurationTransfer(DownlinkConfigurationTransfer { transfer });
            assert_eq!(FromAmf::decode(&relayed.encode()), Ok(relayed));
        }
        Ok(message) => assert!(!message.name().is_empty()),
        Err(faulty) => {
            let answer = faulty.answer.map(|octets| FromAmf::decode(&octets));
            assert!(!matches!(answer, Some(Err(_))), "{:?}", faulty.cause);
        }
    }
    // What an emulated gNB reads.
    let _ = FromAmf::decode(data);
    // Transfers of sessions are read by others than their lists.
    if let Some(request) = SetupRequest::decode(data) {
        assert_eq!(SetupRequest::decode(&request.encode()), Some(request));
    }
    if let Some(response) = SetupResponse::decode(data) {
        assert!(response.qfis.len() <= 64);
    }
    if let Some(notified) = Notified::decode(data) {
        assert!(notified.released.len() <= 64);
    }
    if let Some(indication) = ModifyIndication::decode(data) {
        let again = ModifyIndication::decode(&indication.encode());
        assert_eq!(again, Some(indication));
    }
    let _ = ModifyConfirm::decode(data);
    let _ = session::read_setup_failure(data);
}
