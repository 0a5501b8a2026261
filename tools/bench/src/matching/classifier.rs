//! A classifier: tuple space search (Srinivasan et al. 1999), a hash table for each set of conditions that filters
//! have, ports of a range as as many entries.

use super::Matcher;
use super::rules::RuleSet;
use sluice_datapath::forward::flow::Flow;
use sluice_datapath::session::flow_filter::{AddressRange, FlowFilter};
use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};

/// Which parts of a flow the filters of a table ask for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Tuple {
    protocol: bool,
    /// Leading bits of an IPv4 address, if there is any.
    remote_bits: Option<u8>,
    remote_port: bool,
}

/// Conditions of the filters.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Default, Debug)]
struct Key {
    protocol: u8,
    remote_port: u16,
    remote: u32,
}

type Table = HashMap<Key, usize, BuildHasherDefault<Mixed>>;

/// Tables by the first rule in each.
pub struct Classifier(Vec<(usize, Tuple, Table)>);

impl Tuple {
    fn of(filter: &FlowFilter) -> Self {
        Self {
            protocol: filter.protocol.is_some(),
            remote_bits: match filter.remote {
                AddressRange::Ipv4(_, bits) => Some(bits),
                AddressRange::Any | AddressRange::Ipv6(..) => None,
            },
            remote_port: filter.remote_ports.is_some(),
        }
    }

    #[inline]
    fn key(self, protocol: u8, remote: u32, remote_port: u16) -> Key {
        let bits = u32::from(self.remote_bits.unwrap_or(0));
        Key {
            protocol: if self.protocol { protocol } else { 0 },
            remote_port: if self.remote_port { remote_port } else { 0 },
            remote: remote & u32::MAX.checked_shl(32 - bits).unwrap_or(0),
        }
    }
}

impl Classifier {
    fn of(rules: &RuleSet) -> Self {
        let mut tables: Vec<(usize, Tuple, Table)> = Vec::new();
        for (rule, filter) in rules.filters.iter().enumerate() {
            let tuple = Tuple::of(filter);
            let at = tables.iter().position(|(_, of, _)| *of == tuple);
            let at = at.unwrap_or_else(|| {
                tables.push((rule, tuple, Table::default()));
                tables.len() - 1
            });
            let remote = match filter.remote {
                AddressRange::Ipv4(address, _) => address,
                AddressRange::Any | AddressRange::Ipv6(..) => 0,
            };
            let (low, high) = filter.remote_ports.unwrap_or((0, 0));
            for port in low..=high {
                let key = tuple.key(filter.protocol.unwrap_or(0), remote, port);
                // The one with the lowest precedence value stays.
                tables[at].2.entry(key).or_insert(rule);
            }
        }
        Self(tables)
    }
}

impl Matcher for Classifier {
    fn all_of(sets: &[RuleSet]) -> Vec<Self> {
        sets.iter().map(Self::of).collect()
    }

    #[inline]
    fn first(&self, flow: &Flow) -> Option<usize> {
        let (port, _) = flow.ports.unwrap_or((0, 0));
        let mut best = None;
        for (first, tuple, table) in &self.0 {
            if best.is_some_and(|best| best < *first) {
                break;
            }
            let key = tuple.key(flow.protocol, flow.source as u32, port);
            let found = table.get(&key).copied();
            best = match (best, found) {
                (Some(best), Some(found)) => Some(found.min(best)),
                (best, found) => best.or(found),
            };
        }
        best
    }
}

/// A quick hash of a key's words: multiplied and folded.
#[derive(Default)]
struct Mixed(u64);

impl Mixed {
    #[inline]
    fn add(&mut self, word: u64) {
        let product = u128::from(self.0 ^ word) * 0x9e37_79b9_7f4a_7c15;
        self.0 = (product >> 64) as u64 ^ product as u64;
    }
}

impl Hasher for Mixed {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        bytes.iter().for_each(|byte| self.add(u64::from(*byte)));
    }

    #[inline]
    fn write_u8(&mut self, n: u8) {
        self.add(u64::from(n));
    }

    #[inline]
    fn write_u16(&mut self, n: u16) {
        self.add(u64::from(n) << 8);
    }

    #[inline]
    fn write_u32(&mut self, n: u32) {
        self.add(u64::from(n) << 24);
    }
}
