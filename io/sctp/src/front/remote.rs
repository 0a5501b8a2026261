//! Endpoint whose SCTP is a front's.

use std::collections::BTreeMap;
use std::fmt;
use std::io;
use std::net::IpAddr;
use std::os::fd::{AsFd, BorrowedFd};
use std::path::{Path, PathBuf};

use rustix::net::SocketAddrUnix;
use sluice_host::poll::Poller;

use super::channel::{Channel, Received};
use super::frame::Frame;
use super::listener::socket;
use crate::allow::AllowList;
use crate::endpoint::Counters;
use crate::limits;
use crate::transport::{Association, Event, Loss, Peer, Sctp, SendError};

/// Pause between two looks for a front.
const RETRY_MS: u64 = 200;
/// The same after a front has refused this program.
const REFUSED_RETRY_MS: u64 = 5_000;
/// Pause while frames wait for room.
const ROOM_MS: u64 = 2;

/// News of a front.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum FrontNews {
    /// The front is reached.
    Reached,
    /// The front does not serve this program.
    Refused {
        /// Why, in words.
        why: String,
    },
    /// The front is gone, and all associations with it.
    Gone,
}

impl fmt::Display for FrontNews {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Reached => f.write_str("N2's front is reached"),
            Self::Refused { why } => write!(f, "N2's front refuses this program: {why}"),
            Self::Gone => f.write_str("N2's front is not reached: its program is gone"),
        }
    }
}

/// Endpoint of a front: associations are lost when the front is, and further ones come from the next front.
#[derive(Debug)]
pub struct Remote {
    path: PathBuf,
    allowed: AllowList,
    channel: Option<Channel>,
    /// Wakes for whichever channel there is.
    poller: Poller,
    now_ms: u64,
    due_ms: u64,
    is_refused: bool,
    last: u32,
    /// The front's names of associations, by ours.
    theirs: BTreeMap<Association, Association>,
    ours: BTreeMap<Association, Association>,
    events: Vec<Event>,
    strangers: Vec<IpAddr>,
    counters: Counters,
    news: Vec<FrontNews>,
}

impl Remote {
    /// Of the front at `path`, which may come later.
    ///
    /// # Errors
    /// The kernel has no more descriptors.
    pub fn new(path: &Path, allowed: AllowList) -> io::Result<Self> {
        Ok(Self {
            path: path.to_owned(),
            allowed,
            channel: None,
            poller: Poller::new()?,
            now_ms: 0,
            due_ms: 0,
            is_refused: false,
            last: 0,
            theirs: BTreeMap::new(),
            ours: BTreeMap::new(),
            events: Vec::new(),
            strangers: Vec::new(),
            counters: Counters::default(),
            news: Vec::new(),
        })
    }

    /// Peers that may speak from now on.
    pub fn allow(&mut self, allowed: AllowList) {
        self.tell(&Frame::Allow(allowed.clone()));
        self.allowed = allowed;
    }

    /// Addresses that tried to speak and may not, since this was asked last.
    pub fn take_strangers(&mut self) -> Vec<IpAddr> {
        std::mem::take(&mut self.strangers)
    }

    /// News since this was asked last.
    pub fn take_news(&mut self) -> Vec<FrontNews> {
        std::mem::take(&mut self.news)
    }

    /// Counters of the front.
    pub fn counters(&self) -> Counters {
        self.counters
    }

    /// Takes at most `burst` frames.
    pub fn take(&mut self, burst: usize) {
        for _ in 0..burst {
            let received = self.channel.as_mut().map(Channel::receive);
            match received {
                None | Some(Received::Nothing) => return,
                Some(Received::Frame(frame)) => self.take_frame(frame),
                Some(Received::End) => return self.lose(),
            }
        }
    }

    fn take_frame(&mut self, frame: Frame) {
        match frame {
            Frame::Hello { .. } => {
                self.is_refused = false;
                self.news.push(FrontNews::Reached);
            }
            Frame::Refused { why } => {
                self.is_refused = true;
                self.news.push(FrontNews::Refused { why });
            }
            Frame::Up {
                association: its,
                peer,
                streams,
            } => {
                self.last += 1;
                let association = Association(self.last);
                self.theirs.insert(association, its);
                self.ours.insert(its, association);
                self.events.push(Event::Up {
                    association,
                    peer,
                    streams,
                });
            }
            Frame::Message {
                association,
                stream,
                ppid,
                octets,
            } => {
                let known = self.ours.get(&association).copied();
                self.events.extend(known.map(|association| Event::Message {
                    association,
                    stream,
                    ppid,
                    octets,
                }));
            }
            Frame::Lost { association, why } => {
                let known = self.ours.remove(&association);
                if let Some(association) = known {
                    self.theirs.remove(&association);
                    self.events.push(Event::Lost { association, why });
                }
            }
            Frame::Stranger(address) if self.strangers.len() < limits::STRANGERS => {
                self.strangers.push(address);
            }
            Frame::Counters(counters) => self.counters = counters,
            // Nothing that a front says.
            Frame::Stranger(_) | Frame::Shutdown(_) | Frame::Abort(_) | Frame::Allow(_) => {}
        }
    }

    /// The front is gone, and all associations with it.
    fn lose(&mut self) {
        if self.channel.take().is_some() && !self.is_refused {
            self.news.push(FrontNews::Gone);
        }
        let pause_ms = if self.is_refused {
            REFUSED_RETRY_MS
        } else {
            RETRY_MS
        };
        self.due_ms = self.now_ms + pause_ms;
        self.ours.clear();
        let lost = std::mem::take(&mut self.theirs).into_keys();
        let why = Loss::Silent;
        let lost = lost.map(|association| Event::Lost { association, why });
        self.events.extend(lost);
    }

    /// Looks for the front.
    fn connect_to_front(&mut self) {
        self.due_ms = self.now_ms + RETRY_MS;
        let opened = SocketAddrUnix::new(&self.path)
            .map_err(io::Error::from)
            .and_then(|address| {
                let socket = socket()?;
                rustix::net::connect(&socket, &address)?;
                rustix::io::ioctl_fionbio(&socket, true)?;
                self.poller.add(&socket, 0)?;
                Ok(socket)
            });
        // A front that is not there yet comes later.
        let Ok(socket) = opened else {
            return;
        };
        let mut channel = Channel::new(socket);
        channel.send(&Frame::hello());
        channel.send(&Frame::Allow(self.allowed.clone()));
        self.channel = Some(channel);
    }

    fn tell(&mut self, frame: &Frame) {
        if let Some(channel) = &mut self.channel {
            channel.send(frame);
        }
    }

    fn forget(&mut self, association: Association) -> Option<Association> {
        let its = self.theirs.remove(&association)?;
        self.ours.remove(&its);
        Some(its)
    }
}

impl Sctp for Remote {
    fn input(&mut self, _: Peer, _: &[u8]) {
        // Datagrams come to the front.
    }

    fn time(&mut self, now_ms: u64) {
        self.now_ms = now_ms;
        match &mut self.channel {
            Some(channel) => channel.flush(),
            None if self.due_ms <= now_ms => self.connect_to_front(),
            None => {}
        }
    }

    fn next_ms(&self) -> u64 {
        match &self.channel {
            None => self.due_ms.saturating_sub(self.now_ms),
            Some(channel) if channel.is_waiting() => ROOM_MS,
            Some(_) => u64::MAX,
        }
    }

    fn connect(&mut self, _: Peer, _: u16) -> Option<Association> {
        // gNBs come to an AMF (TS 38.412, 7).
        None
    }

    fn send(
        &mut self,
        association: Association,
        stream: u16,
        ppid: u32,
        octets: &[u8],
    ) -> Result<(), SendError> {
        let its = self.theirs.get(&association).copied();
        let (its, channel) = its.zip(self.channel.as_mut()).ok_or(SendError::Unknown)?;
        if octets.is_empty() || octets.len() > limits::MESSAGE_BYTES {
            return Err(SendError::Invalid);
        }
        if channel.is_full() {
            return Err(SendError::Full);
        }
        channel.send(&Frame::Message {
            association: its,
            stream,
            ppid,
            octets: octets.to_vec(),
        });
        Ok(())
    }

    fn shutdown(&mut self, association: Association) {
        // What becomes of it the front tells.
        if let Some(its) = self.theirs.get(&association).copied() {
            self.tell(&Frame::Shutdown(its));
        }
    }

    fn abort(&mut self, association: Association) {
        if let Some(its) = self.forget(association) {
            self.tell(&Frame::Abort(its));
        }
    }

    fn take_datagrams(&mut self) -> Vec<(Peer, Vec<u8>)> {
        Vec::new()
    }

    fn take_events(&mut self) -> Vec<Event> {
        std::mem::take(&mut self.events)
    }
}

impl AsFd for Remote {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.poller.as_fd()
    }
}
