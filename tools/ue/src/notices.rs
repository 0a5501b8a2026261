//! Messages that an emulated gNB starts: flows and sessions that it releases (TS 38.413, 8.2.4) or moves to other
//! tunnels (8.2.5), and transfers to other gNBs by way of the AMF (8.8).

use sluice_n2::notify::{self, Notified};
use sluice_n2::{
    AmfUeId, Cause, FromRan, ModifyConfirm, ModifyIndication, PduSessionModifyIndication,
    PduSessionNotify, RanUeId, SessionResults, Transfers, UplinkConfigurationTransfer,
    xn_addresses_wanted,
};

use crate::gnb::{FromGnb, Gnb};

/// Confirmations that are kept.
const CONFIRMS: usize = 64;

impl Gnb {
    /// Releases these flows of a session, and the session if it has no others; none for an unknown UE or session.
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
        let message = FromRan::PduSessionNotify(PduSessionNotify {
            ids: (ue.amf?, ran),
            sessions: vec![(session, notified.encode())],
            released: Vec::new(),
        });
        Some(message.encode())
    }

    pub fn take_session_away(&mut self, ran: RanUeId, session: u8) -> Option<Vec<u8>> {
        let ue = self.ues.get_mut(&ran)?;
        ue.sessions.remove(&session)?;
        let message = FromRan::PduSessionNotify(PduSessionNotify {
            ids: (ue.amf?, ran),
            sessions: Vec::new(),
            released: vec![(session, notify::notify_released(Cause::RADIO_LOST))],
        });
        Some(message.encode())
    }

    /// Moves the packets of all flows of these sessions to other tunnel ends, at which the gNB takes them from now on;
    /// none for an unknown UE.
    pub fn move_sessions(&mut self, ran: RanUeId, sessions: &[u8]) -> Option<Vec<u8>> {
        let mut transfers = Transfers::new();
        for session in sessions {
            let tunnel = self.new_tunnel();
            let ue = self.ues.get_mut(&ran)?;
            // Of one that is not here the AMF is told all the same.
            let (mut qfis, mut policy) = (vec![1], None);
            if let Some(known) = ue.sessions.get_mut(session) {
                policy = known.request.security;
                qfis = known.request.flows.iter().map(|flow| flow.qfi).collect();
                let before = std::mem::replace(&mut known.downlink, tunnel);
                ue.moving.insert(*session, before);
            }
            let indication = ModifyIndication {
                first: (tunnel, qfis),
                others: Vec::new(),
                security: self.protect(policy).ok().flatten(),
            };
            transfers.push((*session, indication.encode()));
        }
        let ids = (self.ues.get(&ran)?.amf?, ran);
        let sessions = transfers;
        Some(
            FromRan::PduSessionModifyIndication(PduSessionModifyIndication { ids, sessions })
                .encode(),
        )
    }

    /// The AMF has answered: packets come there, or where they came.
    pub(crate) fn moved(
        &mut self,
        ids: (AmfUeId, RanUeId),
        sessions: SessionResults,
    ) -> Vec<FromGnb> {
        let Some(ue) = self.ues.get_mut(&ids.1) else {
            return self.unknown(ids);
        };
        for (session, _) in &sessions.failed {
            let before = ue.moving.remove(session);
            if let (Some(before), Some(known)) = (before, ue.sessions.get_mut(session)) {
                known.downlink = before;
            }
        }
        for (session, transfer) in &sessions.done {
            ue.moving.remove(session);
            let confirm = ModifyConfirm::decode(transfer);
            if let (Some(confirm), Some(known)) = (confirm, ue.sessions.get_mut(session)) {
                known.request.uplink = confirm.uplink;
            }
        }
        if self.confirms.len() >= CONFIRMS {
            self.confirms.remove(0);
        }
        self.confirms.push(sessions);
        Vec::new()
    }

    /// Whether packets of a UE are to come elsewhere, and the AMF has not answered.
    pub(crate) fn is_moving(&self, ran: RanUeId) -> bool {
        self.ues.get(&ran).is_some_and(|ue| !ue.moving.is_empty())
    }

    /// Results of the AMF for moved sessions since the last call.
    pub fn take_confirms(&mut self) -> Vec<SessionResults> {
        std::mem::take(&mut self.confirms)
    }

    /// Asks another gNB for its Xn addresses.
    pub fn ask_for_xn(&self, other: &Self) -> Vec<u8> {
        let transfer =
            xn_addresses_wanted((&self.setup.gnb, &self.tai), (&other.setup.gnb, &other.tai));
        FromRan::ConfigurationTransfer(UplinkConfigurationTransfer { transfer }).encode()
    }

    /// Transfers from other gNBs since the last call.
    pub fn take_transfers(&mut self) -> Vec<Vec<u8>> {
        std::mem::take(&mut self.transfers)
    }
}
