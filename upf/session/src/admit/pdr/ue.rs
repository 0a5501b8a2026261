//! Admission of a PDI's UE IP Address (TS 29.244, 8.2.62): IPv4, an IPv6 prefix of 64 bits, or both.

use super::denial;
use crate::admission::Admission;
use crate::names::PlainName;
use crate::network::{Network, Side};
use crate::refusal::{Refusal, RuleId};
use crate::rules::{Families, Key, Pdr, UeAddresses, UeMatch};
use core::net::{Ipv4Addr, Ipv6Addr};
use core::num::NonZeroU64;
use sluice_wire::pfcp::IeType;
use sluice_wire::pfcp::value::UeIpAddress;

/// Bits of the prefix that names a UE (TS 23.501, 5.8.2.2).
const PREFIX_BITS: u8 = 64;

impl<N: Network> Admission<'_, N> {
    /// What a PDI says of the UE's addresses. Direction is told by the Source Interface; the S/D flag is not
    /// looked at, since some SMFs leave it 0 in both.
    pub(super) fn ue(
        &mut self,
        rule: RuleId,
        list: &[UeIpAddress],
        pdr: &Pdr,
        name: Option<&PlainName>,
    ) -> Result<Option<UeMatch>, Refusal> {
        let refused = Refusal::rule(rule, IeType::UE_IP_ADDRESS);
        let families = match list {
            [] => Families::NONE,
            [ue] => self.told(rule, addresses(ue).ok_or(refused)?)?,
            _ => return Err(refused),
        };
        let named = |instance| UeMatch { families, instance };
        if pdr.tunnel.is_some() {
            // Packets enter by TEID; the address is only compared.
            return Ok((!families.is_none()).then(|| named(0)));
        }
        // Without any address the session's own are meant: Open5GS adds dedicated flows so.
        let has_address = !self.draft.ue.families().is_none();
        let is_plain = matches!(pdr.source, Side::Core | Side::SgiLan);
        if families.is_none() && !(has_address && is_plain) {
            return Err(Refusal::rule(rule, IeType::PDI));
        }
        let instance = self.ue_entry(rule, pdr, name)?;
        Ok(Some(named(instance)))
    }

    /// All PDRs of a session agree on each family. A prefix may come later than the session; the IPv4
    /// address may not, since it decides where the session lives.
    fn told(&mut self, rule: RuleId, told: UeAddresses) -> Result<Families, Refusal> {
        let refused = Refusal::rule(rule, IeType::UE_IP_ADDRESS);
        let known = self.draft.ue;
        if told.ipv4.is_some() && told.ipv4 != known.ipv4 {
            return Err(refused);
        }
        match (told.prefix, known.prefix) {
            (Some(prefix), None) => self.learn_prefix(rule, prefix)?,
            (Some(prefix), Some(known)) if prefix != known => return Err(refused),
            _ => {}
        }
        Ok(told.families())
    }

    fn learn_prefix(&mut self, rule: RuleId, prefix: NonZeroU64) -> Result<(), Refusal> {
        self.draft.ue.prefix = Some(prefix);
        for endpoint in &self.draft.endpoints {
            let Key::Ue { instance } = endpoint.key else {
                continue;
            };
            let claims = &mut *self.claims;
            let key = self
                .resources
                .prefix_key(instance, prefix, endpoint.entry, claims);
            key.map_err(|denied| denial(rule, IeType::UE_IP_ADDRESS, denied))?;
        }
        Ok(())
    }

    /// The network instance in which packets to the UE are looked up. The session has an entry there from now
    /// on, one for both families.
    fn ue_entry(
        &mut self,
        rule: RuleId,
        pdr: &Pdr,
        name: Option<&PlainName>,
    ) -> Result<u8, Refusal> {
        let name = name.map(|n| n.as_str());
        let mut sides = pdr.source.plain();
        let instance = sides
            .find_map(|side| self.net.ue_instance(side, name))
            .ok_or(Refusal::rule(rule, IeType::NETWORK_INSTANCE))?
            .0;
        if self.draft.endpoint(Key::Ue { instance }).is_none() {
            let (ue, claims) = (&self.draft.ue, &mut *self.claims);
            let endpoint = self
                .resources
                .ue_entry(self.shard, instance, ue, self.now_s, claims)
                .map_err(|denied| denial(rule, IeType::UE_IP_ADDRESS, denied))?;
            let full = Refusal::full(Some(rule), Some(IeType::UE_IP_ADDRESS));
            self.draft.endpoints.try_push(endpoint).map_err(|_| full)?;
        }
        Ok(instance)
    }
}

/// The addresses of a UE IP Address; `None` if this path does not serve it.
pub fn addresses(ue: &UeIpAddress) -> Option<UeAddresses> {
    if ue.choose_ipv4 || ue.choose_ipv6 || (ue.ipv4, ue.ipv6) == (None, None) {
        return None;
    }
    if ue.ipv6.is_some() && ue.ipv6_prefix_bits() != PREFIX_BITS {
        return None;
    }
    Some(UeAddresses {
        ipv4: match ue.ipv4 {
            Some(address) => Some(is_unicast(address).then_some(address)?),
            None => None,
        },
        prefix: match ue.ipv6 {
            Some(address) => Some(global_prefix(address)?),
            None => None,
        },
    })
}

fn is_unicast(address: Ipv4Addr) -> bool {
    !(address.is_unspecified()
        || address.is_loopback()
        || address.is_link_local()
        || address.is_multicast()
        || address.is_broadcast())
}

/// The upper half, if a UE can have it. That of the unspecified address and of loopback is 0.
fn global_prefix(address: Ipv6Addr) -> Option<NonZeroU64> {
    let is_global = !address.is_multicast() && !address.is_unicast_link_local();
    let prefix = NonZeroU64::new((address.to_bits() >> 64) as u64);
    prefix.filter(|_| is_global)
}
