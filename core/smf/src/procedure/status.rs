//! 5GSM STATUS of a UE (TS 24.501, 6.5.3): what it is about, and what becomes of that.

use sluice_n1::{SessionCause, SessionUplink, transaction};

use crate::context::session::{Session, SessionId};
use crate::context::state::State;

/// Subject of a STATUS.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum About {
    /// The UE does not have the session: it was not asked for with the transaction of its accept, or is not known.
    Session,
    /// The UE does not take the command that it was sent.
    Command(SessionCause),
    /// Nothing that is under way.
    Nothing,
}

impl About {
    /// Subject of a UE's message, if it is a STATUS.
    pub fn of(session: &Session, octets: &[u8]) -> Option<Self> {
        let of = transaction(octets)?;
        let Ok(SessionUplink::Status(cause)) = SessionUplink::decode(octets) else {
            return None;
        };
        Some(match cause {
            SessionCause::INVALID_SESSION_IDENTITY => Self::Session,
            // The UE has not taken the command, whatever is wrong with it: it would not take it again.
            _ if session.flows.command == Some(of.procedure) => Self::Command(cause),
            SessionCause::PTI_MISMATCH | SessionCause::INVALID_PTI | SessionCause::MESSAGE_TYPE
                if of.procedure != 0 && of.procedure == session.transaction =>
            {
                Self::Session
            }
            // The TS leaves others to the network.
            _ => Self::Nothing,
        })
    }
}

impl State {
    /// The same, for a session by its name.
    pub fn status_is_about(&self, id: SessionId, octets: &[u8]) -> Option<About> {
        About::of(self.sessions.get(id.0)?, octets)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use sluice_ids::{Dnn, Snssai, Supi};

    #[test]
    fn a_status_is_about_what_its_cause_and_transaction_say() {
        let supi = Supi::from_imsi("001010000000001").expect("digits");
        let mut session = Session::new(supi, 1, Snssai::new(1, None), Dnn::NONE);
        session.transaction = 5;
        session.flows.command = Some(9);
        let about = |procedure: u8, cause: u8| {
            let octets = [0x2e, 1, procedure, 0xd6, cause];
            About::of(&session, &octets).expect("a STATUS")
        };
        for cause in [47, 81, 97] {
            assert_eq!(about(5, cause), About::Session, "{cause}");
            let command = About::Command(SessionCause(cause));
            assert_eq!(about(9, cause), command, "{cause}");
            assert_eq!(about(6, cause), About::Nothing, "{cause}");
            assert_eq!(about(0, cause), About::Nothing, "{cause}");
        }
        for cause in [26, 95, 96, 100, 111] {
            let command = About::Command(SessionCause(cause));
            assert_eq!(about(9, cause), command, "{cause}");
            assert_eq!(about(5, cause), About::Nothing, "{cause}");
        }
        assert_eq!(about(0, 43), About::Session);
        assert_eq!(about(9, 43), About::Session);
        assert_eq!(about(5, 111), About::Nothing);
        assert_eq!(About::of(&session, &[0x2e, 1, 5, 0xd4]), None);
    }
}
