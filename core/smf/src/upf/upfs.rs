//! UPFs: which one a session gets and why none, and those that stop in order and come back.

use sluice_n1::SessionCause;
use sluice_n4::{AssociationId, Change};
use sluice_wire::pfcp::value::UpFunctionFeatures;

use crate::context::session::{AtUpf, Loss};
use crate::context::state::State;
use crate::limits;
use crate::refusal_text::Why;
use crate::upf::n4::Sent;

/// How many UPFs a refusal names.
const NAMED: usize = 4;

impl State {
    /// An association with a UPF for the network, slice and area, that chooses tunnels, and addresses where
    /// that is needed; and which one it is.
    ///
    /// # Errors
    /// Why there is none, of each UPF that serves them.
    pub(crate) fn choose_upf(
        &self,
        dnn: &sluice_ids::Dnn,
        slice: &sluice_ids::Snssai,
        area: &sluice_ids::Tai,
        needs_address: bool,
    ) -> Result<(AssociationId, usize), Why> {
        let upfs = self.config.upfs.iter().enumerate();
        let serving = upfs.filter(|(_, upf)| upf.serves(dnn, slice, area));
        let mut reasons = Vec::new();
        for (index, upf) in serving {
            match self.may_serve(index, needs_address) {
                Ok(association) => return Ok((association, index)),
                Err(why) => reasons.push(format!("UPF {} {why}", upf.n4)),
            }
        }
        if reasons.is_empty() {
            return Err(Why {
                why: "no UPF serves this data network, slice and tracking area".to_owned(),
                remedy: "look at data_networks, slices and tais of upfs in core.yaml",
            });
        }
        reasons.truncate(NAMED);
        Err(Why {
            why: reasons.join("; "),
            remedy: "look at the UPFs in sluice ctl --core status, and at their logs",
        })
    }

    /// The association of a UPF that can take a session, or what it lacks.
    fn may_serve(&self, index: usize, needs_address: bool) -> Result<AssociationId, &'static str> {
        let id = self.associations.get(index).copied().flatten();
        let known = id.and_then(|id| self.endpoint.association(id));
        let Some((id, association)) = id.zip(known) else {
            return Err("is not associated");
        };
        if !association.is_established() || association.is_lost() {
            return Err(match self.returning.contains(&id) {
                true => "has stopped",
                false => "does not answer",
            });
        }
        if association.is_ending() {
            return Err("is about to stop");
        }
        match self.lacks(id) {
            Some(what) if needs_address || what == NO_FTUP => Err(what),
            _ => Ok(id),
        }
    }

    /// Features that sessions need and a UPF lacks.
    pub(crate) fn lacks(&self, id: AssociationId) -> Option<&'static str> {
        let features = self.endpoint.association(id)?.features().up;
        let features = features.unwrap_or(UpFunctionFeatures::NONE);
        if !features.contains(UpFunctionFeatures::FTUP) {
            return Some(NO_FTUP);
        }
        let has_addresses = features.contains(UpFunctionFeatures::UEIP);
        (!has_addresses).then_some(NO_UEIP)
    }

    /// The UPF is about to stop. What can be done for its sessions is done when it is back, so it need not wait: it reports
    /// their last usage at once, where it can (EPFAR, TS 29.244, 5.18), and the association ends.
    pub(crate) fn release_asked(&mut self, association: AssociationId) {
        // It says so again when all is reported (URSS).
        if !self.leaving.insert(association) {
            return;
        }
        self.upf_line(association, "the UPF is about to stop");
        let (mut sent, now) = (Sent::default(), self.n4_now());
        let change = Change::ReleasePreparation;
        // One that cannot is released at the end of the period that it named.
        let _ = self.endpoint.update(now, association, change, &mut sent);
        self.flush(sent);
    }

    /// The UPF has stopped in order: its sessions wait for it in an association to come. False if nobody waits.
    pub(crate) fn wait_for_return(&mut self, ended: AssociationId) -> bool {
        let is_its = |one: &Option<AssociationId>| *one == Some(ended);
        let index = self.associations.iter().position(is_its);
        let Some(index) = index.filter(|_| self.to_end.is_none()) else {
            return false;
        };
        let n4 = self.config.upfs[index].n4;
        let at = self.n4_now().plus_ms(limits::ASSOCIATE_MS);
        let Ok(next) = self.endpoint.associate_later(n4, false, at) else {
            return false;
        };
        self.forget_orphans(ended, false);
        for id in self.sessions_at(ended) {
            let Some(session) = self.sessions.get_mut(id.0) else {
                continue;
            };
            // One that is given up has nothing there any more.
            session.upf = match session.loss {
                Loss::Gone => None,
                _ => session.upf.map(|upf| AtUpf {
                    association: next,
                    ..upf
                }),
            };
            if session.loss == Loss::None {
                session.loss = Loss::Restarted;
            }
        }
        self.associations[index] = Some(next);
        self.told_hosts.retain(|(id, _)| *id != ended);
        self.endpoint.set_allowed_peers(self.allowed_hosts());
        self.returning.insert(next);
        self.give_up_later(next);
        self.upf_line(next, "it has stopped; its sessions wait for it");
        true
    }

    /// Operators are told once of each UPF that does not answer its Association Setup Request; one that has stopped in
    /// order was told of.
    pub(crate) fn tell_silent(&mut self) {
        let waits = |id: &AssociationId| {
            let association = self.endpoint.association(*id);
            association.is_some_and(|one| one.state() == sluice_n4::State::Waiting)
        };
        let all = self.associations.iter().flatten().copied();
        let silent: Vec<AssociationId> = all.filter(waits).collect();
        for id in silent {
            if !self.returning.contains(&id) && self.told_silent.insert(id) {
                self.upf_line(
                    id,
                    "it has not accepted the association; it is tried again every 5 s",
                );
            }
        }
    }

    /// The association is there.
    pub(crate) fn has_come(&mut self, association: AssociationId) {
        self.returning.remove(&association);
        self.told_silent.remove(&association);
        if let Some(what) = self.lacks(association) {
            self.upf_line(association, &format!("it {what}"));
        }
    }
}

const NO_FTUP: &str = "does not allocate tunnels (no FTUP)";
const NO_UEIP: &str = "does not allocate UE addresses (no UEIP): set `allocate: true` in its pools";

/// Cause for a UE that no UPF can serve.
pub(crate) const NO_UPF: SessionCause = SessionCause::INSUFFICIENT_RESOURCES;
