//! What an emulated gNB says when nobody has asked: flows and sessions that it takes away (TS 38.413, 8.2.4), and what
//! it tells other gNBs by way of the AMF (8.8).

use sluice_n2::notify::{self, Notified};
use sluice_n2::{Cause, FromRan, RanUeId, xn_addresses_wanted};

use crate::gnb::Gnb;

impl Gnb {
    /// It has these flows of a session no more, and not the session where these were all; none of a UE or session
    /// that is not here.
    pub fn take_flows_away(&mut self, ran: RanUeId, session: u8, flows: &[u8]) -> Option<Vec<u8>> {
        let ue = self.ues.get_mut(&ran)?;
        let known = ue.sessions.get_mut(&session)?;
        known
            .request
            .flows
            .retain(|flow| !flows.contains(&flow.qfi));
        if known.request.flows.is_empty() {
            return self.take_session_away(ran, session);
        }
        let notified = Notified {
            released: flows.to_vec(),
            ..Notified::default()
        };
        let message = FromRan::PduSessionNotify {
            ids: (ue.amf?, ran),
            sessions: vec![(session, notified.encode())],
            released: Vec::new(),
        };
        Some(message.encode())
    }

    /// It has a session no more.
    pub fn take_session_away(&mut self, ran: RanUeId, session: u8) -> Option<Vec<u8>> {
        let ue = self.ues.get_mut(&ran)?;
        ue.sessions.remove(&session)?;
        let message = FromRan::PduSessionNotify {
            ids: (ue.amf?, ran),
            sessions: Vec::new(),
            released: vec![(session, notify::notify_released(Cause::RADIO_LOST))],
        };
        Some(message.encode())
    }

    /// It asks another gNB for its addresses of Xn.
    pub fn ask_for_xn(&self, other: &Self) -> Vec<u8> {
        let transfer =
            xn_addresses_wanted((&self.setup.gnb, &self.tai), (&other.setup.gnb, &other.tai));
        let target = Some(other.setup.gnb);
        FromRan::ConfigurationTransfer { target, transfer }.encode()
    }

    /// What other gNBs have told it since this was asked last.
    pub fn take_transfers(&mut self) -> Vec<Vec<u8>> {
        std::mem::take(&mut self.transfers)
    }
}
