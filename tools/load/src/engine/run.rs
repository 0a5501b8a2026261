//! One measurement run: directions, sinks, timeline.

use sluice_port::{Packet, PortId, PortIo};

use super::lane::{Common, Lane};
use super::{Phase, Trial};
use crate::LoadError;
use crate::flows::{Direction, Flows};
use crate::frames::Frames;
use crate::report::{Interval, IntervalLane, LaneName, LaneReport, Report, Strays};
use crate::sink::Sink;
use crate::stamp::Stamp;

/// In closed loop: when nothing has arrived for so long, what is on its way is lost.
const WINDOW_PATIENCE_NS: u64 = 100_000_000;

/// A lane, and where its packets arrive.
#[derive(Debug)]
struct Stream {
    /// At the other side; none if we are not there.
    sink: Option<Sink>,
    returns: Option<Sink>,
    /// Packets that closed loops have given up.
    forgiven: u64,
    told: Told,
}

/// Events of the timeline that were reported.
#[derive(Clone, Copy, Debug, Default)]
struct Told {
    sent: u64,
    received: u64,
    returned: u64,
}

#[derive(Debug)]
pub(super) struct Run<P: Packet> {
    number: u8,
    mirror: bool,
    origin_ns: u64,
    settle_ns: u64,
    interval_ns: u64,
    intervals: Vec<Interval>,
    lanes: [Option<Lane<P>>; 2],
    streams: [Stream; 2],
    phase: Phase,
    duration_ns: u64,
    is_stopped: bool,
    /// When something last moved.
    last_ns: u64,
    sent_until_ns: u64,
}

impl<P: Packet> Run<P> {
    pub(super) fn new(
        trial: &Trial,
        flows: u32,
        number: u8,
        now_ns: u64,
        [n3, n6]: [Option<PortId>; 2],
    ) -> Result<Self, LoadError> {
        let common = Common {
            run: number,
            seed: trial.seed,
            origin_ns: now_ns,
            late_after_ns: trial.late_after_ns,
            patience_ns: trial.patience_ns,
        };
        let lane = |direction, port: Option<PortId>, plan: &Option<super::LanePlan>| {
            let (Some(port), Some(plan)) = (port, plan) else {
                return Ok(None);
            };
            Lane::new(direction, port, flows, plan, &common).map(Some)
        };
        let lanes = [
            lane(Direction::Uplink, n3, &trial.uplink)?,
            lane(Direction::Downlink, n6, &trial.downlink)?,
        ];
        if lanes.iter().all(Option::is_none) {
            return Err(LoadError::NoFlows);
        }
        let plans = [&trial.uplink, &trial.downlink].into_iter().flatten();
        let duration_ns = plans.map(|lane| lane.plan.duration_ns()).max();
        let sink = |wanted: bool| wanted.then(|| Sink::new(flows));
        let returns = trial.mirror || trial.expect_returns;
        let [uplink, downlink] = [&lanes[0], &lanes[1]].map(Option::is_some);
        let stream = |sink, returns| Stream {
            sink,
            returns,
            forgiven: 0,
            told: Told::default(),
        };
        Ok(Self {
            streams: [
                stream(sink(uplink && n6.is_some()), sink(uplink && returns)),
                stream(sink(downlink && n3.is_some()), None),
            ],
            number,
            mirror: trial.mirror,
            origin_ns: now_ns,
            settle_ns: trial.settle_ns,
            interval_ns: trial.interval_ns.max(1),
            intervals: Vec::new(),
            lanes,
            phase: Phase::Sending,
            duration_ns: duration_ns.unwrap_or(0),
            is_stopped: false,
            last_ns: now_ns,
            sent_until_ns: now_ns,
        })
    }

    pub(super) fn number(&self) -> u8 {
        self.number
    }

    pub(super) fn mirrors(&self) -> bool {
        self.mirror
    }

    pub(super) fn timeline(&self) -> &[Interval] {
        &self.intervals
    }

    pub(super) fn phase(&self) -> Phase {
        self.phase
    }

    pub(super) fn stop(&mut self) {
        self.is_stopped = self.phase == Phase::Sending;
        self.lanes.iter_mut().flatten().for_each(Lane::stop);
    }

    pub(super) fn next_ns(&mut self, now_ns: u64) -> Option<u64> {
        let origin_ns = self.origin_ns;
        let interval = self.origin_ns + (self.intervals.len() as u64 + 1) * self.interval_ns;
        match self.phase {
            Phase::Sending => {
                let patience_ns = self.last_ns + WINDOW_PATIENCE_NS + 1;
                let lanes = self.lanes.iter_mut().zip(&self.streams);
                let dues = lanes.filter_map(|(lane, stream)| {
                    let lane = lane.as_mut()?;
                    let next_ns = lane.next_ns(now_ns, origin_ns)?;
                    match room_in_window(lane, stream) {
                        0 => Some(next_ns.max(patience_ns)),
                        _ => Some(next_ns),
                    }
                });
                dues.chain([interval]).min()
            }
            Phase::Settling => Some(interval.min(self.last_ns + self.settle_ns)),
            Phase::Idle | Phase::Done => None,
        }
    }

    /// Makes and sends what is due.
    pub(super) fn send<I: PortIo<Packet = P>>(
        &mut self,
        now_ns: u64,
        flows: &Flows,
        frames: &Frames,
        io: &mut I,
        clock: impl Fn() -> u64,
    ) -> usize {
        if self.phase != Phase::Sending {
            return 0;
        }
        let mut sent = 0;
        for (lane, stream) in self.lanes.iter_mut().zip(&mut self.streams) {
            let Some(lane) = lane else { continue };
            if lane.window().is_some() && now_ns > self.last_ns + WINDOW_PATIENCE_NS {
                stream.forgiven += on_their_way(lane, stream);
            }
            let allowed = room_in_window(lane, stream);
            lane.make(now_ns, self.origin_ns, allowed, flows, frames, io);
            sent += lane.send(clock(), io);
        }
        sent
    }

    /// A packet of this run has come. False if its flow does not exist, or it is of no lane.
    #[inline]
    pub(super) fn take(&mut self, stamp: &Stamp, is_return: bool, bytes: u16, now_ns: u64) -> bool {
        let [uplink, downlink] = &mut self.streams;
        let sink = match (stamp.direction, is_return) {
            (Direction::Uplink, false) => &mut uplink.sink,
            (Direction::Uplink, true) => &mut uplink.returns,
            (Direction::Downlink, _) => &mut downlink.sink,
        };
        sink.as_mut()
            .is_some_and(|sink| sink.take(stamp, bytes, now_ns))
    }

    /// At the beginning of a turn: ends the intervals that are over.
    pub(super) fn begin_turn(&mut self, now_ns: u64) {
        while matches!(self.phase, Phase::Sending | Phase::Settling)
            && now_ns >= self.origin_ns + (self.intervals.len() as u64 + 1) * self.interval_ns
        {
            self.end_interval(self.interval_ns);
        }
    }

    /// At the end of a turn.
    pub(super) fn pass(&mut self, now_ns: u64, has_moved: bool) {
        if has_moved {
            self.last_ns = now_ns;
        }
        if self.phase == Phase::Sending && self.lanes.iter().flatten().all(Lane::is_over) {
            self.phase = Phase::Settling;
            self.sent_until_ns = now_ns;
            self.last_ns = now_ns;
        }
        let is_quiet = now_ns.saturating_sub(self.last_ns) >= self.settle_ns;
        if self.phase == Phase::Settling && (is_quiet || self.is_complete()) {
            self.phase = Phase::Done;
        }
    }

    pub(super) fn end(&mut self, now_ns: u64) {
        let began_ns = self.origin_ns + self.intervals.len() as u64 * self.interval_ns;
        let rest_ns = now_ns.saturating_sub(began_ns);
        self.end_interval(rest_ns.clamp(1, self.interval_ns));
        self.phase = Phase::Done;
    }

    /// Whether every packet has arrived wherever it should. Duplicates may still come; those are
    /// waited for as long as anything else would be, so this ends nothing early where there are.
    fn is_complete(&self) -> bool {
        let lanes = self.lanes.iter().zip(&self.streams);
        let complete = |sink: &Sink, made: u64| {
            sink.counts.unique == made && sink.counts.duplicates == 0 && sink.counts.reordered == 0
        };
        lanes
            .filter_map(|(lane, stream)| lane.as_ref().map(|lane| (lane, stream)))
            .all(|(lane, stream)| {
                let made = lane.counts.sent + lane.counts.refused;
                let sinks = [&stream.sink, &stream.returns].into_iter().flatten();
                sinks.clone().count() > 0 && sinks.into_iter().all(|sink| complete(sink, made))
            })
    }

    fn end_interval(&mut self, length_ns: u64) {
        let mut interval = Interval {
            end_s: (self.intervals.len() as u64 * self.interval_ns + length_ns) as f64 / 1e9,
            length_s: length_ns as f64 / 1e9,
            lanes: Vec::new(),
        };
        for (lane, stream) in self.lanes.iter().zip(&mut self.streams) {
            let Some(lane) = lane else { continue };
            let sent = lane.counts.sent - stream.told.sent;
            stream.told.sent = lane.counts.sent;
            let mut tell = |name, sink: &mut Sink, told: &mut u64| {
                let received = sink.counts.unique - *told;
                *told = sink.counts.unique;
                interval.lanes.push(IntervalLane {
                    lane: name,
                    sent,
                    received,
                    latency: sink.end_interval(),
                });
            };
            let name = LaneName::from(lane.direction);
            if let Some(sink) = &mut stream.sink {
                tell(name, sink, &mut stream.told.received);
            }
            if let Some(sink) = &mut stream.returns {
                tell(LaneName::RoundTrip, sink, &mut stream.told.returned);
            }
        }
        self.intervals.push(interval);
    }

    /// Report of the run. Latencies of the running interval are not in it yet.
    pub(super) fn report(&self, strays: &Strays) -> Report {
        let mut lanes = Vec::new();
        for (lane, stream) in self.lanes.iter().zip(&self.streams) {
            let Some(lane) = lane else { continue };
            let name = LaneName::from(lane.direction);
            let seconds = self.sending_s();
            // Without a sink of its own a lane tells what it sent.
            if stream.sink.is_some() || stream.returns.is_none() {
                lanes.push(LaneReport::new(name, lane, stream.sink.as_ref(), seconds));
            }
            if let Some(returns) = &stream.returns {
                lanes.push(LaneReport::new(
                    LaneName::RoundTrip,
                    lane,
                    Some(returns),
                    seconds,
                ));
            }
        }
        Report {
            sending_s: self.sending_s(),
            stopped_early: self.is_stopped,
            lanes,
            strays: *strays,
            timeline: self.intervals.clone(),
        }
    }

    /// How long was sent, by plan unless it was stopped.
    fn sending_s(&self) -> f64 {
        let planned = self.duration_ns;
        let ns = match self.phase {
            Phase::Sending => self.last_ns.saturating_sub(self.origin_ns).min(planned),
            _ if self.is_stopped => self
                .sent_until_ns
                .saturating_sub(self.origin_ns)
                .min(planned),
            _ => planned,
        };
        ns as f64 / 1e9
    }
}

/// How many more packets may be on their way.
fn room_in_window<P: Packet>(lane: &Lane<P>, stream: &Stream) -> u64 {
    match lane.window() {
        None => u64::MAX,
        Some(window) => window.saturating_sub(on_their_way(lane, stream)),
    }
}

/// Packets of a lane that have neither come nor been given up.
fn on_their_way<P: Packet>(lane: &Lane<P>, stream: &Stream) -> u64 {
    let made: u64 = lane.counts.sent + lane.counts.refused;
    let sink = stream.returns.as_ref().or(stream.sink.as_ref());
    let arrived = sink.map_or(0, |sink| sink.counts.unique);
    made.saturating_sub(arrived + stream.forgiven)
}
