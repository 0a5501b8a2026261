//! From octets to messages of the codec crate, and why not (TS 24.501, 7).

use oxirush_nas::common::NasError;
use oxirush_nas::nas_5gs::{Nas5gmmMessage, Nas5gsMessage};

use crate::cause::Cause;

/// A message that cannot be read.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Unreadable {
    /// What the other end is told in a 5GMM STATUS; none if the message is to be ignored.
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

/// Longest NAS message that is read: a registration request with all its IEs has a tenth of it, and
/// a container of 64 KiB is nothing that a radio carries in one message.
pub const LONGEST: usize = 8192;

/// A plain 5GMM message.
pub fn decode(octets: &[u8]) -> Result<Nas5gmmMessage, Unreadable> {
    if octets.len() > LONGEST {
        return Err(Unreadable::IGNORED);
    }
    match Nas5gsMessage::decode(octets) {
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
