//! Prefixes behind UEs: framed routes (TS 29.244, 5.16) and delegated prefixes (5.14), with the entries that packets
//! to them find.
//!
//! Those of one network instance do not meet, whoever has them: what could belong to two sessions is refused.

use crate::config::{AllocationPool, PoolAddresses};
use crate::limits::ROUTES_OF_ALL;
use crate::resources::address_pools::PoolAddress;
use crate::resources::release::{Claim, Claims};
use crate::resources::{Denied, Exhausted, Resources};
use crate::rules::UeAddresses;
use sluice_datapath::ids::EntryId;
use sluice_datapath::lookup::exact_match::{ExactKey, RoutePrefix};
use sluice_datapath::lookup::layout::InstanceId;
use sluice_datapath::session::flow_filter::{AddressRange, FilterRun, FlowFilter};

/// The first and the last address of a prefix, of IPv6 their upper halves, in a network instance.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
struct Span {
    instance: u8,
    is_ipv6: bool,
    first: u64,
    last: u64,
}

impl Span {
    fn of(instance: u8, prefix: RoutePrefix) -> Self {
        let (is_ipv6, first, free_bits) = match prefix {
            RoutePrefix::Ipv4(address, len) => (false, u64::from(address), 32 - u32::from(len)),
            RoutePrefix::Ipv6(upper, len) => (true, upper, 64 - u32::from(len)),
        };
        let behind = u64::MAX.checked_shr(64 - free_bits).unwrap_or(0);
        Self {
            instance,
            is_ipv6,
            first,
            last: first | behind,
        }
    }

    fn meets(&self, other: &Self) -> bool {
        (self.instance, self.is_ipv6) == (other.instance, other.is_ipv6)
            && self.first <= other.last
            && other.first <= self.last
    }
}

/// All prefixes behind UEs, in order.
#[derive(Debug, Default)]
pub struct Routes(Vec<Span>);

impl Routes {
    /// None yet; nothing is allocated for as many as there may be.
    pub fn new() -> Self {
        Self(Vec::with_capacity(ROUTES_OF_ALL))
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Those that are there are apart, so that the neighbours tell.
    fn is_free(&self, span: &Span) -> bool {
        let at = self.0.partition_point(|s| s < span);
        let near = [at.checked_sub(1), Some(at)].into_iter().flatten();
        let mut near = near.filter_map(|at| self.0.get(at));
        !near.any(|s| s.meets(span))
    }

    fn insert(&mut self, span: Span) -> Result<(), Exhausted> {
        if self.0.len() >= ROUTES_OF_ALL {
            return Err(Exhausted);
        }
        let at = self.0.partition_point(|s| *s < span);
        self.0.insert(at, span);
        Ok(())
    }

    fn remove(&mut self, span: &Span) {
        if let Ok(at) = self.0.binary_search(span) {
            self.0.remove(at);
        }
    }
}

impl Resources {
    /// Packets to a prefix behind a UE find an entry.
    pub fn take_route(
        &mut self,
        instance: u8,
        prefix: RoutePrefix,
        entry: EntryId,
        claims: &mut Claims,
    ) -> Result<(), Denied> {
        let span = Span::of(instance, prefix);
        let is_known = self.known.knows_route(instance, prefix) || self.is_ues(instance, prefix);
        if is_known || self.is_in_pool(instance, &span) || !self.routes.is_free(&span) {
            return Err(Denied::InUse);
        }
        self.routes.insert(span)?;
        let placed = self.foreign.insert_route(instance, prefix, entry);
        if placed.is_err() {
            self.routes.remove(&span);
            return Err(Denied::Exhausted);
        }
        claims.push(Claim::Route(instance, prefix)).map_err(|full| {
            self.release_route(instance, prefix);
            Denied::from(full)
        })
    }

    /// True if a prefix behind some UE meets a pool.
    pub fn meets_route(&self, pool: &AllocationPool) -> bool {
        let prefix = match pool.addresses {
            PoolAddresses::Ipv4 { base, prefix_len } => RoutePrefix::Ipv4(base.into(), prefix_len),
            PoolAddresses::Ipv6 { base, prefix_len } => {
                RoutePrefix::Ipv6((base.to_bits() >> 64) as u64, prefix_len)
            }
        };
        let span = Span::of(pool.instance.0, prefix);
        self.routes.0.iter().any(|route| route.meets(&span))
    }

    /// True if it is the address of a UE itself.
    fn is_ues(&self, instance: u8, prefix: RoutePrefix) -> bool {
        match prefix {
            RoutePrefix::Ipv4(address, 32) => self.known.knows(ExactKey::ue(instance, address)),
            RoutePrefix::Ipv6(upper, 64) => self.known.knows(self.known.ue_prefix(instance, upper)),
            _ => false,
        }
    }

    /// Addresses of pools are UEs': packets to them are not looked up by prefixes.
    fn is_in_pool(&self, instance: u8, span: &Span) -> bool {
        if span.is_ipv6 {
            self.addresses.meets_ipv6(instance, span.first, span.last)
        } else {
            let (first, last) = (span.first as u32, span.last as u32);
            self.layout.meets_pool(InstanceId(instance), first, last)
                || self.addresses.meets_ipv4(instance, first, last)
        }
    }

    /// True if an address of a pool lies behind a UE.
    pub(super) fn is_behind(&self, instance: u8, address: PoolAddress) -> bool {
        let prefix = match address {
            PoolAddress::Ipv4(address) => RoutePrefix::Ipv4(address, 32),
            PoolAddress::Ipv6(upper) => RoutePrefix::Ipv6(upper, 64),
        };
        !self.routes.is_free(&Span::of(instance, prefix))
    }

    /// True if one of a UE's addresses lies behind another UE.
    pub fn are_behind(&self, instance: u8, ue: &UeAddresses) -> bool {
        let ipv4 = ue.ipv4.map(|a| RoutePrefix::Ipv4(a.into(), 32));
        let ipv6 = ue.prefix.map(|p| RoutePrefix::Ipv6(p.get(), 64));
        let mut spans = ipv4.into_iter().chain(ipv6);
        spans.any(|prefix| !self.routes.is_free(&Span::of(instance, prefix)))
    }

    /// Packets to a prefix behind a UE find nothing any more.
    pub fn release_route(&mut self, instance: u8, prefix: RoutePrefix) {
        self.routes.remove(&Span::of(instance, prefix));
        self.foreign.remove_route(instance, prefix);
    }

    /// The prefixes that a run of filters tells.
    pub fn routes_of(&self, run: FilterRun) -> impl Iterator<Item = RoutePrefix> + use<> {
        let filters = self.filters.reader();
        let places = run.first()..run.first() + run.len() as u32;
        let all = places.filter_map(move |at| filters.run(FilterRun::new(at, 1)?).next());
        all.filter_map(|filter| match filter.local {
            AddressRange::Ipv4(address, len) => Some(RoutePrefix::Ipv4(address, len)),
            AddressRange::Ipv6(address, len) => {
                Some(RoutePrefix::Ipv6((address >> 64) as u64, len))
            }
            AddressRange::Any => None,
        })
    }
}

/// What a packet's end at the UE has to meet to lie in a prefix.
pub fn filter_of(prefix: RoutePrefix) -> FlowFilter {
    let local = match prefix {
        RoutePrefix::Ipv4(address, len) => AddressRange::Ipv4(address, len),
        RoutePrefix::Ipv6(upper, len) => AddressRange::Ipv6(u128::from(upper) << 64, len),
    };
    FlowFilter {
        local,
        ..FlowFilter::default()
    }
}
