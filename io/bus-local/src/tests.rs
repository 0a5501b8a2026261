//! Links that a peer breaks are made anew: a program of its own that knows the manager's frames.

use std::os::fd::{AsFd, OwnedFd};
use std::path::Path;
use std::time::{Duration, Instant};

use rustix::net::{AddressFamily, SendFlags, SocketAddrUnix, SocketFlags, SocketType};
use sluice_bus::{Event, Transport as _};
use sluice_host::poll::{Waker, wait_readable};
use sluice_sbi::{Instance, Nf};

use crate::frame::{self, Came, Frame};
use crate::link::Carrier;
use crate::manager::Manager;
use crate::member::Member;

const LONG: Duration = Duration::from_secs(60);

/// A program that knows the manager's frames, and does with links what it likes.
struct Wild {
    manager: OwnedFd,
    doorbell: Waker,
    room: Box<[u8]>,
}

impl Wild {
    fn join(path: &Path, carrier: Carrier) -> Self {
        let (kind, flags) = (SocketType::SEQPACKET, SocketFlags::CLOEXEC);
        let manager = rustix::net::socket_with(AddressFamily::UNIX, kind, flags, None);
        let manager = manager.expect("a descriptor");
        let address = SocketAddrUnix::new(path).expect("short");
        rustix::net::connect(&manager, &address).expect("a manager");
        let join = Frame::Join {
            carrier,
            layout: carrier.layout(),
            name: "wild".to_owned(),
            functions: vec![Nf::Udm.to_string()],
            instance: Instance::default().into(),
        };
        let doorbell = Waker::new().expect("a descriptor");
        frame::send(&manager, &join, Some(doorbell.as_fd())).expect("room");
        let room = vec![0; frame::LONGEST].into();
        Self {
            manager,
            doorbell,
            room,
        }
    }

    /// The next link that the manager gives it: its number, and what came with it.
    fn next_link(&mut self, manager: &mut Manager, other: &mut Member) -> (u64, OwnedFd) {
        let until = Instant::now() + LONG;
        while Instant::now() < until {
            manager.turn();
            other.may_sleep();
            match frame::receive(&self.manager, &mut self.room) {
                Came::Frame(Frame::Peer { link, .. }, Some(end)) => return (link, end),
                Came::Frame(..) | Came::Nothing => {}
                Came::End => break,
            }
            let _ = wait_readable(&*other, Duration::from_millis(10));
        }
        panic!("no link");
    }
}

fn wild(name: &str, carrier: Carrier) -> (Manager, Member, Wild) {
    let name = format!("sluice-wild-{name}-{}", std::process::id());
    let path = std::env::temp_dir().join(name);
    let mut manager = Manager::listen(&path, carrier).expect("a path");
    let own = manager.join("core", &[Nf::Amf]).expect("its own");
    let wild = Wild::join(&path, carrier);
    (manager, own, wild)
}

fn why_lost(member: &mut Member) -> &'static str {
    let events = std::iter::from_fn(|| member.receive());
    let lost = events.filter_map(|event| match event {
        Event::Lost { why, .. } => Some(why),
        _ => None,
    });
    let lost: Vec<_> = lost.collect();
    assert_eq!(lost.len(), 1, "{lost:?}");
    lost[0]
}

#[test]
fn a_socket_that_breaks_is_made_anew_after_a_pause_that_grows() {
    let (mut manager, mut own, mut wild) = wild("frames", Carrier::Socket);
    let (mut last, mut end) = wild.next_link(&mut manager, &mut own);
    assert!(matches!(own.receive(), Some(Event::Up { .. })));
    let mut pauses = Vec::new();
    for octets in [Some(b"no frame"), None] {
        if let Some(octets) = octets {
            rustix::net::send(&end, octets, SendFlags::empty()).expect("room");
        } else {
            drop(end);
        }
        let why = why_lost(&mut own);
        let expected = octets.map_or("its connection has ended", |_| "it sent what is no frame");
        assert_eq!(why, expected);
        let began = Instant::now();
        let (link, again) = wild.next_link(&mut manager, &mut own);
        pauses.push(began.elapsed());
        assert!(link > last);
        assert!(matches!(own.receive(), Some(Event::Up { .. })));
        (last, end) = (link, again);
    }
    let least = [Duration::from_millis(99), Duration::from_millis(199)];
    assert!(
        pauses
            .iter()
            .zip(least)
            .all(|(pause, least)| *pause >= least),
        "{pauses:?}"
    );
    // The other end has asked, too: what is told of a link of before is outdated.
    let again = Frame::Again {
        peer: 1,
        link: last - 1,
    };
    frame::send(&wild.manager, &again, None).expect("room");
    manager.turn();
    own.may_sleep();
    assert!(own.receive().is_none());
}

#[test]
fn a_ring_that_breaks_is_made_anew() {
    let (mut manager, mut own, mut wild) = wild("arenas", Carrier::Ring);
    for _ in 0..2 {
        let (link, _doorbell) = wild.next_link(&mut manager, &mut own);
        // What is no arena cannot be used.
        let arena = Frame::Arena { peer: 1, link };
        frame::send(&wild.manager, &arena, Some(wild.doorbell.as_fd())).expect("room");
        manager.turn();
        own.may_sleep();
        assert!(own.receive().is_none());
    }
}
