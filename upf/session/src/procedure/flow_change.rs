//! Change of flows that sessions know by name: of applications whose PFDs or configuration changed, and of predefined
//! rules. Sessions are looked at some at a time, and each changes as by a modification: whole, between two bursts of
//! the path. On the way new address pools learn which of their addresses sessions have.
//!
//! What cannot be had, as the table of flow filters or that of blocks is full, leaves a session's rules as they were.
//! It is counted and told, and the session gets the new flows with the next change of any, or with its own PDI's.

use crate::draft::{Base, Scope};
use crate::flows::{predefined, sdf};
use crate::limits::FLOWS_WALK;
use crate::network::Network;
use crate::node::{Effects, Moment, Node, Part, Shared};
use crate::pending::{Launch, Share};
use crate::reports::events::SessionEvent;
use crate::rules::{Filter, FilterOrigin, Key, Pdr, UeAddresses};
use crate::store::SessionRef;
use crate::{completion, draft};
use sluice_datapath::session::flow_filter::FlowFilter;

/// Changes some more sessions whose flows have changed.
pub fn walk<N: Network, E: Effects>(node: &mut Node, at: Moment, net: &mut N, out: &mut E) {
    if !node.part.flow_walk.is_under_way() {
        return;
    }
    for _ in 0..FLOWS_WALK {
        // What comes back makes room.
        if !node.part.pending.has_room_for(Share::FlowChanges) {
            break;
        }
        let has_new_flows = node.part.flow_walk.has_new_flows();
        let Some(place) = node.part.flow_walk.pass() else {
            break;
        };
        let Some(name) = node.part.store.named(place) else {
            continue;
        };
        if node.part.resources.addresses.learns() {
            learn_addresses(&mut node.part, name);
        }
        if has_new_flows
            && let Some(mut launch) = change(&mut node.shared, &mut node.part, at, name, net)
        {
            launch.record.share = Share::FlowChanges;
            completion::launch(node, at, launch, net, out);
        }
    }
    if !node.part.flow_walk.learns() {
        node.part.resources.addresses.learnt();
    }
    if let Some(kept) = node.part.flow_walk.take_kept() {
        node.shared.tell(SessionEvent::FlowsKept(kept));
    }
}

/// A new pool learns which of its addresses a session has.
fn learn_addresses(part: &mut Part, name: SessionRef) {
    let (read, resources) = part.rules_with_resources(name);
    for endpoint in &read.endpoints {
        if let Key::Ue { instance } = endpoint.key {
            resources.learn_addresses(instance, &read.ue);
        }
    }
    resources.learn_given(&read.ue);
}

fn change<N: Network>(
    shared: &mut Shared,
    part: &mut Part,
    at: Moment,
    name: SessionRef,
    net: &mut N,
) -> Option<Launch> {
    if !has_other_flows(shared, part, name) {
        return None;
    }
    let base = Base {
        session: Some(name),
        shard: u32::from(part.store.get(name)?.shard),
        ue: UeAddresses::default(),
        restores: false,
    };
    let drafted = draft::draft(shared, part, at, &base, net, |work| {
        work.renew_applications()?;
        work.renew_predefined()?;
        Ok(Scope::Rules)
    });
    match drafted {
        Ok(drafted) => Some(draft::commit(shared, part, name, drafted, at.seconds())),
        Err(_) => {
            part.flow_walk.keep();
            part.flows_kept += 1;
            None
        }
    }
}

/// True if a PDR of the session has other flow filters than its application by now, or an active rule is another.
fn has_other_flows(shared: &Shared, part: &mut Part, name: SessionRef) -> bool {
    let (read, resources) = part.rules_with_resources(name);
    let is_other = |pdr: &Pdr, flows: &[FlowFilter]| {
        let (wanted, needs_run) = sdf::named(flows, pdr.is_from_access(), pdr.filter.origin);
        let mut had = pdr.filter;
        had.run = wanted.run;
        let has_run = resources.filters.run(pdr.filter.run);
        let has_run = has_run.eq(flows.iter().copied().filter(|_| needs_run));
        had != wanted || !has_run
    };
    read.pdrs.iter().any(|pdr| match pdr.filter.origin {
        FilterOrigin::Application(number) => is_other(pdr, shared.applications.flows(number)),
        FilterOrigin::Predefined(number) => {
            let Some((rule, flows)) = shared.config.predefined.get(number) else {
                return false;
            };
            let qer = predefined::qer_id(number).0;
            let has_qer = read.qer(qer).filter(|_| pdr.qers.contains(qer));
            let is_same_qer = match has_qer {
                Some(has) => {
                    rule.needs_qer()
                        && (has.gate, has.mbr, has.qfi) == (rule.gate, rule.mbr, rule.qfi)
                }
                None => !rule.needs_qer(),
            };
            let is_other_flow = if flows.is_empty() {
                let all = Filter {
                    origin: pdr.filter.origin,
                    ..Filter::ALL
                };
                pdr.filter != all
            } else {
                is_other(pdr, flows)
            };
            !is_same_qer || is_other_flow
        }
        FilterOrigin::Pdi | FilterOrigin::StandsBack => false,
    })
}
