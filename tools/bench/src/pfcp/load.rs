//! Request generator: sends a series of requests and records response times.

use super::clock::{Away, Clock};
use super::script::Script;
use crate::path::rules;
use arrayvec::ArrayVec;
use sluice_host::clock;
use sluice_wire::pfcp::{Header, MessageType, SequenceNumber};

/// How requests and answers travel.
pub trait Wire {
    /// Sends a request, or lets it wait with others; false if there is no room now. What waits
    /// together may leave in any order.
    fn send(&mut self, bytes: &[u8]) -> bool;
    /// Sends what still waits to be sent.
    fn flush(&mut self);
    /// Hands what has come back to `take`; says how many there were.
    fn receive(&mut self, take: impl FnMut(&[u8])) -> usize;
}

/// When requests are sent.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Pace {
    /// As soon as fewer than so many wait for their answers.
    Closed(usize),
    /// Requests per second, whatever their results. The time in the queue counts.
    Open(f64),
    /// The same while both threads have their CPUs: when one was away, what is under way is
    /// not timed, and the rest is due once all of it is answered.
    Undisturbed(f64),
}

/// Requests sent between two looks for answers.
const BURST: usize = 64;
/// Requests under way at the most: one more could be refused for congestion, as each may take a
/// transaction.
pub const UNDER_WAY_MAX: usize = sluice_datapath::limits::RESERVED - BURST;
/// Silence after which a run is given up: longer than any retransmission.
const PATIENCE_NS: u64 = 10_000_000_000;
/// Silence after which requests without an answer go again, as an SMF's do (TS 29.244, 6.4): on a busy machine the ring may
/// have had no room for answers.
const AGAIN_NS: u64 = 1_000_000_000;
/// Octets that an answer has at the most, on average.
const ANSWER: usize = 512;

#[derive(Debug, Default)]
pub struct Log {
    answers: Vec<u8>,
    ends: Vec<usize>,
    /// By request: when it was due, in nanoseconds; 0 once answered.
    due_ns: Vec<u64>,
    /// By answer: round trip in nanoseconds.
    pub rtt_ns: Vec<u32>,
    /// Answers to no request, or to one that was answered.
    pub stray: u64,
    /// Requests went twice: answers may come twice, too.
    is_repeated: bool,
    /// Answers to requests that are not timed.
    pub untimed: usize,
    /// Requests before this one that are under way are not timed.
    pub timed_from: usize,
    /// Session Report Requests that are not answered yet: periods of some dialects end by themselves.
    reports: Vec<SequenceNumber>,
}

/// How long it took.
#[derive(Clone, Copy, Debug, Default)]
pub struct Lap {
    /// From the first request to the last answer.
    pub wall_ns: u64,
    /// CPU time of the generating thread.
    pub cpu_ns: u64,
}

impl Log {
    /// Room for the answers to `requests` requests.
    pub fn new(requests: usize) -> Self {
        let mut answers = vec![1; requests * ANSWER];
        answers.clear();
        Self {
            answers,
            ends: Vec::with_capacity(requests),
            due_ns: vec![0; requests],
            rtt_ns: Vec::with_capacity(requests),
            ..Self::default()
        }
    }

    /// The answers in the order in which they came.
    pub fn answers(&self) -> impl Iterator<Item = &[u8]> {
        let starts = std::iter::once(0).chain(self.ends.iter().copied());
        starts
            .zip(&self.ends)
            .map(|(from, to)| &self.answers[from..*to])
    }

    fn begin(&mut self, requests: usize) {
        self.answers.clear();
        self.ends.clear();
        self.rtt_ns.clear();
        self.due_ns.clear();
        self.due_ns.resize(requests, 0);
        (self.untimed, self.timed_from) = (0, 0);
        (self.stray, self.is_repeated) = (0, false);
    }

    /// Requests that were answered.
    pub fn answered(&self) -> usize {
        self.rtt_ns.len() + self.untimed
    }

    fn take(&mut self, script: &Script, bytes: &[u8], now_ns: u64) {
        let Ok((header, _)) = Header::parse(bytes) else {
            self.stray += 1;
            return;
        };
        if header.message_type == MessageType::SESSION_REPORT_REQUEST {
            self.reports.push(header.sequence);
            return;
        }
        let place = script.place(header.sequence.get());
        let due = place
            .and_then(|at| self.due_ns.get_mut(at))
            .map(std::mem::take);
        match due {
            Some(due_ns) if due_ns != 0 && place < Some(self.timed_from) => self.untimed += 1,
            Some(due_ns) if due_ns != 0 => {
                let rtt_ns = now_ns.saturating_sub(due_ns);
                self.rtt_ns.push(rtt_ns.try_into().unwrap_or(u32::MAX));
            }
            // The second answer to a request that went twice.
            Some(_) if self.is_repeated => return,
            _ => self.stray += 1,
        }
        // On a slow machine answers have reports of what was used meanwhile: then there are more octets than usual.
        self.answers.extend_from_slice(bytes);
        self.ends.push(self.answers.len());
    }
}

/// Takes reports, as an SMF does; those for which there is no room now wait.
fn take_reports(wire: &mut impl Wire, reports: &mut Vec<SequenceNumber>) {
    let mut answer = [0; 64];
    while let Some(sequence) = reports.pop() {
        let written = rules::taken(&mut answer, sequence).unwrap_or(0);
        if !wire.send(&answer[..written]) {
            reports.push(sequence);
            return;
        }
    }
}

/// Sends requests of the first `sent` that have no answer again, as far as there is room.
fn repeat(wire: &mut impl Wire, script: &Script, log: &mut Log, sent: usize) {
    log.is_repeated = true;
    let open = log.due_ns.iter().take(sent).enumerate();
    let mut open = open.filter(|(_, due_ns)| **due_ns != 0).map(|(at, _)| at);
    while open.next().is_some_and(|at| wire.send(script.request(at))) {}
    wire.flush();
}

/// Sends all requests of `script` and waits for all answers; reports that come meanwhile are taken.
/// `between` is called all the while: what else this thread has to do.
pub fn drive(
    wire: &mut impl Wire,
    script: &Script,
    pace: Pace,
    (log, away): (&mut Log, &Away),
    mut between: impl FnMut(),
) -> Result<Lap, String> {
    log.begin(script.len());
    let (began_ns, cpu_ns) = (clock::monotonic_ns(), clock::thread_cpu_ns());
    let mut clock = Clock::new(pace, away, began_ns);
    let (mut sent, mut heard_ns, mut again_ns) = (0, began_ns, began_ns);
    while log.answered() < script.len() {
        between();
        let now_ns = clock::monotonic_ns();
        let before = log.answered();
        wire.receive(|bytes| log.take(script, bytes, now_ns));
        // Reports are no answers: they come as long as sessions live.
        if log.answered() > before {
            (heard_ns, again_ns) = (now_ns, now_ns);
        } else if now_ns.saturating_sub(again_ns) > AGAIN_NS {
            again_ns = now_ns;
            repeat(wire, script, log, sent);
        } else if now_ns.saturating_sub(heard_ns) > PATIENCE_NS {
            let missing = script.len() - log.answered();
            return Err(format!(
                "{missing} of {} requests were not answered",
                script.len()
            ));
        }
        take_reports(wire, &mut log.reports);
        let may = clock.may(now_ns, sent, log);
        let mut waiting = ArrayVec::<_, BURST>::new();
        for _ in 0..may.min(BURST).min(script.len() - sent) {
            let subscriber = script.subscriber(sent);
            if waiting.contains(&subscriber) {
                break;
            }
            waiting.push(subscriber);
            if !wire.send(script.request(sent)) {
                break;
            }
            log.due_ns[sent] = clock.due_ns(now_ns, sent);
            sent += 1;
        }
        wire.flush();
    }
    let lap = Lap {
        wall_ns: clock::monotonic_ns() - began_ns,
        cpu_ns: clock::thread_cpu_ns() - cpu_ns,
    };
    if log.is_repeated {
        take_rest(wire, script, log, between);
    }
    Ok(lap)
}

/// Takes second answers for a while: whoever drives next would not know them.
fn take_rest(wire: &mut impl Wire, script: &Script, log: &mut Log, mut between: impl FnMut()) {
    let until_ns = clock::monotonic_ns() + 2 * AGAIN_NS;
    while clock::monotonic_ns() < until_ns {
        between();
        let now_ns = clock::monotonic_ns();
        wire.receive(|bytes| log.take(script, bytes, now_ns));
        take_reports(wire, &mut log.reports);
        wire.flush();
    }
}
