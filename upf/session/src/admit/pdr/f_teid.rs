//! Admission of local F-TEIDs: chosen by the UP or by the CP function.

use super::denial;
use crate::admission::{Admission, Chosen};
use crate::names::PlainName;
use crate::network::{Network, Side, TunnelAddresses, TunnelEndpoint};
use crate::refusal::{Refusal, RuleId};
use crate::rules::{Key, LocalTunnel, Pdr};
use core::net::IpAddr;
use sluice_wire::ids::PdrId;
use sluice_wire::pfcp::value::FTeid;
use sluice_wire::pfcp::{Cause, IeType};

impl<N: Network> Admission<'_, N> {
    pub(super) fn local_tunnel(
        &mut self,
        rule: RuleId,
        f_teid: &FTeid,
        pdr: &Pdr,
        name: Option<&PlainName>,
        old: Option<&Pdr>,
    ) -> Result<LocalTunnel, Refusal> {
        let tunnel = self.tunnel_of(rule, f_teid, pdr, name, old)?;
        if let Some(address) = tunnel.addresses.ipv6 {
            let all = self.draft.tunnel_ipv6_addresses();
            if all.is_full() && !all.contains(&address) {
                return Err(Refusal::full(Some(rule), Some(IeType::F_TEID)));
            }
        }
        Ok(tunnel)
    }

    fn tunnel_of(
        &mut self,
        rule: RuleId,
        f_teid: &FTeid,
        pdr: &Pdr,
        name: Option<&PlainName>,
        old: Option<&Pdr>,
    ) -> Result<LocalTunnel, Refusal> {
        match *f_teid {
            FTeid::Choose {
                ipv4,
                ipv6,
                choose_id,
            } => {
                // An update may refer to the F-TEID that was given, not ask for another.
                if let Some(tunnel) = old.and_then(|o| o.tunnel) {
                    return Ok(tunnel);
                }
                if !self.policy.choose_fteid {
                    let refused = Refusal::rule(rule, IeType::F_TEID);
                    return Err(refused.with(Cause::INVALID_F_TEID_ALLOCATION_OPTION));
                }
                let here = self.tunnel_endpoint(rule, pdr.source, name)?;
                // Of the families that are asked for, those that the endpoint has.
                let addresses = here.addresses.of(ipv4, ipv6);
                if addresses.is_none() {
                    return Err(Refusal::rule(rule, IeType::F_TEID));
                }
                let here = TunnelEndpoint { addresses, ..here };
                self.choose(rule, pdr.id, here, choose_id)
            }
            FTeid::Assigned { teid, ipv4, ipv6 } => {
                // Refused by name where there are no tunnels at all.
                self.tunnel_endpoint(rule, pdr.source, name)?;
                let told = TunnelAddresses { ipv4, ipv6 };
                let here = self.tunnel_endpoint_with(pdr.source, name, told);
                let here = here.ok_or(Refusal::rule(rule, IeType::F_TEID))?;
                self.assigned(rule, here, teid.get())
            }
        }
    }

    /// The endpoint that has all of these addresses, with no others.
    fn tunnel_endpoint_with(
        &self,
        side: Side,
        name: Option<&PlainName>,
        told: TunnelAddresses,
    ) -> Option<TunnelEndpoint> {
        let here = self.tunnel_endpoint_at(side, name, told.all().next()?)?;
        let has_all = told.all().all(|address| here.addresses.has(address));
        let addresses = told;
        has_all.then_some(TunnelEndpoint { addresses, ..here })
    }

    /// An address of the interface that the PDI's Source Interface and Network Instance mean: by
    /// another one the packets of the F-TEID would not come.
    fn tunnel_endpoint_at(
        &self,
        side: Side,
        name: Option<&PlainName>,
        address: IpAddr,
    ) -> Option<TunnelEndpoint> {
        let name = name.map(|n| n.as_str());
        let side = self.net.tunnel_side(side, name);
        self.net.tunnel_endpoint_at(side, name, address)
    }

    fn tunnel_endpoint(
        &self,
        rule: RuleId,
        side: Side,
        name: Option<&PlainName>,
    ) -> Result<TunnelEndpoint, Refusal> {
        let name = name.map(|n| n.as_str());
        let side = self.net.tunnel_side(side, name);
        let endpoint = self.net.tunnel_endpoint(side, name);
        endpoint.ok_or(Refusal::rule(rule, IeType::NETWORK_INSTANCE))
    }

    /// CHOOSE (TS 29.244, 5.5.3): the same CHOOSE ID gives the same F-TEID, in this message and for as
    /// long as a PDR of the session has it. Open5GS adds the PDRs of a dedicated flow by that.
    fn choose(
        &mut self,
        rule: RuleId,
        pdr: PdrId,
        here: TunnelEndpoint,
        choose_id: Option<u8>,
    ) -> Result<LocalTunnel, Refusal> {
        let full = Refusal::full(Some(rule), Some(IeType::F_TEID));
        let tunnel = match choose_id.and_then(|id| self.chosen_for(id)) {
            Some(tunnel) if tunnel.is_at(&here) => tunnel,
            Some(_) => return Err(Refusal::rule(rule, IeType::F_TEID)),
            None => {
                let (teid, endpoint) = self
                    .resources
                    .new_teid(self.shard, here.local, self.at.seconds(), self.claims)
                    .map_err(|_| full)?;
                self.draft.endpoints.try_push(endpoint).map_err(|_| full)?;
                let tunnel = LocalTunnel {
                    teid,
                    addresses: here.addresses,
                    local: here.local,
                };
                if let Some(id) = choose_id {
                    self.chosen
                        .try_push(Chosen { id, tunnel })
                        .map_err(|_| full)?;
                }
                tunnel
            }
        };
        self.created_pdr(pdr).ok_or(full)?.tunnel = Some(tunnel);
        Ok(tunnel)
    }

    /// The F-TEID that a CHOOSE ID has already.
    fn chosen_for(&self, id: u8) -> Option<LocalTunnel> {
        let now = self.chosen.iter().find(|c| c.id == id).map(|c| c.tunnel);
        let before = || {
            let mut pdrs = self.draft.pdrs.iter();
            pdrs.find(|pdr| pdr.choose_id == Some(id))?.tunnel
        };
        now.or_else(before)
    }

    /// An F-TEID with a value: one that the session has already, one of ours that comes back
    /// (RESTI), or one of the CP function's choice.
    fn assigned(
        &mut self,
        rule: RuleId,
        here: TunnelEndpoint,
        teid: u32,
    ) -> Result<LocalTunnel, Refusal> {
        let tunnel = LocalTunnel {
            teid,
            addresses: here.addresses,
            local: here.local,
        };
        let key = Key::Tunnel {
            local: here.local,
            teid,
        };
        if self.draft.endpoint(key).is_some() {
            return Ok(tunnel);
        }
        if !self.policy.accept_cp_fteid && !self.policy.restores {
            let refused = Refusal::rule(rule, IeType::F_TEID);
            return Err(refused.with(Cause::INVALID_F_TEID_ALLOCATION_OPTION));
        }
        let is_elsewhere =
            |key: Key| matches!(key, Key::Tunnel { teid: other, .. } if other == teid);
        let has_elsewhere = self.draft.endpoints.iter().any(|e| is_elsewhere(e.key));
        let here_too = (here.local, teid);
        let endpoint = self
            .resources
            .named_teid(
                self.shard,
                here_too,
                has_elsewhere,
                self.at.seconds(),
                self.claims,
            )
            .map_err(|denied| denial(rule, IeType::F_TEID, denied))?;
        self.record.remarks.chosen_by_cp |= !self.policy.restores;
        let full = Refusal::full(Some(rule), Some(IeType::F_TEID));
        self.draft.endpoints.try_push(endpoint).map_err(|_| full)?;
        Ok(tunnel)
    }
}
