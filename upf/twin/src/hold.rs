//! Packets of idle UEs (TS 29.244, 5.2.4): kept as frames, and read again from the beginning when rules change.

use crate::config::TwinConfig;
use crate::forward;
use crate::outcome::{Drop, Outcome};
use crate::pdr_detection::Detected;
use crate::rules::{Session, SessionId};
use crate::twin::{Turn, Twin};
use std::hash::{DefaultHasher, Hash, Hasher};

/// Where a packet came in.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Door {
    session: SessionId,
    place: String,
}

impl Door {
    /// Another one for another place of the session.
    fn number(&self) -> u64 {
        let mut hasher = DefaultHasher::new();
        self.place.hash(&mut hasher);
        hasher.finish()
    }
}

/// A packet that is held.
#[derive(Clone, Debug)]
pub struct HeldFrame {
    door: Door,
    port: u16,
    frame: Vec<u8>,
    /// As it came, if it was translated.
    came: Option<Vec<u8>>,
    until_ns: u64,
}

/// What the CP function is told of a QoS flow with packets for an idle UE.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Paged {
    /// The session.
    pub session: SessionId,
    /// The PDR that the first packet matched.
    pub pdr: u16,
    /// Its DSCP.
    pub dscp: u8,
    /// Its QFI.
    pub qfi: Option<u8>,
}

/// The door of a packet: its tunnel, or the data network that it came from.
pub fn door(config: &TwinConfig, session: &Session, detected: &Detected<'_>) -> Door {
    let pdr = &session.pdrs[&detected.pdr];
    let network = config.data_network(pdr.source, pdr.instance.as_deref());
    let place = match detected.tunnelled {
        true => format!("{:?}", pdr.f_teid),
        false => format!("{network:?}"),
    };
    Door {
        session: detected.session,
        place,
    }
}

/// So many packets are held at a door, by the BAR of the FAR or by configuration.
pub fn most(config: &TwinConfig, session: &Session, detected: &Detected<'_>) -> usize {
    let far = &session.fars[&session.pdrs[&detected.pdr].far];
    let suggested = far.bar.and_then(|bar| session.bars[&bar]);
    suggested.map_or(config.hold_packets, usize::from)
}

/// The first packet of a flow since its FAR was updated is told of, where the FAR says so: one to the UE.
pub fn first_of_flow(session: &mut Session, detected: &Detected<'_>) -> Option<Paged> {
    let pdr = session.matched(detected.pdr, &detected.packet);
    let qfi = forward::qfi(session, &pdr);
    let is_downlink = !session.is_uplink(&pdr);
    let far = session.fars.get_mut(&pdr.far)?;
    let is_new = !far.told.contains(&qfi.unwrap_or(0));
    if !far.notifies || !is_downlink || !is_new {
        return None;
    }
    far.told.push(qfi.unwrap_or(0));
    Some(Paged {
        session: detected.session,
        pdr: detected.pdr,
        dscp: detected.packet.traffic_class() >> 2,
        qfi: qfi.filter(|qfi| *qfi != 0),
    })
}

impl Twin {
    /// Keeps a packet, if there is room.
    pub(crate) fn hold(
        &mut self,
        (door, most): (Door, usize),
        now_ns: u64,
        port: u16,
        frame: &[u8],
    ) -> Outcome {
        let of_door = self.holding.iter().filter(|held| held.door == door);
        if of_door.count() >= most {
            self.lose(port, frame);
            return Outcome::Dropped(Drop::HoldFull, None);
        }
        self.holding.push(HeldFrame {
            door,
            port,
            frame: frame.to_vec(),
            came: self.as_it_came.clone(),
            until_ns: now_ns + self.config.hold_ns,
        });
        Outcome::Buffered
    }

    /// What a session holds is not wanted any more (DROBU).
    pub(crate) fn discard_held(&mut self, session: SessionId) -> Vec<Outcome> {
        let before = self.holding.len();
        self.holding.retain(|held| held.door.session != session);
        vec![Outcome::Dropped(Drop::HoldDiscarded, None); before - self.holding.len()]
    }

    /// The rules of a session have changed, or it has gone: what it holds is read again.
    pub(crate) fn read_again(&mut self, now_ns: u64, session: SessionId) -> Vec<Outcome> {
        let all = std::mem::take(&mut self.holding);
        let (meant, others) = all
            .into_iter()
            .partition(|held| held.door.session == session);
        self.holding = others;
        let mut outcomes = Vec::new();
        let again: Vec<HeldFrame> = meant;
        let has_two_doors = again.iter().any(|held| held.door != again[0].door);
        for held in again {
            let frame = (held.port, &held.frame[..], held.came.clone());
            for outcome in self.go_on(now_ns, frame, Turn::Held) {
                match outcome {
                    Outcome::Buffered => self.holding.push(held.clone()),
                    Outcome::Dropped(Drop::UnknownTeid | Drop::UnknownUe, _) => {
                        outcomes.push(Outcome::Dropped(Drop::HoldDiscarded, None));
                    }
                    // Of packets that came in by different doors nobody promised an order.
                    Outcome::Sent(mut sent) if has_two_doors => {
                        sent.stream.0 ^= held.door.number();
                        outcomes.push(Outcome::Sent(sent));
                    }
                    other => outcomes.push(other),
                }
            }
        }
        outcomes
    }

    /// True if packets of a session are held from several doors, and it matters which of them leaves first: an
    /// amount of octets or a bit rate may not be enough for all.
    pub fn drains_in_no_order(&self, id: SessionId) -> bool {
        let mut doors = self.holding.iter().map(|held| &held.door);
        let mut of_session = doors.by_ref().filter(|door| door.session == id);
        let first = of_session.next();
        let has_two_doors = of_session.any(|door| Some(door) != first);
        has_two_doors && self.sessions.get(&id).is_some_and(Session::has_limits)
    }

    /// What has waited too long.
    pub(crate) fn expire_held(&mut self, now_ns: u64) -> Vec<Drop> {
        let expires = |held: &mut HeldFrame| held.until_ns <= now_ns;
        let expired: Vec<HeldFrame> = self.holding.extract_if(.., expires).collect();
        for held in &expired {
            self.lose(held.port, &held.frame);
        }
        vec![Drop::HoldExpired; expired.len()]
    }

    /// When the next packet has waited too long.
    pub fn next_expiry_ns(&self) -> Option<u64> {
        self.holding.iter().map(|held| held.until_ns).min()
    }

    /// The frames that a session holds, and the ports that they came by.
    pub(crate) fn held_of(&self, id: SessionId) -> impl Iterator<Item = (u16, &[u8])> {
        let held = self.holding.iter().filter(move |h| h.door.session == id);
        held.map(|held| (held.port, &held.frame[..]))
    }

    /// What the CP function is told of idle UEs since the last time.
    pub fn paged(&mut self) -> Vec<Paged> {
        std::mem::take(&mut self.paged)
    }
}
