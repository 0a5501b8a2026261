//! Front of N2: keeps the associations of gNBs while the program that has the AMF ends and comes back.
//!
//! An AMF that comes hears of all associations, and of each gNB's NG Setup as if the gNB retained its UEs (TS 38.413,
//! 8.7.1.2); the answer stays here. What gNBs say while there is no AMF waits for the next one.

use std::collections::{BTreeMap, VecDeque};
use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::time::Duration;

use sluice_host::clock;
use sluice_host::poll::{self, Poller, Ready};
use sluice_sctp::front::{Channel, Frame, Listener, Received};
use sluice_sctp::{Association, Counters, Event, Loss, NGAP_PPID, Peer, Sctp as _};

use crate::Node;
use crate::ng_setup_memory::{NgSetupMemory, Said};

/// Frames that are taken before something else is looked at.
const BURST: usize = 64;
/// Messages that wait for an AMF: one of each UE that 1,000 gNBs bring in a second or two.
const HELD: usize = 4_096;
/// Time between two looks for room.
const ROOM_EVERY: Duration = Duration::from_millis(2);
/// Time between two reports of counters.
const COUNTERS_EVERY_NS: u64 = 1_000_000_000;

/// A gNB whose association is up.
#[derive(Debug)]
struct Gnb {
    peer: Peer,
    streams: u16,
    memory: NgSetupMemory,
}

/// Message that waits for an AMF.
#[derive(Debug)]
struct Held {
    association: Association,
    stream: u16,
    ppid: u32,
    octets: Vec<u8>,
}

/// An AMF's program.
#[derive(Debug)]
struct Amf {
    channel: Channel,
    /// The version of its frames is ours.
    is_welcome: bool,
}

/// Associations with gNBs, and the AMF's program.
pub struct Front {
    node: Node,
    listener: Listener,
    poller: Poller,
    ready: Ready,
    amf: Option<Amf>,
    gnbs: BTreeMap<Association, Gnb>,
    held: VecDeque<Held>,
    lost: u64,
    counters: Counters,
    counters_due_ns: u64,
    remarks: Vec<String>,
}

impl Front {
    /// Of its SCTP and its socket.
    ///
    /// # Errors
    /// The kernel has no more descriptors.
    pub fn new(node: Node, listener: Listener) -> io::Result<Self> {
        let poller = Poller::new()?;
        poller.add(&node, 0)?;
        poller.add(&listener, 1)?;
        Ok(Self {
            node,
            listener,
            poller,
            ready: Ready::with_capacity(4),
            amf: None,
            gnbs: BTreeMap::new(),
            held: VecDeque::new(),
            lost: 0,
            counters: Counters::default(),
            counters_due_ns: 0,
            remarks: Vec::new(),
        })
    }

    /// Has `source` end a wait of [`Front::turn`] whenever it can be read.
    ///
    /// # Errors
    /// The kernel's reason.
    pub fn also_wait_for(&self, source: impl AsFd) -> io::Result<()> {
        self.poller.add(source, 2)
    }

    /// Lines for the log since the last call.
    pub fn take_remarks(&mut self) -> Vec<String> {
        std::mem::take(&mut self.remarks)
    }

    /// How many gNBs have associations.
    pub fn gnbs(&self) -> usize {
        self.gnbs.len()
    }

    /// Messages of gNBs for which there was no room while there was no AMF.
    pub fn lost(&self) -> u64 {
        self.lost
    }

    /// Waits for gNBs, the AMF or a deadline of SCTP, at most `patience`, and does what is to be done.
    ///
    /// # Errors
    /// When the socket of SCTP fails.
    pub fn turn(&mut self, patience: Duration) -> io::Result<()> {
        let patience = patience.min(self.node.patience());
        self.wait(patience)?;
        self.take_frames();
        self.receive_amf();
        // While the AMF takes nothing, SCTP's own window holds gNBs back.
        if !self.amf.as_ref().is_some_and(|amf| amf.channel.is_full()) {
            for event in self.node.take()? {
                self.take(event);
            }
        }
        self.report();
        self.node.flush();
        Ok(())
    }

    /// Waits for anything, or for room where the AMF takes too little.
    fn wait(&mut self, patience: Duration) -> io::Result<()> {
        match self.amf.as_ref().map(|amf| &amf.channel) {
            Some(channel) if channel.is_full() => {
                poll::wait_writable(channel, patience)?;
                Ok(())
            }
            Some(channel) if channel.is_waiting() => {
                let patience = patience.min(ROOM_EVERY);
                self.poller.wait(&mut self.ready, Some(patience))
            }
            _ => self.poller.wait(&mut self.ready, Some(patience)),
        }
    }

    /// Programs that have connected: one AMF is served at a time.
    fn receive_amf(&mut self) {
        while let Some(mut channel) = self.listener.accept() {
            if self.amf.is_some() {
                let why = "another program has the AMF".to_owned();
                self.remarks.push(format!("a program was refused: {why}"));
                channel.send(&Frame::Refused { why });
            } else if self.poller.add(&channel, 3).is_ok() {
                let is_welcome = false;
                self.amf = Some(Amf {
                    channel,
                    is_welcome,
                });
                self.take_frames();
            }
        }
    }

    fn take_frames(&mut self) {
        for _ in 0..BURST {
            let Some(amf) = &mut self.amf else {
                return;
            };
            amf.channel.flush();
            match amf.channel.receive() {
                Received::Nothing => return,
                Received::Frame(frame) => self.take_frame(frame),
                Received::End => {
                    if amf.is_welcome {
                        let gnbs = self.gnbs.len();
                        self.remarks
                            .push(format!("the AMF is gone; {gnbs} gNBs are kept"));
                    }
                    self.amf = None;
                }
            }
        }
    }

    fn take_frame(&mut self, frame: Frame) {
        let is_welcome = self.amf.as_ref().is_some_and(|amf| amf.is_welcome);
        match frame {
            Frame::Hello { version } if !is_welcome => self.welcome(&version),
            _ if !is_welcome => {}
            Frame::Message {
                association,
                stream,
                ppid,
                octets,
            } => self.send(association, stream, ppid, &octets),
            Frame::Shutdown(association) => self.node.sctp.shutdown(association),
            Frame::Abort(association) => {
                self.node.sctp.abort(association);
                self.gnbs.remove(&association);
            }
            Frame::Allow(allowed) => {
                let gone = self.gnbs.iter();
                let gone = gone.filter(|(_, gnb)| !allowed.allows(gnb.peer.address));
                let gone: Vec<Association> = gone.map(|(association, _)| *association).collect();
                for association in gone {
                    self.lose(association);
                }
                self.node.sctp.allow(allowed);
            }
            // Nothing that an AMF says.
            _ => {}
        }
    }

    /// An AMF's program is there: it hears of all gNBs, and of what they said meanwhile.
    fn welcome(&mut self, version: &str) {
        let Some(amf) = &mut self.amf else {
            return;
        };
        let hello = Frame::hello();
        if hello
            != (Frame::Hello {
                version: version.to_owned(),
            })
        {
            let why =
                format!("its frames have version {version}; programs of a core are of one version");
            self.remarks.push(format!("a program was refused: {why}"));
            amf.channel.send(&Frame::Refused { why });
            self.amf = None;
            return;
        }
        amf.is_welcome = true;
        amf.channel.send(&hello);
        for (association, gnb) in &mut self.gnbs {
            amf.channel.send(&Frame::Up {
                association: *association,
                peer: gnb.peer,
                streams: gnb.streams,
            });
            if let Some(octets) = gnb.memory.repeat() {
                amf.channel.send(&Frame::Message {
                    association: *association,
                    stream: 0,
                    ppid: NGAP_PPID,
                    octets,
                });
            }
        }
        for held in self.held.drain(..) {
            amf.channel.send(&Frame::Message {
                association: held.association,
                stream: held.stream,
                ppid: held.ppid,
                octets: held.octets,
            });
        }
        let gnbs = self.gnbs.len();
        self.remarks
            .push(format!("an AMF has come; {gnbs} gNBs are there"));
        self.counters = Counters::default();
        self.counters_due_ns = 0;
    }

    /// A message of the AMF. A gNB that does not take it has missed a message for good, and begins anew.
    fn send(&mut self, association: Association, stream: u16, ppid: u32, octets: &[u8]) {
        let Some(gnb) = self.gnbs.get_mut(&association) else {
            return;
        };
        let mut is_sent = true;
        match gnb.memory.take_from_amf(octets) {
            Said::ForGnb => {
                let sent = self.node.sctp.send(association, stream, ppid, octets);
                is_sent = sent.is_ok();
            }
            Said::Repeated(messages) => {
                for octets in messages {
                    let sent = self.node.sctp.send(association, 0, NGAP_PPID, &octets);
                    is_sent &= sent.is_ok();
                }
            }
            Said::Refused => is_sent = false,
        }
        if !is_sent {
            self.lose(association);
        }
    }

    /// An association is aborted, and the AMF hears of it.
    fn lose(&mut self, association: Association) {
        self.node.sctp.abort(association);
        let why = Loss::Refused;
        self.take(Event::Lost { association, why });
    }

    fn take(&mut self, event: Event) {
        match event {
            Event::Up {
                association,
                peer,
                streams,
            } => {
                let memory = NgSetupMemory::default();
                let gnb = Gnb {
                    peer,
                    streams,
                    memory,
                };
                self.gnbs.insert(association, gnb);
                self.tell(&Frame::Up {
                    association,
                    peer,
                    streams,
                });
            }
            Event::Message {
                association,
                stream,
                ppid,
                octets,
            } => {
                if ppid == NGAP_PPID
                    && let Some(gnb) = self.gnbs.get_mut(&association)
                {
                    gnb.memory.take_from_gnb(&octets);
                }
                self.pass(Held {
                    association,
                    stream,
                    ppid,
                    octets,
                });
            }
            Event::Lost { association, why } => {
                if self.gnbs.remove(&association).is_some() {
                    self.held.retain(|one| one.association != association);
                    self.tell(&Frame::Lost { association, why });
                }
            }
        }
    }

    /// A message goes to the AMF, or waits for one. A setup is repeated to the next AMF anyway.
    fn pass(&mut self, message: Held) {
        let Held {
            association,
            stream,
            ppid,
            octets,
        } = message;
        match self.amf.as_mut().filter(|amf| amf.is_welcome) {
            Some(amf) => amf.channel.send(&Frame::Message {
                association,
                stream,
                ppid,
                octets,
            }),
            None if NgSetupMemory::is_setup(&octets) => {}
            None if self.held.len() < HELD => self.held.push_back(Held {
                association,
                stream,
                ppid,
                octets,
            }),
            None => self.lost += 1,
        }
    }

    fn tell(&mut self, frame: &Frame) {
        if let Some(amf) = self.amf.as_mut().filter(|amf| amf.is_welcome) {
            amf.channel.send(frame);
        }
    }

    /// Tells the AMF who is refused, and what SCTP has counted.
    fn report(&mut self) {
        for stranger in self.node.take_strangers() {
            self.tell(&Frame::Stranger(stranger));
        }
        let now_ns = clock::monotonic_ns();
        let counters = self.node.counters();
        if self.counters_due_ns <= now_ns && counters != self.counters {
            self.counters_due_ns = now_ns + COUNTERS_EVERY_NS;
            self.counters = counters;
            self.tell(&Frame::Counters(counters));
        }
    }

    /// Aborts all associations, tells gNBs and closes.
    pub fn close(self) {
        self.node.close();
    }
}

impl std::fmt::Debug for Front {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Front")
    }
}

impl AsFd for Front {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.poller.as_fd()
    }
}
