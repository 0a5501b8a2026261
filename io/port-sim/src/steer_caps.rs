//! Steering capabilities of a simulated port ([`sluice_port::steer`]).

use sluice_port::QueueId;
use sluice_port::steer::{Field, FlowRule, Hash, Refusal, Steer};

use crate::SimPort;
use crate::hash::RssHash;
use crate::steer::{self, RuleId, SteeringError};

impl From<SteeringError> for Refusal {
    fn from(error: SteeringError) -> Self {
        Self(error.to_string())
    }
}

impl Steer for SimPort {
    type Rule = RuleId;

    fn rx_queues(&self) -> u16 {
        SimPort::rx_queues(self)
    }

    fn try_rule(&mut self, rule: &FlowRule) -> Result<(), Refusal> {
        Ok(self.check_rule(&by_bytes(rule))?)
    }

    fn add_rule(&mut self, rule: &FlowRule) -> Result<RuleId, Refusal> {
        Ok(SimPort::add_rule(self, by_bytes(rule))?)
    }

    fn remove_rule(&mut self, rule: RuleId) -> Result<(), (RuleId, Refusal)> {
        SimPort::remove_rule(self, rule).map_err(|e| (rule, e.into()))
    }

    fn table_entries(&self) -> usize {
        self.reta_entries()
    }

    fn hash_by(&mut self, hash: &Hash) -> Result<(), Refusal> {
        Ok(self.set_hash(RssHash::Addresses(*hash))?)
    }

    fn set_table(&mut self, table: &[QueueId]) -> Result<(), Refusal> {
        Ok(self.set_reta(table)?)
    }

    fn is_settled(&mut self) -> bool {
        self.steering_is_settled()
    }
}

/// The rule as bytes of a frame from its Ethernet type on, whose IPv4 header has no options.
fn by_bytes(rule: &FlowRule) -> steer::FlowRule {
    let traffic = &rule.traffic;
    let mut bytes = Bytes::default();
    if let Some(vlan) = traffic.vlan {
        bytes.are(&[0x81, 0x00]);
        bytes.are_under(vlan.into(), 0x0fff, 2);
    }
    bytes.are(&[0x08, 0x00, 0x45]);
    match traffic.field {
        Field::Destination => bytes.any(15),
        Field::Teid => {
            bytes.any(8);
            bytes.are(&[17]);
            bytes.any(10 + 2);
            bytes.are(&2152u16.to_be_bytes());
            bytes.any(4 + 1);
            // A G-PDU.
            bytes.are(&[255]);
            bytes.any(2);
        }
    }
    bytes.are_under(traffic.value, traffic.mask, 4);
    steer::FlowRule {
        priority: rule.priority,
        offset: 12,
        value: bytes.value,
        mask: bytes.mask,
        queue: rule.queue,
    }
}

#[derive(Default)]
struct Bytes {
    value: Vec<u8>,
    mask: Vec<u8>,
}

impl Bytes {
    fn are(&mut self, value: &[u8]) {
        self.value.extend(value);
        self.mask.extend(value.iter().map(|_| 0xff));
    }

    fn any(&mut self, count: usize) {
        self.value.resize(self.value.len() + count, 0);
        self.mask.resize(self.mask.len() + count, 0);
    }

    /// A number of `count` bytes.
    fn are_under(&mut self, value: u32, mask: u32, count: usize) {
        self.value.extend(&value.to_be_bytes()[4 - count..]);
        self.mask.extend(&mask.to_be_bytes()[4 - count..]);
    }
}
