//! Consistency of a session's rules after all changes of a request.

use super::framed::check_routes;
use super::ue_address::check_ue;
use super::{Refused, no_rule, no_to};
use crate::config::{Side, TwinConfig};
use crate::rules::{Filter, Pdr, Session, SessionId};
use crate::up_address::{is_anothers, is_looked_up};
use sluice_wire::pfcp::{Cause, IeType};
use std::collections::BTreeMap;

/// Pairs of port ranges that the filters of a PDR have at the most.
const PORT_PAIRS: usize = 63;
/// QERs with a bit rate of its direction that a PDR has at the most.
const RATES: usize = 4;
/// PDRs that packets of one door may meet, one that names QFIs as often as these are.
const PDRS_OF_DOOR: usize = 32;

/// Refuses more than a UP function has room for in one place.
fn sizes(config: &TwinConfig, rules: &Session) -> Result<(), Refused> {
    for (id, pdr) in &rules.pdrs {
        let pairs = pdr.filters.iter().map(|f| match f {
            Filter::Own(filter) => filter.port_pairs(),
            Filter::Kept(id) => rules.filters.get(id).map_or(0, |f| f.port_pairs()),
        });
        if pairs.sum::<usize>() > PORT_PAIRS {
            let why = format!("PDR {id} has too many ports");
            return no_to(Cause::NO_RESOURCES_AVAILABLE, IeType::SDF_FILTER, why);
        }
        let is_uplink = rules.is_uplink(pdr);
        let limits = |id: &u32| rules.qers.get(id).is_some_and(|qer| qer.limits(is_uplink));
        for alone in met_alone(rules, pdr) {
            let own = alone.active.iter().filter_map(|rule| rule.qer.as_ref());
            if alone.qers.iter().chain(own).filter(|id| limits(id)).count() > RATES {
                let why = format!("PDR {id} has too many rates");
                return no_to(Cause::NO_RESOURCES_AVAILABLE, IeType::QER_ID, why);
            }
        }
        let same = rules.pdrs.values();
        let same = same.filter(|p| clash(config, (rules, pdr), (rules, p)));
        let met = same.map(|p| met_alone(rules, p).count() * p.qfis.len().max(1));
        if met.sum::<usize>() > PDRS_OF_DOOR {
            let why = format!("packets of PDR {id} meet too many PDRs");
            return no_to(Cause::NO_RESOURCES_AVAILABLE, IeType::CREATE_PDR, why);
        }
    }
    Ok(())
}

/// What packets meet of a PDR: itself, or each of the predefined rules in its place; nothing that no packet can.
fn met_alone<'a>(rules: &'a Session, pdr: &'a Pdr) -> impl Iterator<Item = Pdr> + 'a {
    let own = pdr.active.is_empty().then(|| pdr.clone());
    let of_rules = pdr.active.iter().map(|rule| Pdr {
        active: vec![rule.clone()],
        ..pdr.clone()
    });
    let all = own.into_iter().chain(of_rules);
    all.filter(|pdr| rules.is_live(pdr))
}

/// Refuses rules that refer to nothing, lead nowhere, or take what another session has.
pub fn check(
    config: &TwinConfig,
    all: &BTreeMap<SessionId, Session>,
    id: SessionId,
    rules: &Session,
) -> Result<(), Refused> {
    check_ue(rules)?;
    sizes(config, rules)?;
    for (pdr_id, pdr) in &rules.pdrs {
        refers(rules, *pdr_id, pdr)?;
        place(config, *pdr_id, pdr)?;
        headers(rules, *pdr_id, pdr)?;
        let mut others = all.iter().filter(|(other, _)| **other != id);
        if others.any(|(_, other)| clashes(config, (rules, pdr), other)) {
            let ie = match pdr.f_teid {
                Some(_) => IeType::F_TEID,
                None => IeType::UE_IP_ADDRESS,
            };
            return no_rule(ie, format!("PDR {pdr_id} takes what another session has"));
        }
        let network = config.data_network(pdr.source, pdr.instance.as_deref());
        let network = network.filter(|_| pdr.f_teid.is_none());
        if let Some(network) = network {
            let others = all.iter().filter(|(other, _)| **other != id);
            let others: Vec<&Session> = others.map(|(_, other)| other).collect();
            if others.iter().any(|o| is_anothers(network, &rules.told, o)) {
                let why = format!("PDR {pdr_id} takes what another session was given");
                return no_rule(IeType::UE_IP_ADDRESS, why);
            }
            let mut there = others;
            there.retain(|other| is_looked_up(config, other, network));
            check_routes(config, network, rules, &there)?;
        }
        let mut own = rules
            .pdrs
            .values()
            .filter(|p| clash(config, (rules, pdr), (rules, p)));
        let of_ran = |p: &Pdr| p.source == Side::Access;
        if own.any(|p| of_ran(p) != of_ran(pdr)) {
            let why = format!("PDR {pdr_id} shares its entry with the other side");
            return no_rule(IeType::SOURCE_INTERFACE, why);
        }
    }
    for (urr_id, urr) in &rules.urrs {
        if urr.tells_of_traffic() && rules.is_ambiguous(*urr_id) {
            let why = format!("URR {urr_id} tells of the traffic of several applications");
            return no_rule(IeType::REPORTING_TRIGGERS, why);
        }
    }
    for (far_id, far) in &rules.fars {
        if let Some(bar) = far.bar.filter(|bar| !rules.bars.contains_key(bar)) {
            return no_rule(IeType::BAR_ID, format!("FAR {far_id} refers to BAR {bar}"));
        }
    }
    ways_out(config, rules)
}

/// An outer header is removed where there is one, and only there: nobody forwards a tunnel's
/// packets with the header that they came with.
fn headers(rules: &Session, id: u16, pdr: &Pdr) -> Result<(), Refused> {
    let forwards = rules.fars.get(&pdr.far).is_some_and(|f| f.forwards);
    let kept = forwards && rules.is_live(pdr) && !pdr.removes_outer;
    let ie = IeType::OUTER_HEADER_REMOVAL;
    match pdr.f_teid {
        Some(_) if kept => no_rule(ie, format!("PDR {id} keeps the outer header")),
        None if pdr.removes_outer => {
            no_rule(ie, format!("PDR {id} removes a header that is not there"))
        }
        _ => Ok(()),
    }
}

fn refers(rules: &Session, id: u16, pdr: &Pdr) -> Result<(), Refused> {
    if !rules.fars.contains_key(&pdr.far) {
        return no_rule(
            IeType::FAR_ID,
            format!("PDR {id} refers to FAR {}", pdr.far),
        );
    }
    if let Some(qer) = pdr.qers.iter().find(|q| !rules.qers.contains_key(q)) {
        return no_rule(IeType::QER_ID, format!("PDR {id} refers to QER {qer}"));
    }
    if let Some(urr) = pdr.urrs.iter().find(|u| !rules.urrs.contains_key(u)) {
        return no_rule(IeType::URR_ID, format!("PDR {id} refers to URR {urr}"));
    }
    let is_unknown = |f: &&Filter| match f {
        Filter::Kept(id) => !rules.filters.contains_key(id),
        Filter::Own(_) => false,
    };
    if let Some(filter) = pdr.filters.iter().find(is_unknown) {
        return no_rule(IeType::SDF_FILTER, format!("PDR {id} refers to {filter:?}"));
    }
    Ok(())
}

/// A PDR without a tunnel must name a data network that is there.
fn place(config: &TwinConfig, id: u16, pdr: &Pdr) -> Result<(), Refused> {
    let known = || {
        config
            .data_network(pdr.source, pdr.instance.as_deref())
            .is_some()
    };
    match pdr.f_teid.is_some() || known() {
        true => Ok(()),
        false => no_rule(
            IeType::NETWORK_INSTANCE,
            format!("PDR {id}: no data network of that name"),
        ),
    }
}

fn clashes(config: &TwinConfig, a: (&Session, &Pdr), other: &Session) -> bool {
    let mut theirs = other.pdrs.values();
    theirs.any(|p| clash(config, a, (other, p)))
}

/// The same F-TEID, or the same data network where the sessions share an address.
fn clash(config: &TwinConfig, a: (&Session, &Pdr), b: (&Session, &Pdr)) -> bool {
    let place = |p: &Pdr| config.data_network(p.source, p.instance.as_deref());
    match (a.1.f_teid, b.1.f_teid) {
        (Some(a), Some(b)) => a == b,
        (None, None) => a.0.told.share(&b.0.told) && place(a.1) == place(b.1),
        _ => false,
    }
}

/// FARs that packets reach must lead somewhere, even where packets wait, unless they drop them.
fn ways_out(config: &TwinConfig, rules: &Session) -> Result<(), Refused> {
    let reached = rules.pdrs.values().filter(|p| rules.is_live(p));
    for far_id in reached.map(|p| p.far) {
        let Some(far) = rules.fars.get(&far_id) else {
            continue;
        };
        let to = far.forwarding.as_ref();
        let to = to.filter(|to| !far.drops && !to.is_lost());
        let Some(to) = to else { continue };
        let instance = to.instance.as_deref();
        let leads = match to.tunnel {
            None => {
                let needs_none = !far.forwards || !to.is_plain();
                needs_none || config.data_network(to.side, instance).is_some()
            }
            // That no route leads there is the packets' affair.
            Some(_) => config.tunnels(to.side, instance).is_some(),
        };
        if !leads {
            return no_rule(
                IeType::NETWORK_INSTANCE,
                format!("FAR {far_id} leads nowhere"),
            );
        }
    }
    Ok(())
}
