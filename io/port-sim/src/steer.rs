//! Receive queue selection of a simulated port.
//!
//! Flow rules are asked first, in order of priority; what none matches goes by
//! hash and indirection table (RETA). As on real cards a change is confirmed
//! before it takes effect everywhere: until its time has come, frames still go
//! the old way, and frames that already lie in a queue stay there.

use core::fmt;

use sluice_port::QueueId;

use crate::hash::RssHash;

/// Entries of the indirection table of a new port.
const RETA_ENTRIES: usize = 128;

/// Frames whose bytes at an offset, under a mask, have a value go to a queue.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FlowRule {
    /// Lower numbers are asked first; among equals the older rule.
    pub priority: u32,
    /// Where in the frame the bytes begin, counted from the Ethernet header.
    pub offset: usize,
    /// What they must be, where the mask has a bit set.
    pub value: Vec<u8>,
    /// Which bits count; as long as `value`.
    pub mask: Vec<u8>,
    /// Where the frame goes.
    pub queue: QueueId,
}

impl FlowRule {
    /// Whether the frame is one of those. A frame that ends too early is not.
    pub fn matches(&self, frame: &[u8]) -> bool {
        let wanted = self.value.iter().zip(&self.mask);
        frame
            .get(self.offset..)
            .filter(|bytes| bytes.len() >= self.value.len())
            .is_some_and(|bytes| bytes.iter().zip(wanted).all(|(b, (v, m))| (b ^ v) & m == 0))
    }
}

/// Name of a rule at its port.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RuleId(u64);

/// Why a change of steering was refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SteeringError {
    /// The port has no such receive queue.
    NoSuchQueue(QueueId),
    /// Value and mask differ in length.
    MaskLength,
    /// An indirection table without entries.
    EmptyReta,
    /// No rule of that name, or its removal is under way.
    NoSuchRule(RuleId),
    /// No room for a further rule.
    Full,
    /// The port hashes nothing but what it was made with.
    FixedHash,
}

impl fmt::Display for SteeringError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoSuchQueue(queue) => write!(f, "no receive queue {queue}"),
            Self::MaskLength => f.write_str("value and mask of a flow rule differ in length"),
            Self::EmptyReta => f.write_str("indirection table without entries"),
            Self::NoSuchRule(rule) => write!(f, "no flow rule {}", rule.0),
            Self::Full => f.write_str("no room for a further flow rule"),
            Self::FixedHash => f.write_str("the hash cannot be changed"),
        }
    }
}

impl std::error::Error for SteeringError {}

/// Where a frame goes, and its hash if it has one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Steered {
    pub(crate) queue: QueueId,
    pub(crate) hash: Option<u32>,
}

/// The steering of one port.
#[derive(Debug)]
pub(crate) struct Steering {
    queues: u16,
    hash: RssHash,
    reta: Vec<QueueId>,
    /// In the order in which they are asked.
    rules: Vec<(RuleId, FlowRule)>,
    /// In the order in which they were made, which is that of their times.
    pending: Vec<(u64, Change)>,
    known: Vec<RuleId>,
    last_id: u64,
    rules_max: usize,
}

#[derive(Debug)]
enum Change {
    Hash(RssHash),
    Reta(Vec<QueueId>),
    Add(RuleId, FlowRule),
    Remove(RuleId),
}

impl Steering {
    /// Spreads hashes evenly over `queues` queues.
    pub(crate) fn new(queues: u16, hash: RssHash) -> Self {
        let reta = (0..queues)
            .map(QueueId)
            .cycle()
            .take(RETA_ENTRIES)
            .collect();
        let (rules, pending, known) = (Vec::new(), Vec::new(), Vec::new());
        Self {
            queues,
            hash,
            reta,
            rules,
            pending,
            known,
            last_id: 0,
            rules_max: usize::MAX,
        }
    }

    /// No more than so many rules.
    pub(crate) fn limited_to(self, rules_max: usize) -> Self {
        Self { rules_max, ..self }
    }

    /// Entries of the indirection table.
    pub(crate) fn reta_entries(&self) -> usize {
        self.reta.len()
    }

    /// Hashes otherwise from `at_ns` on.
    pub(crate) fn set_hash(&mut self, at_ns: u64, hash: RssHash) {
        self.pending.push((at_ns, Change::Hash(hash)));
    }

    /// Whether a rule could be added.
    pub(crate) fn check_rule(&self, rule: &FlowRule) -> Result<(), SteeringError> {
        self.check(rule.queue)?;
        if rule.value.len() != rule.mask.len() {
            return Err(SteeringError::MaskLength);
        }
        if self.known.len() >= self.rules_max {
            return Err(SteeringError::Full);
        }
        Ok(())
    }

    /// Replaces the indirection table from `at_ns` on.
    pub(crate) fn set_reta(&mut self, at_ns: u64, reta: &[QueueId]) -> Result<(), SteeringError> {
        if reta.is_empty() {
            return Err(SteeringError::EmptyReta);
        }
        reta.iter().try_for_each(|&queue| self.check(queue))?;
        self.pending.push((at_ns, Change::Reta(reta.to_vec())));
        Ok(())
    }

    /// Adds a rule that is in force from `at_ns` on.
    pub(crate) fn add_rule(&mut self, at_ns: u64, rule: FlowRule) -> Result<RuleId, SteeringError> {
        self.check_rule(&rule)?;
        self.last_id += 1;
        let id = RuleId(self.last_id);
        self.known.push(id);
        self.pending.push((at_ns, Change::Add(id, rule)));
        Ok(id)
    }

    /// Removes a rule, which is in force until `at_ns`.
    pub(crate) fn remove_rule(&mut self, at_ns: u64, id: RuleId) -> Result<(), SteeringError> {
        let place = self.known.iter().position(|&known| known == id);
        self.known
            .remove(place.ok_or(SteeringError::NoSuchRule(id))?);
        self.pending.push((at_ns, Change::Remove(id)));
        Ok(())
    }

    /// Whether every change made has taken effect by `now_ns`.
    pub(crate) fn is_settled(&mut self, now_ns: u64) -> bool {
        self.settle(now_ns);
        self.pending.is_empty()
    }

    /// The queue of a frame that arrives at `now_ns`.
    pub(crate) fn steer(&mut self, now_ns: u64, frame: &[u8]) -> Steered {
        self.settle(now_ns);
        let hash = self.hash.of(frame);
        let rule = self.rules.iter().find(|(_, rule)| rule.matches(frame));
        let queue = rule.map_or_else(|| self.by_hash(hash), |(_, rule)| rule.queue);
        Steered { queue, hash }
    }

    /// A frame without hash goes by the first entry, as on real cards.
    fn by_hash(&self, hash: Option<u32>) -> QueueId {
        let entry = hash.map_or(0, |hash| hash as usize % self.reta.len());
        self.reta[entry]
    }

    /// Carries out the changes whose time has come.
    fn settle(&mut self, now_ns: u64) {
        let due = self
            .pending
            .iter()
            .take_while(|(at_ns, _)| *at_ns <= now_ns)
            .count();
        for (_, change) in self.pending.drain(..due) {
            match change {
                Change::Hash(hash) => self.hash = hash,
                Change::Reta(reta) => self.reta = reta,
                Change::Remove(id) => self.rules.retain(|(known, _)| *known != id),
                Change::Add(id, rule) => {
                    let behind = |(_, old): &(_, FlowRule)| old.priority <= rule.priority;
                    let place = self.rules.partition_point(behind);
                    self.rules.insert(place, (id, rule));
                }
            }
        }
    }

    fn check(&self, queue: QueueId) -> Result<(), SteeringError> {
        if queue.0 < self.queues {
            Ok(())
        } else {
            Err(SteeringError::NoSuchQueue(queue))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn first_byte(frame: &[u8]) -> Option<u32> {
        frame.first().map(|&byte| byte.into())
    }

    fn steering() -> Steering {
        Steering::new(4, RssHash::Custom(first_byte))
    }

    fn rule(priority: u32, value: u8, mask: u8, queue: u16) -> FlowRule {
        let (value, mask, queue) = (vec![value], vec![mask], QueueId(queue));
        FlowRule {
            priority,
            offset: 1,
            value,
            mask,
            queue,
        }
    }

    #[test]
    fn hashes_go_by_the_table_and_frames_without_by_its_first_entry() {
        let mut steering = steering();
        assert_eq!(
            steering.steer(0, &[6]),
            Steered {
                queue: QueueId(2),
                hash: Some(6)
            }
        );
        steering.set_reta(0, &[QueueId(3), QueueId(1)]).unwrap();
        assert_eq!(steering.steer(0, &[6]).queue, QueueId(3));
        assert_eq!(steering.steer(0, &[7]).queue, QueueId(1));
        assert_eq!(
            steering.steer(0, &[]),
            Steered {
                queue: QueueId(3),
                hash: None
            }
        );
    }

    #[test]
    fn rules_count_masked_bits_only_and_come_before_the_table() {
        let mut steering = steering();
        steering.add_rule(0, rule(1, 0xa0, 0xf0, 3)).unwrap();
        assert_eq!(steering.steer(0, &[0, 0xa7]).queue, QueueId(3));
        assert_eq!(steering.steer(0, &[0, 0xb7]).queue, QueueId(0));
        assert_eq!(
            steering.steer(0, &[1]).queue,
            QueueId(1),
            "too short to match"
        );
    }

    #[test]
    fn lower_priority_numbers_win_and_among_equals_the_older_rule() {
        let mut steering = steering();
        let old = steering.add_rule(0, rule(5, 0, 0, 1)).unwrap();
        steering.add_rule(0, rule(5, 0, 0, 2)).unwrap();
        assert_eq!(steering.steer(0, &[0, 0]).queue, QueueId(1));
        steering.remove_rule(10, old).unwrap();
        assert_eq!(steering.steer(9, &[0, 0]).queue, QueueId(1));
        assert_eq!(
            steering.steer(10, &[0, 0]).queue,
            QueueId(2),
            "no gap in between"
        );
        steering.add_rule(10, rule(4, 0, 0, 3)).unwrap();
        assert_eq!(steering.steer(10, &[0, 0]).queue, QueueId(3));
    }

    #[test]
    fn changes_wait_for_their_time() {
        let mut steering = steering();
        steering.set_reta(100, &[QueueId(1)]).unwrap();
        steering.add_rule(200, rule(0, 0, 0, 2)).unwrap();
        let queues = [99, 100, 199, 200].map(|now| steering.steer(now, &[0, 0]).queue.0);
        assert_eq!(queues, [0, 1, 1, 2]);
    }

    #[test]
    fn what_cannot_be_is_refused() {
        let mut steering = steering();
        assert_eq!(steering.set_reta(0, &[]), Err(SteeringError::EmptyReta));
        let no_queue = Err(SteeringError::NoSuchQueue(QueueId(4)));
        assert_eq!(steering.set_reta(0, &[QueueId(4)]), no_queue);
        let mut bad = rule(0, 0, 0, 0);
        bad.mask.clear();
        assert_eq!(steering.add_rule(0, bad), Err(SteeringError::MaskLength));
        let id = steering.add_rule(5, rule(0, 0, 0, 0)).unwrap();
        steering.remove_rule(5, id).unwrap();
        assert_eq!(
            steering.remove_rule(5, id),
            Err(SteeringError::NoSuchRule(id))
        );
        assert!(!steering.is_settled(4) && steering.is_settled(5));
    }
}
