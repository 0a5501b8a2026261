//! The PFCP codec (TS 29.244): header, bundled messages, IEs, every message.

use sluice_wire::pfcp::{Full, Header, Ies, MessageType, Reject, Writer, message, write_message};
use std::cell::RefCell;
use std::fmt::Debug;

/// Room for whatever an input of 65535 octets can become when it is written again: short forms
/// may grow, but no IE grows to more than twice its length.
const ROOM: usize = 2 * 65_536;

thread_local! {
    static BUFFERS: RefCell<[Vec<u8>; 2]> = RefCell::new([vec![0; ROOM], vec![0; ROOM]]);
}

/// Reads a datagram as PFCP. What is understood must be written and read again without loss.
pub fn pfcp_parse(data: &[u8]) {
    let bundled: usize = sluice_n4::messages(data).map(<[u8]>::len).sum();
    assert_eq!(bundled, data.len(), "bundled messages cover the datagram");
    for single in sluice_n4::messages(data) {
        one_message(single);
    }
}

fn one_message(data: &[u8]) {
    let (header, body, rest) = match Header::parse_next(data) {
        Ok(parsed) => parsed,
        Err(error) => return assert!(!error.to_string().is_empty()),
    };
    let head = if header.seid.is_some() { 16 } else { 8 };
    assert_eq!(head + body.len() + rest.len(), data.len());
    header_survives(&header, body);
    walk(body);
    message_survives(header.message_type, body);
}

/// A header that was read is written as it was, but for flags and spare bits.
fn header_survives(header: &Header, body: &[u8]) {
    BUFFERS.with_borrow_mut(|[out, _]| {
        let len = write_message(out, header, |w| w.bytes(body)).expect("it fitted before");
        assert_eq!(Header::parse(&out[..len]), Ok((*header, body)));
    });
}

/// IEs are at least four octets long and lie behind each other.
fn walk(body: &[u8]) {
    let (mut steps, mut octets, mut failed) = (0, 0, false);
    for ie in Ies::new(body) {
        assert!(!failed, "the walk ends after an error");
        match ie {
            Ok(ie) => octets += 4 + ie.value.len(),
            Err(reject) => {
                failed = true;
                assert!(!reject.cause.is_acceptance());
            }
        }
        steps += 1;
        assert!(steps <= body.len() / 4 + 1, "more IEs than octets allow");
    }
    assert!(octets <= body.len());
    assert_eq!(octets == body.len(), !failed);
}

/// What all messages can do.
trait Message<'a>: Sized + PartialEq + Debug {
    fn read(body: &'a [u8]) -> Result<Self, Reject>;
    fn write(&self, out: &mut Writer<'_>) -> Result<(), Full>;
}

macro_rules! messages {
    ($($name:ident $(<$lt:lifetime>)? = $constant:ident;)*) => {
        $(impl<'a> Message<'a> for message::$name $(<$lt>)? {
            fn read(body: &'a [u8]) -> Result<Self, Reject> {
                Self::parse(body)
            }
            fn write(&self, out: &mut Writer<'_>) -> Result<(), Full> {
                self.emit(out)
            }
        })*

        /// Reads a body as its message and back.
        fn message_survives(message_type: MessageType, body: &[u8]) {
            match message_type {
                $(MessageType::$constant => BUFFERS.with_borrow_mut(|[a, b]| {
                    let Some(read) = understood::<message::$name>(body) else { return };
                    let once = written(&read, a, body.len());
                    let again = message::$name::read(once).expect("our own octets");
                    let same = again == read || is_written_as(&read, &again);
                    assert!(same, "{read:?}\nbecame\n{again:?}");
                    let twice = written(&again, b, body.len());
                    assert!(once == twice, "the second writing differs");
                    fits_exactly(&again, &mut b[..once.len()]);
                }),)*
                _ => {}
            }
        }

        /// Whether a message that we sent is one that we would read.
        pub(super) fn is_understood(message_type: MessageType, body: &[u8]) -> Result<(), Reject> {
            match message_type {
                $(MessageType::$constant => message::$name::read(body).map(drop),)*
                _ => Ok(()),
            }
        }
    };
}

messages! {
    HeartbeatRequest<'a> = HEARTBEAT_REQUEST;
    HeartbeatResponse = HEARTBEAT_RESPONSE;
    PfdManagementRequest<'a> = PFD_MANAGEMENT_REQUEST;
    PfdManagementResponse<'a> = PFD_MANAGEMENT_RESPONSE;
    AssociationSetupRequest<'a> = ASSOCIATION_SETUP_REQUEST;
    AssociationSetupResponse<'a> = ASSOCIATION_SETUP_RESPONSE;
    AssociationUpdateRequest<'a> = ASSOCIATION_UPDATE_REQUEST;
    AssociationUpdateResponse<'a> = ASSOCIATION_UPDATE_RESPONSE;
    AssociationReleaseRequest<'a> = ASSOCIATION_RELEASE_REQUEST;
    AssociationReleaseResponse<'a> = ASSOCIATION_RELEASE_RESPONSE;
    VersionNotSupportedResponse = VERSION_NOT_SUPPORTED_RESPONSE;
    NodeReportRequest<'a> = NODE_REPORT_REQUEST;
    NodeReportResponse<'a> = NODE_REPORT_RESPONSE;
    SessionSetDeletionRequest<'a> = SESSION_SET_DELETION_REQUEST;
    SessionSetDeletionResponse<'a> = SESSION_SET_DELETION_RESPONSE;
    SessionEstablishmentRequest<'a> = SESSION_ESTABLISHMENT_REQUEST;
    SessionEstablishmentResponse<'a> = SESSION_ESTABLISHMENT_RESPONSE;
    SessionModificationRequest<'a> = SESSION_MODIFICATION_REQUEST;
    SessionModificationResponse<'a> = SESSION_MODIFICATION_RESPONSE;
    SessionDeletionRequest = SESSION_DELETION_REQUEST;
    SessionDeletionResponse<'a> = SESSION_DELETION_RESPONSE;
    SessionReportRequest<'a> = SESSION_REPORT_REQUEST;
    SessionReportResponse = SESSION_REPORT_RESPONSE;
}

/// A changed group of which nothing is understood changes nothing, but cannot be written: an empty
/// one means that it is removed (TS 29.244, 5.6.3).
fn is_written_as(read: &impl Debug, again: &impl Debug) -> bool {
    without_empty_groups(&format!("{read:?}")) == format!("{again:?}")
}

fn without_empty_groups(text: &str) -> String {
    let mut parts = text.split("Set(");
    let mut written = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        match part.split_once(" })") {
            Some((group, rest)) if is_empty_group(group) => {
                written += "Remove";
                written += rest;
            }
            _ => {
                written += "Set(";
                written += part;
            }
        }
    }
    written
}

/// `Name { field: None, list: [] }` without its end.
fn is_empty_group(text: &str) -> bool {
    let fields = text.split_once(" { ").map(|(_, fields)| fields);
    let empty = |field: &str| field.ends_with(": None") || field.ends_with(": []");
    fields.is_some_and(|fields| fields.split(", ").all(empty))
}

fn understood<'a, M: Message<'a>>(body: &'a [u8]) -> Option<M> {
    match M::read(body) {
        Ok(read) => Some(read),
        Err(reject) => {
            assert!(!reject.cause.is_acceptance(), "{reject}");
            assert!(!reject.to_string().is_empty());
            None
        }
    }
}

fn written<'o, 'a>(message: &impl Message<'a>, out: &'o mut [u8], read_len: usize) -> &'o [u8] {
    let mut writer = Writer::new(out);
    message
        .write(&mut writer)
        .expect("room for twice the input");
    let len = writer.len();
    assert!(len <= 2 * read_len + 64, "{read_len} octets became {len}");
    &out[..len]
}

/// Exactly the room that it needs suffices, and one octet less is refused.
fn fits_exactly<'a>(message: &impl Message<'a>, room: &mut [u8]) {
    assert_eq!(message.write(&mut Writer::new(room)), Ok(()));
    if let Some((_, less)) = room.split_last_mut() {
        assert_eq!(message.write(&mut Writer::new(less)), Err(Full));
    }
}
