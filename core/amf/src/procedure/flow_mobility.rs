//! RAN initiated QoS flow mobility (TS 23.502, 4.14.1; TS 38.413, 8.2.5): a gNB has downlink packets of sessions come to
//! another end of a tunnel. It is beside all else that UE and network have under way.

use sluice_n2::modify_indication::unsuccessful;
use sluice_n2::{Cause, FromAmf, PduSessionModifyConfirm, SessionResults, Transfers};
use sluice_sbi::{
    Container, Message, N2Sm, Nf, Problem, SmChange, SmContextUpdated, UpdateSmContext, server,
};

use crate::context::handover_state::Indication;
use crate::context::state::State;
use crate::context::ue::{UeId, Waiter};
use crate::limits;

impl State {
    /// 1: N2 QoS Flow mobility Request.
    pub fn flows_move(&mut self, ue: UeId, sessions: &Transfers) {
        self.line(
            "gNB",
            "AMF",
            "1",
            "PDU Session Resource Modify Indication",
            ue,
        );
        let Some((id, connection)) = self.connection(ue) else {
            return;
        };
        let mut indication = Indication {
            gnb: (connection.association, (id.to_ngap(), connection.ran)),
            waits: Vec::new(),
            results: SessionResults::default(),
        };
        for (session, transfer) in sessions {
            let twice = sessions.iter().filter(|(one, _)| one == session).count() > 1;
            let asked = match twice {
                true => Err(Cause::SESSION_TWICE),
                false => self.flow_moves(ue, *session, transfer),
            };
            let failed = &mut indication.results.failed;
            match asked {
                Ok(context) => indication.waits.push((*session, context)),
                // Also one that is named twice is told of once.
                Err(why) if failed.iter().all(|(one, _)| one != session) => {
                    failed.push((*session, unsuccessful(why)));
                }
                Err(_) => {}
            }
        }
        if indication.waits.is_empty() {
            self.confirm(ue, indication);
        } else if let Some(ue) = self.ues.get_mut(ue.0) {
            ue.indications.push(indication);
        }
    }

    /// 2: Nsmf_PDUSession_UpdateSMContext; the SMF's name of the session.
    fn flow_moves(&mut self, ue: UeId, session: u8, transfer: &[u8]) -> Result<u64, Cause> {
        let known = self.ues.get(ue.0);
        let has_room = known.is_some_and(|ue| ue.indications.len() < limits::INDICATIONS);
        let context = known
            .and_then(|ue| ue.sessions.get(&session)?.context)
            .ok_or(Cause::UNKNOWN_SESSION)?;
        // Longer ones are nothing that an SMF reads.
        let n2 = Container::new(transfer).ok_or(Cause::SEMANTIC_ERROR)?;
        let message = Message::from(UpdateSmContext {
            context: context.into(),
            change: SmChange::ModifyIndicated,
            n1: Container::NONE,
            n2,
        });
        let name = message.name();
        let waiter = Waiter::Indication(ue, session, context);
        let call = has_room.then(|| self.call(waiter, Nf::Smf, message));
        call.flatten().ok_or(Cause::CONTROL_PROCESSING_OVERLOAD)?;
        self.line("AMF", "SMF", "2", name, ue);
        Ok(context)
    }

    /// 5: the SMF's answer.
    pub fn flow_moved(&mut self, ue: UeId, (session, context): (u8, u64), message: Message) {
        let smf = server::name(Nf::Smf);
        self.line(smf, "AMF", "5", message.to_string(), ue);
        let indications = self.ues.get_mut(ue.0).map(|ue| &mut ue.indications);
        let waits = |one: &Indication| one.waits.contains(&(session, context));
        let found = indications.and_then(|all| Some((all.iter().position(waits)?, all)));
        let Some((at, all)) = found else {
            return;
        };
        let indication = &mut all[at];
        indication.waits.retain(|one| *one != (session, context));
        let results = &mut indication.results;
        match message.answer_to::<UpdateSmContext>() {
            Ok(SmContextUpdated {
                n2_kind: N2Sm::ModifyConfirmed,
                n2,
                ..
            }) => {
                let transfer = n2.get().unwrap_or_default().to_vec();
                results.done.push((session, transfer));
            }
            Ok(SmContextUpdated { n2, .. }) => {
                let transfer = n2.get().map(<[u8]>::to_vec);
                let transfer = transfer.unwrap_or_else(|| unsuccessful(Cause::UNSPECIFIED));
                results.failed.push((session, transfer));
            }
            Err(problem) => {
                let why = match problem {
                    Problem::ContextNotFound => Cause::UNKNOWN_SESSION,
                    _ => Cause::CONTROL_PROCESSING_OVERLOAD,
                };
                results.failed.push((session, unsuccessful(why)));
            }
        }
        if indication.waits.is_empty() {
            let indication = all.remove(at);
            self.confirm(ue, indication);
        }
    }

    /// Answers that are not waited for any more; gNBs hear of those of theirs.
    pub fn forget_calls(&mut self) {
        for waiter in self.calls.expire(self.now.instant) {
            if let Waiter::Indication(ue, session, context) = waiter {
                self.flow_moved(ue, (session, context), Problem::Timeout.into());
            }
        }
    }

    /// 7: N2 QoS Flow mobility Response, if the UE is where it was.
    fn confirm(&mut self, ue: UeId, indication: Indication) {
        let (association, ids) = indication.gnb;
        let is_there = self.connection(ue).is_some_and(|(id, connection)| {
            (connection.association, (id.to_ngap(), connection.ran)) == indication.gnb
        });
        if !is_there {
            self.counters.unexpected += 1;
            return;
        }
        let confirm = FromAmf::PduSessionModifyConfirm(PduSessionModifyConfirm {
            ids,
            sessions: indication.results,
        });
        self.line("AMF", "gNB", "7", confirm.name(), ue);
        self.send_n2(association, Some(ue), &confirm);
    }
}
