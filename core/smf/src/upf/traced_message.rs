//! Messages of N4 as octets, for whoever follows a UE: whose session they are about.

use core::net::SocketAddr;

use sluice_ids::Supi;
use sluice_sbi::{Effect, Followed, ReferencePoint, TracedMessage};
use sluice_wire::ids::Seid;
use sluice_wire::pfcp::element::Element as _;
use sluice_wire::pfcp::ie::first;
use sluice_wire::pfcp::value::FSeid;
use sluice_wire::pfcp::{Header, IeType};

use crate::context::session::{Session, SessionId};
use crate::context::state::State;

impl State {
    /// A message of N4 with a UPF, if it is about a session of somebody who is followed. Of others no more is looked
    /// at than says so.
    pub(crate) fn see_n4(&mut self, is_received: bool, upf: SocketAddr, octets: &[u8]) {
        if self.followed == Followed::Nobody {
            return;
        }
        let supi = match is_received {
            true => self.whose_received(upf, octets),
            false => self.whose_sent(upf, octets),
        };
        let Some(supi) = supi.filter(|supi| self.followed.is(*supi)) else {
            return;
        };
        self.effects
            .push(Effect::TracedMessage(Box::new(TracedMessage {
                at: ReferencePoint::N4,
                is_received,
                supi: Some(supi),
                ue: None,
                octets: octets.to_vec(),
            })));
    }

    /// UE of the session that a message names by the SMF's SEID; none for messages from other hosts.
    fn whose_received(&self, upf: SocketAddr, octets: &[u8]) -> Option<Supi> {
        let (header, _) = Header::parse(octets).ok()?;
        let seid = header.seid.filter(|_| self.endpoint.is_allowed(upf.ip()))?;
        self.of_ours(seid)
    }

    fn of_ours(&self, seid: Seid) -> Option<Supi> {
        let session = self.sessions.get(SessionId::from_number(seid.0).0)?;
        Some(session.supi)
    }

    /// UE of the session that a message names by its UPF's SEID, which another UPF may have assigned as well.
    fn whose_sent(&self, upf: SocketAddr, octets: &[u8]) -> Option<Supi> {
        let (header, body) = Header::parse(octets).ok()?;
        let seid = header.seid?;
        if seid == Seid(0) {
            // An establishment names no session of the UPF yet, but ours (TS 29.244, 7.2.2.4.2).
            let cp = FSeid::decode(first(body, IeType::F_SEID)?).ok()?;
            return self.of_ours(cp.seid);
        }
        let is_it = |session: &&Session| {
            let at = session.upf.filter(|at| at.seid == seid);
            let at = at.and_then(|at| self.endpoint.association(at.association));
            at.is_some_and(|at| at.addresses().iter().any(|one| one.ip() == upf.ip()))
        };
        let found = match self.followed {
            // The few sessions of one UE, whatever there are in all.
            Followed::One(supi) => {
                let its = self.by_identity.range((supi, 0)..=(supi, u8::MAX));
                let mut its = its.filter_map(|(_, id)| self.sessions.get(id.0));
                its.find(is_it)
            }
            Followed::All => {
                let mut all = self.sessions.iter().map(|(_, session)| session);
                all.find(is_it)
            }
            Followed::Nobody => None,
        };
        found.map(|session| session.supi)
    }
}
