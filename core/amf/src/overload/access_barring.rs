//! UEs are kept away: gNBs are told so (TS 38.413, 8.7.7 and 8.7.8), and UEs that are refused for congestion are told
//! how long.

use sluice_n1::{Cause, Downlink, N1_SM, Reject};
use sluice_n2::Overload;

use crate::context::state::State;
use crate::context::ue::UeId;
use crate::messages::ng_setup;
use crate::overload::Wishes;

/// Causes with which a request about sessions comes back that is not to be made again at once: want of room, and a data
/// network that is not there for the UE, which modems ask for again and again.
const SESSION_BACK_OFF: [Cause; 4] = [
    Cause::CONGESTION,
    Cause::INSUFFICIENT_RESOURCES_FOR_SLICE_AND_DNN,
    Cause::INSUFFICIENT_RESOURCES_FOR_SLICE,
    Cause::DNN_NOT_SUPPORTED,
];

impl State {
    /// Overload Action that gNBs apply now.
    pub fn overload(&self) -> Option<Overload> {
        self.wishes.now()
    }

    /// Whether an operator wants UEs to be kept away.
    pub fn is_overload_wanted(&self) -> bool {
        matches!(self.wishes.operator, Some(Some(_)))
    }

    /// An operator begins or ends it.
    pub fn want_overload(&mut self, overload: Option<Overload>) {
        self.change_wishes(|wishes| wishes.operator = Some(overload));
    }

    /// There is too much to do, or not any more.
    pub fn feel_load(&mut self, overload: Option<Overload>) {
        self.change_wishes(|wishes| wishes.load = overload);
    }

    fn change_wishes(&mut self, change: impl FnOnce(&mut Wishes)) {
        let before = self.wishes.now();
        change(&mut self.wishes);
        self.wishes.settle();
        let now = self.wishes.now();
        if now != before {
            ng_setup::tell_overload(self, now);
        }
    }

    /// The message that refuses a UE. One that is refused for congestion is told how long to stay away, but not
    /// without integrity protection: anybody could tell it so (TS 24.501, 5.5.1.2.5, 5.6.1.5). So is one whose session
    /// is refused for want of room, or for a data network that is not there for it (5.4.5.3.2, 6.2.7, 6.2.8).
    pub fn with_back_off(&mut self, id: UeId, message: Downlink) -> Downlink {
        let is_secured = self
            .connection(id)
            .is_some_and(|(_, connection)| connection.is_secured);
        let mut tell = |reject: Reject| match (is_secured, reject.cause) {
            (true, Cause::CONGESTION) => Reject {
                t3346_s: Some(self.back_off_s()),
                ..reject
            },
            _ => reject,
        };
        match message {
            Downlink::RegistrationReject(reject) => Downlink::RegistrationReject(tell(reject)),
            Downlink::ServiceReject(reject) => Downlink::ServiceReject(tell(reject)),
            Downlink::DlNasTransport {
                kind: N1_SM,
                session,
                cause: Some(cause),
                payload,
                ..
            } if is_secured && SESSION_BACK_OFF.contains(&cause) => Downlink::DlNasTransport {
                kind: N1_SM,
                session,
                cause: Some(cause),
                back_off_s: Some(self.back_off_s()),
                payload,
            },
            message => message,
        }
    }

    fn back_off_s(&mut self) -> u32 {
        let mut number = [0; 4];
        self.random.fill(&mut number);
        self.config.back_off.choose(u32::from_be_bytes(number))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Config;
    use crate::context::ue::{Connection, Ue};

    /// A UE that is connected.
    fn connected() -> (State, UeId) {
        let guami = sluice_ids::Guami {
            plmn: sluice_ids::Plmn::new("001", "01").expect("digits"),
            amf: sluice_ids::AmfId::new(1, 1, 1).expect("small"),
        };
        let config = Config::new(guami, Vec::new(), Vec::new());
        let mut state = State::new(config, Box::new(|octets: &mut [u8]| octets.fill(7)));
        let ue = UeId(state.ues.insert(Ue::default()).expect("room"));
        let tai = sluice_ids::Tai {
            plmn: guami.plmn,
            tac: sluice_ids::Tac([0, 0, 1]),
        };
        let location = sluice_n2::Location {
            plmn: guami.plmn,
            cell: sluice_ids::NrCellIdentity([0; 5]),
            tai,
        };
        let connection = Connection {
            association: sluice_sbi::AssociationId(1),
            ran: sluice_n2::RanUeId(1),
            location,
            ue,
            is_secured: false,
            has_context: false,
            is_told: false,
        };
        state.connect(connection).expect("room");
        (state, ue)
    }

    /// TS 24.501, 5.5.1.2.5 and 5.6.1.5.
    #[test]
    fn only_protected_rejects_for_congestion_tell_a_back_off() {
        let (mut state, ue) = connected();
        let mut told = |is_secured, cause: Cause| {
            if let Some(connection) = state.connection_mut(ue) {
                connection.is_secured = is_secured;
            }
            let messages = [
                Downlink::RegistrationReject(cause.into()),
                Downlink::ServiceReject(cause.into()),
            ];
            messages.map(|message| match state.with_back_off(ue, message) {
                Downlink::RegistrationReject(reject) | Downlink::ServiceReject(reject) => {
                    reject.t3346_s
                }
                other => panic!("{other:?}"),
            })
        };
        assert_eq!(told(false, Cause::CONGESTION), [None, None]);
        assert_eq!(told(true, Cause::ILLEGAL_UE), [None, None]);
        for told_s in told(true, Cause::CONGESTION) {
            assert!((60..=600).contains(&told_s.expect("a back-off")));
        }
    }

    /// TS 24.501, 5.4.5.3.2.
    #[test]
    fn what_is_not_forwarded_for_want_of_room_tells_a_back_off_if_it_is_protected() {
        let (mut state, ue) = connected();
        let mut of_session = |is_secured, kind, cause| {
            if let Some(connection) = state.connection_mut(ue) {
                connection.is_secured = is_secured;
            }
            let message = Downlink::DlNasTransport {
                kind,
                session: Some(5),
                cause,
                back_off_s: None,
                payload: vec![0x2e],
            };
            match state.with_back_off(ue, message) {
                Downlink::DlNasTransport { back_off_s, .. } => back_off_s,
                other => panic!("{other:?}"),
            }
        };
        for cause in [22, 67, 69, 91] {
            let told_s = of_session(true, N1_SM, Some(Cause(cause)));
            assert!(
                told_s.is_some_and(|told_s| (60..=600).contains(&told_s)),
                "{cause}"
            );
            assert_eq!(of_session(false, N1_SM, Some(Cause(cause))), None);
            assert_eq!(of_session(true, 5, Some(Cause(cause))), None);
        }
        for cause in [
            Some(Cause::PAYLOAD_NOT_FORWARDED),
            Some(Cause::MAXIMUM_SESSIONS),
            None,
        ] {
            assert_eq!(of_session(true, N1_SM, cause), None);
        }
    }
}
