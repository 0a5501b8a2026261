//! Port steering: where a port steers, a group of shards comes by a queue that their owner polls,
//! so that nothing has to be handed over. After moves of shards or queues the port is changed,
//! group by group, and no packet overtakes another meanwhile ([`crate::migration::controller`]).

use crate::control::ControlEnd;
use crate::limits::{PORTS_TOGETHER, SHARDS};
use crate::migration::controller::Resteer;
use sluice_port::PortId;
use sluice_port::steer::{Refusal, Steer, Steering};

/// The ports that may steer, in the order of their ids.
pub struct Steerer<S: Steer> {
    ports: Vec<Port<S>>,
    /// Asked of the ports, and not in force yet.
    changing: Vec<Resteer>,
    /// Moves that were over when all groups came to their owners, as far as they can.
    looked_at: Option<u64>,
}

/// A port that may steer.
pub struct Port<S: Steer> {
    steering: Steering<S>,
    /// The group that is looked at next.
    next: u32,
    refused: Option<Refusal>,
    changes: u64,
}

impl<S: Steer> Steerer<S> {
    /// Of all ports.
    pub fn new(ports: Vec<Steering<S>>) -> Self {
        let port = |steering| Port {
            steering,
            next: 0,
            refused: None,
            changes: 0,
        };
        Self {
            ports: ports.into_iter().map(port).collect(),
            changing: Vec::new(),
            looked_at: None,
        }
    }

    /// How each port steers.
    pub fn ports(&self) -> &[Port<S>] {
        &self.ports
    }

    /// Changes what may be changed now. Returns how many steps it took.
    pub fn turn<P>(&mut self, end: &mut ControlEnd<P>) -> usize {
        let mut steps = 0;
        while let Some(resteer) = end.next_resteer() {
            steps += 1;
            self.change(resteer);
        }
        steps += self.settle(end);
        // Where groups should go is looked at when all moves are over, and some were.
        let (done, left) = end.mover().progress();
        if left == 0 && self.looked_at != Some(done) {
            let begun = self.begin(end);
            self.looked_at = (begun == 0).then_some(done);
            steps += begun;
        }
        steps
    }

    fn change(&mut self, resteer: Resteer) {
        // Refused or not, the old queue's end frees the shards.
        self.changing.push(resteer);
        let Some(port) = self.ports.get_mut(usize::from(resteer.port.0)) else {
            return;
        };
        match port.steering.steer(resteer.group, resteer.to) {
            Ok(()) => port.changes += 1,
            Err(refusal) => port.refused = Some(refusal),
        }
    }

    fn settle<P>(&mut self, end: &mut ControlEnd<P>) -> usize {
        let ports = &mut self.ports;
        let is_in_force = |resteer: &mut Resteer| {
            let port = ports.get_mut(usize::from(resteer.port.0));
            port.is_none_or(|port| port.steering.is_settled())
        };
        let settled = self.changing.extract_if(.., is_in_force);
        settled.map(|resteer| end.resteered(resteer)).count()
    }

    fn begin<P>(&mut self, end: &mut ControlEnd<P>) -> usize {
        let mut begun = 0;
        for at in 0..self.ports.len() {
            while let Some(first) = self.ports[at].next(PortId(at as u16), end) {
                let together = self.together(first, end);
                if !end.begin_resteer(&together) {
                    break;
                }
                begun += together.len();
                self.ports[at].next = first.group + 1;
            }
        }
        begun
    }

    /// A change, with those of other ports that may be made together with it.
    fn together<P>(&self, first: Resteer, end: &ControlEnd<P>) -> Vec<Resteer> {
        let ports = (0..).zip(&self.ports);
        let others = ports.filter_map(|(id, port)| port.is_misled(PortId(id), first.group, end));
        let others = others.filter(|other| end.mover().goes_along(first, *other));
        [first]
            .into_iter()
            .chain(others)
            .take(PORTS_TOGETHER)
            .collect()
    }
}

impl<S: Steer> Port<S> {
    /// How it steers.
    pub fn steering(&self) -> &Steering<S> {
        &self.steering
    }

    /// Groups that were sent to another queue.
    pub fn changes(&self) -> u64 {
        self.changes
    }

    /// Why its groups stay where they are, if they do: then software hands over what has moved.
    /// `still_at_a_time`: the shards of a group have to stand still together.
    pub fn is_fixed(&self, still_at_a_time: usize) -> Option<Refusal> {
        let shards = (SHARDS >> self.steering.group_bits()) as usize;
        let too_many = || {
            let may = format!("{still_at_a_time} may stand still at a time");
            Refusal(format!("a group has {shards} shards, and {may}"))
        };
        let refused = self.refused.as_ref().or(self.steering.is_fixed());
        let refused = refused.cloned();
        refused.or_else(|| (shards > still_at_a_time).then(too_many))
    }

    fn next<P>(&self, id: PortId, end: &ControlEnd<P>) -> Option<Resteer> {
        let (bits, queues) = (self.steering.group_bits(), self.steering.queues());
        let misled = || end.mover().misled(id, bits, queues, self.next);
        self.may_change(end).then(misled).flatten()
    }

    fn is_misled<P>(&self, id: PortId, group: u32, end: &ControlEnd<P>) -> Option<Resteer> {
        let (bits, queues) = (self.steering.group_bits(), self.steering.queues());
        let misled = || end.mover().is_misled(id, bits, queues, group);
        self.may_change(end).then(misled).flatten()
    }

    fn may_change<P>(&self, end: &ControlEnd<P>) -> bool {
        let at_a_time = end.mover().still_at_a_time();
        !self.steering.queues().is_empty() && self.is_fixed(at_a_time).is_none()
    }
}
