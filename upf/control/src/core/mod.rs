//! The control core: session machine and control-plane packets, joined to the workers' rings.
//!
//! Still sans-IO: datagrams and times in, datagrams out; the caller owns sockets, clock and the
//! pool of packets. The same core runs in the daemon, the benchmarks and the differential test.

mod n4;
mod sinks;

use crate::n4_port::{PortN4, PortN4Counters};
use crate::signalling::{Control, Event};
use arrayvec::ArrayVec;
use core::net::{IpAddr, SocketAddr};
use sluice_datapath::control::ControlEnd;
use sluice_datapath::ledger::Ledger;
use sluice_datapath::message::ToControl;
use sluice_datapath::session::txn::Txn;
use sluice_n4::{Instant, Outbox};
use sluice_port::Packet;
use sluice_session::{AHEAD, DATAGRAMS, PrefetchStages, UpFunction};
use sluice_wire::pfcp::value::NtpTime;

use sinks::FrameSink;
pub use sinks::Sink;

/// Services that the core needs from its environment.
pub trait Env: Outbox {
    /// The packets of this process.
    type Packet: Packet;

    /// An empty packet; none if the pool is exhausted.
    fn alloc(&mut self) -> Option<Self::Packet>;
}

/// The time, in the two ways that protocols ask for it.
#[derive(Clone, Copy, Debug)]
pub struct Time {
    /// Monotonic.
    pub now: Instant,
    /// Of the calendar.
    pub wall: NtpTime,
}

/// Messages of workers that one turn takes: bounded, so that N4 is never kept waiting for long.
const MESSAGES_PER_TURN: usize = 1024;

/// Messages of workers that are looked at together.
const MESSAGES: usize = 32;

/// The control core.
pub struct UpfControl<P: Packet> {
    /// ARP, ICMP, Neighbour Discovery, GTP-U signalling, peers and ways out.
    pub control: Control,
    /// N4 sessions.
    pub up: UpFunction,
    /// N4 on the ports.
    n4: PortN4<P>,
    end: ControlEnd<P>,
    /// Transactions that wait until the tables that they refer to are published.
    ready: Vec<Box<Txn>>,
    /// Frames that could not be given to a worker.
    lost_frames: u64,
}

impl<P: Packet> UpfControl<P> {
    /// Joins the parts, and publishes the first tables.
    pub fn new(mut control: Control, up: UpFunction, end: ControlEnd<P>) -> Self {
        control.set_filters(up.flow_filters());
        control.set_nat_units(up.nat_units());
        let mut core = Self {
            n4: PortN4::new(&control.directory),
            control,
            up,
            end,
            ready: Vec::new(),
            lost_frames: 0,
        };
        core.publish();
        core
    }

    /// A datagram that arrived on N4 by a socket.
    pub fn datagram<S: Env<Packet = P>>(
        &mut self,
        time: Time,
        peer: SocketAddr,
        bytes: &[u8],
        around: &mut S,
    ) {
        self.datagrams(time, &[(peer, bytes)], around);
    }

    /// Datagrams that arrived on N4 together, by a socket.
    pub fn datagrams<S: Env<Packet = P>>(
        &mut self,
        time: Time,
        datagrams: &[(SocketAddr, &[u8])],
        around: &mut S,
    ) {
        if !self.n4.is_absent() {
            for (peer, _) in datagrams {
                if let IpAddr::V4(peer) = peer.ip() {
                    self.n4.forget(peer);
                }
            }
        }
        self.handle(time, datagrams, around);
    }

    fn handle<S: Env<Packet = P>>(
        &mut self,
        time: Time,
        datagrams: &[(SocketAddr, &[u8])],
        around: &mut S,
    ) {
        for datagrams in datagrams.chunks(DATAGRAMS) {
            let mut stages = PrefetchStages::of(datagrams);
            for step in 0..datagrams.len() + AHEAD {
                self.up.prefetch(&mut stages, step);
                let due = step.checked_sub(AHEAD);
                if let Some((peer, bytes)) = due.and_then(|at| datagrams.get(at)) {
                    self.handle_one(time, *peer, bytes, around);
                }
            }
        }
        self.publish();
        self.send_n4(time, around);
    }

    fn handle_one<S: Env<Packet = P>>(
        &mut self,
        time: Time,
        peer: SocketAddr,
        bytes: &[u8],
        around: &mut S,
    ) {
        let mut out = Sink {
            around,
            n4: &mut self.n4,
            ready: &mut self.ready,
        };
        let net = &mut self.control.directory;
        self.up
            .handle(time.now, time.wall, peer, bytes, net, &mut out);
    }

    /// Handles the workers' messages, and whatever is due. Returns the number of messages.
    pub fn turn<S: Env<Packet = P>>(&mut self, time: Time, around: &mut S) -> usize {
        let mut taken = self.take_n4(time, around);
        let mut messages = ArrayVec::<_, MESSAGES>::new();
        while taken < MESSAGES_PER_TURN {
            self.take_messages(&mut messages);
            if messages.is_empty() {
                break;
            }
            taken += messages.len();
            for message in messages.drain(..) {
                self.message(time, message, around);
            }
        }
        let mut out = Sink {
            around,
            n4: &mut self.n4,
            ready: &mut self.ready,
        };
        let net = &mut self.control.directory;
        self.up.tick(time.now, time.wall, net, &mut out);
        self.report_paths(time, around);
        self.publish();
        self.send_n4(time, around);
        taken
    }

    /// Reports changes of paths to tunnel peers to the CP functions.
    fn report_paths<S: Env<Packet = P>>(&mut self, time: Time, around: &mut S) {
        if !self.control.directory.paths.has_changes() {
            return;
        }
        let changes = self.control.take_path_changes();
        let mut out = Sink {
            around,
            n4: &mut self.n4,
            ready: &mut self.ready,
        };
        self.up
            .paths_changed(time.now, time.wall, &changes, &mut out);
    }

    /// Asks for neighbours again, repeats advertisements to UEs, and asks tunnel peers for echoes. Call it a
    /// few times a second.
    pub fn tick_neighbours<S: Env<Packet = P>>(&mut self, time: Time, around: &mut S) {
        let mut frames = FrameSink {
            around,
            end: &mut self.end,
            lost: &mut self.lost_frames,
        };
        self.control.tick(time.now.0, &self.up, &mut frames);
        self.n4.expire(time.now.0);
        self.report_paths(time, around);
        self.publish();
        self.send_n4(time, around);
    }

    /// The packet ledger over all workers.
    pub fn ledger(&self) -> Ledger {
        self.end.ledger()
    }

    /// The workers' end, to move shards.
    pub fn end_mut(&mut self) -> &mut ControlEnd<P> {
        &mut self.end
    }

    /// The workers' end, for counters.
    pub fn end(&self) -> &ControlEnd<P> {
        &self.end
    }

    /// The session machine with a sink for what it sends. Transactions leave with the next
    /// [`turn`](Self::turn).
    pub fn up_with_sink<'a, S: Env<Packet = P>>(
        &'a mut self,
        around: &'a mut S,
    ) -> (
        &'a mut UpFunction,
        &'a mut crate::directory::Directory,
        Sink<'a, S>,
    ) {
        let sink = Sink {
            around,
            n4: &mut self.n4,
            ready: &mut self.ready,
        };
        (&mut self.up, &mut self.control.directory, sink)
    }

    /// Counters of N4 on the ports.
    pub fn n4_counters(&self) -> PortN4Counters {
        self.n4.counters()
    }

    /// Whether some port serves N4.
    pub fn has_port_n4(&self) -> bool {
        !self.n4.is_absent()
    }

    /// Frames of ours that no worker could take.
    pub fn lost_frames(&self) -> u64 {
        self.lost_frames
    }

    /// Messages of workers. Transactions come out of another core's caches: they are asked for
    /// together, and then what they are looked up by.
    fn take_messages(&mut self, messages: &mut ArrayVec<ToControl<P>, MESSAGES>) {
        while !messages.is_full()
            && let Some(message) = self.end.receive_message()
        {
            if let ToControl::Done(txn) = &message {
                txn.prefetch();
            }
            messages.push(message);
        }
        for message in messages {
            if let ToControl::Done(txn) = message {
                self.up.prefetch_completion(txn);
            }
        }
    }

    /// Passes a message to the session machine; returns it if it is for somebody else.
    fn session_message<S: Env<Packet = P>>(
        &mut self,
        time: Time,
        message: ToControl<P>,
        around: &mut S,
    ) -> Option<ToControl<P>> {
        let mut out = Sink {
            around,
            n4: &mut self.n4,
            ready: &mut self.ready,
        };
        let net = &mut self.control.directory;
        match message {
            ToControl::Done(txn) => self.up.complete(time.now, time.wall, txn, net, &mut out),
            ToControl::Bell(bell) => self.up.bell(time.now, time.wall, &bell, net, &mut out),
            ToControl::NatFull(entry) => self.up.nat_full(entry, &mut out),
            other => return Some(other),
        }
        None
    }

    fn message<S: Env<Packet = P>>(&mut self, time: Time, message: ToControl<P>, around: &mut S) {
        let Some(message) = self.session_message(time, message, around) else {
            return;
        };
        let now_ns = time.now.0;
        let mut frames = FrameSink {
            around,
            end: &mut self.end,
            lost: &mut self.lost_frames,
        };
        match message {
            ToControl::Done(_)
            | ToControl::NatFull(_)
            | ToControl::Bell(_)
            | ToControl::Moved(_)
            | ToControl::Expecting(_)
            | ToControl::Requeued(_)
            | ToControl::TraceExpected
            | ToControl::Traced(_) => {}
            ToControl::Packet(packet, interface) => {
                let event =
                    self.control
                        .frame(now_ns, interface, packet.data(), &self.up, &mut frames);
                packet.free();
                if let Some(Event::ErrorIndication { peer, teid }) = event {
                    let mut out = Sink {
                        around,
                        n4: &mut self.n4,
                        ready: &mut self.ready,
                    };
                    self.up
                        .error_indication(time.now, time.wall, peer, teid.get(), &mut out);
                }
            }
            ToControl::FromUe(packet, interface, entry) => {
                self.control.from_ue(
                    now_ns,
                    (interface, entry),
                    packet.data(),
                    &self.up,
                    &mut frames,
                );
                packet.free();
            }
            ToControl::RouterSolicitation(packet, prefix, sender) => {
                self.control.router_solicitation(
                    now_ns,
                    (prefix, sender),
                    packet.data(),
                    &self.up,
                    &mut frames,
                );
                packet.free();
            }
            ToControl::Resolve(sought) => self.control.resolve(now_ns, sought, &mut frames),
            ToControl::UnknownTeid(notice) => {
                self.control.unknown_teid(now_ns, notice, &mut frames);
            }
            ToControl::Icmp(packet, notice) => {
                self.control
                    .icmp(now_ns, packet.data(), notice, &self.up, &mut frames);
                packet.free();
            }
        }
    }

    /// First the tables, then the transactions that refer to what is new in them.
    fn publish(&mut self) {
        if let Some(tables) = self.control.take_tables() {
            self.end.publish(tables);
        }
        if self.control.directory.take_stations_changed() {
            self.n4.stations_changed();
        }
        if !self.ready.is_empty() {
            self.end.send_all(self.ready.drain(..));
        }
    }
}
