//! Predefined rules (TS 29.244, 5.19): what matches in the place of PDRs that activate them.

use crate::bucket::Bucket;
use crate::config::{PredefinedRule, Side};
use crate::flow_description;
use crate::ip::Packet;
use crate::rules::{Filter, Pdr, Qer, Session};
use crate::sdf::SdfFilter;
use sluice_wire::pfcp::value::{BitRate, Gate, GateStatus};

/// A QER of a predefined rule has an identifier that no CP function gives: bit 8 of its first octet says so (8.2.75).
const OURS: u32 = 0x8000_0000;

/// A predefined rule that a PDR activates.
#[derive(Clone, PartialEq, Debug)]
pub struct Predefined {
    /// Its place in the configuration.
    pub number: usize,
    /// Its QER, if it treats packets otherwise than the PDR.
    pub qer: Option<u32>,
    filters: Vec<SdfFilter>,
}

impl Predefined {
    /// The rule of a name, and its QER.
    pub fn find(rules: &[PredefinedRule], name: &[u8]) -> Option<(Self, Option<Qer>)> {
        let number = rules.iter().position(|r| r.name.as_bytes() == name)?;
        let rule = &rules[number];
        let flows = rule.flows.iter().map(|text| SdfFilter {
            flow: flow_description::read(text.as_bytes()).ok(),
            ..SdfFilter::default()
        });
        let is_plain = rule.open == (true, true) && rule.mbr.is_none() && rule.qfi.is_none();
        let found = Self {
            number,
            qer: (!is_plain).then_some(OURS | number as u32),
            filters: flows.collect(),
        };
        Some((found, (!is_plain).then(|| qer(rule))))
    }

    pub fn is_for_version(&self, is_ipv6: bool) -> bool {
        let mut filters = self.filters.iter();
        self.filters.is_empty() || filters.any(|f| f.is_for_version(is_ipv6))
    }

    fn is_met_by(&self, packet: &Packet<'_>, is_uplink: bool) -> bool {
        let mut filters = self.filters.iter();
        self.filters.is_empty() || filters.any(|f| f.is_met_by(packet, is_uplink))
    }
}

fn qer(rule: &PredefinedRule) -> Qer {
    let gate = |is_open| match is_open {
        true => Gate::Open,
        false => Gate::Closed,
    };
    Qer {
        gate: GateStatus {
            uplink: gate(rule.open.0),
            downlink: gate(rule.open.1),
        },
        mbr: rule.mbr.map(|(uplink_kbps, downlink_kbps)| BitRate {
            uplink_kbps,
            downlink_kbps,
        }),
        gbr: None,
        qfi: rule.qfi,
        uplink: Bucket::default(),
        downlink: Bucket::default(),
    }
}

/// The first predefined rule of a PDR that a packet meets.
pub fn first_met<'a>(pdr: &'a Pdr, packet: &Packet<'_>) -> Option<&'a Predefined> {
    let is_uplink = pdr.source == Side::Access;
    pdr.active
        .iter()
        .find(|rule| rule.is_met_by(packet, is_uplink))
}

/// True if filters leave out some packet, or are known by an ID.
pub fn say_something(filters: &[Filter]) -> bool {
    let lets_all = |is_ipv6: bool| {
        filters.iter().any(|f| match f {
            Filter::Own(filter) => filter.is_met_by_all_of_version(is_ipv6),
            Filter::Kept(_) => false,
        })
    };
    let is_kept = filters.iter().any(|f| matches!(f, Filter::Kept(_)));
    !filters.is_empty() && (is_kept || !lets_all(false) || !lets_all(true))
}

impl Session {
    /// A PDR as a packet that it matches meets it: with the QER of the predefined rule behind its own.
    pub fn matched(&self, pdr: u16, packet: &Packet<'_>) -> Pdr {
        let mut pdr = self.pdrs[&pdr].clone();
        let qer = first_met(&pdr, packet).and_then(|rule| rule.qer);
        pdr.qers.extend(qer);
        pdr
    }

    /// QERs of predefined rules are there as long as a PDR activates one of these.
    pub fn give_up_inactive_rules(&mut self) {
        let active = self.pdrs.values().flat_map(|pdr| &pdr.active);
        let needed: Vec<u32> = active.filter_map(|rule| rule.qer).collect();
        self.qers
            .retain(|id, _| id & OURS == 0 || needed.contains(id));
    }
}

/// True if the CP function may call a QER so.
pub fn is_of_cp(qer: u32) -> bool {
    qer & OURS == 0
}
