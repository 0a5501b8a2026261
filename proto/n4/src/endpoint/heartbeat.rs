//! Heartbeats both ways, and what the Recovery Time Stamp tells (TS 29.244, 6.2.2; TS 23.527, 4).

use std::net::SocketAddr;

use sluice_wire::pfcp::value::NtpTime;
use sluice_wire::pfcp::{Header, MessageType};

use super::Endpoint;
use super::sender::{OutRequest, Purpose, response_header};
use crate::association::AssociationId;
use crate::codec;
use crate::counters::Counter;
use crate::event::Event;
use crate::time::{Instant, is_after};
use crate::transport::Outbox;

impl Endpoint {
    /// Every allowed peer gets an answer, associated or not (TS 29.244, 6.2.2.2). It is always
    /// the same, so it needs no place in the cache.
    pub(super) fn heartbeat_request(
        &mut self,
        now: Instant,
        peer: SocketAddr,
        header: &Header,
        body: &[u8],
        out: &mut impl Outbox,
    ) {
        let own = self.config.recovery_time_stamp;
        let response = response_header(header, None);
        self.sender.respond_each_time(peer, &response, out, |w| {
            codec::write_heartbeat_response(w, own)
        });
        match codec::heartbeat_request(body) {
            Err(_) => self.count(Counter::MalformedRequest),
            Ok(time_stamp) => {
                // A time stamp is of the entity at that address (TS 29.244, 6.2.2.2; TS 23.007, 19A): of an
                // address that was only learned it says nothing of the peer.
                let known = self.associations.by_address(peer);
                if let Some(id) = known.filter(|id| self.speaks_for(*id, peer)) {
                    self.heard(now, id, time_stamp, out);
                }
            }
        }
    }

    pub(super) fn send_heartbeat(
        &mut self,
        now: Instant,
        id: AssociationId,
        out: &mut impl Outbox,
    ) {
        let Some(association) = self.associations.get(id) else {
            return;
        };
        let request = OutRequest {
            to: association.primary,
            message_type: MessageType::HEARTBEAT_REQUEST,
            seid: None,
            purpose: Purpose::Heartbeat(id),
        };
        let own = self.config.recovery_time_stamp;
        let sent = self.sender.request(now, request, out, |w| {
            codec::write_heartbeat_request(w, own)
        });
        match sent {
            // Its response or its time-out sets the next one.
            Ok(_) => self.change(id, |association| association.heartbeat_at = Instant::NEVER),
            Err(_) => self.schedule_heartbeat(now, id),
        }
    }

    pub(super) fn heartbeat_response(
        &mut self,
        now: Instant,
        id: AssociationId,
        body: &[u8],
        out: &mut impl Outbox,
    ) {
        self.schedule_heartbeat(now, id);
        self.probe_response(now, id, body, out);
    }

    /// The address that holds a Node ID has answered.
    pub(super) fn probe_response(
        &mut self,
        now: Instant,
        id: AssociationId,
        body: &[u8],
        out: &mut impl Outbox,
    ) {
        self.holder_answered(now, id, out);
        match codec::heartbeat_response(body) {
            Ok(time_stamp) => self.heard(now, id, time_stamp, out),
            Err(_) => self.count(Counter::MalformedResponse),
        }
    }

    pub(super) fn heartbeat_lost(&mut self, now: Instant, id: AssociationId) {
        self.schedule_heartbeat(now, id);
        let Some(association) = self.associations.get_mut(id) else {
            return;
        };
        if association.is_established() && !association.lost {
            association.lost = true;
            self.count(Counter::PeerLost);
            self.event(Event::PeerLost { association: id });
        }
    }

    pub(super) fn schedule_heartbeat(&mut self, now: Instant, id: AssociationId) {
        let interval_ms = self.config.heartbeat_interval_ms;
        if interval_ms > 0 {
            let at = now.plus_ms(interval_ms.into());
            self.change(id, |association| association.heartbeat_at = at);
        }
    }

    /// Asks soon whether the peer has restarted, unless it is being asked already.
    pub(super) fn hasten_heartbeat(&mut self, now: Instant, id: AssociationId) {
        self.change(id, |association| {
            if association.heartbeat_at < Instant::NEVER {
                association.heartbeat_at = association.heartbeat_at.min(now);
            }
        });
    }

    /// The peer lives, and says since when.
    fn heard(
        &mut self,
        now: Instant,
        id: AssociationId,
        time_stamp: NtpTime,
        out: &mut impl Outbox,
    ) {
        let Some(association) = self.associations.get_mut(id) else {
            return;
        };
        if !association.is_established() {
            return;
        }
        let known = association.recovery_time_stamp;
        if is_after(time_stamp, known) {
            self.peer_restarted(now, id, time_stamp, out);
        } else if time_stamp != known {
            // Overtaken by a message from after the restart (TS 23.007, 18 has the same rule).
            self.count(Counter::RecoveryTimeStampOlder);
        } else if association.lost {
            association.lost = false;
            self.event(Event::PeerRecovered { association: id });
        }
    }

    fn peer_restarted(
        &mut self,
        now: Instant,
        id: AssociationId,
        time_stamp: NtpTime,
        out: &mut impl Outbox,
    ) {
        self.count(Counter::PeerRestarted);
        self.cancel_requests(id);
        self.event(Event::PeerRestarted { association: id });
        self.change(id, |association| {
            association.recovery_time_stamp = time_stamp;
            association.lost = false;
        });
        // Whoever set the association up does so again; meanwhile the peer's own set-up may
        // come, so an association that the peer set up goes on.
        if self
            .associations
            .get(id)
            .is_some_and(|association| association.initiated_here)
        {
            self.start_setup(now, id, out);
        } else {
            self.schedule_heartbeat(now, id);
        }
    }
}
