//! Manager: it knows the programs of a core, joins each with each, and tells the others when one is gone.

use std::collections::BTreeMap;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::time::Duration;

use rustix::net::{AddressFamily, SocketAddrUnix, SocketFlags, SocketType};
use sluice_host::poll::{Poller, Ready};
use sluice_sbi::{INSTANCES, Instance, Nf, Place};

use crate::frame::{self, Came, Frame};
use crate::link::Carrier;
use crate::member::{Member, MemberError};

/// Connections at a time, of members and of those that want to be.
const MOST: usize = 64;

/// Connections that wait to be accepted.
const BACKLOG: i32 = 16;

/// News of a manager.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum News {
    /// A program is a member from now on.
    Joined {
        /// Name of the program.
        name: String,
        /// Functions that it hosts, each by its instance.
        functions: Vec<Place>,
    },
    /// A program is not.
    Refused {
        /// Why, in words.
        why: String,
    },
    /// A member is gone.
    Gone {
        /// Name of the program.
        name: String,
        /// Functions that it hosted, each by its instance.
        functions: Vec<Place>,
    },
    /// A member tells something of its own accord, in a form of the programs' own.
    Told {
        /// That.
        text: String,
    },
    /// A member answers a question.
    Answered {
        /// Which.
        id: u64,
        /// The answer.
        text: String,
    },
}

/// A program at the other end of a socket.
struct Program {
    socket: OwnedFd,
    /// None until it has joined.
    joined: Option<Joined>,
}

struct Joined {
    name: String,
    functions: Vec<Nf>,
    instance: Instance,
    /// Of a member that has rings.
    doorbell: Option<OwnedFd>,
}

/// Manager of a core's programs: readable when there may be news.
pub struct Manager {
    carrier: Carrier,
    listener: OwnedFd,
    path: PathBuf,
    poller: Poller,
    programs: BTreeMap<u64, Program>,
    /// The manager's own program, once it has joined.
    own: Option<u64>,
    next: u64,
    /// Number of the link that two members have, the one of the lower number first.
    links: BTreeMap<(u64, u64), u64>,
    next_link: u64,
    questions: u64,
    news: Vec<News>,
    ready: Ready,
    room: Box<[u8]>,
}

fn named(functions: &[String]) -> Option<Vec<Nf>> {
    let find = |name: &String| Nf::ALL.into_iter().find(|nf| nf.to_string() == *name);
    functions.iter().map(find).collect()
}

impl Joined {
    fn places(&self) -> Vec<Place> {
        let of = |nf: &Nf| Place::from(*nf).at(self.instance.number);
        self.functions.iter().map(of).collect()
    }
}

fn list(functions: &[Place]) -> String {
    let names: Vec<String> = functions.iter().map(ToString::to_string).collect();
    names.join(", ")
}

impl Manager {
    /// Listens at `path`, which whoever runs this program alone may use, for programs that have links of this kind. A
    /// socket that nobody listens at any more is removed before.
    ///
    /// # Errors
    /// The path cannot be used, or another program listens there.
    pub fn listen(path: &Path, carrier: Carrier) -> io::Result<Self> {
        let (kind, flags) = (SocketType::SEQPACKET, SocketFlags::CLOEXEC);
        let address = SocketAddrUnix::new(path)?;
        let socket = || rustix::net::socket_with(AddressFamily::UNIX, kind, flags, None);
        if path.exists() {
            if rustix::net::connect(socket()?, &address).is_ok() {
                return Err(io::ErrorKind::AddrInUse.into());
            }
            std::fs::remove_file(path)?;
        }
        let listener = socket()?;
        rustix::net::bind(&listener, &address)?;
        rustix::fs::chmod(path, rustix::fs::Mode::RUSR | rustix::fs::Mode::WUSR)?;
        rustix::net::listen(&listener, BACKLOG)?;
        rustix::io::ioctl_fionbio(&listener, true)?;
        let poller = Poller::new()?;
        poller.add(&listener, 0)?;
        Ok(Self {
            carrier,
            listener,
            path: path.to_owned(),
            poller,
            programs: BTreeMap::new(),
            own: None,
            next: 1,
            links: BTreeMap::new(),
            next_link: 1,
            questions: 0,
            news: Vec::new(),
            ready: Ready::with_capacity(1),
            room: vec![0; frame::LONGEST].into(),
        })
    }

    /// Joins the manager's own program.
    ///
    /// # Errors
    /// [`MemberError`].
    pub fn join(&mut self, name: &str, functions: &[Nf]) -> Result<Member, MemberError> {
        let (kind, flags) = (SocketType::SEQPACKET, SocketFlags::CLOEXEC);
        let (ours, its) = rustix::net::socketpair(AddressFamily::UNIX, kind, flags, None)?;
        self.own = Some(self.next);
        self.add(ours)?;
        let mut member = Member::ask(its, self.carrier, name, functions, Instance::default())?;
        self.listen_to_all();
        member.wait_for_welcome(Duration::ZERO)?;
        Ok(member)
    }

    /// Programs that want to join do, and the others hear of it; what is new since the last call.
    pub fn turn(&mut self) -> Vec<News> {
        let waited = self.poller.wait(&mut self.ready, Some(Duration::ZERO));
        if waited.is_ok() && self.ready.tokens().next().is_none() {
            return std::mem::take(&mut self.news);
        }
        let flags = SocketFlags::CLOEXEC;
        while let Ok(socket) = rustix::net::accept_with(&self.listener, flags) {
            self.receive(socket);
        }
        self.listen_to_all();
        std::mem::take(&mut self.news)
    }

    /// Whether a program has joined with an instance of a function.
    pub fn has(&self, place: Place) -> bool {
        let joined = self.programs.values();
        let mut joined = joined.filter_map(|one| one.joined.as_ref());
        joined.any(|one| one.places().contains(&place))
    }

    /// Tells all members but the manager's own program what they are to know of the core: `text`, by their functions.
    pub fn tell(&mut self, text: &dyn Fn(&[Nf]) -> String) {
        let own = self.own;
        let all = self.having(|_| true).into_iter();
        for id in all.filter(|id| Some(*id) != own) {
            if let Some(text) = self.joined(id).map(|one| text(&one.functions)) {
                let socket = self.programs.get(&id).map(|one| &one.socket);
                let sent =
                    socket.map(|one| frame::send_long(one, text, |text| Frame::Tell { text }));
                if sent.is_some_and(|sent| sent.is_err()) {
                    self.remove(id);
                }
            }
        }
    }

    /// Asks all members that have one of these functions: the number of the question, and how many answers to wait for.
    pub fn ask(&mut self, functions: &[Nf], text: &str) -> (u64, usize) {
        self.questions += 1;
        let id = self.questions;
        let others = self.having(|its| its.iter().any(|nf| functions.contains(nf)));
        for other in &others {
            let socket = self.programs.get(other).map(|one| &one.socket);
            let ask = |text| Frame::Ask { id, text };
            let sent = socket.map(|one| frame::send_long(one, text.to_owned(), ask));
            if sent.is_some_and(|sent| sent.is_err()) {
                self.remove(*other);
            }
        }
        (id, others.len())
    }

    fn having(&self, of: impl Fn(&[Nf]) -> bool) -> Vec<u64> {
        let joined = self.programs.iter();
        let joined = joined.filter_map(|(id, one)| Some((*id, one.joined.as_ref()?)));
        let having = joined.filter(|(_, one)| of(&one.functions));
        having.map(|(id, _)| id).collect()
    }

    /// A program has connected: one of another user, or one too many, is told why it is not taken.
    fn receive(&mut self, socket: OwnedFd) {
        let ours = rustix::process::geteuid();
        let its = rustix::net::sockopt::socket_peercred(&socket).map(|peer| peer.uid);
        if its != Ok(ours) {
            self.refuse(&socket, "it runs as another user than the core".to_owned());
        } else if self.programs.len() >= MOST {
            self.refuse(&socket, format!("there are {MOST} programs already"));
        } else if let Err(error) = self.add(socket) {
            let why = error.to_string();
            self.news.push(News::Refused { why });
        }
    }

    fn refuse(&mut self, socket: &OwnedFd, why: String) {
        // It hears of it, or has gone meanwhile.
        let _ = frame::send(socket, &Frame::Refused { why: why.clone() }, None);
        self.news.push(News::Refused { why });
    }

    fn add(&mut self, socket: OwnedFd) -> io::Result<()> {
        self.poller.add(&socket, self.next)?;
        let joined = None;
        self.programs.insert(self.next, Program { socket, joined });
        self.next += 1;
        Ok(())
    }

    fn listen_to_all(&mut self) {
        let ids: Vec<u64> = self.programs.keys().copied().collect();
        for id in ids {
            while let Some(program) = self.programs.get(&id) {
                match frame::receive(&program.socket, &mut self.room) {
                    Came::Nothing => break,
                    Came::End => self.remove(id),
                    Came::Frame(frame, with) => self.take(id, frame, with),
                }
            }
        }
    }

    fn take(&mut self, id: u64, frame: Frame, with: Option<OwnedFd>) {
        match (frame, with) {
            (
                Frame::Join {
                    carrier,
                    layout,
                    name,
                    functions,
                    instance,
                },
                doorbell,
            ) => match self.check(carrier, &layout, &functions, instance.number) {
                Ok(functions) => self.welcome(
                    id,
                    Joined {
                        name,
                        functions,
                        instance: instance.into(),
                        doorbell,
                    },
                ),
                Err(why) => {
                    let program = self.programs.remove(&id);
                    let why = format!("{name} is refused: {why}");
                    if let Some(program) = program {
                        self.refuse(&program.socket, why);
                    }
                }
            },
            (Frame::Tell { text }, with) => {
                let text = frame::long(text, with);
                self.news.push(News::Told { text });
            }
            (Frame::Answer { id, text }, with) => {
                let text = frame::long(text, with);
                self.news.push(News::Answered { id, text });
            }
            // What is told of a link of before is outdated.
            (Frame::Arena { peer, link }, Some(arena)) if self.is_link(id, peer, link) => {
                self.send(peer, &Frame::Arena { peer: id, link }, Some(arena.as_fd()));
            }
            (Frame::Again { peer, link }, _) if self.is_link(id, peer, link) => {
                self.link(id, peer);
            }
            (Frame::Arena { .. } | Frame::Again { .. }, _) => {}
            _ => self.remove(id),
        }
    }

    fn check(
        &self,
        carrier: Carrier,
        layout: &str,
        functions: &[String],
        number: u8,
    ) -> Result<Vec<Nf>, String> {
        let (its, ours) = (carrier.text(), self.carrier.text());
        if its != ours {
            return Err(format!(
                "it has {its} to others, and the core has {ours}: its file says another wiring.transport than the core \
                 began with"
            ));
        }
        let ours = self.carrier.layout();
        if layout != ours {
            return Err(format!(
                "its messages have another layout ({layout}) than the core's ({ours}); programs of a core are of one \
                 version"
            ));
        }
        let functions = named(functions).ok_or("it has functions that nobody knows")?;
        if number >= INSTANCES {
            return Err(format!(
                "its instance {number} is beyond the last, {}",
                INSTANCES - 1
            ));
        }
        for one in self.programs.values().filter_map(|one| one.joined.as_ref()) {
            let its = one.places();
            let mut wanted = functions.iter().map(|nf| Place::from(*nf).at(number));
            if let Some(place) = wanted.find(|place| its.contains(place)) {
                return Err(format!("{} has the {place}", one.name));
            }
        }
        Ok(functions)
    }

    /// A program joins, and hears of all others, as they hear of it.
    fn welcome(&mut self, id: u64, joined: Joined) {
        self.send(id, &Frame::Welcome, None);
        let others = self.having(|_| true);
        self.news.push(News::Joined {
            name: joined.name.clone(),
            functions: joined.places(),
        });
        if let Some(program) = self.programs.get_mut(&id) {
            program.joined = Some(joined);
        }
        if self.carrier == Carrier::Http2 {
            return;
        }
        for other in others {
            self.link(id, other);
        }
    }

    /// Gives two members a link to each other, in place of one that they may have had.
    fn link(&mut self, one: u64, other: u64) {
        let Ok([of_one, of_other]) = self.ends(one, other) else {
            self.remove(one);
            return;
        };
        let link = self.next_link;
        self.next_link += 1;
        self.links.insert(pair(one, other), link);
        for (to, peer, end) in [(one, other, of_one), (other, one, of_other)] {
            if let Some(joined) = self.joined(peer) {
                let functions = joined.functions.iter().map(ToString::to_string).collect();
                let id = peer;
                let frame = Frame::Peer {
                    id,
                    link,
                    functions,
                    instance: joined.instance.into(),
                };
                self.send(to, &frame, Some(end.as_fd()));
            }
        }
    }

    /// Descriptors for both ends of a link.
    fn ends(&self, one: u64, other: u64) -> io::Result<[OwnedFd; 2]> {
        let doorbell = |of| {
            let doorbell = self.joined(of).and_then(|joined| joined.doorbell.as_ref());
            doorbell.ok_or(io::ErrorKind::NotFound)?.try_clone()
        };
        match self.carrier {
            Carrier::Ring => Ok([doorbell(other)?, doorbell(one)?]),
            Carrier::Http2 => Err(io::ErrorKind::Unsupported.into()),
            Carrier::Socket => {
                let (kind, flags) = (SocketType::SEQPACKET, SocketFlags::CLOEXEC);
                let ends = rustix::net::socketpair(AddressFamily::UNIX, kind, flags, None)?;
                Ok(ends.into())
            }
        }
    }

    fn joined(&self, id: u64) -> Option<&Joined> {
        self.programs.get(&id)?.joined.as_ref()
    }

    /// Whether two members have this link now.
    fn is_link(&self, one: u64, other: u64, link: u64) -> bool {
        self.links.get(&pair(one, other)) == Some(&link)
    }

    /// Sends a frame; a program that does not take it is given up.
    fn send(&mut self, to: u64, frame: &Frame, with: Option<BorrowedFd<'_>>) {
        let program = self.programs.get(&to);
        if program.is_some_and(|one| frame::send(&one.socket, frame, with).is_err()) {
            self.remove(to);
        }
    }

    fn remove(&mut self, id: u64) {
        self.links
            .retain(|(one, other), _| *one != id && *other != id);
        let Some(joined) = self.programs.remove(&id).and_then(|one| one.joined) else {
            return;
        };
        let functions = joined.places();
        let name = joined.name;
        self.news.push(News::Gone { name, functions });
        for other in self.having(|_| true) {
            self.send(other, &Frame::Gone { id }, None);
        }
    }
}

fn pair(one: u64, other: u64) -> (u64, u64) {
    (one.min(other), one.max(other))
}

impl News {
    /// For a log.
    pub fn text(&self) -> String {
        match self {
            Self::Joined { name, functions } => format!("{name} joined with {}", list(functions)),
            Self::Refused { why } => format!("a program was refused: {why}"),
            Self::Gone { name, functions } => format!("{name} is gone with {}", list(functions)),
            Self::Told { .. } => "a program has told something".to_owned(),
            Self::Answered { id, .. } => format!("question {id} is answered"),
        }
    }
}

impl AsFd for Manager {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.poller.as_fd()
    }
}

impl Drop for Manager {
    fn drop(&mut self) {
        // Nobody finds a core there any more.
        let _ = std::fs::remove_file(&self.path);
    }
}
