//! The GTP-U codec (TS 29.281) with the PDU Session Container (TS 38.415).

use sluice_wire::gtpu::{
    Extensions, GPdu, GtpuError, Header, Ies, LONG_HEADER_LEN, MAX_CONTAINER_LEN,
    MAX_EXTENSION_HEADERS, Message, PduSessionInformation, echo_request, echo_response, end_marker,
    write_error_indication, write_g_pdu_header,
};
use sluice_wire::ids::Teid;

/// Reads a UDP payload as GTP-U. Both readers agree, and what is understood can be written.
pub fn gtpu_parse(data: &[u8]) {
    chain(data);
    let g_pdu = GPdu::parse(data);
    let message = Message::parse(data);
    match (&g_pdu, &message) {
        (Ok(one), Ok(Message::GPdu(other))) => {
            assert_eq!(one, other, "both readers agree");
            check_g_pdu(one, data);
        }
        (Ok(_), other) => panic!("a G-PDU and also {other:?}"),
        (Err(error), Ok(Message::GPdu(_))) => panic!("a G-PDU and also {error}"),
        (Err(error), _) => assert!(!error.to_string().is_empty()),
    }
    match message {
        Ok(message) => check_message(&message, data),
        Err(error) => assert!(!matches!(error, GtpuError::NotGPdu(_)), "{error}"),
    }
}

/// Extension headers and information elements are walked in bounded steps.
fn chain(data: &[u8]) {
    let Ok((header, body)) = Header::parse(data) else {
        return;
    };
    assert!(body.len() <= usize::from(header.length));
    let mut chain = Extensions::new(header.next_extension, body);
    let mut walked = 0;
    for extension in chain.by_ref() {
        walked += 1;
        assert!(walked <= MAX_EXTENSION_HEADERS + 1);
        if let Ok(extension) = extension {
            assert_eq!(extension.content.len() % 4, 2);
            // Content of any length is read or refused.
            let _ = PduSessionInformation::parse(extension.content);
        }
    }
    assert!(chain.rest().len() <= body.len());
    assert!(Ies::new(chain.rest()).count() <= body.len() + 1);
}

fn check_g_pdu(g_pdu: &GPdu, data: &[u8]) {
    let payload = g_pdu
        .payload(data)
        .expect("the payload lies in the message");
    assert_eq!(payload.len(), usize::from(g_pdu.payload_len));
    let (header, _) = Header::parse(data).expect("it was read before");
    assert_eq!(header.teid, g_pdu.teid.get());
    assert_eq!(header.sequence, g_pdu.sequence);
    let end = usize::from(g_pdu.payload_offset) + payload.len();
    assert_eq!(end, 8 + usize::from(header.length));
    match g_pdu.container(data) {
        Ok(Some(container)) => {
            assert_eq!(Some(container.qfi()), g_pdu.qfi);
            container_survives(g_pdu.teid, &container, payload.len());
        }
        Ok(None) => assert_eq!((g_pdu.qfi, g_pdu.pdu_type), (None, None)),
        Err(error) => assert_eq!(error, GtpuError::ContainerTruncated),
    }
}

/// A container that was read is written and read as the same, in front of as much payload.
fn container_survives(teid: Teid, container: &PduSessionInformation, payload_len: usize) {
    let mut head = [0; LONG_HEADER_LEN + MAX_CONTAINER_LEN];
    let Some(len) = write_g_pdu_header(&mut head, teid, container, payload_len) else {
        assert!(
            payload_len > 65_535 - 4 - MAX_CONTAINER_LEN,
            "no room for {container:?}"
        );
        return;
    };
    let mut whole = head[..len].to_vec();
    whole.resize(len + payload_len, 0);
    let again = GPdu::parse(&whole).expect("our own octets");
    assert_eq!(again.container(&whole), Ok(Some(*container)));
    assert_eq!(
        (again.teid, usize::from(again.payload_len)),
        (teid, payload_len)
    );
}

fn check_message(message: &Message<'_>, data: &[u8]) {
    match message {
        Message::EchoRequest { sequence } => {
            let again = echo_request(*sequence);
            assert_eq!(Message::parse(&again).as_ref(), Ok(message));
        }
        Message::EchoResponse { sequence } => {
            let again = echo_response(*sequence);
            assert_eq!(Message::parse(&again).as_ref(), Ok(message));
        }
        Message::ErrorIndication(indication) => {
            let mut out = [0; 40];
            let len = write_error_indication(&mut out, 7, indication).expect("40 octets do");
            assert_eq!(Message::parse(&out[..len]).as_ref(), Ok(message));
        }
        Message::EndMarker(marker) => {
            let again = end_marker(marker.teid);
            let Ok(Message::EndMarker(again)) = Message::parse(&again) else {
                panic!("our own End Marker is not read");
            };
            assert_eq!(again.teid, marker.teid);
        }
        Message::SupportedExtensionHeadersNotification { supported } => {
            assert!(supported.len() <= data.len());
        }
        Message::TunnelStatus { .. } | Message::GPdu(_) => {}
    }
}
