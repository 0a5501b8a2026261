//! Resolution of references between rules, and of FAR destinations.

use crate::admission::Admission;
use crate::compile::LINE_RULES;
use crate::network::{Network, PeerError, Side};
use crate::refusal::{self, Refusal};
use crate::rules::{Action, Far, Forwarding, Key, Pdr};
use sluice_datapath::tables::{EgressId, PeerId};
use sluice_wire::pfcp::IeType;

impl<N: Network> Admission<'_, N> {
    /// Checks the whole draft and finds the way out of every FAR that a PDR leads to.
    pub fn resolve(&mut self) -> Result<(), Refusal> {
        for pdr in &self.draft.pdrs {
            self.check_references(pdr)?;
            self.check_entry(pdr)?;
        }
        if let Some(pdr) = self.draft.overlimited() {
            return Err(Refusal::full(
                Some(refusal::pdr(pdr.id)),
                Some(IeType::QER_ID),
            ));
        }
        self.check_bars()?;
        for at in 0..self.draft.fars.len() {
            self.resolve_far(at)?;
        }
        Ok(())
    }

    /// A FAR that names a BAR names one that is there.
    pub fn check_bars(&self) -> Result<(), Refusal> {
        let mut fars = self.draft.fars.iter();
        let lacks = |far: &&Far| far.bar.is_some_and(|bar| self.draft.bar(bar).is_none());
        match fars.find(lacks) {
            Some(far) => Err(Refusal::rule(refusal::far(far.id), IeType::BAR_ID)),
            None => Ok(()),
        }
    }

    fn check_references(&self, pdr: &Pdr) -> Result<(), Refusal> {
        let rule = refusal::pdr(pdr.id);
        if self.draft.far(pdr.far).is_none() {
            return Err(Refusal::rule(rule, IeType::FAR_ID));
        }
        if pdr
            .qers
            .as_slice()
            .iter()
            .any(|id| self.draft.qer(*id).is_none())
        {
            return Err(Refusal::rule(rule, IeType::QER_ID));
        }
        if pdr
            .urrs
            .as_slice()
            .iter()
            .any(|id| self.draft.urr(*id).is_none())
        {
            return Err(Refusal::rule(rule, IeType::URR_ID));
        }
        Ok(())
    }

    /// What shares an entry must agree on what the entry holds once: side and UE address.
    pub fn check_entry(&self, pdr: &Pdr) -> Result<(), Refusal> {
        let rule = refusal::pdr(pdr.id);
        let Some(key) = pdr.key() else {
            return Err(Refusal::rule(rule, IeType::PDI));
        };
        let mut others = self.draft.pdrs.iter().filter(|p| p.key() == Some(key));
        if others.any(|p| p.is_from_access() != pdr.is_from_access()) {
            return Err(Refusal::rule(rule, IeType::SOURCE_INTERFACE));
        }
        if self.draft.members_len(key) > LINE_RULES {
            return Err(Refusal::full(Some(rule), Some(IeType::CREATE_PDR)));
        }
        let forwards = self
            .draft
            .far(pdr.far)
            .is_some_and(|f| f.action == Action::Forward);
        let tunnel = matches!(key, Key::Tunnel { .. });
        if self.draft.is_live(pdr) && forwards && tunnel && !pdr.removes_outer {
            return Err(Refusal::rule(rule, IeType::OUTER_HEADER_REMOVAL));
        }
        if !tunnel && pdr.removes_outer {
            return Err(Refusal::rule(rule, IeType::OUTER_HEADER_REMOVAL));
        }
        Ok(())
    }

    /// Finds the way out of a FAR.
    pub fn resolve_far(&mut self, at: usize) -> Result<(), Refusal> {
        let Some(mut far) = self.draft.fars.get(at).copied() else {
            return Ok(());
        };
        let rule = refusal::far(far.id);
        let mut pdrs = self.draft.pdrs.iter();
        let is_used = pdrs.any(|p| p.far == far.id && self.draft.is_live(p));
        let is_needed = is_used && far.action != Action::Drop;
        let forwarding = far.forwarding.filter(|f| is_needed && !f.is_lost());
        match forwarding {
            Some(f) if f.tunnel.is_some() => {
                far.egress = None;
                if far.peer.is_none() {
                    far.peer = Some(self.peer(&far, &f)?);
                }
            }
            _ => {
                if let Some(peer) = far.peer.take() {
                    self.drop_peer(rule, peer)?;
                }
                far.egress = self.egress(&far, forwarding)?;
            }
        }
        if let Some(place) = self.draft.fars.get_mut(at) {
            *place = far;
        }
        Ok(())
    }

    fn peer(&mut self, far: &Far, forwarding: &Forwarding) -> Result<PeerId, Refusal> {
        let rule = refusal::far(far.id);
        let address = forwarding.tunnel.map(|t| t.address);
        let address = address.ok_or(Refusal::rule(rule, IeType::OUTER_HEADER_CREATION))?;
        let name = self.shared.names.get(forwarding.instance);
        let side = self.net.tunnel_side(forwarding.side, name);
        let held = self.net.hold_peer(side, name, address, forwarding.marking);
        let peer = held.map_err(|error| match error {
            PeerError::NoInterface => Refusal::rule(rule, IeType::NETWORK_INSTANCE),
            PeerError::Full => Refusal::full(Some(rule), Some(IeType::OUTER_HEADER_CREATION)),
        })?;
        match self.resources.peer_held(peer, self.claims) {
            Ok(()) => Ok(peer),
            Err(_) => {
                self.resources.release_peer(peer, self.net);
                Err(Refusal::full(Some(rule), None))
            }
        }
    }

    /// Without outer header packets leave by a network instance. Towards the access side there
    /// is no such way: a FAR whose tunnel is not known yet drops.
    fn egress(
        &self,
        far: &Far,
        forwarding: Option<Forwarding>,
    ) -> Result<Option<EgressId>, Refusal> {
        let Some(f) = forwarding else {
            return Ok(None);
        };
        let plain = matches!(f.side, Side::Core | Side::SgiLan);
        if !plain || far.action != Action::Forward {
            return Ok(None);
        }
        let unknown = Refusal::rule(refusal::far(far.id), IeType::NETWORK_INSTANCE);
        let name = self.shared.names.get(f.instance);
        let found = f.side.plain().find_map(|side| self.net.egress(side, name));
        found.map(Some).ok_or(unknown)
    }
}
