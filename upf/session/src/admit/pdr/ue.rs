//! Admission of a PDI's UE IP Address (TS 29.244, 8.2.62): IPv4, an IPv6 prefix of 64 bits or fewer, or both.

use super::denial;
use crate::admission::Admission;
use crate::names::PlainName;
use crate::network::{Network, Side};
use crate::refusal::{Refusal, RuleId};
use crate::rules::{Families, Given, Key, Pdr, UeAddresses, UeMatch};
use core::net::{Ipv4Addr, Ipv6Addr};
use core::num::NonZeroU64;
use sluice_datapath::lookup::exact_match::RoutePrefix;
use sluice_wire::ids::PdrId;
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
        (list, is_new): (&[UeIpAddress], bool),
        pdr: &Pdr,
        name: Option<&PlainName>,
    ) -> Result<Option<UeMatch>, Refusal> {
        let refused = Refusal::rule(rule, IeType::UE_IP_ADDRESS);
        let families = match list {
            [] => Families::NONE,
            [ue] => {
                let told = self.told(rule, addresses(ue).ok_or(refused)?)?;
                if let Some(prefix) = delegated(ue) {
                    self.learn_route(rule, IeType::UE_IP_ADDRESS, Some(prefix))?;
                }
                told.or(self.chosen(rule, is_new.then_some(pdr.id), ue)?)
            }
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

    /// CHOOSE: the addresses that the session was given when it was established.
    fn chosen(
        &mut self,
        rule: RuleId,
        created: Option<PdrId>,
        ue: &UeIpAddress,
    ) -> Result<Families, Refusal> {
        let asked = asked_for(ue);
        if asked.is_none() {
            return Ok(asked);
        }
        let refused = Refusal::rule(rule, IeType::UE_IP_ADDRESS);
        if !self.draft.ue.given.families.has_all(asked) {
            return Err(refused);
        }
        if let Some(pdr) = created {
            let full = Refusal::full(Some(rule), Some(IeType::UE_IP_ADDRESS));
            self.created_pdr(pdr).ok_or(full)?.ue = asked;
        }
        Ok(asked)
    }

    fn learn_prefix(&mut self, rule: RuleId, prefix: NonZeroU64) -> Result<(), Refusal> {
        self.draft.ue.prefix = Some(prefix);
        for endpoint in &self.draft.endpoints {
            let Key::Ue { instance } = endpoint.key else {
                continue;
            };
            let (of, claims) = ((instance, &self.draft.ue), &mut *self.claims);
            let key = self
                .resources
                .prefix_key(of, prefix, endpoint.entry, claims);
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
                .ue_entry(self.shard, instance, ue, self.at.seconds(), claims)
                .map_err(|denied| denial(rule, IeType::UE_IP_ADDRESS, denied))?;
            let full = Refusal::full(Some(rule), Some(IeType::UE_IP_ADDRESS));
            self.draft.endpoints.try_push(endpoint).map_err(|_| full)?;
            self.lead_to(rule, Key::Ue { instance })?;
        }
        Ok(instance)
    }
}

/// Families whose address is left to us.
pub fn asked_for(ue: &UeIpAddress) -> Families {
    Families::of(ue.choose_ipv4, ue.choose_ipv6)
}

/// Families whose address is told.
pub fn told_in(ue: &UeIpAddress) -> Families {
    Families::of(ue.ipv4.is_some(), ue.ipv6.is_some())
}

/// True if this path serves a prefix of the length that is told, or wished for. Next to CHV6 a 0 leaves it to us, and
/// no other length than 64 is given.
fn has_served_length(ue: &UeIpAddress) -> bool {
    let len = ue.ipv6_prefix_bits();
    if ue.choose_ipv6 {
        ue.ipv6_prefix_length == Some(0) || len == PREFIX_BITS
    } else {
        (1..=PREFIX_BITS).contains(&len)
    }
}

/// The prefix of which the UE has more than the 64 bits that name it.
fn delegated(ue: &UeIpAddress) -> Option<RoutePrefix> {
    let upper = (ue.ipv6?.to_bits() >> 64) as u64;
    let len = ue.ipv6_prefix_bits();
    RoutePrefix::ipv6(upper, len).filter(|_| len < PREFIX_BITS)
}

/// The addresses that a UE IP Address tells; `None` if this path does not serve it.
pub fn addresses(ue: &UeIpAddress) -> Option<UeAddresses> {
    let is_empty = (ue.ipv4, ue.ipv6) == (None, None) && asked_for(ue).is_none();
    if is_empty || (ue.ipv6.is_some() || ue.choose_ipv6) && !has_served_length(ue) {
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
        given: Given::default(),
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
