//! PDU sessions of an emulated UE.

use std::collections::BTreeMap;

use sluice_ids::{Dnn, Snssai};
use sluice_n1::{
    Cause, EstablishmentAccept, EstablishmentRequest, N1_SM, RequestType, SessionCause,
    SessionDownlink, SessionType, SessionUplink, Transaction, UplinkPayload, options, transaction,
};

/// What a UE wants of a session.
#[derive(Clone, Debug, Default)]
pub struct WantedSession {
    /// None leaves it to the network.
    pub session_type: Option<SessionType>,
    /// None leaves it to the network.
    pub ssc_mode: Option<u8>,
    /// None leaves it to the network.
    pub slice: Option<Snssai>,
    /// None leaves it to the network.
    pub dnn: Option<Dnn>,
}

/// Sessions of a UE.
#[derive(Debug, Default)]
pub struct Sessions {
    there: BTreeMap<u8, EstablishmentAccept>,
    transactions: u8,
    /// Those that have data to send while the UE is idle, a bit for each.
    has_data: u16,
    /// What came back, or was refused.
    refused: Vec<(u8, Option<Cause>, Option<SessionCause>)>,
    /// Names of all messages, and their causes.
    received: Vec<String>,
    /// It never says that a release is complete.
    pub no_complete: bool,
}

impl Sessions {
    /// What a session was accepted with; none if there is none.
    pub fn get(&self, session: u8) -> Option<&EstablishmentAccept> {
        self.there.get(&session)
    }

    /// A bit for each session.
    pub fn status(&self) -> u16 {
        self.there
            .keys()
            .fold(0, |bits, session| bits | 1 << session)
    }

    /// Sessions that have data to send.
    pub fn wants_up(&self) -> u16 {
        self.has_data & self.status()
    }

    /// From now on these have data to send when the UE is idle, a bit for each.
    pub fn set_data(&mut self, sessions: u16) {
        self.has_data = sessions;
    }

    /// Requests that came back or were refused: session, and cause of 5GMM or 5GSM.
    pub fn refused(&self) -> &[(u8, Option<Cause>, Option<SessionCause>)] {
        &self.refused
    }

    /// Names of all messages of session management, and their causes.
    pub fn received(&self) -> &[String] {
        &self.received
    }

    /// It forgets a session without a word.
    pub fn forget(&mut self, session: u8) {
        self.there.remove(&session);
    }

    pub(crate) fn clear(&mut self) {
        self.there.clear();
    }

    /// Those that the network has not are gone.
    pub(crate) fn keep(&mut self, status: Option<u16>) {
        if let Some(status) = status {
            self.there.retain(|session, _| status & 1 << session != 0);
        }
    }

    pub(crate) fn establish(&mut self, session: u8, wanted: &WantedSession) -> UplinkPayload {
        let request = SessionUplink::EstablishmentRequest(EstablishmentRequest {
            session_type: wanted.session_type,
            ssc_mode: wanted.ssc_mode,
            options: Some(options::ask()),
        });
        UplinkPayload {
            request: Some(RequestType::Initial),
            slice: wanted.slice,
            dnn: wanted.dnn.map(|dnn| dnn.labels().to_vec()),
            ..self.payload(session, &request)
        }
    }

    pub(crate) fn release(&mut self, session: u8) -> UplinkPayload {
        self.payload(session, &SessionUplink::ReleaseRequest(None))
    }

    /// A message with a transaction of its own.
    fn payload(&mut self, session: u8, message: &SessionUplink) -> UplinkPayload {
        self.transactions = self.transactions % 254 + 1;
        let of = Transaction {
            session,
            procedure: self.transactions,
        };
        UplinkPayload {
            kind: N1_SM,
            session: Some(session),
            payload: message.encode(of),
            ..UplinkPayload::default()
        }
    }

    /// Takes a message of the network, and gives the one that answers it.
    pub(crate) fn receive(
        &mut self,
        session: u8,
        cause: Option<Cause>,
        octets: &[u8],
    ) -> Option<UplinkPayload> {
        if cause.is_some() {
            self.refused.push((session, cause, None));
            return None;
        }
        let of = transaction(octets)?;
        let message = SessionDownlink::decode(octets).ok()?;
        self.received.push(message.to_string());
        match message {
            SessionDownlink::EstablishmentAccept(accept) => {
                self.there.insert(session, *accept);
                None
            }
            SessionDownlink::EstablishmentReject { cause, .. }
            | SessionDownlink::ReleaseReject(cause)
            | SessionDownlink::ModificationReject(cause)
            | SessionDownlink::Status(cause) => {
                self.refused.push((session, None, Some(cause)));
                None
            }
            SessionDownlink::ReleaseCommand(_) => {
                self.there.remove(&session);
                let complete = SessionUplink::ReleaseComplete.encode(of);
                let answer = UplinkPayload {
                    kind: N1_SM,
                    session: Some(session),
                    payload: complete,
                    ..UplinkPayload::default()
                };
                Some(answer).filter(|_| !self.no_complete)
            }
            SessionDownlink::Other => None,
        }
    }
}
