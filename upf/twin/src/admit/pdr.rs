//! Create and Update PDR (TS 29.244, 7.5.2.2, 7.5.4.2).

use super::ue_address::ue_addresses;
use super::{Draft, Refused, known, new, no};
use crate::config::Side;
use crate::rules::{FTeid, Pdr};
use crate::ue_addresses::UeAddresses;
use sluice_wire::pfcp::group::{CreatePdr, Pdi, UpdatePdr};
use sluice_wire::pfcp::value::{self, Edit, OuterHeaderRemoval, OuterHeaderRemovalDescription};
use std::net::Ipv4Addr;

impl Draft<'_, '_> {
    pub(super) fn create_pdr(&mut self, ie: &CreatePdr<'_>) -> Result<(), Refused> {
        let Some(far) = ie.far_id else {
            return no(format!("PDR {} has no FAR", ie.pdr_id));
        };
        let id = ie.pdr_id.0;
        let mut pdr = self.read_pdi(id, &ie.pdi, None)?;
        pdr.precedence = ie.precedence.0;
        pdr.removes_outer = removes_outer(id, ie.outer_header_removal.as_ref())?;
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
            pdr.removes_outer = removes_outer(id, edit.value())?;
        }
        match &ie.far_id {
            Some(Edit::Set(far)) => pdr.far = far.0,
            Some(Edit::Remove) => return no(format!("PDR {id} would have no FAR")),
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
            return no(format!("PDR {id}: source interface {value}"));
        };
        let mut pdr = Pdr {
            precedence: 0,
            source,
            instance: pdi.network_instance.map(|n| n.to_string()),
            f_teid: None,
            choose_id: None,
            ue: UeAddresses::default(),
            routes: Vec::new(),
            qfis: pdi.qfi.iter().map(|q| q.get()).collect(),
            filters: self.sdf_filters(id, &pdi.sdf_filter)?,
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
                return no(format!("PDR {id} changes its source interface"));
            }
            (pdr.f_teid, pdr.ue) = (old.f_teid, old.ue);
            pdr.routes = old.routes.clone();
            pdr.choose_id = old.choose_id;
            pdr.instance = old.instance.clone();
            return Ok(pdr);
        }
        pdr.ue = ue_addresses(self, id, &pdi.ue_ip_address)?;
        pdr.routes = routes;
        pdr.f_teid = self.f_teid(id, pdi, &pdr, old)?;
        pdr.choose_id = match &pdi.local_f_teid {
            Some(value::FTeid::Choose { choose_id, .. }) => *choose_id,
            // It may come back with its value.
            _ => old
                .filter(|old| old.f_teid == pdr.f_teid)
                .and_then(|old| old.choose_id),
        };
        if pdr.f_teid.is_none() && (pdr.ue.is_empty() || source == Side::Access) {
            return no(format!("PDR {id} does not tell where packets enter"));
        }
        Ok(pdr)
    }

    fn f_teid(
        &mut self,
        id: u16,
        pdi: &Pdi<'_>,
        pdr: &Pdr,
        old: Option<&Pdr>,
    ) -> Result<Option<FTeid>, Refused> {
        let instance = pdr.instance.as_deref();
        match &pdi.local_f_teid {
            None => Ok(None),
            Some(value::FTeid::Assigned { teid, ipv4, .. }) => {
                let ends = |a: &Ipv4Addr| self.config.ends_at(pdr.source, instance, *a);
                let Some(address) = ipv4.filter(ends) else {
                    return no(format!(
                        "PDR {id}: no such tunnels end at its F-TEID's address"
                    ));
                };
                let teid = teid.get();
                Ok(Some(FTeid { address, teid }))
            }
            Some(value::FTeid::Choose { choose_id, .. }) => {
                if let Some(given) = old.and_then(|o| o.f_teid) {
                    return Ok(Some(given));
                }
                let Some(end) = self.config.tunnel_end(pdr.source, instance) else {
                    return no(format!("PDR {id}: no tunnels on that side"));
                };
                if let Some(choose_id) = choose_id
                    && let Some(before) = self.chosen_before(*choose_id)
                {
                    if before.address != end.address {
                        return no(format!("PDR {id}: its CHOOSE ID means another address"));
                    }
                    self.choices.remember(*choose_id, before);
                }
                Ok(Some(self.choices.chosen(id, *choose_id, end.address)))
            }
        }
    }
}

impl Draft<'_, '_> {
    /// What the session has for a CHOOSE ID.
    fn chosen_before(&self, choose_id: u8) -> Option<FTeid> {
        let mut pdrs = self.rules.pdrs.values();
        pdrs.find(|p| p.choose_id == Some(choose_id))?.f_teid
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

fn removes_outer(id: u16, ie: Option<&OuterHeaderRemoval>) -> Result<bool, Refused> {
    type Description = OuterHeaderRemovalDescription;
    match ie.map(|r| r.description) {
        None => Ok(false),
        Some(Description::GTPU_UDP_IPV4 | Description::GTPU_UDP_IP) => Ok(true),
        Some(_) => no(format!("PDR {id}: only GTP-U/UDP/IPv4 is removed")),
    }
}
