//! Leases are given to new sessions, known again after a restart, and given back.

use core::net::SocketAddr;

use sluice_n1::SessionType;
use sluice_n2::Tunnel;
use sluice_n4::AssociationId;
use sluice_wire::pfcp::value::UpFunctionFeatures;

use crate::context::session::SessionId;
use crate::context::state::State;
use crate::leases::lease::{Lease, NAME_N3, OwnAddresses, POOL_IS_FULL, families};
use crate::leases::numbers::Numbers;
use crate::leases::pools::{AddressPools, Family, UeAddress, Wanted};
use crate::limits;
use crate::refusal_text::Why;

impl State {
    /// Whether a UPF has announced a feature.
    pub(crate) fn has_feature(&self, id: AssociationId, feature: UpFunctionFeatures) -> bool {
        let features = self
            .endpoint
            .association(id)
            .and_then(|one| one.features().up);
        features.is_some_and(|features| features.contains(feature))
    }

    /// Gives a new session what its UPF, at this place in the configuration, does not give, beside what the subscriber
    /// has of its own: the UE's addresses as far as they are known.
    ///
    /// # Errors
    /// If nothing is left of something.
    pub(crate) fn lease(
        &mut self,
        id: SessionId,
        (association, upf): (AssociationId, usize),
        kind: SessionType,
        own: OwnAddresses,
    ) -> Result<OwnAddresses, Why> {
        let mut lease = Lease {
            upf: self.config.upfs.get(upf).map(|upf| upf.n4),
            ..Lease::default()
        };
        if let Err(why) = self.lease_parts(id, (association, upf), kind, own, &mut lease) {
            self.give_back_lease(lease);
            return Err(why);
        }
        match self.sessions.get_mut(id.0) {
            Some(session) => session.lease = lease,
            None => self.give_back_lease(lease),
        }
        let gives = self.has_feature(association, UpFunctionFeatures::UEIP);
        Ok(if gives { own } else { lease.own() })
    }

    fn lease_parts(
        &mut self,
        id: SessionId,
        (association, upf): (AssociationId, usize),
        kind: SessionType,
        own: OwnAddresses,
        lease: &mut Lease,
    ) -> Result<(), Why> {
        if !self.has_feature(association, UpFunctionFeatures::UEIP) {
            self.lease_own(id, own, lease)?;
            self.lease_addresses((id, upf), families(kind), lease)?;
        }
        if !self.has_feature(association, UpFunctionFeatures::FTUP) {
            lease.tunnel = Some(self.lease_tunnel(association, upf)?);
        }
        Ok(())
    }

    /// Addresses that the subscriber has of its own, which no other has meanwhile. Another session of the subscriber is
    /// one that this one replaces.
    fn lease_own(
        &mut self,
        id: SessionId,
        own: OwnAddresses,
        lease: &mut Lease,
    ) -> Result<(), Why> {
        let (ipv4, ipv6_prefix) = (own.ipv4, own.ipv6_prefix);
        let wanted = Lease {
            ipv4,
            ipv6_prefix,
            ..Lease::default()
        };
        for address in wanted.addresses() {
            if self.leases.pools.is_held(address) && !self.is_of_same_ue(id, address) {
                return Err(Why {
                    why: "a pool has given the subscriber's own address to another UE".to_owned(),
                    remedy: "leave the addresses of subscribers out of the pools of data_networks in core.yaml",
                });
            }
            self.leases.pools.hold(address);
            match address {
                UeAddress::Ipv4(ipv4) => lease.ipv4 = Some(ipv4),
                UeAddress::Ipv6(prefix) => lease.ipv6_prefix = Some(prefix),
            }
        }
        Ok(())
    }

    fn is_of_same_ue(&self, id: SessionId, address: UeAddress) -> bool {
        let supi = self.sessions.get(id.0).map(|session| session.supi);
        let mut all = self.sessions.iter().map(|(_, session)| session);
        all.any(|one| Some(one.supi) == supi && one.lease.addresses().any(|its| its == address))
    }

    fn lease_addresses(
        &mut self,
        (id, upf): (SessionId, usize),
        wanted: [bool; 2],
        lease: &mut Lease,
    ) -> Result<(), Why> {
        let Some(dnn) = self.sessions.get(id.0).map(|session| session.dnn) else {
            return Ok(());
        };
        let now = self.now.instant;
        let upf = self.config.upfs.get(upf);
        let at = upf.map_or(&[][..], |upf| upf.pools.as_slice());
        let lacks = [lease.ipv4.is_none(), lease.ipv6_prefix.is_none()];
        for (family, place) in [(Family::Ipv4, 0), (Family::Ipv6, 1)] {
            if !(wanted[place] && lacks[place]) {
                continue;
            }
            let wanted = Wanted {
                dnn: &dnn,
                family,
                at,
            };
            match self.leases.pools.give(wanted, now) {
                Some(UeAddress::Ipv4(ipv4)) => lease.ipv4 = Some(ipv4),
                Some(UeAddress::Ipv6(prefix)) => lease.ipv6_prefix = Some(prefix),
                None => {
                    return Err(Why {
                        why: format!("the pools of {dnn} have no {family} address left"),
                        remedy: POOL_IS_FULL,
                    });
                }
            }
        }
        Ok(())
    }

    /// An end of a tunnel at a UPF that chooses none.
    fn lease_tunnel(&mut self, association: AssociationId, upf: usize) -> Result<Tunnel, Why> {
        let ends = self.tunnel_ends(association, upf);
        let n4 = self.config.upfs.get(upf).map(|upf| upf.n4);
        let Some((ends, n4)) = ends.zip(n4) else {
            return Err(Why {
                why: "the UPF chooses no tunnels, and its addresses towards gNBs are not known"
                    .to_owned(),
                remedy: NAME_N3,
            });
        };
        let (range, now) = (ends.teids(), self.now);
        let first = ends.first(now.unix_s);
        let teids = self.leases.teids.entry(n4);
        let teids = teids.or_insert_with(|| Numbers::new(range.clone(), first));
        teids.set_range(range, first);
        match teids
            .give(now.instant)
            .and_then(|teid| u32::try_from(teid).ok())
        {
            Some(teid) => Ok(Tunnel {
                ipv4: ends.ipv4,
                ipv6: ends.ipv6,
                teid,
            }),
            None => Err(Why {
                why: format!("no TEID is left at the UPF {n4}"),
                remedy: "compare the sessions of the UPF in sluice ctl --core status with the range of TEIDs that it announces",
            }),
        }
    }

    /// The UPF's end of a tunnel for packets that it forwards: none where it chooses that itself.
    ///
    /// # Errors
    /// If there is none.
    pub(crate) fn lease_forwarding(&mut self, id: SessionId) -> Result<Option<Tunnel>, Why> {
        let session = self.sessions.get(id.0);
        let association = session
            .and_then(|session| session.upf)
            .map(|at| at.association);
        let is_its = |one: &Option<AssociationId>| one.is_some() && *one == association;
        let upf = self.associations.iter().position(is_its);
        let Some((association, upf)) = association.zip(upf) else {
            return Ok(None);
        };
        if self.has_feature(association, UpFunctionFeatures::FTUP) {
            return Ok(None);
        }
        // One that the UPF may have still goes with the session.
        if let Some(before) = session.and_then(|session| session.lease.forwarding) {
            return Ok(Some(before));
        }
        let tunnel = self.lease_tunnel(association, upf)?;
        if let Some(session) = self.sessions.get_mut(id.0) {
            session.lease.forwarding = Some(tunnel);
            session.lease.upf = self.config.upfs.get(upf).map(|upf| upf.n4);
        }
        Ok(Some(tunnel))
    }

    /// The UPF forwards no more by the tunnel.
    pub(crate) fn end_forwarding_lease(&mut self, id: SessionId) {
        let session = self.sessions.get_mut(id.0);
        let ended = session.map(|session| Lease {
            upf: session.lease.upf,
            forwarding: session.lease.forwarding.take(),
            ..Lease::default()
        });
        if let Some(lease) = ended {
            self.give_back_lease(lease);
        }
    }

    /// The lease of a session for whoever deletes what its UPF may have of it: both have it until they give it back.
    pub(crate) fn share_lease(&mut self, id: SessionId) -> Lease {
        let session = self.sessions.get(id.0);
        let lease = session.map(|session| session.lease).unwrap_or_default();
        self.hold_lease(&lease);
        lease
    }

    /// The session is over.
    pub(crate) fn end_leases(&mut self, id: SessionId) {
        let session = self.sessions.get_mut(id.0);
        let leases = session.map(|session| [&mut session.lease, &mut session.replaced_lease]);
        for lease in leases
            .into_iter()
            .flatten()
            .map(std::mem::take)
            .collect::<Vec<_>>()
        {
            self.give_back_lease(lease);
        }
    }

    /// Another lease for a session that its UPF has by other rules, and refuses to have twice; it keeps the first until it is
    /// over. None if the UPF chooses by itself, or nothing is left.
    pub(crate) fn lease_anew(
        &mut self,
        id: SessionId,
        at: (AssociationId, usize),
    ) -> Option<OwnAddresses> {
        let session = self.sessions.get(id.0)?;
        let (before, kind) = (session.lease, session.session_type);
        if before == Lease::default() || session.replaced_lease != Lease::default() {
            return None;
        }
        let own = self.lease(id, at, kind, OwnAddresses::default()).ok();
        let session = self.sessions.get_mut(id.0)?;
        match own {
            Some(_) => session.replaced_lease = before,
            None => session.lease = before,
        }
        own
    }

    /// The UPF has nothing more of a session: its lease rests, and is given to others then.
    pub(crate) fn give_back_lease(&mut self, lease: Lease) {
        let until = self.now.instant.plus_ms(limits::LEASE_REST_MS);
        for address in lease.addresses() {
            self.leases.pools.give_back(address, until);
        }
        let teids = lease.upf.and_then(|upf| self.leases.teids.get_mut(&upf));
        if let Some(teids) = teids {
            lease
                .tunnels()
                .for_each(|tunnel| teids.give_back(tunnel.teid.into(), until));
        }
    }

    /// A lease of which is stored that a session has it.
    pub(crate) fn hold_lease(&mut self, lease: &Lease) {
        for address in lease.addresses() {
            self.leases.pools.hold(address);
        }
        if let Some(upf) = lease.upf {
            self.hold_tunnels(upf, lease.tunnels());
        }
    }

    fn hold_tunnels(&mut self, upf: SocketAddr, tunnels: impl Iterator<Item = Tunnel>) {
        for tunnel in tunnels {
            // The range is that of the association to come.
            let teids = self.leases.teids.entry(upf);
            let teids = teids.or_insert_with(|| Numbers::new(0..0, 0));
            teids.hold(tunnel.teid.into());
        }
    }

    /// Features of a UPF are known, or are others: what it has given its sessions itself, and gives no more, is ours.
    pub(crate) fn adopt_leases(&mut self, association: AssociationId) {
        let is_ours = |feature| !self.has_feature(association, feature);
        let has_tunnels = is_ours(UpFunctionFeatures::FTUP);
        let has_addresses = is_ours(UpFunctionFeatures::UEIP);
        let upf = self.address_of(association);
        if !has_tunnels && !has_addresses {
            return;
        }
        for id in self.sessions_at(association) {
            let Some(session) = self.sessions.get(id.0) else {
                continue;
            };
            let (before, address) = (session.lease, session.address);
            let Some(at) = session.upf else { continue };
            let uplink = Some(at.uplink).filter(|uplink| uplink.teid != 0);
            let lease = Lease {
                upf: before.upf.or(upf),
                ipv4: before.ipv4.or(address.ipv4.filter(|_| has_addresses)),
                ipv6_prefix: before
                    .ipv6_prefix
                    .or(at.ipv6_prefix.filter(|_| has_addresses)),
                tunnel: before.tunnel.or(uplink.filter(|_| has_tunnels)),
                forwarding: before.forwarding,
            };
            if lease == before {
                continue;
            }
            self.hold_lease(&Lease {
                upf: lease.upf,
                ipv4: lease.ipv4.filter(|_| before.ipv4.is_none()),
                ipv6_prefix: lease.ipv6_prefix.filter(|_| before.ipv6_prefix.is_none()),
                tunnel: lease.tunnel.filter(|_| before.tunnel.is_none()),
                forwarding: None,
            });
            if let Some(session) = self.sessions.get_mut(id.0) {
                session.lease = lease;
            }
        }
    }

    /// The pools are others: what sessions have is theirs still.
    pub(crate) fn renew_pools(&mut self) {
        let pools = AddressPools::new(self.config.pools());
        let before = std::mem::replace(&mut self.leases.pools, pools);
        let sessions = self.sessions.iter();
        let sessions = sessions.flat_map(|(_, session)| [session.lease, session.replaced_lease]);
        let held: Vec<Lease> = sessions.chain(self.leases_of_orphans()).collect();
        for address in held.iter().flat_map(Lease::addresses) {
            self.leases.pools.hold(address);
        }
        self.leases.pools.rest_as(&before);
        let upfs = &self.config.upfs;
        let is_there = |n4: &SocketAddr, _: &mut Numbers| upfs.iter().any(|upf| upf.n4 == *n4);
        self.leases.teids.retain(is_there);
    }
}
