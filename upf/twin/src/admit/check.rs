//! What rules must be together, once all changes of a request are made.

use super::{Refused, no};
use crate::config::TwinConfig;
use crate::rules::{Pdr, Session, SessionId};
use std::collections::BTreeMap;

/// Refuses rules that refer to nothing, lead nowhere, or take what another session has.
pub fn check(
    config: &TwinConfig,
    all: &BTreeMap<SessionId, Session>,
    id: SessionId,
    rules: &Session,
) -> Result<(), Refused> {
    for (pdr_id, pdr) in &rules.pdrs {
        refers(rules, *pdr_id, pdr)?;
        place(config, *pdr_id, pdr)?;
        let mut others = all.iter().filter(|(other, _)| **other != id);
        if others.any(|(_, other)| other.pdrs.values().any(|p| clash(pdr, p))) {
            return no(format!("PDR {pdr_id} takes what another session has"));
        }
        if pdr.ue.is_some() && pdr.ue != rules.ue() {
            return no(format!(
                "PDR {pdr_id} has another UE address than its session"
            ));
        }
    }
    for (far_id, far) in &rules.fars {
        if far.forwards && far.forwarding.is_none() {
            return no(format!("FAR {far_id} forwards nowhere"));
        }
    }
    ways_out(config, rules)
}

fn refers(rules: &Session, id: u16, pdr: &Pdr) -> Result<(), Refused> {
    if !rules.fars.contains_key(&pdr.far) {
        return no(format!("PDR {id} refers to FAR {}", pdr.far));
    }
    if let Some(qer) = pdr.qers.iter().find(|q| !rules.qers.contains_key(q)) {
        return no(format!("PDR {id} refers to QER {qer}"));
    }
    if let Some(urr) = pdr.urrs.iter().find(|u| !rules.urrs.contains_key(u)) {
        return no(format!("PDR {id} refers to URR {urr}"));
    }
    Ok(())
}

/// A PDR without a tunnel must name a data network that is there.
fn place(config: &TwinConfig, id: u16, pdr: &Pdr) -> Result<(), Refused> {
    let known = || config.plain(pdr.source, pdr.instance.as_deref()).is_some();
    match pdr.f_teid.is_some() || known() {
        true => Ok(()),
        false => no(format!("PDR {id}: no data network of that name")),
    }
}

/// The same F-TEID, or the same address where packets are found by it.
fn clash(a: &Pdr, b: &Pdr) -> bool {
    match (a.f_teid, b.f_teid) {
        (Some(a), Some(b)) => a == b,
        (None, None) => a.ue == b.ue && a.instance == b.instance,
        _ => false,
    }
}

/// FARs that packets reach must lead somewhere.
fn ways_out(config: &TwinConfig, rules: &Session) -> Result<(), Refused> {
    for far_id in rules.pdrs.values().map(|p| p.far) {
        let far = rules.fars.get(&far_id);
        let Some(to) = far
            .filter(|f| f.forwards)
            .and_then(|f| f.forwarding.as_ref())
        else {
            continue;
        };
        let instance = to.instance.as_deref();
        let leads = match to.tunnel {
            None => config.plain(to.side, instance).is_some(),
            Some(remote) => config.tunnels(to.side, instance).is_some_and(|(link, _)| {
                config.links[link].station_towards(remote.address).is_some()
            }),
        };
        if !leads {
            return no(format!("FAR {far_id} leads nowhere"));
        }
    }
    Ok(())
}
