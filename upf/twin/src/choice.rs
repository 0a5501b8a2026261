//! F-TEIDs that the UP function chose (TS 29.244, 5.5.3), as its answer tells them.

use crate::admit::Refused;
use crate::rules::{FTeid, Session, SessionId};
use sluice_wire::pfcp::group::CreatedPdr;
use sluice_wire::pfcp::value;
use std::collections::BTreeMap;
use std::net::Ipv4Addr;

/// The Created PDRs of an answer, and how they were used so far.
pub struct Choices<'a> {
    created: &'a [CreatedPdr],
    taken: Vec<FTeid>,
    by_choose_id: BTreeMap<u8, FTeid>,
}

impl<'a> Choices<'a> {
    /// Of an answer; what `sessions` have must not be given again.
    pub fn new(created: &'a [CreatedPdr], sessions: &BTreeMap<SessionId, Session>) -> Self {
        let pdrs = sessions.values().flat_map(|s| s.pdrs.values());
        Self {
            created,
            taken: pdrs.filter_map(|p| p.f_teid).collect(),
            by_choose_id: BTreeMap::new(),
        }
    }

    /// The F-TEID that the answer gives to a PDR: at the address that was meant, the same for
    /// the same CHOOSE ID, and otherwise nobody else's.
    pub fn chosen(
        &mut self,
        pdr: u16,
        choose_id: Option<u8>,
        address: Ipv4Addr,
    ) -> Result<FTeid, Refused> {
        let Some(given) = self.given(pdr) else {
            return wrong(format!("PDR {pdr} got no F-TEID"));
        };
        if given.address != address {
            return wrong(format!("PDR {pdr} got an F-TEID at {}", given.address));
        }
        if let Some(same) = choose_id.and_then(|id| self.by_choose_id.get(&id)) {
            return match *same == given {
                true => Ok(given),
                false => wrong(format!("PDR {pdr} did not get its CHOOSE ID's F-TEID")),
            };
        }
        if self.taken.contains(&given) {
            return wrong(format!("PDR {pdr} got an F-TEID that is taken"));
        }
        self.taken.push(given);
        if let Some(id) = choose_id {
            self.by_choose_id.insert(id, given);
        }
        Ok(given)
    }

    fn given(&self, pdr: u16) -> Option<FTeid> {
        let created = self.created.iter().find(|c| c.pdr_id.0 == pdr)?;
        match created.local_f_teid.first()? {
            value::FTeid::Assigned {
                teid,
                ipv4: Some(address),
                ..
            } => Some(FTeid {
                address: *address,
                teid: teid.get(),
            }),
            _ => None,
        }
    }
}

fn wrong<T>(why: String) -> Result<T, Refused> {
    Err(Refused::Answer(why))
}
