//! Packets to UEs that are lost: what a FAR drops, and what is held and given up (Dropped DL Traffic Threshold;
//! TS 29.244, 8.2.49).

use crate::ecn;
use crate::parse::{self, Arrival};
use crate::pdr_detection;
use crate::rules::{Pdr, Session, SessionId};
use crate::twin::Twin;
use sluice_wire::pfcp::message::SessionModificationRequest;
use sluice_wire::pfcp::value::SessionModificationRequestFlags;

impl Session {
    /// A packet of a PDR is lost.
    pub fn lose(&mut self, pdr: &Pdr, bytes: usize) {
        if self.is_uplink(pdr) {
            return;
        }
        for urr in &pdr.urrs {
            if let Some(urr) = self.urrs.get_mut(urr) {
                urr.lose(bytes);
            }
        }
    }
}

impl Twin {
    /// A frame that was held is given up: it is lost by the PDR that it meets now, if there is one.
    pub(crate) fn lose(&mut self, port: u16, frame: &[u8]) {
        if let Some((id, pdr, bytes)) = self.met(port, frame)
            && let Some(session) = self.sessions.get_mut(&id)
        {
            session.lose(&pdr, bytes);
        }
    }

    fn met(&self, port: u16, frame: &[u8]) -> Option<(SessionId, Pdr, usize)> {
        let (config, sessions) = (&self.config, &self.sessions);
        let detected = match parse::read(config, port, frame).ok()? {
            Arrival::Tunnel(came) => match ecn::told_inside(frame, &came) {
                Some(told) => return self.met(port, &told),
                None => pdr_detection::tunnelled(config, sessions, &came),
            },
            Arrival::Plain(came) => pdr_detection::plain(config, sessions, came),
            _ => return None,
        };
        let detected = detected.ok()?;
        let pdr = sessions[&detected.session].matched(detected.pdr, &detected.packet);
        Some((detected.session, pdr, detected.packet.bytes().len()))
    }

    /// A session as a modification finds it: what it says is not wanted any more is lost before all else (DROBU).
    pub(crate) fn found(
        &self,
        id: SessionId,
        request: &SessionModificationRequest<'_>,
    ) -> Option<Session> {
        let mut session = self.sessions.get(&id)?.clone();
        let flags = request.pfcpsmreq_flags.unwrap_or_default();
        if flags.contains(SessionModificationRequestFlags::DROBU) {
            for (port, frame) in self.held_of(id) {
                if let Some((_, pdr, bytes)) = self.met(port, frame) {
                    session.lose(&pdr, bytes);
                }
            }
        }
        Some(session)
    }
}
