//! An SMF with a socket and a thread of its own.

mod batch;
mod handle;
mod wire;
mod worker;

use std::net::SocketAddrV4;
use std::thread::JoinHandle;

use sluice_host::clock;
use sluice_host::netns::Ns;
use sluice_host::udp::UdpSocket;
use sluice_n4::{Config, Counters, Limits, NodeId};
use sluice_wire::pfcp::SequenceNumber;
use sluice_wire::pfcp::value::NtpTime;

pub use handle::SmfHandle;
pub use wire::Wire;

use crate::encode::CpNode;
use crate::{Dialect, Machine, SmfError};
use worker::SmfThread;

#[derive(Clone, Debug)]
pub struct SmfConfig {
    /// Namespace of the N4 interface.
    pub ns: Ns,
    /// Address on N4, which the namespace must have; port 0 takes a free one.
    pub n4: SocketAddrV4,
    pub upf: SocketAddrV4,
    pub dialect: Dialect,
    /// Node ID of the SMF; `None`: its address.
    pub node_id: Option<NodeId>,
    /// T1, in milliseconds (TS 29.244, 6.4).
    pub t1_ms: u32,
    /// N1: how often a request is sent again (TS 29.244, 6.4).
    pub n1: u8,
    /// From one heartbeat to the next, in milliseconds; 0: none are sent.
    pub heartbeat_interval_ms: u32,
    /// Requests without answer at one time.
    pub in_flight: u32,
}

impl SmfConfig {
    /// An SMF with T1 of 1 s, N1 of 3, a heartbeat every 10 s and 4096 requests in flight.
    pub fn new(dialect: Dialect, ns: &Ns, n4: SocketAddrV4, upf: SocketAddrV4) -> Self {
        Self {
            ns: ns.clone(),
            n4,
            upf,
            dialect,
            node_id: None,
            t1_ms: 1000,
            n1: 3,
            heartbeat_interval_ms: 10_000,
            in_flight: 4096,
        }
    }

    /// The machine and its way to the UPF, for whoever brings a loop of its own.
    pub fn build(&self) -> Result<(Machine, UdpSocket), SmfError> {
        let socket = UdpSocket::bind(&self.ns, self.n4)?;
        let mut cp = CpNode::new(*self.n4.ip());
        if let Some(node_id) = &self.node_id {
            cp.node_id = node_id.clone();
        }
        let endpoint = self.endpoint(&cp);
        let machine = Machine::new(self.dialect, cp, self.upf.into(), endpoint);
        Ok((machine, socket))
    }

    fn endpoint(&self, cp: &CpNode) -> Config {
        let wall = clock::wall();
        let mut config = Config::new(cp.node_id.clone(), NtpTime::from_unix_s(wall.as_secs()));
        // Two of these one after the other within a second must not ask with the same numbers: the
        // UPF would take the second's requests for the first's, sent again.
        let within_s = wall.subsec_nanos() / (1_000_000_000 >> 12);
        let first = config.first_sequence.get().wrapping_add(within_s);
        config.first_sequence = SequenceNumber::wrapping(first);
        config.hash_seed = u64::from(wall.subsec_nanos()) ^ clock::monotonic_ns();
        config.t1_ms = self.t1_ms;
        config.n1 = self.n1;
        config.heartbeat_interval_ms = self.heartbeat_interval_ms;
        // What comes from the UPF by itself: reports.
        config.limits = Limits::for_rate(Config::DEFAULT_REQUESTS_PER_S, self.t1_ms, self.n1);
        config.limits.in_flight = self.in_flight;
        config.limits.in_flight_bytes = self.in_flight as usize * 1024;
        config
    }
}

/// A running SMF; dropping it stops the thread. Sessions and association stay at the UPF unless
/// they were deleted and released before.
#[derive(Debug)]
pub struct Smf {
    handle: SmfHandle,
    thread: Option<JoinHandle<Counters>>,
}

impl Smf {
    /// Binds N4 and starts the thread. It answers and sends heartbeats from the association on,
    /// and sleeps while nothing happens.
    pub fn start(config: &SmfConfig) -> Result<Self, SmfError> {
        let (machine, socket) = config.build()?;
        let local = socket.local();
        let (worker, control) = SmfThread::new(machine, socket).map_err(SmfError::Start)?;
        let thread = std::thread::Builder::new()
            .name(format!("smf-{}", config.dialect))
            .spawn(move || worker.run())
            .map_err(SmfError::Start)?;
        let handle = SmfHandle::new(config.dialect, local, control);
        Ok(Self {
            handle,
            thread: Some(thread),
        })
    }

    /// Controls it; clone it for other threads.
    pub fn handle(&self) -> &SmfHandle {
        &self.handle
    }

    /// Stops the thread and gives the counters of its PFCP endpoint. Whoever waits for an answer
    /// gets [`SmfError::Stopped`].
    pub fn stop(mut self) -> Result<Counters, SmfError> {
        self.end().ok_or(SmfError::Stopped)
    }

    /// `None` when the thread has panicked, or been ended before.
    fn end(&mut self) -> Option<Counters> {
        let thread = self.thread.take()?;
        self.handle.request_stop();
        thread.join().ok()
    }
}

impl Drop for Smf {
    fn drop(&mut self) {
        self.end();
    }
}

impl std::ops::Deref for Smf {
    type Target = SmfHandle;

    fn deref(&self) -> &SmfHandle {
        &self.handle
    }
}
