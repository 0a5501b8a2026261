//! Create and Update PDR (TS 29.244, 7.5.2.2, 7.5.4.2).

use super::ue_address::ue_addresses;
use super::{Draft, Refused, known, new, no_interface, no_rule, no_to};
use crate::config::{Addresses, Side, TunnelEnd};
use crate::rules::{FTeid, Pdr};
use crate::ue_addresses::UeAddresses;
use sluice_wire::pfcp::group::{CreatePdr, Pdi, UpdatePdr};
use sluice_wire::pfcp::value::{self, Edit, OuterHeaderRemoval};
use sluice_wire::pfcp::{Cause, IeType};
use std::net::IpAddr;

impl Draft<'_, '_> {
    pub(super) fn create_pdr(&mut self, ie: &CreatePdr<'_>) -> Result<(), Refused> {
        let Some(far) = ie.far_id else {
            let missing = Cause::CONDITIONAL_IE_MISSING;
            return no_to(
                missing,
                IeType::FAR_ID,
                format!("PDR {} has no FAR", ie.pdr_id),
            );
        };
        let id = ie.pdr_id.0;
        let mut pdr = self.read_pdi(id, &ie.pdi, None)?;
        pdr.precedence = ie.precedence.0;
        let removal = removal(id, ie.outer_header_removal.as_ref())?;
        self.may_come(id, &pdr, removal)?;
        pdr.removes_outer = removal.is_some();
        pdr.far = far.0;
        pdr.qers = once(ie.qer_id.iter().map(|q| q.0));
        pdr.urrs = once(ie.urr_id.iter().map(|u| u.0));
        self.names_own_qers(id, &pdr)?;
        self.activate(id, &mut pdr, &ie.activate_predefined_rules, &[])?;
        new("PDR", id, self.rules.pdrs.insert(id, pdr))
    }

    pub(super) fn update_pdr(&mut self, ie: &UpdatePdr<'_>) -> Result<(), Refused> {
        let id = ie.pdr_id.0;
        let old = known("PDR", id, self.rules.pdrs.get(&id).cloned())?;
        let mut pdr = old.clone();
        if let Some(pdi) = &ie.pdi {
            pdr = self.read_pdi(id, pdi, Some(&old))?;
            pdr.precedence = old.precedence;
            pdr.removes_outer = old.removes_outer;
            pdr.far = old.far;
            (pdr.qers, pdr.urrs, pdr.active) = (old.qers, old.urrs, old.active);
        }
        if let Some(precedence) = ie.precedence {
            pdr.precedence = precedence.0;
        }
        if let Some(edit) = &ie.outer_header_removal {
            let removal = removal(id, edit.value())?;
            self.may_come(id, &pdr, removal)?;
            pdr.removes_outer = removal.is_some();
        }
        match &ie.far_id {
            Some(Edit::Set(far)) => pdr.far = far.0,
            Some(Edit::Remove) => {
                return no_rule(IeType::FAR_ID, format!("PDR {id} would have no FAR"));
            }
            None => {}
        }
        // A list that is there replaces the former one.
        if !ie.qer_id.is_empty() {
            let set = ie.qer_id.iter().filter_map(Edit::value);
            pdr.qers = once(set.map(|q| q.0));
        }
        if !ie.urr_id.is_empty() {
            let set = ie.urr_id.iter().filter_map(Edit::value);
            pdr.urrs = once(set.map(|u| u.0));
        }
        self.names_own_qers(id, &pdr)?;
        let (on, off) = (
            &ie.activate_predefined_rules,
            &ie.deactivate_predefined_rules,
        );
        self.activate(id, &mut pdr, on, off)?;
        self.rules.pdrs.insert(id, pdr);
        Ok(())
    }

    /// A PDI replaces the former one as a whole, but for one habit of SMFs: a PDI that does not
    /// tell where packets enter means the former entry.
    fn read_pdi(&mut self, id: u16, pdi: &Pdi<'_>, old: Option<&Pdr>) -> Result<Pdr, Refused> {
        let value = pdi.source_interface.0;
        let Some(source) = Side::from_value(value) else {
            return no_interface(IeType::SOURCE_INTERFACE, &[4], value);
        };
        let mut pdr = Pdr {
            precedence: 0,
            source,
            instance: pdi.network_instance.map(|n| n.to_string()),
            f_teid: None,
            addresses: (None, None),
            choose_id: None,
            ue: UeAddresses::default(),
            routes: Vec::new(),
            qfis: pdi.qfi.iter().map(|q| q.get()).collect(),
            filters: self.sdf_filters(id, &pdi.sdf_filter)?,
            application: self.application(id, pdi)?,
            active: Vec::new(),
            removes_outer: false,
            far: 0,
            qers: Vec::new(),
            urrs: Vec::new(),
        };
        let routes = self.routes(pdi)?;
        if let Some(old) = old
            && pdi.local_f_teid.is_none()
            && pdi.ue_ip_address.is_empty()
        {
            if old.source != source {
                let why = format!("PDR {id} changes its source interface");
                return no_rule(IeType::SOURCE_INTERFACE, why);
            }
            (pdr.f_teid, pdr.ue) = (old.f_teid, old.ue);
            pdr.addresses = old.addresses;
            pdr.routes = old.routes.clone();
            pdr.choose_id = old.choose_id;
            pdr.instance = old.instance.clone();
            return Ok(pdr);
        }
        pdr.ue = ue_addresses(self, id, &pdi.ue_ip_address)?;
        pdr.routes = routes;
        if let Some((f_teid, addresses)) = self.f_teid(id, pdi, &pdr, old)? {
            (pdr.f_teid, pdr.addresses) = (Some(f_teid), addresses);
        }
        pdr.choose_id = match &pdi.local_f_teid {
            Some(value::FTeid::Choose { choose_id, .. }) => *choose_id,
            // It may come back with its value.
            _ => old
                .filter(|old| old.f_teid == pdr.f_teid)
                .and_then(|old| old.choose_id),
        };
        if pdr.f_teid.is_none() && (pdr.ue.is_empty() || source == Side::Access) {
            let ie = match source {
                Side::Access => IeType::F_TEID,
                _ => IeType::PDI,
            };
            return no_rule(ie, format!("PDR {id} does not tell where packets enter"));
        }
        Ok(pdr)
    }

    fn f_teid(
        &mut self,
        id: u16,
        pdi: &Pdi<'_>,
        pdr: &Pdr,
        old: Option<&Pdr>,
    ) -> Result<Option<(FTeid, Addresses)>, Refused> {
        let instance = pdr.instance.as_deref();
        match &pdi.local_f_teid {
            None => Ok(None),
            Some(value::FTeid::Assigned { teid, ipv4, ipv6 }) => {
                let (four, six) = (ipv4.map(IpAddr::V4), ipv6.map(IpAddr::V6));
                let told = four.or(six);
                let end = told.and_then(|a| self.config.end_at(pdr.source, instance, a));
                let is_there = |end: &&TunnelEnd| {
                    four.is_none_or(|a| end.has(a)) && six.is_none_or(|a| end.has(a))
                };
                let Some(end) = end.filter(is_there) else {
                    let ie = match self.config.tunnel_end(pdr.source, instance) {
                        Some(_) => IeType::F_TEID,
                        None => IeType::NETWORK_INSTANCE,
                    };
                    let why = format!("PDR {id}: no such tunnels end at its F-TEID's addresses");
                    return no_rule(ie, why);
                };
                let (address, teid) = (end.address, teid.get());
                Ok(Some((FTeid { address, teid }, (*ipv4, *ipv6))))
            }
            Some(value::FTeid::Choose {
                choose_id,
                ipv4,
                ipv6,
            }) => {
                if let Some((old, given)) = old.and_then(|o| Some((o, o.f_teid?))) {
                    return Ok(Some((given, old.addresses)));
                }
                let Some(end) = self.config.tunnel_end(pdr.source, instance) else {
                    let why = format!("PDR {id}: no tunnels on that side");
                    return no_rule(IeType::NETWORK_INSTANCE, why);
                };
                let asked = (end.ipv4().filter(|_| *ipv4), end.ipv6().filter(|_| *ipv6));
                if asked == (None, None) {
                    let why = format!("PDR {id}: no such address of its F-TEID");
                    return no_rule(IeType::F_TEID, why);
                }
                if let Some(choose_id) = choose_id
                    && let Some((before, addresses)) = self.chosen_before(*choose_id)
                {
                    if before.address != end.address || addresses != asked {
                        let why = format!("PDR {id}: its CHOOSE ID means another address");
                        return no_rule(IeType::F_TEID, why);
                    }
                    self.choices.remember(*choose_id, before);
                }
                let end = end.clone();
                Ok(Some((
                    self.choices.chosen(id, *choose_id, &end, asked),
                    asked,
                )))
            }
        }
    }
}

impl Draft<'_, '_> {
    /// What the session has for a CHOOSE ID.
    fn chosen_before(&self, choose_id: u8) -> Option<(FTeid, Addresses)> {
        let mut pdrs = self.rules.pdrs.values();
        let pdr = pdrs.find(|p| p.choose_id == Some(choose_id))?;
        Some((pdr.f_teid?, pdr.addresses))
    }

    /// A header over a family that the F-TEID has no address of cannot come.
    fn may_come(&self, id: u16, pdr: &Pdr, removal: Option<Removed>) -> Result<(), Refused> {
        let (ipv4, ipv6) = pdr.addresses;
        let comes = match removal {
            _ if pdr.f_teid.is_none() => true,
            Some(Removed::OverIpv4) => ipv4.is_some(),
            Some(Removed::OverIpv6) => ipv6.is_some(),
            Some(Removed::OverEither) | None => true,
        };
        match comes {
            true => Ok(()),
            false => no_rule(
                IeType::OUTER_HEADER_REMOVAL,
                format!("PDR {id}: such headers do not come"),
            ),
        }
    }
}

/// A rule named twice is named.
fn once(ids: impl Iterator<Item = u32>) -> Vec<u32> {
    let mut all = Vec::new();
    for id in ids {
        if !all.contains(&id) {
            all.push(id);
        }
    }
    all
}

/// Which outer headers are removed (8.2.64).
#[derive(Clone, Copy)]
enum Removed {
    OverIpv4,
    OverIpv6,
    OverEither,
}

fn removal(id: u16, ie: Option<&OuterHeaderRemoval>) -> Result<Option<Removed>, Refused> {
    match ie.map(|r| r.description.0) {
        None => Ok(None),
        Some(0) => Ok(Some(Removed::OverIpv4)),
        Some(1) => Ok(Some(Removed::OverIpv6)),
        Some(6) => Ok(Some(Removed::OverEither)),
        Some(other) => no_rule(
            IeType::OUTER_HEADER_REMOVAL,
            format!("PDR {id}: header {other} is not removed"),
        ),
    }
}
