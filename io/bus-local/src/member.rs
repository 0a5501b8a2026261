//! Member: a program's ends of links, by which its host reaches the others.

use std::cell::RefCell;
use std::collections::{BTreeMap, VecDeque};
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::Path;
use std::rc::Rc;
use std::time::{Duration, Instant};

use rustix::net::{AddressFamily, SocketAddrUnix, SocketFlags, SocketType};
use sluice_bus::{Envelope, Event, LONGEST, Transport, Unsent};
use sluice_host::poll::{Alarm, Poller, Waker, wait_readable};
use sluice_sbi::{Instance, Nf, Place};
use sluice_shared_ring::Half;

use crate::back_off::BackOff;
use crate::frame::{self, Came, Frame};
use crate::link::{Broken, Carrier, Link};
use crate::socket::Socket;

/// Looks at empty links between two looks at the manager's socket, for a host that never sleeps.
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
    instance: Instance,
    /// Number of the link.
    link: u64,
    state: State,
    back_off: BackOff,
}

/// State of the link to a peer.
enum State {
    /// The peer's arena has not come.
    Half(Half<LONGEST>, OwnedFd),
    /// The peer is reached.
    Up(Box<dyn Link>),
    /// It broke; when the manager is asked for another one, none if it was.
    Broken(Option<Instant>),
}

impl Peer {
    /// Whether the peer hosts what is at a place.
    fn has(&self, place: Place) -> bool {
        place.instance() == self.instance.number && self.functions.contains(&place.nf)
    }

    fn is_up(&self) -> Event {
        Event::Up {
            functions: self.functions.clone(),
            instance: self.instance,
        }
    }

    fn is_lost(&self, why: &'static str) -> Event {
        Event::Lost {
            functions: self.functions.clone(),
            number: self.instance.number,
            why,
        }
    }

    /// The link if the peer is reached.
    fn up(&mut self) -> Option<&mut dyn Link> {
        match &mut self.state {
            State::Up(link) => Some(link.as_mut()),
            State::Half(..) | State::Broken(_) => None,
        }
    }

    /// When another link is to be asked for.
    fn due(&self) -> Option<Instant> {
        match self.state {
            State::Broken(due) => due,
            State::Half(..) | State::Up(_) => None,
        }
    }
}

/// End of a program: readable when there may be something to receive.
pub struct Member {
    carrier: Carrier,
    manager: OwnedFd,
    is_closed: bool,
    /// Rung by peers that have rings.
    doorbell: Option<Waker>,
    poller: Poller,
    peers: BTreeMap<u64, Peer>,
    /// Peer whose link is looked at next: none keeps the others waiting.
    next: u64,
    /// When the first link is to be asked for again, and what wakes us then.
    due: Option<Instant>,
    alarm: Alarm,
    news: VecDeque<Event>,
    told: VecDeque<Told>,
    room: Box<[u8]>,
    /// Room for frames of the manager.
    frame: Box<[u8]>,
    is_asleep: bool,
    looks: u32,
}

impl Member {
    /// Joins the manager at `path`, whose members have links of this kind, with these functions, and waits at most
    /// `patience` for it.
    ///
    /// # Errors
    /// [`MemberError`].
    pub fn join(
        path: &Path,
        carrier: Carrier,
        name: &str,
        functions: &[Nf],
        patience: Duration,
    ) -> Result<Self, MemberError> {
        Self::join_as(
            Instance::default(),
            path,
            carrier,
            name,
            functions,
            patience,
        )
    }

    /// The same with this instance of the functions.
    ///
    /// # Errors
    /// [`MemberError`].
    pub fn join_as(
        instance: Instance,
        path: &Path,
        carrier: Carrier,
        name: &str,
        functions: &[Nf],
        patience: Duration,
    ) -> Result<Self, MemberError> {
        let (kind, flags) = (SocketType::SEQPACKET, SocketFlags::CLOEXEC);
        let manager = rustix::net::socket_with(AddressFamily::UNIX, kind, flags, None)?;
        rustix::net::connect(&manager, &SocketAddrUnix::new(path)?)?;
        let mut member = Self::ask(manager, carrier, name, functions, instance)?;
        member.wait_for_welcome(patience)?;
        Ok(member)
    }

    /// Asks the manager at the other end of a socket.
    pub(crate) fn ask(
        manager: OwnedFd,
        carrier: Carrier,
        name: &str,
        functions: &[Nf],
        instance: Instance,
    ) -> Result<Self, MemberError> {
        let (poller, alarm) = (Poller::new()?, Alarm::new()?);
        poller.add(&manager, 0)?;
        poller.add(&alarm, 1)?;
        let doorbell = match carrier {
            Carrier::Ring => Some(Waker::new()?),
            Carrier::Socket | Carrier::Http2 => None,
        };
        if let Some(doorbell) = &doorbell {
            poller.add(doorbell, 2)?;
        }
        let join = Frame::Join {
            carrier,
            layout: carrier.layout(),
            name: name.to_owned(),
            functions: functions.iter().map(ToString::to_string).collect(),
            instance: instance.into(),
        };
        frame::send(&manager, &join, doorbell.as_ref().map(AsFd::as_fd))?;
        Ok(Self {
            carrier,
            manager,
            is_closed: false,
            doorbell,
            poller,
            peers: BTreeMap::new(),
            next: 0,
            due: None,
            alarm,
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
        if self.due.is_some_and(|due| due <= Instant::now()) {
            self.ask_again();
        }
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
            (
                Frame::Peer {
                    id,
                    link,
                    functions,
                    instance,
                },
                Some(end),
            ) => {
                let hosted = (functions.as_slice(), instance.into());
                if self.add(id, link, hosted, end).is_err() {
                    self.close();
                }
            }
            (Frame::Arena { peer, link }, Some(arena)) => self.complete(peer, link, arena),
            (Frame::Gone { id }, _) => {
                self.remove(id, "its program is gone");
            }
            (Frame::Tell { text }, with) => {
                let text = frame::long(text, with);
                self.told.push_back(Told::News(text));
            }
            (Frame::Ask { id, text }, with) => {
                let text = frame::long(text, with);
                self.told.push_back(Told::Question(id, text));
            }
            _ => self.close(),
        }
    }

    /// There is a new link to a peer, in place of one that it may have had.
    fn add(
        &mut self,
        id: u64,
        link: u64,
        (functions, instance): (&[String], Instance),
        end: OwnedFd,
    ) -> io::Result<()> {
        let before = self.remove(id, "its connection has ended");
        let back_off = before.map(|peer| peer.back_off);
        let back_off = back_off.unwrap_or_else(|| BackOff::new(Instant::now()));
        let named = |nf: &Nf| functions.contains(&nf.to_string());
        let functions: Vec<Nf> = Nf::ALL.into_iter().filter(named).collect();
        let state = match self.carrier {
            Carrier::Ring => {
                let half = Half::new()?;
                let frame = Frame::Arena { peer: id, link };
                frame::send(&self.manager, &frame, Some(half.arena()))?;
                State::Half(half, end)
            }
            // The manager gives none.
            Carrier::Http2 => return Ok(()),
            Carrier::Socket => {
                self.poller.add(&end, 2 + link)?;
                let functions = functions.clone();
                self.news.push_back(Event::Up {
                    functions,
                    instance,
                });
                State::Up(Box::new(Socket(end)))
            }
        };
        let peer = Peer {
            functions,
            instance,
            link,
            state,
            back_off,
        };
        self.peers.insert(id, peer);
        Ok(())
    }

    /// The arena of a peer has come.
    fn complete(&mut self, id: u64, link: u64, arena: OwnedFd) {
        let peer = self.peers.get_mut(&id);
        let Some(peer) = peer.filter(|peer| peer.link == link) else {
            return;
        };
        match std::mem::replace(&mut peer.state, State::Broken(None)) {
            State::Half(half, doorbell) => match half.join(arena, doorbell) {
                Ok(ring) => {
                    ring.sleep(self.is_asleep);
                    peer.state = State::Up(Box::new(ring));
                    self.news.push_back(peer.is_up());
                }
                Err(_) => self.lose(id, Broken("its arena cannot be used")),
            },
            other => peer.state = other,
        }
    }

    /// A peer is gone, or has another link.
    fn remove(&mut self, id: u64, why: &'static str) -> Option<Peer> {
        let mut peer = self.peers.remove(&id)?;
        if peer.up().is_some() {
            self.news.push_back(peer.is_lost(why));
        }
        Some(peer)
    }

    /// The link to a peer has broken: after a pause the manager is asked for another one.
    fn lose(&mut self, id: u64, Broken(why): Broken) {
        let Some(peer) = self.peers.get_mut(&id) else {
            return;
        };
        if peer.up().is_some() {
            self.news.push_back(peer.is_lost(why));
        }
        peer.state = State::Broken(Some(peer.back_off.next(Instant::now())));
        self.set_alarm();
    }

    fn set_alarm(&mut self) {
        self.due = self.peers.values().filter_map(Peer::due).min();
        // Whoever looks for another reason finds out that it is time, too.
        let _ = self.alarm.set(self.due);
    }

    fn ask_again(&mut self) {
        let now = Instant::now();
        for (id, peer) in &mut self.peers {
            if peer.due().is_some_and(|due| due <= now) {
                peer.state = State::Broken(None);
                let frame = Frame::Again {
                    peer: *id,
                    link: peer.link,
                };
                // A manager that is gone is found out by its end of the socket.
                let _ = frame::send(&self.manager, &frame, None);
            }
        }
        self.set_alarm();
    }

    fn wake_up(&mut self) {
        if std::mem::take(&mut self.is_asleep) {
            self.links().for_each(|link| link.sleep(false));
            if let Some(doorbell) = &self.doorbell {
                doorbell.clear();
            }
            self.listen_to_manager();
        }
    }

    fn links(&mut self) -> impl Iterator<Item = &mut dyn Link> {
        self.peers.values_mut().filter_map(Peer::up)
    }

    /// The next envelope of a peer, each in turn.
    fn next_envelope(&mut self) -> Option<Event> {
        // Once each, and once from the last to the first.
        for _ in 0..=self.peers.len() {
            let mut after = self.peers.range_mut(self.next..);
            let next = after.next().map(|(id, peer)| (*id, peer));
            let Some((id, peer)) = next else {
                self.next = 0;
                continue;
            };
            self.next = id + 1;
            let came = peer.up().map(|link| link.receive(&mut self.room));
            match came {
                None | Some(Ok(None)) => {}
                Some(Ok(Some(length))) => {
                    let octets = self.room.get(..length).unwrap_or_default();
                    // A peer speaks for its own functions alone.
                    let is_its = |envelope: &Envelope| peer.has(envelope.from);
                    let envelope = Envelope::read(octets).filter(is_its);
                    return Some(envelope.map_or(Event::Unreadable, Event::Came));
                }
                Some(Err(broken)) => {
                    // Who is gone took the link along: the manager's word comes first.
                    self.listen_to_manager();
                    self.lose(id, broken);
                    return self.news.pop_front();
                }
            }
        }
        None
    }
}

impl Transport for Member {
    fn send(&mut self, envelope: Envelope) -> Result<(), Unsent> {
        let to = envelope.to;
        let mut peers = self.peers.iter_mut();
        let found = peers.find(|(_, peer)| peer.has(to));
        let Some((&id, peer)) = found else {
            return Err(Unsent::Unreachable(envelope));
        };
        let link = peer.up();
        let length = envelope.write(&mut self.room);
        let octets = length.and_then(|length| self.room.get(..length));
        let Some((link, octets)) = link.zip(octets) else {
            return Err(Unsent::Unreachable(envelope));
        };
        match link.send(octets) {
            Ok(true) => Ok(()),
            Ok(false) => Err(Unsent::Full(envelope)),
            Err(broken) => {
                self.lose(id, broken);
                Err(Unsent::Unreachable(envelope))
            }
        }
    }

    fn flush(&mut self) {
        self.links().for_each(Link::flush);
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
        // First this, then one more look: what comes after it rings the doorbell.
        self.is_asleep = true;
        self.links().for_each(|link| link.sleep(true));
        let has_more = self.links().any(|link| link.has_more());
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
    /// Has a poller tell by this token when there may be something to receive.
    ///
    /// # Errors
    /// The kernel's.
    pub fn watch(&self, poller: &Poller, token: u64) -> io::Result<()> {
        poller.add(&*self.0.borrow(), token)
    }

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
