//! Error Indications of tunnel peers (TS 29.281, 7.3.1) as a reason to report (TS 29.244, 7.5.8.4).

use crate::limits::REPORTS_PER_INDICATION;
use crate::node::Part;
use crate::procedure::put;
use crate::reports::report_queue::Reasons;
use crate::rules::{Indicated, RemoteTunnel, Rules};
use crate::store::SessionRef;
use arrayvec::ArrayVec;
use core::net::IpAddr;
use sluice_wire::ids::Teid;
use sluice_wire::limits::F_TEIDS_PER_ERROR_INDICATION;
use sluice_wire::pfcp::value::FTeid;
use sluice_wire::pfcp::{Full, IeType, Writer};

/// Reports an Error Indication once for each tunnel of a FAR: until the CP function changes the FAR, or
/// refuses the report, more of them say nothing new. Only the peer that the FAR sends to is believed. Where
/// several sessions send into the tunnel all are reported, since the indication does not tell them apart.
pub fn arrived(part: &mut Part, peer: IpAddr, teid: u32) {
    let tunnel = RemoteTunnel {
        teid,
        address: peer,
    };
    let mut meant: ArrayVec<SessionRef, REPORTS_PER_INDICATION> = ArrayVec::new();
    let mut change = part.take_change();
    let all = part.remotes.of(tunnel);
    let all = all.filter_map(|at| part.store.named(at));
    let silent = all.filter(|name| {
        part.store.load(*name, &mut change.old);
        let mut fars = change.old.fars.iter();
        fars.any(|far| far.tunnel() == Some(tunnel) && far.indicated == Indicated::No)
    });
    meant.extend(silent.take(REPORTS_PER_INDICATION));
    part.give_change(change);
    for name in meant {
        let Some(session) = part.store.get(name) else {
            continue;
        };
        set(part, name, |indicated, sends_to| {
            let is_new = sends_to == Some(tunnel) && indicated == Indicated::No;
            is_new.then_some(Indicated::Due)
        });
        let reason = Reasons::ERROR_INDICATION;
        (part.reports).add(name, session.association, reason, None);
    }
}

/// The F-TEIDs that are due.
pub fn write(rules: &Rules, w: &mut Writer<'_>) -> Result<(), Full> {
    let due = rules.fars.iter().filter(|f| f.indicated == Indicated::Due);
    let tunnels = due.filter_map(|far| far.tunnel());
    w.ie(IeType::ERROR_INDICATION_REPORT, |w| {
        for tunnel in tunnels.take(F_TEIDS_PER_ERROR_INDICATION) {
            if let Some(teid) = Teid::new(tunnel.teid) {
                let f_teid = match tunnel.address {
                    IpAddr::V4(address) => FTeid::v4(teid, address),
                    IpAddr::V6(address) => FTeid::v6(teid, address),
                };
                put(w, IeType::F_TEID, &f_teid)?;
            }
        }
        Ok(())
    })
}

/// Moves all FARs of a session on from one state of their report to another; of those that are due as many as
/// a report names.
pub fn mark(part: &mut Part, name: SessionRef, from: Indicated, to: Indicated) {
    let mut left = F_TEIDS_PER_ERROR_INDICATION;
    set(part, name, |indicated, _| {
        let moves = indicated == from && left > 0;
        left -= usize::from(moves && from == Indicated::Due);
        moves.then_some(to)
    });
}

fn set(
    part: &mut Part,
    name: SessionRef,
    mut next: impl FnMut(Indicated, Option<RemoteTunnel>) -> Option<Indicated>,
) {
    if part.store.get(name).is_none() {
        return;
    }
    let mut change = part.take_change();
    let rules = &mut change.old;
    part.store.load(name, rules);
    let mut changed = false;
    for far in &mut rules.fars {
        if let Some(indicated) = next(far.indicated, far.tunnel()) {
            (far.indicated, changed) = (indicated, true);
        }
    }
    if changed {
        // Some bits: the record stays as long as it is.
        part.store.put(name, rules);
    }
    part.give_change(change);
}
