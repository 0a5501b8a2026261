//! The network functions of a core on one thread, and the queue between them.
//!
//! A call goes through the queue, also between functions of one thread, so that order and stack
//! are the same in every wiring. What is to be stored is stored together when the queue is empty;
//! what follows from it leaves after that.
#![forbid(unsafe_code)]

use core::net::SocketAddr;
use std::collections::{BTreeMap, VecDeque};

use sluice_amf::Amf;
use sluice_ausf::Ausf;
use sluice_core_smf::{ChargingRecord, Smf};
use sluice_ids::Supi;
use sluice_sbi::{
    AssociationId, CallId, CommitId, Effect, Input, Instant, Ladder, Message, NetworkFunction, Nf,
    Now, Problem, RequestId,
};
use sluice_udm::Udm;
use sluice_udr::Udr;

/// Lines of the ladder that are kept: some hundred procedures.
pub const LINES: usize = 8192;

/// A message for a gNB.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ToRan {
    /// Where to.
    pub association: AssociationId,
    /// On which stream.
    pub stream: u16,
    /// NGAP.
    pub octets: Vec<u8>,
}

/// A message for a UPF.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ToUpf {
    /// Where to.
    pub to: SocketAddr,
    /// PFCP.
    pub octets: Vec<u8>,
}

/// What waits in the queue.
enum Queued {
    Request(RequestId, Message),
    Reply(CallId, Message),
    Committed(CommitId),
}

/// The functions of a core.
pub struct Core {
    amf: Amf,
    ausf: Ausf,
    udm: Udm,
    udr: Udr,
    /// None of a core without sessions.
    smf: Option<Smf>,
    queue: VecDeque<(Nf, Queued)>,
    commits: Vec<(Nf, CommitId)>,
    store: BTreeMap<Vec<u8>, Vec<u8>>,
    ladder: Ladder,
    to_ran: Vec<ToRan>,
    to_upf: Vec<ToUpf>,
}

impl Core {
    /// Of its functions.
    pub fn new(amf: Amf, ausf: Ausf, udm: Udm, udr: Udr) -> Self {
        Self {
            amf,
            ausf,
            udm,
            udr,
            smf: None,
            queue: VecDeque::new(),
            commits: Vec::new(),
            store: BTreeMap::new(),
            ladder: Ladder::default(),
            to_ran: Vec::new(),
            to_upf: Vec::new(),
        }
    }

    /// The same with PDU sessions.
    #[must_use]
    pub fn with_smf(mut self, smf: Smf) -> Self {
        self.smf = Some(smf);
        self
    }

    /// A message of a UPF.
    pub fn n4(&mut self, now: Now, from: SocketAddr, octets: &[u8]) {
        self.turn(now, Nf::Smf, Input::N4 { from, octets });
    }

    /// A message of a gNB.
    pub fn n2(&mut self, now: Now, association: AssociationId, stream: u16, octets: &[u8]) {
        self.turn(
            now,
            Nf::Amf,
            Input::N2 {
                association,
                stream,
                octets,
            },
        );
    }

    /// A gNB is gone.
    pub fn association_lost(&mut self, now: Now, association: AssociationId) {
        self.turn(now, Nf::Amf, Input::AssociationLost(association));
    }

    /// Deadlines may have come.
    pub fn time(&mut self, now: Now) {
        for nf in [Nf::Amf, Nf::Ausf, Nf::Udm, Nf::Udr, Nf::Smf] {
            self.turn(now, nf, Input::Time);
        }
    }

    /// When [`Core::time`] is due at the latest.
    pub fn next_deadline(&self) -> Instant {
        [
            self.amf.next_deadline(),
            self.ausf.next_deadline(),
            self.udm.next_deadline(),
            self.udr.next_deadline(),
            self.smf.as_ref().map_or(Instant::NEVER, Smf::next_deadline),
        ]
        .into_iter()
        .min()
        .unwrap_or(Instant::NEVER)
    }

    /// Messages for gNBs since the last call.
    pub fn take_to_ran(&mut self) -> Vec<ToRan> {
        std::mem::take(&mut self.to_ran)
    }

    /// Messages for UPFs since the last call.
    pub fn take_to_upf(&mut self) -> Vec<ToUpf> {
        std::mem::take(&mut self.to_upf)
    }

    /// Session management, for operators; none of a core without sessions.
    pub fn smf(&self) -> Option<&Smf> {
        self.smf.as_ref()
    }

    /// Charging records since the last call.
    pub fn take_records(&mut self) -> Vec<ChargingRecord> {
        self.smf.as_mut().map(Smf::take_records).unwrap_or_default()
    }

    /// Releases a session for the operator; false if there is none, or if it is busy.
    pub fn release_session(&mut self, now: Now, supi: &Supi, session: u8) -> bool {
        let mut effects = Vec::new();
        let smf = self.smf.as_mut();
        let begun = smf.is_some_and(|smf| smf.release(now, supi, session, &mut effects));
        for effect in effects {
            self.carry_out(Nf::Smf, effect);
        }
        self.go_on(now);
        begun
    }

    /// What was said since the last call.
    pub fn take_ladder(&mut self) -> Ladder {
        std::mem::take(&mut self.ladder)
    }

    /// The AMF, for operators.
    pub fn amf(&self) -> &Amf {
        &self.amf
    }

    /// The repository, for operators.
    pub fn udr(&self) -> &Udr {
        &self.udr
    }

    /// The repository, for operators.
    pub fn udr_mut(&mut self) -> &mut Udr {
        &mut self.udr
    }

    /// Keys of what is stored.
    pub fn stored(&self) -> impl Iterator<Item = &[u8]> {
        self.store.keys().map(Vec::as_slice)
    }

    /// An input, and all that follows from it at once.
    fn turn(&mut self, now: Now, nf: Nf, input: Input<'_>) {
        self.handle(now, nf, input);
        self.go_on(now);
    }

    /// What is in the queue, and what follows from it.
    fn go_on(&mut self, now: Now) {
        loop {
            while let Some((nf, queued)) = self.queue.pop_front() {
                let input = match queued {
                    Queued::Request(id, message) => Input::Request { id, message },
                    Queued::Reply(call, message) => Input::Reply { call, message },
                    Queued::Committed(id) => Input::Committed(id),
                };
                self.handle(now, nf, input);
            }
            if self.commits.is_empty() {
                return;
            }
            let done = std::mem::take(&mut self.commits);
            self.queue
                .extend(done.into_iter().map(|(nf, id)| (nf, Queued::Committed(id))));
        }
    }

    fn handle(&mut self, now: Now, nf: Nf, input: Input<'_>) {
        let mut effects = Vec::new();
        let function: &mut dyn NetworkFunction = match nf {
            Nf::Amf => &mut self.amf,
            Nf::Ausf => &mut self.ausf,
            Nf::Udm => &mut self.udm,
            Nf::Udr => &mut self.udr,
            Nf::Smf => match &mut self.smf {
                Some(smf) => smf,
                None => return self.refuse(&input),
            },
        };
        function.handle(now, input, &mut effects);
        for effect in effects {
            self.carry_out(nf, effect);
        }
    }

    /// What is asked of a function that is not there.
    fn refuse(&mut self, input: &Input<'_>) {
        if let Input::Request { id, .. } = input {
            let reply = Queued::Reply(id.call, Problem::ContextNotFound.into());
            self.queue.push_back((id.from, reply));
        }
    }

    fn carry_out(&mut self, from: Nf, effect: Effect) {
        match effect {
            Effect::Call {
                to, call, message, ..
            } => {
                self.queue
                    .push_back((to, Queued::Request(RequestId { from, call }, message)));
            }
            Effect::Answer { id, message } => {
                self.queue
                    .push_back((id.from, Queued::Reply(id.call, message)));
            }
            Effect::N2 {
                association,
                stream,
                octets,
            } => {
                self.to_ran.push(ToRan {
                    association,
                    stream,
                    octets,
                });
            }
            Effect::N4 { to, octets } => self.to_upf.push(ToUpf { to, octets }),
            Effect::Commit { id, key, value } => {
                match value {
                    Some(value) => self.store.insert(key, value),
                    None => self.store.remove(&key),
                };
                self.commits.push((from, id));
            }
            Effect::Ladder(line) => {
                // The oldest go, many at a time.
                if self.ladder.0.len() >= LINES {
                    self.ladder.0.drain(..LINES / 2);
                }
                self.ladder.0.push(line);
            }
        }
    }
}
