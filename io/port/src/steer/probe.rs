//! Probing of a port's steering methods: the first that works is used.

use super::key::{dealt, entry_group, picking_key};
use super::rules::Rules;
use super::{Field, Hash, Refusal, Steer, Traffic};
use crate::QueueId;

/// Ways of steering, the best first.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Method {
    /// A rule for each group, by some bits of the TEID and of the UE's address.
    FlowRules,
    /// Toeplitz' hash of the UE's address, and a table of queues.
    Hash,
    /// The port does not steer: who receives a packet hands it to its owner.
    Software,
}

impl Method {
    /// All ways in which a port may steer.
    pub const ALL: &[Self] = &[Self::FlowRules, Self::Hash];

    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Self::FlowRules => "masked flow rules",
            Self::Hash => "Toeplitz hash on the UE's address",
            Self::Software => "software",
        }
    }
}

enum SteerMethod<R> {
    FlowRules(Rules<R>),
    /// Bits of an entry's number.
    Hash(u32),
    Software,
}

/// A port that steers as well as it can.
pub struct Steering<S: Steer> {
    port: S,
    way: SteerMethod<S::Rule>,
    group_bits: u32,
    /// By group; none if the port does not steer.
    queues: Vec<QueueId>,
    refused: Vec<(Method, Refusal)>,
}

impl<S: Steer> Steering<S> {
    /// Takes the first of the `allowed` ways that works for `traffic`: with `1 << bits` groups for the first of
    /// `group_bits` that the port has room for, dealt out to the queues as shards are to workers.
    pub fn probe(port: S, traffic: &[Traffic], group_bits: &[u32], allowed: &[Method]) -> Self {
        let mut steering = Self {
            port,
            way: SteerMethod::Software,
            group_bits: 0,
            queues: Vec::new(),
            refused: Vec::new(),
        };
        if let Err(why) = steering.is_worth_it(traffic) {
            steering.refused = [Method::FlowRules, Method::Hash]
                .map(|method| (method, why.clone()))
                .into();
            return steering;
        }
        for method in [Method::FlowRules, Method::Hash] {
            let tried = match method {
                _ if !allowed.contains(&method) => Err(Refusal("not wanted".to_owned())),
                Method::FlowRules => steering.try_rules(traffic, group_bits),
                _ => steering.try_hash(traffic, group_bits),
            };
            match tried {
                Ok(()) => break,
                Err(why) => steering.refused.push((method, why)),
            }
        }
        steering
    }

    fn is_worth_it(&self, traffic: &[Traffic]) -> Result<(), Refusal> {
        match self.port.rx_queues() {
            0 | 1 => Err(Refusal("it has one receive queue".to_owned())),
            _ if traffic.is_empty() => Err(Refusal("it carries no packets of UEs".to_owned())),
            _ => Ok(()),
        }
    }

    fn dealt(&self, bits: u32) -> Vec<QueueId> {
        let queues = self.port.rx_queues().into();
        let queue = |group| QueueId(dealt(group, bits, queues) as u16);
        (0..1 << bits).map(queue).collect()
    }

    fn try_rules(&mut self, traffic: &[Traffic], group_bits: &[u32]) -> Result<(), Refusal> {
        let mut refused = Err(Refusal("no rules were asked for".to_owned()));
        for bits in group_bits {
            let queues = self.dealt(*bits);
            match Rules::make(&mut self.port, traffic, *bits, &queues) {
                Ok(rules) => {
                    self.way = SteerMethod::FlowRules(rules);
                    (self.group_bits, self.queues) = (*bits, queues);
                    return Ok(());
                }
                Err(why) => refused = Err(why),
            }
        }
        refused
    }

    fn try_hash(&mut self, traffic: &[Traffic], group_bits: &[u32]) -> Result<(), Refusal> {
        let inside = traffic.iter().any(|t| t.field == Field::Teid);
        if inside && traffic.iter().any(|t| t.field == Field::Destination) {
            let why = "it carries tunnels and UEs' packets without: one key cannot serve both";
            return Err(Refusal(why.to_owned()));
        }
        let entries = self.port.table_entries();
        if !entries.is_power_of_two() || entries < 2 {
            return Err(Refusal(format!(
                "its table of queues has {entries} entries"
            )));
        }
        let bits = entries.trailing_zeros();
        // The UE is the source of what comes out of a tunnel.
        let key = picking_key(bits, !inside);
        self.port.hash_by(&Hash { inside, key })?;
        self.way = SteerMethod::Hash(bits);
        self.group_bits = group_bits.first().map_or(bits, |wanted| bits.min(*wanted));
        self.queues = self.dealt(self.group_bits);
        self.set_table(bits).inspect_err(|_| {
            self.way = SteerMethod::Software;
            self.queues.clear();
        })
    }

    fn set_table(&mut self, bits: u32) -> Result<(), Refusal> {
        let queue = |entry| self.queues[entry_group(entry, bits, self.group_bits) as usize];
        let table: Vec<QueueId> = (0..1 << bits).map(queue).collect();
        self.port.set_table(&table)
    }

    /// How it steers.
    pub fn method(&self) -> Method {
        match &self.way {
            SteerMethod::FlowRules(_) => Method::FlowRules,
            SteerMethod::Hash(_) => Method::Hash,
            SteerMethod::Software => Method::Software,
        }
    }

    /// Better ways, and why the port refused them.
    pub fn refused(&self) -> &[(Method, Refusal)] {
        &self.refused
    }

    /// The number of a packet's group has so many bits: the lowest of its field.
    pub fn group_bits(&self) -> u32 {
        self.group_bits
    }

    /// Where each group goes; none if the port does not steer.
    pub fn queues(&self) -> &[QueueId] {
        &self.queues
    }

    /// Why groups stay where they are, if they do: then software hands over what has moved.
    pub fn is_fixed(&self) -> Option<&Refusal> {
        match &self.way {
            SteerMethod::FlowRules(rules) => rules.replace.as_ref().err(),
            SteerMethod::Hash(_) | SteerMethod::Software => None,
        }
    }

    /// Sends a group to another queue, as soon as [`is_settled`](Self::is_settled) says so.
    ///
    /// # Errors
    /// The port refuses; the group goes where it went.
    pub fn steer(&mut self, group: u32, queue: QueueId) -> Result<(), Refusal> {
        let at = group as usize;
        let Some(before) = self.queues.get(at).copied() else {
            return Err(Refusal(format!("no group {group}")));
        };
        self.queues[at] = queue;
        let done = match &mut self.way {
            SteerMethod::FlowRules(rules) => rules.steer(&mut self.port, at, queue),
            SteerMethod::Hash(bits) => {
                let bits = *bits;
                self.set_table(bits)
            }
            SteerMethod::Software => Ok(()),
        };
        done.inspect_err(|_| self.queues[at] = before)
    }

    /// Whether packets go as was asked for.
    pub fn is_settled(&mut self) -> bool {
        self.port.is_settled()
    }

    /// The port itself.
    pub fn port(&self) -> &S {
        &self.port
    }

    /// Takes all rules away.
    pub fn end(&mut self) {
        if let SteerMethod::FlowRules(rules) = &mut self.way {
            rules.remove_all(&mut self.port);
        }
        self.queues.clear();
        self.way = SteerMethod::Software;
    }
}

impl<S: Steer> Drop for Steering<S> {
    fn drop(&mut self) {
        self.end();
    }
}
