//! A network of simulated ports, as a test holds it.

use std::io::{self, Write};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use sluice_port::{LinkState, PortStats, QueueId};

use crate::hash::RssHash;
use crate::link::LinkConfig;
use crate::port::SimPortConfig;
use crate::state::NetState;
use crate::steer::{FlowRule, RuleId, SteeringError};
use crate::{HeapPool, Ledger, PcapWriter, SimIo};

/// Ports, links and a virtual clock. Clones are the same net.
#[derive(Clone)]
pub struct SimNet(Arc<Mutex<NetState>>);

impl SimNet {
    /// A net without ports, at time 0. The same calls with the same seed have
    /// the same results.
    pub fn new(seed: u64) -> Self {
        Self(Arc::new(Mutex::new(NetState::new(seed))))
    }

    /// Adds a port. Without a link, what it sends waits in
    /// [`SimPort::take_output`].
    ///
    /// # Panics
    /// If the port has no receive queue.
    pub fn add_port(&self, config: SimPortConfig) -> SimPort {
        assert!(
            config.rx_queues > 0,
            "port {} has no receive queue",
            config.name
        );
        SimPort {
            index: self.lock().add_port(config),
            net: self.clone(),
        }
    }

    /// Links two ports, alike in both directions, in place of their links so far.
    pub fn connect(&self, a: &SimPort, b: &SimPort, config: LinkConfig) {
        self.connect_one_way(a, b, config);
        self.connect_one_way(b, a, config);
    }

    /// Links one direction.
    ///
    /// # Panics
    /// If a port is of another net.
    pub fn connect_one_way(&self, from: &SimPort, to: &SimPort, config: LinkConfig) {
        let (from, to) = (self.index_of(from), self.index_of(to));
        self.lock().link(from, to, config);
    }

    /// The ports of a worker to `ports`, which it sees as ports 0, 1, ... in
    /// this order, with packets from `pool`.
    ///
    /// # Panics
    /// If a port is of another net.
    pub fn io(&self, ports: &[SimPort], pool: HeapPool) -> SimIo {
        let indices = ports.iter().map(|port| self.index_of(port)).collect();
        SimIo::new(self.clone(), indices, pool)
    }

    /// The time, in nanoseconds.
    pub fn now_ns(&self) -> u64 {
        self.lock().now_ns
    }

    /// Moves the clock, and lets everything happen that is due by then. Time
    /// does not go back: an earlier time only lets happen what is due now.
    pub fn advance_to(&self, now_ns: u64) {
        self.lock().advance_to(now_ns);
    }

    /// When the next frame leaves or arrives, if one will.
    pub fn next_event_ns(&self) -> Option<u64> {
        self.lock().next_event_ns()
    }

    /// Where every frame is.
    pub fn ledger(&self) -> Ledger {
        self.lock().ledger()
    }

    pub(crate) fn lock(&self) -> MutexGuard<'_, NetState> {
        // A test that panicked elsewhere still wants to see the state.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn index_of(&self, port: &SimPort) -> usize {
        assert!(Arc::ptr_eq(&self.0, &port.net.0), "port of another net");
        port.index
    }
}

/// A port of a [`SimNet`], as the test holds it.
#[derive(Clone)]
pub struct SimPort {
    net: SimNet,
    index: usize,
}

impl SimPort {
    /// Lets a frame arrive now.
    pub fn inject(&self, frame: &[u8]) {
        self.inject_at(0, frame);
    }

    /// Lets a frame arrive at a time, at the earliest now.
    pub fn inject_at(&self, at_ns: u64, frame: &[u8]) {
        self.net.lock().inject(self.index, at_ns, frame.to_vec());
    }

    /// The frames that left while the port had no link, with their times.
    pub fn take_output(&self) -> Vec<(u64, Vec<u8>)> {
        self.net.lock().ports[self.index].output.drain(..).collect()
    }

    /// Replaces the indirection table, after the port's delay.
    ///
    /// # Errors
    /// [`SteeringError`]; nothing changes.
    pub fn set_reta(&self, reta: &[QueueId]) -> Result<(), SteeringError> {
        self.change_steering(|port, at_ns| port.steering.set_reta(at_ns, reta))
    }

    /// Adds a flow rule, in force after the port's delay.
    ///
    /// # Errors
    /// [`SteeringError`]; nothing changes.
    pub fn add_rule(&self, rule: FlowRule) -> Result<RuleId, SteeringError> {
        self.change_steering(|port, at_ns| port.steering.add_rule(at_ns, rule))
    }

    /// Removes a flow rule, which stays in force for the port's delay.
    ///
    /// # Errors
    /// [`SteeringError`]; nothing changes.
    pub fn remove_rule(&self, id: RuleId) -> Result<(), SteeringError> {
        self.change_steering(|port, at_ns| port.steering.remove_rule(at_ns, id))
    }

    /// Whether every change of steering has taken effect.
    pub fn steering_is_settled(&self) -> bool {
        let mut state = self.net.lock();
        let now_ns = state.now_ns;
        state.ports[self.index].steering.is_settled(now_ns)
    }

    /// Takes the port down or up. While it is down, what arrives and what leaves
    /// is lost.
    pub fn set_link(&self, link: LinkState) {
        self.net.lock().ports[self.index].state = link;
    }

    /// What the port has counted.
    pub fn stats(&self) -> PortStats {
        self.net.lock().ports[self.index].stats
    }

    /// Writes all frames that arrive or leave from now on as a capture file,
    /// until [`Self::untap`].
    ///
    /// # Errors
    /// Those of the writer, and of a tap before this one.
    pub fn tap(&self, writer: impl Write + Send + 'static) -> io::Result<()> {
        let tap = PcapWriter::new(Box::new(writer) as Box<dyn Write + Send>)?;
        self.net.lock().ports[self.index].set_tap(Some(Ok(tap)))
    }

    /// Ends the tap, if there is one.
    ///
    /// # Errors
    /// The first error of the writer; the file ends there.
    pub fn untap(&self) -> io::Result<()> {
        self.net.lock().ports[self.index].set_tap(None)
    }

    /// Whether a flow rule could be added; nothing changes.
    ///
    /// # Errors
    /// [`SteeringError`].
    pub fn check_rule(&self, rule: &FlowRule) -> Result<(), SteeringError> {
        self.net.lock().ports[self.index].steering.check_rule(rule)
    }

    /// Chooses queues by another hash, after the port's delay.
    ///
    /// # Errors
    /// [`SteeringError`]; nothing changes.
    pub fn set_hash(&self, hash: RssHash) -> Result<(), SteeringError> {
        self.change_steering(|port, at_ns| match port.config.hash_is_fixed {
            true => Err(SteeringError::FixedHash),
            false => {
                port.steering.set_hash(at_ns, hash);
                Ok(())
            }
        })
    }

    /// Entries of the indirection table.
    pub fn reta_entries(&self) -> usize {
        self.net.lock().ports[self.index].steering.reta_entries()
    }

    /// Number of receive queues.
    pub fn rx_queues(&self) -> u16 {
        self.net.lock().ports[self.index].config.rx_queues
    }

    fn change_steering<T>(&self, change: impl FnOnce(&mut crate::port::Port, u64) -> T) -> T {
        let mut state = self.net.lock();
        let now_ns = state.now_ns;
        let port = &mut state.ports[self.index];
        let at_ns = now_ns.saturating_add(port.config.steering_delay_ns);
        change(port, at_ns)
    }
}
