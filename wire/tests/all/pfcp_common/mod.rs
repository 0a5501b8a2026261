//! Sample messages of the PFCP tests: every message, with every IE that it can carry.

// Each test crate uses its part; a failed step in a helper is a failed test.
#![allow(dead_code, clippy::unwrap_used)]

pub mod groups;
pub mod node;
pub mod rules;
pub mod session;

use std::fmt::Debug;

use sluice_wire::ids::Seid;
use sluice_wire::pfcp::{
    Full, Header, MessageType, Reject, SequenceNumber, Writer, message, write_message,
};

/// Room for the largest sample.
pub const BUFFER: usize = 16 * 1024;

/// What the message structs have in common.
pub trait Message<'a>: Sized + PartialEq + Debug + Default {
    /// The type in the header.
    const TYPE: MessageType;
    fn parse_body(body: &'a [u8]) -> Result<Self, Reject>;
    fn emit_body(&self, out: &mut Writer<'_>) -> Result<(), Full>;
}

macro_rules! messages {
    ($($name:ident $(<$lt:lifetime>)? = $constant:ident;)*) => {
        $(impl<'a> Message<'a> for message::$name $(<$lt>)? {
            const TYPE: MessageType = MessageType::$constant;
            fn parse_body(body: &'a [u8]) -> Result<Self, Reject> {
                Self::parse(body)
            }
            fn emit_body(&self, out: &mut Writer<'_>) -> Result<(), Full> {
                self.emit(out)
            }
        })*

        /// Parses a body as the message of a type; what is understood must survive being written
        /// and read again. Tells whether it was understood.
        pub fn parse_any(message_type: MessageType, body: &[u8]) -> bool {
            match message_type {
                $(MessageType::$constant => {
                    let Ok(read) = message::$name::parse(body) else { return false };
                    let written = emitted(|out| read.emit(out));
                    assert_eq!(message::$name::parse(&written).as_ref(), Ok(&read));
                    true
                })*
                _ => false,
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

/// The octets of a whole message, with sequence number 0x010203 and, where it belongs, a SEID; once
/// it is clear that they are read as the same message.
pub fn encoded<M: Message<'static>>(message: &M) -> Vec<u8> {
    let sequence = SequenceNumber::wrapping(0x01_0203);
    let header = match M::TYPE.is_session_related() {
        true => Header::session(M::TYPE, Seid(0x1122_3344_5566_7788), sequence),
        false => Header::node(M::TYPE, sequence),
    };
    let mut buffer = vec![0; BUFFER];
    let length = write_message(&mut buffer, &header, |out| message.emit_body(out)).unwrap();
    buffer.truncate(length);
    // The samples borrow for 'static, so what is read from these octets must as well.
    let octets: &'static [u8] = buffer.clone().leak();
    let (read, body) = Header::parse(octets).unwrap();
    assert_eq!(read, header);
    assert_eq!(M::parse_body(body).as_ref(), Ok(message));
    buffer
}

fn emitted(body: impl FnOnce(&mut Writer<'_>) -> Result<(), Full>) -> Vec<u8> {
    let mut buffer = vec![0; BUFFER];
    let mut out = Writer::new(&mut buffer);
    body(&mut out).unwrap();
    out.written().to_vec()
}

/// Every sample as octets.
pub fn all_messages() -> Vec<Vec<u8>> {
    let mut all = node::messages();
    all.extend(session::messages());
    all
}
