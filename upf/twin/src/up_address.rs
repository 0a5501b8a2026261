//! UE addresses that the UP function gives (TS 29.244, 5.21.3), as the response tells them.

use crate::admit::{Refused, no_rule, no_to};
use crate::config::{AddressPool, InterfaceName, Side, TwinConfig, contains};
use crate::rules::{Session, SessionId};
use crate::ue_addresses::{UeAddresses, UePrefix};
use sluice_wire::pfcp::group::{CreatePdr, CreatedPdr};
use sluice_wire::pfcp::value::{NtpTime, UeIpAddress};
use sluice_wire::pfcp::{Cause, IeType};
use std::collections::{BTreeMap, BTreeSet};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// An address of a pool, by the pool's number.
type PoolAddress = (usize, IpAddr);

/// Who had an address of a pool until when.
#[derive(Clone, Debug, Default)]
pub struct Rested(BTreeMap<PoolAddress, NtpTime>);

impl Rested {
    /// Sessions have changed: what was had before and is not any more rests from now on.
    pub fn note(
        &mut self,
        before: &BTreeSet<PoolAddress>,
        after: &BTreeSet<PoolAddress>,
        now: NtpTime,
    ) {
        for gone in before.difference(after) {
            self.0.insert(*gone, now);
        }
    }

    fn is_over(&self, address: &PoolAddress, rest_s: u32, now: NtpTime) -> bool {
        let freed = self.0.get(address);
        freed.is_none_or(|freed| now.0.wrapping_sub(freed.0) >= rest_s)
    }
}

/// All addresses of pools that sessions have: given, or told to be looked up.
pub fn had(config: &TwinConfig, sessions: &BTreeMap<SessionId, Session>) -> BTreeSet<PoolAddress> {
    let mut all = BTreeSet::new();
    for (at, pool) in config.pools.iter().enumerate() {
        for session in sessions.values() {
            let is_given = session.given_in.as_ref() == Some(&pool.place);
            let looked_up = is_looked_up(config, session, &pool.place);
            let mut have = |ue: &UeAddresses, is: bool| {
                let addresses = ue.all().filter(|a| is && contains(pool.prefix, *a));
                all.extend(addresses.map(|a| (at, a)));
            };
            have(&session.given, is_given);
            have(&session.told, looked_up);
        }
    }
    all
}

/// True if packets of a data network find the session by its UE's addresses.
pub fn is_looked_up(config: &TwinConfig, session: &Session, place: &InterfaceName) -> bool {
    let mut plain = session.pdrs.values().filter(|p| p.f_teid.is_none());
    plain.any(|p| config.data_network(p.source, p.instance.as_deref()) == Some(place))
}

/// True if another session was given one of these addresses there.
pub fn is_anothers(place: &InterfaceName, ue: &UeAddresses, other: &Session) -> bool {
    other.given_in.as_ref() == Some(place) && other.given.share(ue)
}

/// What an establishment has to look at to give addresses.
pub struct Giving<'a> {
    pub config: &'a TwinConfig,
    pub had: &'a BTreeSet<PoolAddress>,
    pub rested: &'a Rested,
    pub created: &'a [CreatedPdr],
    pub now: NtpTime,
}

impl Giving<'_> {
    /// The addresses that an establishment leaves to the UP function, and their data network.
    ///
    /// # Errors
    /// [`Refused::Request`] if none can be had, [`Refused::Answer`] if the answer gives another one.
    pub fn chosen(
        &self,
        pdrs: &[CreatePdr<'_>],
    ) -> Result<(UeAddresses, Option<InterfaceName>), Refused> {
        let ies = || pdrs.iter().flat_map(|pdr| &pdr.pdi.ue_ip_address);
        let told_ipv4 = ies().any(|ue| ue.ipv4.is_some());
        let told_ipv6 = ies().any(|ue| ue.ipv6.is_some());
        let ipv4 = !told_ipv4 && ies().any(|ue| ue.choose_ipv4);
        let ipv6 = !told_ipv6 && ies().any(|ue| ue.choose_ipv6);
        let mut chosen = UeAddresses::default();
        if self.config.pools.is_empty() || !(ipv4 || ipv6) {
            return Ok((chosen, None));
        }
        let Some(place) = self.place(pdrs) else {
            return no_rule(IeType::NETWORK_INSTANCE, "no data network to choose in");
        };
        if ipv4 {
            let given = self.given(pdrs, |ue| ue.ipv4.map(IpAddr::V4));
            let address = self.one(&place, Ipv4Addr::UNSPECIFIED.into(), given)?;
            if let IpAddr::V4(address) = address {
                chosen.ipv4 = Some(address);
            }
        }
        if ipv6 {
            let given = self.given(pdrs, |ue| ue.ipv6.map(IpAddr::V6));
            let address = self.one(&place, Ipv6Addr::UNSPECIFIED.into(), given)?;
            if let IpAddr::V6(address) = address {
                chosen.prefix = Some(UePrefix::of(address));
            }
        }
        Ok((chosen, Some(place)))
    }

    /// The data network that the first of its own PDIs that asks means, else the first PDI that names one.
    fn place(&self, pdrs: &[CreatePdr<'_>]) -> Option<InterfaceName> {
        let asks = |ue: &UeIpAddress| ue.choose_ipv4 || ue.choose_ipv6;
        let asking = pdrs.iter().filter(|p| p.pdi.ue_ip_address.iter().any(asks));
        let meant = asking.filter_map(|pdr| {
            let source = Side::from_value(pdr.pdi.source_interface.0)?;
            let is_own = matches!(source, Side::Core | Side::SgiLan);
            let side = if is_own { source } else { Side::Core };
            let instance = pdr.pdi.network_instance.map(|n| n.to_string());
            let place = self.config.data_network(side, instance.as_deref())?;
            Some((is_own, place.clone()))
        });
        let meant: Vec<_> = meant.collect();
        let own = meant.iter().find(|(is_own, _)| *is_own);
        Some(own.or(meant.first())?.1.clone())
    }

    fn given(
        &self,
        pdrs: &[CreatePdr<'_>],
        of: impl Fn(&UeIpAddress) -> Option<IpAddr>,
    ) -> Option<IpAddr> {
        let answers = pdrs.iter().filter_map(|pdr| {
            let mut created = self.created.iter().filter(|c| c.pdr_id == pdr.pdr_id);
            created.find_map(|c| c.ue_ip_address.iter().find_map(&of))
        });
        answers.into_iter().next()
    }

    /// One of those that are free, which must be the one that the answer tells. Without answer the first: the
    /// request may be impossible for a better reason.
    fn one(
        &self,
        place: &InterfaceName,
        like: IpAddr,
        given: Option<IpAddr>,
    ) -> Result<IpAddr, Refused> {
        let pools = self.config.pools.iter().enumerate();
        let pools: Vec<_> = pools
            .filter(|(_, p)| p.place == *place && p.prefix.0.is_ipv4() == like.is_ipv4())
            .collect();
        if pools.is_empty() {
            return no_rule(IeType::UE_IP_ADDRESS, "no pool for UE addresses");
        }
        let free = pools.iter().flat_map(|(at, pool)| {
            let all = pool.addresses().into_iter();
            all.filter(|a| {
                let address = (*at, *a);
                let rested = self.rested.is_over(&address, pool.rest_s, self.now);
                rested && !self.had.contains(&address)
            })
        });
        let free: Vec<IpAddr> = free.collect();
        let Some(first) = free.first() else {
            let cause = Cause::ALL_DYNAMIC_ADDRESSES_ARE_OCCUPIED;
            return no_to(cause, IeType::UE_IP_ADDRESS, "all addresses are had");
        };
        match given {
            Some(given) if !free.contains(&given) => {
                Err(Refused::Answer(format!("{given} is not free")))
            }
            given => Ok(given.unwrap_or(*first)),
        }
    }
}

impl AddressPool {
    /// All addresses, or prefixes of 64 bits; without those of an IPv4 subnet that no host has.
    pub fn addresses(&self) -> Vec<IpAddr> {
        match self.prefix {
            (IpAddr::V4(base), len) => {
                let last = (1_u64 << (32 - len)) as u32 - 1;
                let hosts = if last > 1 { 1..last } else { 0..last + 1 };
                hosts
                    .map(|n| Ipv4Addr::from(u32::from(base) + n).into())
                    .collect()
            }
            (IpAddr::V6(base), len) => {
                let prefixes = 0..1_u128 << (64 - len);
                let at = |n: u128| IpAddr::V6((u128::from(base) + (n << 64)).into());
                prefixes.map(at).collect()
            }
        }
    }
}

/// Whether the answer tells each new PDR what it asked for, and nothing else.
pub fn check_answer(
    pdrs: &[CreatePdr<'_>],
    created: &[CreatedPdr],
    given: &UeAddresses,
) -> Result<(), Refused> {
    for pdr in pdrs {
        let mut asked = UeAddresses::default();
        for ue in &pdr.pdi.ue_ip_address {
            asked.ipv4 = asked.ipv4.or(given.ipv4.filter(|_| ue.choose_ipv4));
            asked.prefix = asked.prefix.or(given.prefix.filter(|_| ue.choose_ipv6));
        }
        let mut told = created.iter().filter(|c| c.pdr_id == pdr.pdr_id);
        let told = told.find_map(|c| c.ue_ip_address.first());
        let told = told.map_or(UeAddresses::default(), |ue| UeAddresses {
            ipv4: ue.ipv4,
            prefix: ue.ipv6.map(UePrefix::of),
        });
        if told != asked {
            let why = format!("PDR {} got {told:?} in place of {asked:?}", pdr.pdr_id);
            return Err(Refused::Answer(why));
        }
    }
    Ok(())
}
