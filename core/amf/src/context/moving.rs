//! UEs that go to another AMF, which asks for their contexts (TS 23.502, 4.2.2.2.2, steps 4, 5, 10 and 14d; TS 29.518, 5.2.2.2;
//! TS 33.501, 6.9.3).
//!
//! A context that was handed out stays as it is until that AMF has said that it has the UE, since anybody who can send a
//! message of the UE again makes an AMF ask for it. UDM says the same, and is believed when that AMF says nothing.

use sluice_n1::Envelope;
use sluice_sbi::{
    Instant, Message, MovedKeys, MovedSession, MovedSessions, Nf, Problem, TransferReason,
    TransferUeContext, UeContext, UeName, UpdateRegistration,
};

use crate::context::state::State;
use crate::context::ue::{Brought, Moving, Ue, UeId, Waiter};
use crate::limits;

impl State {
    /// The registered UE of a name.
    pub fn find_named(&self, name: &UeName) -> Option<UeId> {
        let found = match name.get() {
            Ok(guti) => self.find(&guti),
            Err(supi) => self.find_supi(&supi),
        };
        found.filter(|id| {
            let ue = self.ues.get(id.0);
            ue.is_some_and(|ue| ue.registered.is_some())
        })
    }

    /// 4 and 5: Namf_Communication_UEContextTransfer. The UE's request has to be its own, unless the AMF that asks has
    /// authenticated the UE, which has other keys there.
    pub fn hand_out(&mut self, request: &TransferUeContext) -> Result<UeContext, Problem> {
        let id = self.find_named(&request.ue);
        let id = id.ok_or(Problem::ContextNotFound)?;
        let ue = self.ues.get(id.0).ok_or(Problem::ContextNotFound)?;
        let keys = match request.reason {
            TransferReason::MobilityValidated => None,
            TransferReason::InitialRegistration | TransferReason::Mobility => {
                let nas = request.nas.get().unwrap_or_default();
                Some(keys_of(ue, nas).ok_or(Problem::IntegrityCheckFailed)?)
            }
        };
        let sessions = match request.reason {
            // A UE that begins anew has none.
            TransferReason::InitialRegistration => MovedSessions::new(&[]),
            TransferReason::Mobility | TransferReason::MobilityValidated => sessions_of(ue),
        };
        let context = UeContext {
            supi: ue.supi.ok_or(Problem::ContextNotFound)?,
            device: ue.imeisv.into(),
            keys: keys.into(),
            sessions,
        };
        self.line("AMF", "AMF", "4", Message::from(*request).name(), id);
        self.line("AMF", "AMF", "5", Message::from(context).name(), id);
        self.stays(id);
        let until = self.now.instant.plus_ms(limits::MOVING_MS);
        self.moving.insert((until, id));
        if let Some(ue) = self.ues.get_mut(id.0) {
            ue.moving = Some(Moving {
                until,
                told: sessions.bits(),
                is_elsewhere: false,
            });
        }
        Ok(context)
    }

    /// The UE is not on its way to another AMF.
    pub fn stays(&mut self, id: UeId) {
        let known = self.ues.get_mut(id.0);
        if let Some(moving) = known.and_then(|ue| ue.moving.take()) {
            self.moving.remove(&(moving.until, id));
        }
    }

    /// 14d: UDM says that the UE is elsewhere. Whether its sessions are, too, the other AMF says; false if none has asked.
    pub fn is_said_to_be_elsewhere(&mut self, id: UeId) -> bool {
        let known = self.ues.get_mut(id.0);
        let moving = known.and_then(|ue| ue.moving.as_mut());
        moving.map(|moving| moving.is_elsewhere = true).is_some()
    }

    /// When the first wait for what another AMF says is over.
    pub fn next_move_end(&self) -> Instant {
        let first = self.moving.first();
        first.map_or(Instant::NEVER, |(until, _)| *until)
    }

    /// A UE whose AMF has not said what became of it, and whether UDM knows.
    pub fn end_move(&mut self) -> Option<(UeId, bool)> {
        let (until, id) = *self.moving.first()?;
        if until > self.now.instant {
            return None;
        }
        let moving = self.ues.get(id.0).and_then(|ue| ue.moving);
        self.stays(id);
        Some((id, moving.is_some_and(|moving| moving.is_elsewhere)))
    }

    /// Sessions that another AMF has taken over are none of this one: their SMFs are not told anything.
    pub fn pass_sessions_on(&mut self, id: UeId, released: u16) {
        let Some(ue) = self.ues.get_mut(id.0) else {
            return;
        };
        let told = ue.moving.map_or(0, |moving| moving.told);
        let passed_on = told & !released;
        let is_passed_on = |session: &u8| passed_on & 1 << (session & 15) != 0;
        ue.paged_for.retain(|session, _| !is_passed_on(session));
        let passed_on = ue
            .sessions
            .extract_if(.., |session, _| is_passed_on(session));
        let tasks: Vec<_> = passed_on.filter_map(|(_, session)| session.task).collect();
        self.ended.extend(tasks);
    }

    /// 10: the UE is registered here, and the AMF of before releases its sessions. Nobody waits for the answer.
    pub fn take_in(&mut self, id: UeId) {
        if let Some(brought) = self.ues.get_mut(id.0).and_then(|ue| ue.brought.take()) {
            self.tell_amf_of_before(id, brought, true);
        }
    }

    /// The registration with a context of another AMF has failed: the UE stays there.
    pub fn give_back(&mut self, id: UeId) {
        if let Some(brought) = self.ues.get_mut(id.0).and_then(|ue| ue.brought.take()) {
            self.tell_amf_of_before(id, brought, false);
        }
    }

    fn tell_amf_of_before(&mut self, id: UeId, brought: Brought, is_transferred: bool) {
        let released = match is_transferred {
            true => brought.sessions,
            false => 0,
        };
        let message = Message::from(UpdateRegistration {
            ue: brought.from.into(),
            is_transferred,
            released: released.into(),
        });
        self.line("AMF", "AMF", "10", message.name(), id);
        self.call(Waiter::Nobody, Nf::Amf, message);
    }
}

/// Keys of a UE that has sent this; none if it has not.
fn keys_of(ue: &Ue, nas: &[u8]) -> Option<MovedKeys> {
    let security = ue.security.as_ref()?;
    let Envelope::Protected(message) = Envelope::open(nas)? else {
        return None;
    };
    let uplink = security.context.count_of(&message)?;
    let (ciphering, integrity) = security.context.algorithms();
    let mut keys = MovedKeys::none().with_capability(ue.capability?.octets());
    keys.kamf = *security.kamf.octets();
    keys.ngksi = security.context.ngksi();
    (keys.ciphering, keys.integrity) = (ciphering as u8, integrity as u8);
    keys.uplink = uplink.get().into();
    keys.downlink = security.context.next_sent()?.get().into();
    Some(keys)
}

fn sessions_of(ue: &Ue) -> MovedSessions {
    let there = ue.sessions.iter().filter_map(|(session, one)| {
        Some(MovedSession {
            session: *session,
            slice: one.slice,
            dnn: one.dnn,
            context: one.context?.into(),
        })
    });
    MovedSessions::new(&there.collect::<Vec<_>>())
}
