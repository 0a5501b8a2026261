//! From octets to messages of the codec crate, and why not (TS 24.501, 7).

use oxirush_nas::common::NasError;
use oxirush_nas::nas_5gs::{Nas5gmmMessage, Nas5gsMessage};

use crate::cause::Cause;
use crate::downlink::Downlink;

/// A message that cannot be read.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Unreadable {
    /// Cause of the 5GMM STATUS for the other end; none if the message is to be ignored.
    pub cause: Option<Cause>,
}

impl Unreadable {
    pub(crate) const IGNORED: Self = Self { cause: None };
    pub(crate) const NOT_OFFERED: Self = Self {
        cause: Some(Cause::MESSAGE_TYPE),
    };
    pub(crate) const MANDATORY: Self = Self {
        cause: Some(Cause::INVALID_MANDATORY_INFORMATION),
    };
}

/// Extended protocol discriminator of 5GMM, and the header of a plain message.
const PLAIN: [u8; 2] = [0x7e, 0];
/// Types of messages that begin a procedure of the UE, and that it waits for the answer of (TS 24.501, 9.7).
const REGISTRATION_REQUEST: u8 = 0x41;
const SERVICE_REQUEST: u8 = 0x4c;

impl Unreadable {
    /// Answer to the UE that sent the octets; none if they are to be ignored. A UE does nothing with a 5GMM STATUS and
    /// waits for its timer, so that a request of a procedure is rejected (5.5.1.2.8, 5.5.1.3.8 and 5.6.1.8, protocol
    /// error), also one of which nothing else is known.
    pub fn answer(self, octets: &[u8]) -> Option<Downlink> {
        let kind = octets.strip_prefix(&PLAIN).and_then(|rest| rest.first());
        let cause = self.cause.unwrap_or(Cause::PROTOCOL_ERROR);
        match kind {
            Some(&REGISTRATION_REQUEST) => Some(Downlink::RegistrationReject(cause.into())),
            Some(&SERVICE_REQUEST) => Some(Downlink::ServiceReject(cause.into())),
            _ => self.cause.map(Downlink::Status),
        }
    }
}

/// Longest NAS message that is read: a registration request with all its IEs has a tenth of it, and
/// a container of 64 KiB is nothing that a radio carries in one message.
pub const LONGEST: usize = 8192;

/// A plain 5GMM message.
pub fn decode(octets: &[u8]) -> Result<Nas5gmmMessage, Unreadable> {
    if octets.len() > LONGEST {
        return Err(Unreadable::IGNORED);
    }
    match Nas5gsMessage::decode(octets) {
        // What has to be understood, and is not (7.5.1).
        Ok(Nas5gsMessage::Gmm(_, message))
            if message
                .unknown_ies()
                .iter()
                .any(|ie| ie.is_comprehension_required()) =>
        {
            Err(Unreadable::MANDATORY)
        }
        Ok(Nas5gsMessage::Gmm(_, message)) => Ok(message),
        Ok(_) => Err(Unreadable::IGNORED),
        Err(NasError::UnknownMessageType(_)) => Err(Unreadable {
            cause: Some(Cause::MESSAGE_TYPE),
        }),
        Err(NasError::InvalidMandatoryIe { .. } | NasError::UnknownIeCutShort { .. }) => {
            Err(Unreadable::MANDATORY)
        }
        Err(_) => Err(Unreadable::IGNORED),
    }
}

/// The octets of a plain 5GMM message.
#[allow(clippy::expect_used)]
pub fn encode(message: impl Into<Nas5gmmMessage>) -> Vec<u8> {
    // The codec refuses values that are longer than their IE; those of our messages are bounded by
    // their types.
    Nas5gsMessage::new_5gmm(message)
        .encode()
        .expect("our values fit their IEs")
}
