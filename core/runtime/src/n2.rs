//! N2 of a core: NGAP over SCTP (TS 38.412).

use std::collections::BTreeMap;
use std::io;
use std::net::IpAddr;
use std::os::fd::{AsFd, BorrowedFd};
use std::time::Duration;

use sluice_core_host::{Host, ToRan};
use sluice_sbi::{AssociationId, Input, Nf, Now};
use sluice_sctp::front::FrontNews;
use sluice_sctp::{AllowList, Association, Event, NGAP_PPID, Node, Peer, Sctp as _};
use sluice_wiring::{Apart, Core, Mobility};

use crate::system;

/// What N2 has counted.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Counters {
    /// NGAP messages of gNBs.
    pub received: u64,
    /// NGAP messages for gNBs.
    pub sent: u64,
    /// Messages with another payload protocol identifier, which are not NGAP.
    pub other_protocol: u64,
    /// Associations aborted as the gNB did not take what was sent to it.
    pub stuck: u64,
}

/// An association with a gNB.
#[derive(Clone, Copy, Debug)]
struct Gnb {
    peer: Peer,
    /// Towards the gNB.
    streams: u16,
}

/// A host with an AMF, whose messages N2 carries.
pub trait HasAmf {
    /// An association has come up with this address.
    fn association_up(&mut self, association: AssociationId, address: IpAddr);

    /// A gNB is gone.
    fn association_lost(&mut self, now: Now, association: AssociationId);

    /// A message of a gNB.
    fn n2(&mut self, now: Now, association: AssociationId, stream: u16, octets: &[u8]);

    /// Messages for gNBs since the last call; contexts that they follow from are stored before.
    fn take_to_ran(&mut self) -> Vec<ToRan>;
}

impl HasAmf for Core {
    fn association_up(&mut self, association: AssociationId, address: IpAddr) {
        self.mobility().association_up(association, address);
    }

    fn association_lost(&mut self, now: Now, association: AssociationId) {
        Self::association_lost(self, now, association);
    }

    fn n2(&mut self, now: Now, association: AssociationId, stream: u16, octets: &[u8]) {
        Self::n2(self, now, association, stream, octets);
    }

    fn take_to_ran(&mut self) -> Vec<ToRan> {
        Self::take_to_ran(self)
    }
}

impl HasAmf for Host<Apart> {
    fn association_up(&mut self, association: AssociationId, address: IpAddr) {
        Mobility::from(self).association_up(association, address);
    }

    fn association_lost(&mut self, now: Now, association: AssociationId) {
        self.turn(now, Nf::Amf, Input::AssociationLost(association));
    }

    fn n2(&mut self, now: Now, association: AssociationId, stream: u16, octets: &[u8]) {
        let input = Input::N2 {
            association,
            stream,
            octets,
        };
        self.turn(now, Nf::Amf, input);
    }

    fn take_to_ran(&mut self) -> Vec<ToRan> {
        Self::take_to_ran(self)
    }
}

/// SCTP towards gNBs.
#[derive(Debug)]
pub struct N2 {
    node: Node,
    gnbs: BTreeMap<Association, Gnb>,
    counters: Counters,
}

impl N2 {
    /// Of its node.
    pub fn new(node: Node) -> Self {
        Self {
            node,
            gnbs: BTreeMap::new(),
            counters: Counters::default(),
        }
    }

    /// What N2 has counted.
    pub fn counters(&self) -> Counters {
        self.counters
    }

    /// What SCTP has counted.
    pub fn sctp_counters(&self) -> sluice_sctp::Counters {
        self.node.counters()
    }

    /// gNBs whose associations are up, and the names that the core has for these.
    pub fn gnbs(&self) -> impl Iterator<Item = (AssociationId, Peer)> + '_ {
        let named =
            |(association, gnb): (&Association, &Gnb)| (AssociationId(association.0), gnb.peer);
        self.gnbs.iter().map(named)
    }

    /// Who wanted to speak to us since the last call, and is no gNB that may.
    pub fn take_strangers(&mut self) -> Vec<IpAddr> {
        self.node.take_strangers()
    }

    /// News of the front, since this was asked last; none of SCTP of this program.
    pub fn take_front_news(&mut self) -> Vec<FrontNews> {
        self.node.take_front_news()
    }

    /// How long SCTP can wait.
    pub fn patience(&self) -> Duration {
        self.node.patience()
    }

    /// Gives the core what has come, and sends what it wants sent.
    pub fn turn(&mut self, core: &mut impl HasAmf) -> io::Result<()> {
        for event in self.node.take()? {
            self.take(core, event);
        }
        self.send(core);
        Ok(())
    }

    fn take(&mut self, core: &mut impl HasAmf, event: Event) {
        match event {
            Event::Up {
                association,
                peer,
                streams,
            } => {
                core.association_up(AssociationId(association.0), peer.address);
                self.gnbs.insert(association, Gnb { peer, streams });
            }
            Event::Message {
                association,
                stream,
                ppid: NGAP_PPID,
                octets,
            } => {
                self.counters.received += 1;
                let id = AssociationId(association.0);
                core.n2(system::now(), id, stream, &octets);
                self.send(core);
            }
            Event::Message { .. } => self.counters.other_protocol += 1,
            Event::Lost { association, .. } => {
                if self.gnbs.remove(&association).is_some() {
                    let id = AssociationId(association.0);
                    core.association_lost(system::now(), id);
                    self.send(core);
                }
            }
        }
    }

    /// Sends what the core wants sent. A gNB that does not take it has missed a message for good: it
    /// is aborted, and begins anew.
    pub fn send(&mut self, core: &mut impl HasAmf) {
        loop {
            let messages = core.take_to_ran();
            if messages.is_empty() {
                break;
            }
            for message in messages {
                let association = Association(message.association.0);
                let Some(gnb) = self.gnbs.get(&association) else {
                    continue;
                };
                let stream = stream(&message, gnb.streams);
                let octets = &message.octets;
                let sent = self.node.sctp.send(association, stream, NGAP_PPID, octets);
                match sent {
                    Ok(()) => self.counters.sent += 1,
                    Err(_) => {
                        self.counters.stuck += 1;
                        self.node.sctp.abort(association);
                        self.gnbs.remove(&association);
                        core.association_lost(system::now(), message.association);
                    }
                }
            }
        }
        self.node.flush();
    }

    /// gNBs that may speak to us from now on; associations of others are aborted. How many those were.
    pub fn allow(&mut self, core: &mut impl HasAmf, allowed: AllowList) -> usize {
        let others = self.gnbs.iter();
        let others = others.filter(|(_, gnb)| !allowed.allows(gnb.peer.address));
        let others: Vec<Association> = others.map(|(association, _)| *association).collect();
        for association in &others {
            self.node.sctp.abort(*association);
            self.gnbs.remove(association);
            core.association_lost(system::now(), AssociationId(association.0));
        }
        // What tells them leaves; what they answer is not heard.
        self.send(core);
        self.node.sctp.allow(allowed);
        others.len()
    }

    /// Ends all associations in order: gNBs hear that no message is missing (RFC 9260, 9.2).
    pub fn shut_down(&mut self) {
        for association in self.gnbs.keys() {
            self.node.sctp.shutdown(*association);
        }
        self.node.flush();
    }

    /// Aborts all associations and closes; a front keeps them.
    pub fn close(self) {
        self.node.close();
    }
}

impl AsFd for N2 {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.node.as_fd()
    }
}

/// Stream 0 is the gNB's own (TS 38.412, 7); those of UEs share the others that there are.
fn stream(message: &ToRan, streams: u16) -> u16 {
    match (message.stream, streams) {
        (0, _) | (_, 0 | 1) => 0,
        (stream, streams) => 1 + (stream - 1) % (streams - 1),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ues_share_the_streams_that_there_are() {
        let on = |stream, streams| {
            let message = ToRan {
                association: AssociationId(1),
                stream,
                octets: Vec::new(),
            };
            super::stream(&message, streams)
        };
        assert_eq!([on(0, 16), on(1, 16), on(15, 16)], [0, 1, 15]);
        assert_eq!([on(1, 2), on(2, 2), on(15, 2)], [1, 1, 1]);
        assert_eq!([on(7, 1), on(0, 1)], [0, 0]);
        assert_eq!([on(3, 3), on(4, 3)], [1, 2]);
    }
}
