//! In steady state no message costs an allocation.
#![allow(clippy::unwrap_used, reason = "a test may panic")]

#[path = "all/net/mod.rs"]
mod net;

use allocation_counter::measure;
use net::{address, cp_config, up_config};
use sluice_n4::{Endpoint, Event, Input, Instant, Outbox, Request, Role};
use sluice_wire::ids::Seid;
use sluice_wire::pfcp::{IeType, MessageType};

/// A caller's buffer for datagrams, of fixed size.
struct Buffer {
    octets: Vec<u8>,
    lengths: Vec<usize>,
}

impl Buffer {
    fn new() -> Self {
        Self {
            octets: Vec::with_capacity(1 << 16),
            lengths: Vec::with_capacity(256),
        }
    }

    fn clear(&mut self) {
        self.octets.clear();
        self.lengths.clear();
    }

    /// Hands every datagram to `take`, then forgets them.
    fn drain(&mut self, mut take: impl FnMut(&[u8])) {
        let mut rest = &self.octets[..];
        for len in &self.lengths {
            let (datagram, next) = rest.split_at(*len);
            take(datagram);
            rest = next;
        }
        self.clear();
    }
}

impl Outbox for Buffer {
    fn send(&mut self, _to: std::net::SocketAddr, bytes: &[u8]) {
        self.octets.extend_from_slice(bytes);
        self.lengths.push(bytes.len());
    }
}

struct Pair {
    cp: Endpoint,
    up: Endpoint,
    to_up: Buffer,
    to_cp: Buffer,
    answered: u64,
}

impl Pair {
    fn associated() -> Self {
        let mut pair = Self {
            cp: Endpoint::new(Role::Cp, cp_config(1000)),
            up: Endpoint::new(Role::Up, up_config(1000)),
            to_up: Buffer::new(),
            to_cp: Buffer::new(),
            answered: 0,
        };
        pair.cp
            .associate(Instant(0), address(2), false, &mut pair.to_up)
            .unwrap();
        pair.exchange(Instant(0));
        pair.exchange(Instant(0));
        while pair.cp.next_event().is_some() {}
        pair
    }

    /// Delivers what either side has sent, and lets time pass.
    fn exchange(&mut self, now: Instant) {
        let Self {
            cp,
            up,
            to_up,
            to_cp,
            answered,
        } = self;
        to_up.drain(|bytes| {
            if let Input::Session(request) = up.handle(now, address(1), bytes, to_cp) {
                let cause =
                    |w: &mut sluice_wire::pfcp::Writer<'_>| w.ie(IeType::CAUSE, |w| w.u8(1));
                up.reply(now, request.reply, Some(Seid(1)), to_cp, cause)
                    .unwrap();
            }
        });
        to_cp.drain(|bytes| {
            let input = cp.handle(now, address(2), bytes, to_up);
            *answered += u64::from(matches!(input, Input::Response(_)));
        });
        cp.tick(now, to_up);
        up.tick(now, to_cp);
        while up.next_event().is_some() {}
    }

    fn request(&mut self, now: Instant, tag: u64) {
        let (association, _) = self.cp.associations().next().unwrap();
        let message_type = MessageType::SESSION_MODIFICATION_REQUEST;
        let request = Request {
            association,
            to: None,
            tag,
            message_type,
            seid: Some(Seid(tag)),
        };
        let body = |w: &mut sluice_wire::pfcp::Writer<'_>| w.ie(IeType(0x8001), |w| w.u64(tag));
        self.cp
            .request(now, request, &mut self.to_up, body)
            .unwrap();
    }
}

#[test]
fn requests_responses_and_heartbeats_allocate_nothing() {
    let mut pair = Pair::associated();
    let info = measure(|| {
        for tag in 0..50_000 {
            let now = Instant(0).plus_ms(tag);
            pair.request(now, tag);
            pair.exchange(now);
        }
    });
    assert_eq!(info.count_total, 0);
    assert_eq!(pair.answered, 50_000);
    assert!(pair.cp.counters().sent(MessageType::HEARTBEAT_REQUEST) >= 4);
}

#[test]
fn retransmissions_time_outs_and_duplicates_allocate_nothing() {
    let mut pair = Pair::associated();
    let mut failed = 0;
    let info = measure(|| {
        for tag in 0..20_000u64 {
            let now = Instant(0).plus_ms(tag * 100);
            pair.request(now, tag);
            if tag % 3 == 0 {
                pair.to_up.clear();
            }
            pair.exchange(now);
            if tag % 5 == 0 {
                pair.to_cp.clear();
            }
            pair.exchange(now);
            while let Some(event) = pair.cp.next_event() {
                failed += u64::from(matches!(event, Event::RequestFailed { .. }));
            }
        }
    });
    assert_eq!(info.count_total, 0);
    assert_eq!(
        failed + pair.answered + u64::from(pair.cp.in_flight()),
        20_000
    );
    assert!(pair.cp.counters().get(sluice_n4::Counter::Retransmitted) > 1000);
}

#[test]
fn a_flood_from_strangers_allocates_nothing() {
    let mut pair = Pair::associated();
    let heartbeat = [0x20, 1, 0, 12, 0, 0, 9, 0, 0, 96, 0, 4, 0, 0, 3, 0];
    let mut setup = *b"\x20\x05\x00\x15\x00\x00\x01\x00\
        \x00\x3c\x00\x05\x00\x0a\x01\x00\x00\x00\x60\x00\x04\x00\x00\x00\x05";
    let deletion = [0x21, 54, 0, 12, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 5, 0];
    let info = measure(|| {
        for n in 0..60_000u32 {
            let now = Instant(u64::from(n) * 1000);
            let peer = std::net::SocketAddr::from((n.to_be_bytes(), 8805));
            setup[13..17].copy_from_slice(&n.to_be_bytes());
            for bytes in [&heartbeat[..], &setup, &deletion, &[0x40, 1], &[9; 40]] {
                pair.up.handle(now, peer, bytes, &mut pair.to_cp);
                while pair.up.next_event().is_some() {}
                pair.to_cp.clear();
            }
        }
    });
    assert_eq!(info.count_total, 0);
    assert_eq!(pair.up.associations().count(), 4);
    let counters = pair.up.counters();
    assert_eq!(
        counters.get(sluice_n4::Counter::AssociationLimit),
        60_000 - 3
    );
}
