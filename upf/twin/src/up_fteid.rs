//! UP-chosen F-TEIDs (TS 29.244, 5.5.3), as the response tells them.

use crate::admit::Refused;
use crate::config::{Addresses, TunnelEnd};
use crate::rules::{FTeid, Session, SessionId};
use sluice_wire::pfcp::group::CreatedPdr;
use sluice_wire::pfcp::value;
use std::collections::BTreeMap;

/// TEIDs that no CP function of the tests chooses, and of these those of CHOOSE IDs.
const NOBODYS: u32 = 0x4e00_0000;
const OF_CHOOSE_ID: u32 = 0x0001_0000;

/// The Created PDRs of an answer, and how they were used so far.
pub struct Choices<'a> {
    created: &'a [CreatedPdr],
    taken: Vec<FTeid>,
    by_choose_id: BTreeMap<u8, FTeid>,
    /// What is wrong with the answer.
    wrong: Vec<String>,
}

impl<'a> Choices<'a> {
    /// Of an answer; what `sessions` have must not be given again.
    pub fn new(created: &'a [CreatedPdr], sessions: &BTreeMap<SessionId, Session>) -> Self {
        let pdrs = sessions.values().flat_map(|s| s.pdrs.values());
        Self {
            created,
            taken: pdrs.filter_map(|p| p.f_teid).collect(),
            by_choose_id: BTreeMap::new(),
            wrong: Vec::new(),
        }
    }

    /// The F-TEID that the answer gives to a PDR: at the addresses of the end that were asked for, the same for
    /// the same CHOOSE ID, and otherwise nobody else's.
    pub fn chosen(
        &mut self,
        pdr: u16,
        choose_id: Option<u8>,
        end: &TunnelEnd,
        asked: Addresses,
    ) -> FTeid {
        let Some((teid, addresses)) = self.given(pdr) else {
            return self.blame(pdr, "got no F-TEID", (choose_id, end));
        };
        if addresses != asked {
            return self.blame(pdr, "got an F-TEID at other addresses", (choose_id, end));
        }
        let given = FTeid {
            address: end.address,
            teid,
        };
        if let Some(same) = choose_id.and_then(|id| self.by_choose_id.get(&id)) {
            return match *same == given {
                true => given,
                false => {
                    let what = "did not get the F-TEID of its CHOOSE ID";
                    self.blame(pdr, what, (choose_id, end))
                }
            };
        }
        if self.taken.contains(&given) {
            return self.blame(pdr, "got an F-TEID that is taken", (choose_id, end));
        }
        self.taken.push(given);
        if let Some(id) = choose_id {
            self.by_choose_id.insert(id, given);
        }
        given
    }

    /// What a message before this one gave for a CHOOSE ID.
    pub fn remember(&mut self, choose_id: u8, f_teid: FTeid) {
        self.by_choose_id.insert(choose_id, f_teid);
    }

    /// Whether the answer gave what it had to give.
    pub fn check(&self) -> Result<(), Refused> {
        match self.wrong.is_empty() {
            true => Ok(()),
            false => Err(Refused::Answer(self.wrong.join(", "))),
        }
    }

    /// Remembers what is wrong; the request may be impossible for a better reason. The F-TEID is nobody's, at the end
    /// that was meant, and the same for the same CHOOSE ID.
    fn blame(&mut self, pdr: u16, what: &str, (choose_id, end): (Option<u8>, &TunnelEnd)) -> FTeid {
        self.wrong.push(format!("PDR {pdr} {what}"));
        let number = choose_id.map_or(u32::from(pdr), |id| OF_CHOOSE_ID | u32::from(id));
        FTeid {
            address: end.address,
            teid: NOBODYS | number,
        }
    }

    fn given(&self, pdr: u16) -> Option<(u32, Addresses)> {
        let mut created = self.created.iter().filter(|c| c.pdr_id.0 == pdr);
        match created.find_map(|c| c.local_f_teid.first())? {
            value::FTeid::Assigned { teid, ipv4, ipv6 } => Some((teid.get(), (*ipv4, *ipv6))),
            value::FTeid::Choose { .. } => None,
        }
    }
}
