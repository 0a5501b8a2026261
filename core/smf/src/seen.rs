//! Messages of N4 as octets, for whoever follows a UE: whose session they are about.

use sluice_ids::Supi;
use sluice_sbi::{Effect, ReferencePoint, Seen};
use sluice_wire::ids::Seid;
use sluice_wire::pfcp::element::Element as _;
use sluice_wire::pfcp::ie::first;
use sluice_wire::pfcp::value::FSeid;
use sluice_wire::pfcp::{Header, IeType};

use crate::session::{AtUpf, SessionId};
use crate::state::State;

impl State {
    /// A message of N4, if it is about a session and somebody follows UEs.
    pub(crate) fn see_n4(&mut self, is_received: bool, octets: &[u8]) {
        if !self.is_followed {
            return;
        }
        let Some(supi) = self.whose(is_received, octets) else {
            return;
        };
        self.effects.push(Effect::Seen(Box::new(Seen {
            at: ReferencePoint::N4,
            is_received,
            supi: Some(supi),
            ue: None,
            octets: octets.to_vec(),
        })));
    }

    /// Who has the session that a message names: by our SEID, or by the UPF's.
    fn whose(&self, is_received: bool, octets: &[u8]) -> Option<Supi> {
        let (header, body) = Header::parse(octets).ok()?;
        let seid = header.seid?;
        let of_ours = |seid: Seid| {
            let session = self.sessions.get(SessionId::from_number(seid.0).0)?;
            Some(session.supi)
        };
        if is_received {
            return of_ours(seid);
        }
        if seid == Seid(0) {
            // An establishment names no session of the UPF yet, but ours (TS 29.244, 7.2.2.4.2).
            let cp = FSeid::decode(first(body, IeType::F_SEID)?).ok()?;
            return of_ours(cp.seid);
        }
        let is_it = |upf: AtUpf| upf.seid == seid;
        let mut sessions = self.sessions.iter();
        let found = sessions.find(|(_, session)| session.upf.is_some_and(is_it));
        found.map(|(_, session)| session.supi)
    }
}
