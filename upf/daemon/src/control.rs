//! The control core's loop: N4, worker rings, `sluice ctl`, timers, shutdown.

use super::ctl::{Ctl, CtlRequest, Request};
use super::devices::{DevicePort, Devices};
use super::lines::{self, Kind, Peer, PeerNames};
use super::links::Links;
use super::load::Load;
use super::metrics::{Metrics, Snapshot};
use super::migrate_cmd::Moves;
use super::n4::{N4, time};
use super::node_load::NodeLoad;
use super::refusals::RefusalLog;
use super::reload::Reload;
use super::scaling::Scaling;
use super::steering::Steered;
use super::trace::Trace;
use super::view;
use sluice_control::core::{Time, UpfControl};
use sluice_host::claim::InterfaceClaim;
use sluice_host::signal::Shutdown;
use sluice_n4::AssociationId;
use sluice_session::SessionEvent;
use sluice_wire::pfcp::value::Timer;
use sluice_worker::Running;
use std::net::SocketAddr;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

/// How long the ledger is read again until it balances: a worker that lost its core may stand
/// still in the middle of a turn for so long.
const BALANCES_WITHIN: Duration = Duration::from_secs(1);
/// Neighbours are asked again in these steps.
const NEIGHBOUR_STEP: Duration = Duration::from_millis(250);
/// How much of the graceful period CPs are not told of, at most: in it go the last usage of sessions
/// that are still there, T1 x (N1 + 1) of the default timers, and releases that a CP sends at the end.
const LAST_REPORTS_S: u32 = 5;
/// How long workers get at the end to send what is for SMFs behind ports.
const LAST_ANSWERS: Duration = Duration::from_millis(50);
/// Longest wait while a transaction is on its way: its answer waits with us.
pub const WAIT_BUSY: Duration = Duration::from_micros(20);
/// Turns without work before we sleep where PFCP comes by ports only: some 10 us, so that a request
/// right behind another finds us awake.
pub const TURNS_BEFORE_REST: u32 = 20;
/// Longest wait otherwise: what workers send (ARP, echo requests) waits that long.
const WAIT_IDLE: Duration = Duration::from_millis(1);

/// The most that is kept of the graceful period for giving back ports and memory. It takes 0.2 s with two
/// af_packet ports and 512 MiB for packets, most of it the kernel's time for memory, and a multiple
/// where others have the CPUs.
const TEARDOWN_MAX: Duration = Duration::from_secs(1);

/// The part of the graceful period that is kept for giving back ports and memory.
fn teardown(graceful: Duration) -> Duration {
    (graceful / 5).min(TEARDOWN_MAX)
}

/// How long CPs are told that they have, so that what follows fits into the graceful period: what the
/// IE can tell is even seconds up to a minute. 0: they are to release at once.
fn told_s(graceful_s: u32) -> u32 {
    let graceful = Duration::from_secs(graceful_s.into());
    let last = Duration::from_secs((graceful_s / 5).clamp(1, LAST_REPORTS_S).into());
    let rest = graceful.saturating_sub(last + teardown(graceful));
    let is_told = |s: &u32| Timer::at_least_s(*s).duration_s() == Some(*s);
    let mut fitting = (1..=rest.as_secs() as u32).rev();
    fitting.find(is_told).unwrap_or(0)
}

/// All that the loop works with.
pub struct ControlLoop<D: Devices> {
    /// Our claims on kernel interfaces: no other UPF may have their packets.
    pub _claims: Vec<InterfaceClaim>,
    /// The control core.
    pub core: UpfControl<D::Packet>,
    /// N4 sockets.
    pub n4: N4<D::Buffers>,
    /// Requests of `sluice ctl`.
    pub ctl: Ctl,
    /// The workers' threads, watched for an end that nobody asked for.
    pub workers: Vec<Running>,
    /// Ports and packet memory.
    pub devices: D,
    /// Links of the ports.
    pub links: Links<D::Port>,
    /// Of each: it tells what it has sent.
    pub keeps_order: Vec<bool>,
    /// SIGTERM and SIGINT.
    pub shutdown: Shutdown,
    /// How long CPs get to release their sessions.
    pub graceful: Duration,
    /// SMFs that we set up the association with.
    pub associate: Vec<SocketAddr>,
    /// For load since the last question.
    pub load: Load,
    /// For what CP functions are told of our load.
    pub node_load: NodeLoad,
    /// Questions that wait for counters.
    pub queries: Vec<(u64, CtlRequest)>,
    /// Scaling as the load asks for it.
    pub elastic: Scaling,
    /// How the ports steer.
    pub steered: Steered<<D::Port as DevicePort>::Steer>,
    /// How long workers sleep at the longest.
    pub sleep_max: Duration,
    /// Moves of shards and queues that somebody waits for.
    pub moves: Moves,
    /// Who asks for metrics, if they are served.
    pub metrics: Option<Metrics>,
    /// Packets that somebody follows.
    pub trace: Trace,
    /// Names of the ports.
    pub port_names: Vec<String>,
    /// Questions for the ledger, and until when they wait for a moment in which it balances.
    pub unbalanced: Vec<(Instant, CtlRequest)>,
    /// The last token given to a query.
    pub next_query: u64,
    /// When neighbours are asked again.
    pub next_neighbours: Instant,
    /// Turns without work, one after the other.
    pub idle_turns: u32,
    /// Refused requests, for the log.
    pub refusal_log: RefusalLog,
    /// Names of CP functions, for the log.
    pub peer_names: PeerNames,
    /// The configuration, to be read again.
    pub reload: Reload,
}

/// CP functions cause notices, and may do so as often as they like. That an association has changed
/// hands is told apart from all else that its peers have it say.
fn log(notice: &SessionEvent, names: &PeerNames) {
    let place = notice.association().map(AssociationId::index);
    let peer = place.map_or(Peer::Local, Peer::Association);
    let kind = match notice {
        SessionEvent::TakenOver(..) | SessionEvent::AddressLearned(..) => Kind::Takeover,
        _ => Kind::Association,
    };
    if !lines::permits(peer, kind) {
        return;
    }
    let text = notice.naming(place.and_then(|at| names.get(at)).unwrap_or(""));
    match kind {
        Kind::Takeover => tracing::warn!("{text}"),
        _ => tracing::info!("{text}"),
    }
}

/// How the loop ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Ended {
    /// As asked.
    AsAsked,
    /// A worker's thread is gone.
    WorkerDied,
}

impl<D: Devices> ControlLoop<D> {
    /// Runs until a signal comes, then asks the CPs for release and ends.
    pub fn run(mut self) -> Ended {
        self.associate();
        let ended = self.serve().or_else(|| self.release());
        self.stop();
        ended.unwrap_or(Ended::AsAsked)
    }

    fn associate(&mut self) {
        let (up, _, mut sink) = self.core.up_with_sink(self.n4.outside());
        for smf in self.associate.drain(..) {
            if let Err(e) = up.associate(time().now, smf, &mut sink) {
                tracing::error!("no association with {smf}: {e}");
            }
        }
        self.n4.flush();
    }

    /// Serves all sides until a signal comes.
    fn serve(&mut self) -> Option<Ended> {
        while !self.shutdown.is_requested() {
            if let Some(ended) = self.step() {
                return Some(ended);
            }
        }
        None
    }

    /// One turn, and what is due beside it; tells of an end that nobody asked for.
    fn step(&mut self) -> Option<Ended> {
        if self.workers.iter().any(Running::has_died) {
            tracing::error!("a worker thread has ended by itself");
            return Some(Ended::WorkerDied);
        }
        self.turn();
        self.links.look();
        self.refusal_log.turn(self.core.up.endpoint());
        if Instant::now() >= self.next_neighbours {
            self.next_neighbours = Instant::now() + NEIGHBOUR_STEP;
            let now = time();
            self.node_load.turn(now.now, &mut self.core);
            self.core.tick_neighbours(now, self.n4.outside());
            lines::tell_withheld(&self.peer_names);
        }
        None
    }

    fn turn(&mut self) {
        let now = time();
        let core = &mut self.core;
        let mut work = self.n4.receive(|datagrams, outside| {
            core.datagrams(now, datagrams, outside);
        });
        work += self.core.turn(now, self.n4.outside());
        self.n4.flush();
        while let Some(asked) = self.ctl.next() {
            work += 1;
            self.asked(asked);
        }
        self.scraped();
        self.notices();
        self.balance();
        self.moves.answer(self.core.end());
        self.elastic.turn(&mut self.core);
        work += self.steered.turn(&mut self.core);
        work += self.trace.turn(&mut self.core, &self.port_names);
        if work == 0 {
            let end = self.core.end();
            let busy =
                end.under_way() > 0 || end.mover().progress().1 > 0 || !self.unbalanced.is_empty();
            self.rest(if busy { WAIT_BUSY } else { WAIT_IDLE });
        } else {
            self.idle_turns = 0;
        }
    }

    /// A copy of our counters for one who asks; he who went away is no error.
    fn scraped(&mut self) {
        let Some(asker) = self.metrics.as_ref().and_then(Metrics::next) else {
            return;
        };
        let snapshot = Snapshot {
            uptime_s: self.load.started.elapsed().as_secs_f64(),
            ticks_per_ns: self.load.ticks_per_ns(),
            steering: self.steered.methods().map(|method| method.name()).collect(),
            ..Snapshot::of(&self.core, &self.devices, &self.links)
        };
        let _ = asker.try_send(snapshot);
    }

    /// Waits for whatever wakes us soonest: a datagram on a socket, or a PFCP packet from a worker.
    fn rest(&mut self, at_most: Duration) {
        if self.n4.has_sockets() {
            return self.n4.wait(at_most);
        }
        self.idle_turns = self.idle_turns.saturating_add(1);
        if self.idle_turns < TURNS_BEFORE_REST {
            return std::hint::spin_loop();
        }
        self.core.end().sleep(at_most);
    }

    /// A session's counters are with a worker: its view is answered when they have come in.
    fn asked(&mut self, asked: CtlRequest) {
        if let Request::Session { seid, ue } = asked.request
            && let Some(seid) = view::seid_of(&self.core, seid, ue)
        {
            self.next_query += 1;
            let token = self.next_query;
            let (up, _, mut sink) = self.core.up_with_sink(self.n4.outside());
            if up.query(seid, token, &mut sink) {
                self.queries.push((token, asked));
                return;
            }
        }
        if asked.request == Request::Drops {
            self.unbalanced
                .push((Instant::now() + BALANCES_WITHIN, asked));
            return self.balance();
        }
        match asked.request {
            Request::Scale { workers: None } => {
                let answer = self.elastic.begin(&mut self.core);
                return asked.answer(answer);
            }
            Request::Scale { .. } => self.elastic.end(),
            _ => {}
        }
        if let Request::Move { .. } | Request::Scale { .. } = asked.request {
            return self.moves.begin(asked, &mut self.core);
        }
        if let Request::Reload = asked.request {
            let around = self.n4.outside();
            let answer = self.reload.answer(time().now, &mut self.core, around);
            return asked.answer(answer);
        }
        if let Request::Trace { .. } = asked.request {
            return self.trace.begin(asked, &mut self.core, &self.port_names);
        }
        let value = view::answer(&asked.request, self.view());
        asked.answer(value);
    }

    /// Within a worker's turn, packets are on their way from one counter to the next, and the ledger
    /// seems wrong: it is read between two turns. A mistake in them stays, and is told.
    fn balance(&mut self) {
        if self.unbalanced.is_empty() {
            return;
        }
        let (now, ledger) = (Instant::now(), self.core.ledger());
        let balances = ledger.balances();
        let due = |(until, _): &mut (Instant, CtlRequest)| balances || *until <= now;
        for (_, asked) in self.unbalanced.extract_if(.., due) {
            asked.answer(view::drops(&ledger));
        }
    }

    /// Who has which public ports, and had: a line for each block. The limit on lines is not asked: what is
    /// not written down cannot be found out later, and a session makes a few.
    fn record_ports(&mut self) {
        while let Some(record) = self.core.up.next_nat_record() {
            let name = self.core.control.directory.instance_name(record.instance);
            tracing::info!(
                target: "sluice_nat",
                "{} of {name} {} {} ports {}-{}",
                record.ue,
                if record.given { "has" } else { "had" },
                record.address,
                record.first_port,
                record.last_port,
            );
        }
    }

    fn notices(&mut self) {
        self.record_ports();
        while let Some(notice) = self.core.up.next_event() {
            let SessionEvent::Queried(token) = notice else {
                if let Some(id) = notice.association() {
                    self.learn_name(id, matches!(notice, SessionEvent::Up(_)));
                }
                log(&notice, &self.peer_names);
                continue;
            };
            if let Some(at) = self.queries.iter().position(|(t, _)| *t == token) {
                let (_, asked) = self.queries.swap_remove(at);
                let value = view::answer(&asked.request, self.view());
                asked.answer(value);
            }
        }
    }

    /// Who an association is with; of a new one that has ended already nothing is known.
    fn learn_name(&mut self, id: AssociationId, is_new: bool) {
        match self.core.up.endpoint().association(id) {
            Some(association) => {
                let node_id = association.node_id().map(ToString::to_string);
                let address = association.primary();
                self.peer_names.set(id.index(), node_id, address);
            }
            None if is_new => self.peer_names.forget(id.index()),
            None => {}
        }
    }

    fn view(&mut self) -> view::Upf<'_, D> {
        view::Upf {
            core: &self.core,
            ports: self.devices.ports(),
            links: &self.links,
            load: &mut self.load,
            elastic: &self.elastic,
            keeps_order: &self.keeps_order,
            steered: &self.steered,
            sleep_max: self.sleep_max,
        }
    }

    /// Asks every CP to release its association, and serves N4 until all have done so, the
    /// graceful period is over, or a second signal comes.
    fn release(&mut self) -> Option<Ended> {
        let period_s = self.graceful.as_secs() as u32;
        if period_s == 0 || self.core.up.is_released() {
            return None;
        }
        let after = LAST_ANSWERS + teardown(self.graceful);
        let until = Instant::now() + self.graceful.saturating_sub(after);
        tracing::info!(
            "asking the control planes for release, for up to {period_s} s; once more the signal \
             ends at once"
        );
        // From here on the flag tells of a further signal.
        self.shutdown.flag().store(false, Ordering::Relaxed);
        let Time { now, wall } = time();
        let (up, net, mut sink) = self.core.up_with_sink(self.n4.outside());
        up.begin_release(now, wall, told_s(period_s), net, &mut sink);
        self.n4.flush();
        while self.waits_for_release(until) && !self.shutdown.is_requested() {
            if let Some(ended) = self.step() {
                return Some(ended);
            }
        }
        // The last answers leave before the sockets close and the workers end.
        self.notices();
        self.n4.flush();
        let until = Instant::now() + LAST_ANSWERS;
        while !self.core.end().is_all_taken() && Instant::now() < until {
            std::thread::sleep(WAIT_BUSY);
        }
        None
    }

    fn waits_for_release(&self, until: Instant) -> bool {
        !self.core.up.is_released() && Instant::now() < until
    }

    fn stop(&mut self) {
        for worker in self.workers.drain(..) {
            worker.stop();
        }
        let ledger = self.core.ledger();
        tracing::info!("{ledger}");
    }
}

#[cfg(test)]
mod tests {
    use super::told_s;

    #[test]
    fn what_control_planes_are_told_leaves_time_for_what_follows() {
        let told = [1, 2, 3, 5, 10, 60, 70, 3600].map(told_s);
        assert_eq!(told, [0, 0, 0, 2, 6, 54, 62, 3000]);
        assert!((1..=3600).all(|s| told_s(s) < s));
    }
}
