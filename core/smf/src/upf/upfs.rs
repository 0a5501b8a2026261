//! UPFs: which one a session gets and why none, and those that stop in order and come back.

use sluice_ids::Dnn;
use sluice_n1::SessionCause;
use sluice_n4::{AssociationId, Change};
use sluice_wire::pfcp::value::UpFunctionFeatures;

use crate::context::session::{AtUpf, Loss};
use crate::context::state::State;
use crate::leases::lease::{NAME_N3, POOL_IS_FULL};
use crate::leases::pools::{Family, Pool, Wanted};
use crate::limits;
use crate::refusal_text::Why;
use crate::upf::n4::Sent;

/// How many UPFs a refusal names.
const NAMED: usize = 4;

impl State {
    /// An association with a UPF for the network, slice and area, where there are tunnels, and addresses of the families
    /// that are needed; and which one it is.
    ///
    /// # Errors
    /// Why there is none, of each UPF that serves them.
    pub(crate) fn choose_upf(
        &self,
        dnn: &Dnn,
        slice: &sluice_ids::Snssai,
        area: &sluice_ids::Tai,
        needs: [bool; 2],
    ) -> Result<(AssociationId, usize), NoUpf> {
        let upfs = self.config.upfs.iter().enumerate();
        let serving = upfs.filter(|(_, upf)| upf.serves(dnn, slice, area));
        let mut reasons = Vec::new();
        let mut remedy = None;
        let mut is_full = false;
        for (index, upf) in serving {
            let unfit = match self.may_serve(index, dnn, needs) {
                Ok(association) => return Ok((association, index)),
                Err(unfit) => unfit,
            };
            reasons.push(format!("UPF {} {}", upf.n4, unfit.what));
            remedy = remedy.or(unfit.remedy);
            is_full |= unfit.remedy == Some(POOL_IS_FULL);
        }
        if reasons.is_empty() {
            let why = Why {
                why: "no UPF serves this data network, slice and tracking area".to_owned(),
                remedy: "look at data_networks, slices and tais of upfs in core.yaml",
            };
            return Err(NoUpf { why, is_full });
        }
        reasons.truncate(NAMED);
        let why = Why {
            why: reasons.join("; "),
            remedy: remedy
                .unwrap_or("look at the UPFs in sluice ctl --core status, and at their logs"),
        };
        Err(NoUpf { why, is_full })
    }

    /// The association of a UPF that can take a session, or what it lacks.
    fn may_serve(&self, index: usize, dnn: &Dnn, needs: [bool; 2]) -> Result<AssociationId, Unfit> {
        let id = self.associations.get(index).copied().flatten();
        let known = id.and_then(|id| self.endpoint.association(id));
        let Some((id, association)) = id.zip(known) else {
            return Err("is not associated".into());
        };
        if !association.is_established() || association.is_lost() {
            return Err(match self.returning.contains(&id) {
                true => "has stopped".into(),
                false => "does not answer".into(),
            });
        }
        if association.is_ending() {
            return Err("is about to stop".into());
        }
        if self.lacks_tunnels(id, index) {
            let (what, remedy) = (NO_FTUP.to_owned(), Some(NAME_N3));
            return Err(Unfit { what, remedy });
        }
        if !self.has_feature(id, UpFunctionFeatures::UEIP) {
            let at = self.config.upfs.get(index);
            let at = at.map_or(&[][..], |upf| upf.pools.as_slice());
            let needed = [Family::Ipv4, Family::Ipv6].into_iter().zip(needs);
            for (family, _) in needed.filter(|(_, is_needed)| *is_needed) {
                self.may_give(Wanted { dnn, family, at })?;
            }
        }
        Ok(id)
    }

    /// Whether the SMF has an address for a UPF that gives none.
    fn may_give(&self, wanted: Wanted<'_>) -> Result<(), Unfit> {
        let pools = &self.leases.pools;
        if pools.has_room(wanted, self.now.instant) {
            return Ok(());
        }
        let Wanted { dnn, family, .. } = wanted;
        let (what, remedy) = if pools.has(wanted) {
            (
                format!("{NO_UEIP}, and the pools of {dnn} have no {family} address left"),
                POOL_IS_FULL,
            )
        } else {
            (
                format!("{NO_UEIP}, and {dnn} has no pool of {family}"),
                ADD_POOL,
            )
        };
        let remedy = Some(remedy);
        Err(Unfit { what, remedy })
    }

    fn lacks_tunnels(&self, id: AssociationId, index: usize) -> bool {
        let chooses = self.has_feature(id, UpFunctionFeatures::FTUP);
        !chooses && self.tunnel_ends(id, index).is_none()
    }

    /// Names something that sessions need and neither a UPF nor the SMF gives.
    pub(crate) fn lacks(&self, id: AssociationId) -> Option<&'static str> {
        let is_its = |one: &Option<AssociationId>| *one == Some(id);
        let index = self.associations.iter().position(is_its)?;
        if self.lacks_tunnels(id, index) {
            return Some("does not allocate tunnels (no FTUP), and n3 of it names no address");
        }
        let upf = self.config.upfs.get(index)?;
        let leads = |dnn: &Dnn| upf.networks.is_empty() || upf.networks.contains(dnn);
        let mut networks = self.config.networks.iter().filter(|one| leads(&one.dnn));
        let gives = self.has_feature(id, UpFunctionFeatures::UEIP);
        let has_it = |pool: &Pool| upf.pools.is_empty() || upf.pools.contains(pool);
        let lacks = !gives && networks.any(|one| !one.pools.iter().any(has_it));
        lacks.then_some("does not allocate UE addresses (no UEIP), and a data network has no pools: set `allocate: true` in its pools, or add pools to data_networks")
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
        self.features_told(association);
    }

    /// The UPF has announced its features, or others than before.
    pub(crate) fn features_told(&mut self, association: AssociationId) {
        self.adopt_leases(association);
        if let Some(what) = self.lacks(association) {
            return self.upf_line(association, &format!("it {what}"));
        }
        let ours = [
            (
                UpFunctionFeatures::FTUP,
                "the SMF chooses its tunnels (no FTUP)",
            ),
            (
                UpFunctionFeatures::UEIP,
                "the SMF allocates UE addresses (no UEIP)",
            ),
        ];
        for (feature, what) in ours {
            if !self.has_feature(association, feature) {
                self.upf_line(association, what);
            }
        }
    }
}

/// No UPF takes a session.
pub(crate) struct NoUpf {
    pub why: Why,
    /// No address is left, which does not pass in a moment.
    pub is_full: bool,
}

/// Why a UPF does not take a session.
struct Unfit {
    what: String,
    remedy: Option<&'static str>,
}

impl From<&str> for Unfit {
    fn from(what: &str) -> Self {
        let what = what.to_owned();
        Self { what, remedy: None }
    }
}

const NO_FTUP: &str =
    "does not allocate tunnels (no FTUP), and its addresses towards gNBs are not known";
const NO_UEIP: &str = "does not allocate UE addresses (no UEIP)";

/// Remedy where neither the UPF nor the SMF has addresses.
const ADD_POOL: &str = "add pools to the data network in core.yaml, or let the UPF allocate (sluice upf: `allocate: true` in its pools)";

/// Cause for a UE that no UPF can serve.
pub(crate) const NO_UPF: SessionCause = SessionCause::INSUFFICIENT_RESOURCES;
