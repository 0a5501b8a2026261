//! Packets for an idle UE as a reason to report (Downlink Data Report; TS 29.244, 5.2.4, 7.5.8.2): one report
//! for each QoS flow, until the FAR is updated.

use crate::compile::render::qfi_of;
use crate::node::Moment;
use crate::node::Part;
use crate::procedure::put;
use crate::reports::report_queue::{PagedFlow, Reasons, ReportContents};
use crate::rules::{Bar, Endpoint, Pdr, Rules};
use sluice_datapath::forward::pdr::At;
use sluice_datapath::ids::EntryId;
use sluice_datapath::limits::BLOCK_RULES;
use sluice_wire::ids::Qfi;
use sluice_wire::pfcp::value::{DownlinkDataServiceInformation, NotificationDelay};
use sluice_wire::pfcp::{Full, IeType, Writer};

/// A packet met a rule that notifies.
pub fn arrived(part: &mut Part, at: Moment, entry: EntryId, rule: Option<At>, dscp: u8) {
    let Some(name) = part.session_of_entry(entry) else {
        return;
    };
    let Some(session) = part.store.get(name) else {
        return;
    };
    let mut change = part.take_change();
    let rules = &mut change.old;
    part.store.load(name, rules);
    if let Some((pdr, flow)) = flow_of(rules, entry, rule) {
        let far = rules.fars.iter_mut().find(|far| far.id == pdr.far);
        // The rules may have changed since, and the flow may have been told of by another PDR.
        if let Some(far) = far.filter(|far| far.notifies() && far.paged & flow == 0) {
            far.paged |= flow;
            let bar = far.bar;
            // Where there is no room for one word more the flow is told of once more at the most.
            if part.store.has_room(Some(name), rules) {
                part.store.put(name, rules);
            }
            let bar = bar
                .and_then(|bar| rules.bar(bar))
                .filter(|bar| bar.delay > 0);
            let delay = |bar: &Bar| NotificationDelay(bar.delay).delay_ms();
            let not_before = bar.map(|bar| at.now.plus_ms(delay(bar).into()));
            let reason = Reasons::DOWNLINK_DATA;
            (part.reports).add(name, session.association, reason, not_before);
            let flow = PagedFlow {
                pdr: pdr.id,
                origin: pdr.filter.origin,
                dscp,
            };
            part.reports.add_flow(name, flow);
        }
    }
    part.give_change(change);
}

/// The PDR that stands there, and the bit of its QoS flow.
fn flow_of(rules: &Rules, entry: EntryId, rule: Option<At>) -> Option<(Pdr, u64)> {
    let endpoint = rules.entries().find(|e| e.entry == entry)?;
    let pdr = pdr_at(rules, endpoint, rule)?;
    let qfi = qfi_of(rules, &pdr).unwrap_or(0);
    Some((pdr, 1 << (qfi & Qfi::MAX)))
}

fn pdr_at(rules: &Rules, endpoint: &Endpoint, rule: Option<At>) -> Option<Pdr> {
    let Some(at) = rule else {
        return rules.entry_member(endpoint).map(|member| *member.pdr);
    };
    let block = endpoint.blocks().position(|block| block == at.block().0)?;
    let members = rules.chained(endpoint);
    let member = members.get(block * BLOCK_RULES + at.rule())?;
    Some(*member.pdr)
}

/// True if some flow's packets still wait to be told of.
pub fn is_due(rules: &Rules, due: &ReportContents) -> bool {
    flows(rules, due).next().is_some()
}

/// The flows whose FARs still want to be told of.
fn flows<'r>(
    rules: &'r Rules,
    due: &'r ReportContents,
) -> impl Iterator<Item = (&'r PagedFlow, &'r Pdr)> {
    due.flows.iter().filter_map(|flow| {
        let mut called_so = rules.pdrs.iter().filter(|pdr| pdr.id == flow.pdr);
        // What activated the rule may not do so any more.
        let first = called_so.clone().next()?;
        let pdr = called_so.find(|pdr| pdr.filter.origin == flow.origin);
        let pdr = pdr.unwrap_or(first);
        let far = rules.far(pdr.far)?;
        far.notifies().then_some((flow, pdr))
    })
}

/// PDR IDs, and then for each of them what its packet was: paging policy (DSCP) and QoS flow.
pub fn write(rules: &Rules, due: &ReportContents, w: &mut Writer<'_>) -> Result<(), Full> {
    w.ie(IeType::DOWNLINK_DATA_REPORT, |w| {
        for (flow, _) in flows(rules, due) {
            put(w, IeType::PDR_ID, &flow.pdr)?;
        }
        for (flow, pdr) in flows(rules, due) {
            let information = DownlinkDataServiceInformation {
                paging_policy_indication: Some(flow.dscp),
                // 0 means no flow.
                qfi: qfi_of(rules, pdr)
                    .filter(|qfi| *qfi != 0)
                    .and_then(Qfi::new),
            };
            let ie = IeType::DOWNLINK_DATA_SERVICE_INFORMATION;
            put(w, ie, &information)?;
        }
        Ok(())
    })
}
