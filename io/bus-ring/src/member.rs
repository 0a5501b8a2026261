//! Member: a program's end of the rings, by which its host reaches the others.

use std::cell::RefCell;
use std::collections::{BTreeMap, VecDeque};
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::Path;
use std::rc::Rc;
use std::time::{Duration, Instant};

use rustix::net::{AddressFamily, SocketAddrUnix, SocketFlags, SocketType};
use sluice_bus::{Envelope, Event, LONGEST, Transport, Unsent};
use sluice_host::poll::{Poller, Waker, wait_readable};
use sluice_sbi::Nf;

use crate::frame::{self, Came, Frame};
use crate::link::{LAYOUT, Link};

/// Looks at empty rings between two looks at the manager's socket, for a host that never sleeps.
const LOOKS: u32 = 256;

/// Why a program is no member.
#[derive(Debug)]
pub enum MemberError {
    /// The manager is not reached, or the kernel refuses what a member needs.
    Io(io::Error),
    /// The manager has refused it, in its words.
    Refused(String),
}

impl std::fmt::Display for MemberError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Io(error) => error.fmt(f),
            Self::Refused(why) => f.write_str(why),
        }
    }
}

impl std::error::Error for MemberError {}

impl From<io::Error> for MemberError {
    fn from(error: io::Error) -> Self {
        Self::Io(error)
    }
}

impl From<rustix::io::Errno> for MemberError {
    fn from(error: rustix::io::Errno) -> Self {
        Self::Io(error.into())
    }
}

/// News of the manager, beside those of peers.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Told {
    /// News of the core, in a form of the programs' own.
    News(String),
    /// A question of an operator, to be answered by its number.
    Question(u64, String),
}

struct Peer {
    functions: Vec<Nf>,
    link: Link,
}

/// End of a program: readable when there may be something to receive.
pub struct Member {
    manager: OwnedFd,
    is_closed: bool,
    doorbell: Waker,
    poller: Poller,
    peers: BTreeMap<u64, Peer>,
    /// Peer whose ring is looked at next: none keeps the others waiting.
    next: u64,
    news: VecDeque<Event>,
    told: VecDeque<Told>,
    room: Box<[u8]>,
    /// Room for frames of the manager.
    frame: Box<[u8]>,
    is_asleep: bool,
    looks: u32,
}

impl Member {
    /// Joins the manager at `path` with these functions, and waits at most `patience` for it.
    ///
    /// # Errors
    /// [`MemberError`].
    pub fn join(
        path: &Path,
        name: &str,
        functions: &[Nf],
        patience: Duration,
    ) -> Result<Self, MemberError> {
        let (kind, flags) = (SocketType::SEQPACKET, SocketFlags::CLOEXEC);
        let manager = rustix::net::socket_with(AddressFamily::UNIX, kind, flags, None)?;
        rustix::net::connect(&manager, &SocketAddrUnix::new(path)?)?;
        let mut member = Self::ask(manager, name, functions)?;
        member.wait_for_welcome(patience)?;
        Ok(member)
    }

    /// Asks the manager at the other end of a socket.
    pub(crate) fn ask(manager: OwnedFd, name: &str, functions: &[Nf]) -> Result<Self, MemberError> {
        let (doorbell, poller) = (Waker::new()?, Poller::new()?);
        poller.add(&doorbell, 0)?;
        poller.add(&manager, 1)?;
        let join = Frame::Join {
            layout: format!("{LAYOUT:016x}"),
            name: name.to_owned(),
            functions: functions.iter().map(ToString::to_string).collect(),
        };
        frame::send(&manager, &join, Some(doorbell.as_fd()))?;
        Ok(Self {
            manager,
            is_closed: false,
            doorbell,
            poller,
            peers: BTreeMap::new(),
            next: 0,
            news: VecDeque::new(),
            told: VecDeque::new(),
            room: vec![0; LONGEST].into(),
            frame: vec![0; frame::LONGEST].into(),
            is_asleep: false,
            looks: 0,
        })
    }

    pub(crate) fn wait_for_welcome(&mut self, patience: Duration) -> Result<(), MemberError> {
        let until = Instant::now() + patience;
        loop {
            match frame::receive(&self.manager, &mut self.frame) {
                Came::Frame(Frame::Welcome, _) => return Ok(()),
                Came::Frame(Frame::Refused { why }, _) => return Err(MemberError::Refused(why)),
                Came::Frame(..) | Came::End => {
                    return Err(io::Error::from(io::ErrorKind::ConnectionAborted).into());
                }
                Came::Nothing => {}
            }
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Err(io::Error::from(io::ErrorKind::TimedOut).into());
            }
            wait_readable(&self.manager, left)?;
        }
    }

    fn listen_to_manager(&mut self) {
        while !self.is_closed {
            match frame::receive(&self.manager, &mut self.frame) {
                Came::Frame(frame, with) => self.take(frame, with),
                Came::Nothing => return,
                Came::End => self.close(),
            }
        }
    }

    /// The manager is gone; peers that are reached stay so.
    fn close(&mut self) {
        self.is_closed = true;
        // Its end would be readable for ever.
        let _ = self.poller.remove(&self.manager);
    }

    /// Whether the manager is gone, and so the core.
    pub fn is_closed(&self) -> bool {
        self.is_closed
    }

    /// The next of what the manager has told.
    pub fn take_told(&mut self) -> Option<Told> {
        self.told.pop_front()
    }

    /// Answers a question of an operator; an answer that finds no room is lost, and the one who asks waits no longer
    /// than for others.
    pub fn answer(&mut self, id: u64, text: String) {
        let _ = frame::send_long(&self.manager, text, |text| Frame::Answer { id, text });
    }

    /// Tells the manager something; false if there is no room for it now.
    pub fn tell(&mut self, text: String) -> bool {
        frame::send_long(&self.manager, text, |text| Frame::Tell { text }).is_ok()
    }

    fn take(&mut self, frame: Frame, with: Option<OwnedFd>) {
        match (frame, with) {
            (Frame::Peer { id, functions }, Some(doorbell)) => {
                let joined = self.add(id, &functions, doorbell);
                if joined.is_err() {
                    self.close();
                }
            }
            (Frame::Arena { peer }, Some(arena)) => {
                if let Some(one) = self.peers.get_mut(&peer) {
                    match one.link.join(arena) {
                        Ok(()) => self.news.push_back(Event::Up(one.functions.clone())),
                        Err(_) => self.lose(peer, "its arena cannot be used"),
                    }
                }
            }
            (Frame::Gone { id }, _) => self.lose(id, "its program is gone"),
            (Frame::Tell { text }, with) => {
                let text = frame::long(text, with);
                self.told.push_back(Told::News(text));
            }
            (Frame::Ask { id, text }, _) => self.told.push_back(Told::Question(id, text)),
            _ => self.close(),
        }
    }

    fn add(&mut self, id: u64, functions: &[String], doorbell: OwnedFd) -> io::Result<()> {
        let named = |nf: &Nf| functions.contains(&nf.to_string());
        let functions = Nf::ALL.into_iter().filter(named).collect();
        let link = Link::new(doorbell)?;
        link.sleep(self.is_asleep);
        frame::send(
            &self.manager,
            &Frame::Arena { peer: id },
            Some(link.arena()),
        )?;
        self.peers.insert(id, Peer { functions, link });
        Ok(())
    }

    fn lose(&mut self, id: u64, why: &'static str) {
        let peer = self.peers.remove(&id);
        if let Some(peer) = peer.filter(|peer| peer.link.is_joined()) {
            let functions = peer.functions;
            self.news.push_back(Event::Lost { functions, why });
        }
    }

    fn lose_broken(&mut self, id: u64) {
        self.lose(id, "it broke the rules of the ring");
    }

    fn wake_up(&mut self) {
        if std::mem::take(&mut self.is_asleep) {
            self.peers.values().for_each(|peer| peer.link.sleep(false));
            self.doorbell.clear();
            self.listen_to_manager();
        }
    }

    /// The next envelope of a peer, each in turn.
    fn next_envelope(&mut self) -> Option<Event> {
        let after = self.peers.range(self.next..).map(|(id, _)| *id);
        let before = self.peers.range(..self.next).map(|(id, _)| *id);
        let ids: Vec<u64> = after.chain(before).collect();
        for id in ids {
            let Some(peer) = self.peers.get_mut(&id) else {
                continue;
            };
            match peer.link.receive(&mut self.room) {
                Ok(None) => {}
                Ok(Some(length)) => {
                    self.next = id + 1;
                    let octets = self.room.get(..length).unwrap_or_default();
                    // A peer speaks for its own functions alone.
                    let is_its = |envelope: &Envelope| peer.functions.contains(&envelope.from.nf);
                    let envelope = Envelope::read(octets).filter(is_its);
                    return Some(envelope.map_or(Event::Unreadable, Event::Came));
                }
                Err(_) => {
                    self.lose_broken(id);
                    return self.news.pop_front();
                }
            }
        }
        None
    }
}

impl Transport for Member {
    fn send(&mut self, envelope: Envelope) -> Result<(), Unsent> {
        let to = envelope.to.nf;
        let mut peers = self.peers.iter_mut();
        let found = peers.find(|(_, peer)| peer.link.is_joined() && peer.functions.contains(&to));
        let Some((&id, peer)) = found else {
            return Err(Unsent::Unreachable(envelope));
        };
        match peer.link.has_room() {
            Ok(true) => {}
            Ok(false) => return Err(Unsent::Full(envelope)),
            Err(_) => {
                self.lose_broken(id);
                return Err(Unsent::Unreachable(envelope));
            }
        }
        let Some(length) = envelope.write(&mut self.room) else {
            return Err(Unsent::Unreachable(envelope));
        };
        peer.link.send(self.room.get(..length).unwrap_or_default());
        Ok(())
    }

    fn flush(&mut self) {
        self.peers.values_mut().for_each(|peer| peer.link.flush());
    }

    fn receive(&mut self) -> Option<Event> {
        self.wake_up();
        let event = self.news.pop_front().or_else(|| self.next_envelope());
        if event.is_some() {
            return event;
        }
        self.looks += 1;
        if self.looks >= LOOKS {
            self.looks = 0;
            self.listen_to_manager();
        }
        self.news.pop_front()
    }

    fn may_sleep(&mut self) -> bool {
        self.listen_to_manager();
        // First this, then one more look: what comes between them rings the doorbell.
        self.is_asleep = true;
        self.peers.values().for_each(|peer| peer.link.sleep(true));
        let has_more = self.peers.values().any(|peer| peer.link.has_more());
        self.news.is_empty() && self.told.is_empty() && !has_more
    }
}

impl AsFd for Member {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.poller.as_fd()
    }
}

/// A member that its program looks at, too, while its host has it.
#[derive(Clone)]
pub struct SharedMember(Rc<RefCell<Member>>);

impl From<Member> for SharedMember {
    fn from(member: Member) -> Self {
        Self(Rc::new(RefCell::new(member)))
    }
}

impl SharedMember {
    /// See [`Member::is_closed`].
    pub fn is_closed(&self) -> bool {
        self.0.borrow().is_closed()
    }

    /// See [`Member::take_told`].
    pub fn take_told(&self) -> Option<Told> {
        self.0.borrow_mut().take_told()
    }

    /// See [`Member::tell`].
    pub fn tell(&self, text: String) -> bool {
        self.0.borrow_mut().tell(text)
    }

    /// See [`Member::answer`].
    pub fn answer(&self, id: u64, text: String) {
        self.0.borrow_mut().answer(id, text);
    }
}

impl Transport for SharedMember {
    fn send(&mut self, envelope: Envelope) -> Result<(), Unsent> {
        self.0.borrow_mut().send(envelope)
    }

    fn flush(&mut self) {
        self.0.borrow_mut().flush();
    }

    fn receive(&mut self) -> Option<Event> {
        self.0.borrow_mut().receive()
    }

    fn may_sleep(&mut self) -> bool {
        self.0.borrow_mut().may_sleep()
    }
}
