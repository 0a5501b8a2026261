//! Admission of what lies behind a UE: framed routes (TS 29.244, 5.16) and prefixes shorter than 64 bits, of which the
//! UE may delegate parts (5.14).

use super::denial;
use crate::admission::Admission;
use crate::limits::ROUTES;
use crate::network::Network;
use crate::refusal::{Refusal, RuleId};
use crate::resources::filter_of;
use crate::rules::{Families, Key, UeRoutes};
use arrayvec::ArrayVec;
use sluice_datapath::lookup::exact_match::RoutePrefix;
use sluice_wire::framed_route;
use sluice_wire::pfcp::IeType;
use sluice_wire::pfcp::group::Pdi;

impl<N: Network> Admission<'_, N> {
    /// The framed routes of a PDI; their families.
    pub(super) fn framed_routes(
        &mut self,
        rule: RuleId,
        pdi: &Pdi<'_>,
    ) -> Result<Families, Refusal> {
        if pdi.framed_routing.is_some_and(|routing| routing != 0) {
            // Nobody here speaks a routing protocol with the UE (RFC 2865, 5.10).
            return Err(Refusal::rule(rule, IeType::FRAMED_ROUTING));
        }
        let mut families = Families::NONE;
        for text in &pdi.framed_route {
            let prefix = framed_route::ipv4(text.0);
            let prefix = prefix.and_then(|(address, len)| RoutePrefix::ipv4(address.into(), len));
            self.learn_route(rule, IeType::FRAMED_ROUTE, prefix)?;
            families = families.or(Families::IPV4);
        }
        for text in &pdi.framed_ipv6_route {
            let prefix = framed_route::ipv6(text.0);
            let prefix = prefix.and_then(|(address, len)| {
                RoutePrefix::ipv6((address.to_bits() >> 64) as u64, len)
            });
            self.learn_route(rule, IeType::FRAMED_IPV6_ROUTE, prefix)?;
            families = families.or(Families::IPV6);
        }
        Ok(families)
    }

    /// A prefix behind the UE; `None` is one that cannot be. All are told when the session is established.
    pub(super) fn learn_route(
        &mut self,
        rule: RuleId,
        ie: IeType,
        prefix: Option<RoutePrefix>,
    ) -> Result<(), Refusal> {
        let refused = Refusal::rule(rule, ie);
        let prefix = prefix.filter(is_behind_somebody).ok_or(refused)?;
        if self.routes_now().contains(&prefix) {
            return Ok(());
        }
        if !self.policy.is_new {
            return Err(refused);
        }
        let full = Refusal::full(Some(rule), Some(ie));
        self.routes.try_push(prefix).map_err(|_| full)?;
        for at in 0..self.draft.endpoints.len() {
            let endpoint = self.draft.endpoints.get(at).copied();
            if let Some((Key::Ue { instance }, entry)) = endpoint.map(|e| (e.key, e.entry)) {
                let taken = self
                    .resources
                    .take_route(instance, prefix, entry, self.claims);
                taken.map_err(|denied| denial(rule, ie, denied))?;
            }
        }
        Ok(())
    }

    /// Packets to what lies behind the UE find a new entry, too.
    pub(super) fn lead_to(&mut self, rule: RuleId, key: Key) -> Result<(), Refusal> {
        let Key::Ue { instance } = key else {
            return Ok(());
        };
        let Some(entry) = self.draft.endpoint(key).map(|e| e.entry) else {
            return Ok(());
        };
        for prefix in self.routes_now() {
            let ie = match prefix {
                RoutePrefix::Ipv4(..) => IeType::FRAMED_ROUTE,
                RoutePrefix::Ipv6(..) => IeType::FRAMED_IPV6_ROUTE,
            };
            let taken = self
                .resources
                .take_route(instance, prefix, entry, self.claims);
            taken.map_err(|denied| denial(rule, ie, denied))?;
        }
        Ok(())
    }

    fn routes_now(&self) -> ArrayVec<RoutePrefix, ROUTES> {
        if self.draft.routes.run.is_none() {
            self.routes.clone()
        } else {
            self.resources
                .routes_of(self.draft.routes.run)
                .take(ROUTES)
                .collect()
        }
    }

    /// What was told of the new session is its own from now on.
    pub fn keep_routes(&mut self) -> Result<(), Refusal> {
        if self.routes.is_empty() {
            return Ok(());
        }
        let filters: ArrayVec<_, ROUTES> = self.routes.iter().map(|p| filter_of(*p)).collect();
        let run = self.resources.filter_run(&filters, self.claims);
        let run = run.map_err(|_| Refusal::full(None, Some(IeType::FRAMED_ROUTE)))?;
        let is_ipv4 = |prefix: &RoutePrefix| matches!(prefix, RoutePrefix::Ipv4(..));
        self.draft.routes = UeRoutes {
            run,
            families: Families::of(
                self.routes.iter().any(is_ipv4),
                !self.routes.iter().all(is_ipv4),
            ),
        };
        Ok(())
    }
}

/// Neither groups, nor loopback, nor addresses of a link.
fn is_behind_somebody(prefix: &RoutePrefix) -> bool {
    match prefix {
        RoutePrefix::Ipv4(address, _) => {
            let [a, b, ..] = address.to_be_bytes();
            (1..224).contains(&a) && a != 127 && (a, b) != (169, 254)
        }
        RoutePrefix::Ipv6(upper, _) => {
            let top = (upper >> 48) as u16;
            *upper != 0 && top < 0xfe80
        }
    }
}
