//! Events that others subscribe to: of UEs at an AMF (TS 29.518, 5.3) and of PDU sessions at an SMF (TS 29.508, 4.2).

pub(crate) mod subscriptions;

use sluice_ids::{Dnn, NrCellIdentity, Plmn, Snssai, Supi, Tai};
use zerocopy::big_endian::{U32, U64};
use zerocopy::{FromZeros, Immutable, IntoBytes, KnownLayout, TryFromBytes, Unaligned};

/// UEs of a subscription: one of them, or all.
#[derive(
    Clone, Copy, PartialEq, Eq, Debug, TryFromBytes, IntoBytes, KnownLayout, Immutable, Unaligned,
)]
#[repr(C)]
pub struct ForUe {
    is_any: bool,
    supi: Supi,
}

impl ForUe {
    /// All UEs.
    pub fn any() -> Self {
        Self {
            is_any: true,
            supi: FromZeros::new_zeroed(),
        }
    }

    /// The one; none for all of them.
    pub fn one(&self) -> Option<Supi> {
        (!self.is_any).then_some(self.supi)
    }
}

impl From<Supi> for ForUe {
    fn from(supi: Supi) -> Self {
        Self {
            is_any: false,
            supi,
        }
    }
}

/// Kinds of events of an AMF that are served (AmfEventType: TS 29.518, 6.2.6.3.3).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum AmfEvent {
    /// The UE is at another place.
    Location,
    /// The UE is registered, or is not any more.
    Registration,
    /// The UE is connected, or idle.
    Connectivity,
    /// The UE can be reached, or does not answer its paging.
    Reachability,
}

impl AmfEvent {
    /// All of them.
    pub const ALL: [Self; 4] = [
        Self::Location,
        Self::Registration,
        Self::Connectivity,
        Self::Reachability,
    ];

    /// Bit of it in a set.
    pub fn bit(self) -> u8 {
        1 << self as u8
    }
}

/// Subscription to events of an AMF (AmfEventSubscription: TS 29.518, 6.2.6.2.2).
#[derive(
    Clone, Copy, PartialEq, Eq, Debug, TryFromBytes, IntoBytes, KnownLayout, Immutable, Unaligned,
)]
#[repr(C)]
pub struct AmfEventSubscription {
    /// UEs whose events are told.
    pub of: ForUe,
    /// Kinds of events ([`AmfEvent::bit`]).
    pub events: u8,
    /// Kinds of which the state at the beginning is told, too.
    pub immediate: u8,
    /// Whether another cell of the same tracking area is another place.
    pub by_cell: bool,
    /// Most reports; 0 is no bound.
    pub most: U32,
    /// End, in seconds since 1970; 0 leaves it to the AMF.
    pub until_unix_s: U64,
}

/// State of a UE as its AMF shows it.
#[derive(
    Clone, Copy, PartialEq, Eq, Debug, FromZeros, IntoBytes, KnownLayout, Immutable, Unaligned,
)]
#[repr(C)]
pub struct UeState {
    /// RM-REGISTERED
    pub is_registered: bool,
    /// CM-CONNECTED
    pub is_connected: bool,
    /// The UE answers its paging, as far as is known.
    pub is_reachable: bool,
    has_place: bool,
    plmn: Plmn,
    cell: NrCellIdentity,
    tai: Tai,
}

impl Default for UeState {
    /// Of a UE that is not known.
    fn default() -> Self {
        Self::new_zeroed()
    }
}

impl UeState {
    /// The same at a place: PLMN of the cell, cell, and tracking area.
    #[must_use]
    pub fn at(self, (plmn, cell, tai): (Plmn, NrCellIdentity, Tai)) -> Self {
        Self {
            has_place: true,
            plmn,
            cell,
            tai,
            ..self
        }
    }

    /// Last place that is known: PLMN of the cell, cell, and tracking area.
    pub fn place(&self) -> Option<(Plmn, NrCellIdentity, Tai)> {
        self.has_place.then_some((self.plmn, self.cell, self.tai))
    }

    /// Kinds of events by which a state differs from the one before.
    pub fn changes(&self, before: &Self, by_cell: bool) -> u8 {
        let is_elsewhere = match (self.place(), before.place()) {
            (Some(now), Some(then)) if !by_cell => now.2 != then.2,
            (Some(now), then) => Some(now) != then,
            (None, _) => false,
        };
        let changed = [
            (AmfEvent::Location, is_elsewhere),
            (
                AmfEvent::Registration,
                self.is_registered != before.is_registered,
            ),
            (
                AmfEvent::Connectivity,
                self.is_connected != before.is_connected,
            ),
            (
                AmfEvent::Reachability,
                self.is_reachable != before.is_reachable,
            ),
        ];
        let changed = changed.into_iter().filter(|(_, is_other)| *is_other);
        changed.fold(0, |bits, (event, _)| bits | event.bit())
    }
}

/// An event of a PDU session that is served (SmfEvent: TS 29.508, 5.6.3.3).
#[derive(
    Clone, Copy, PartialEq, Eq, Debug, TryFromBytes, IntoBytes, KnownLayout, Immutable, Unaligned,
)]
#[repr(u8)]
pub enum SmfEvent {
    /// PDU_SES_EST
    Established = 0,
    /// PDU_SES_REL
    Released = 1,
}

impl SmfEvent {
    /// All of them.
    pub const ALL: [Self; 2] = [Self::Established, Self::Released];

    /// Bit of it in a set.
    pub fn bit(self) -> u8 {
        1 << self as u8
    }
}

/// Subscription to events of an SMF (NsmfEventExposure: TS 29.508, 5.6.2.2).
#[derive(
    Clone, Copy, PartialEq, Eq, Debug, TryFromBytes, IntoBytes, KnownLayout, Immutable, Unaligned,
)]
#[repr(C)]
pub struct SmfEventSubscription {
    /// UEs whose sessions' events are told.
    pub of: ForUe,
    /// Identity of the session; 0 for all.
    pub session: u8,
    /// Data network; none for all.
    pub dnn: Dnn,
    has_slice: bool,
    slice: Snssai,
    /// Kinds of events ([`SmfEvent::bit`]).
    pub events: u8,
    /// Sessions that are there already are told at the beginning.
    pub is_immediate: bool,
    /// Most reports; 0 is no bound.
    pub most: U32,
    /// End, in seconds since 1970; 0 leaves it to the SMF.
    pub until_unix_s: U64,
}

impl SmfEventSubscription {
    /// Of UEs and kinds of events, without bounds and for all sessions.
    pub fn new(of: ForUe, events: u8) -> Self {
        Self {
            of,
            session: 0,
            dnn: Dnn::NONE,
            has_slice: false,
            slice: Snssai::new(0, None),
            events,
            is_immediate: false,
            most: U32::ZERO,
            until_unix_s: U64::ZERO,
        }
    }

    /// Slice of the sessions; none for all.
    pub fn slice(&self) -> Option<Snssai> {
        self.has_slice.then_some(self.slice)
    }

    /// The same for sessions of a slice.
    #[must_use]
    pub fn in_slice(self, slice: Option<Snssai>) -> Self {
        Self {
            has_slice: slice.is_some(),
            slice: slice.unwrap_or(Snssai::new(0, None)),
            ..self
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn changes_are_told_apart() {
        let plmn = Plmn::new("001", "01").expect("digits");
        let place = |cell, tac| {
            let tac = sluice_ids::Tac([0, 0, tac]);
            (plmn, NrCellIdentity([0, 0, 0, cell, 0]), Tai { plmn, tac })
        };
        let before = UeState::default();
        let registered = UeState {
            is_registered: true,
            is_connected: true,
            is_reachable: true,
            ..before
        };
        let here = registered.at(place(1, 1));
        assert_eq!(here.changes(&before, true), 0b1111);
        assert_eq!(here.changes(&registered, false), AmfEvent::Location.bit());
        let (cell, area) = (here.at(place(2, 1)), here.at(place(2, 2)));
        assert_eq!(cell.changes(&here, true), AmfEvent::Location.bit());
        assert_eq!(cell.changes(&here, false), 0);
        assert_eq!(area.changes(&cell, false), AmfEvent::Location.bit());
        assert_eq!(registered.changes(&here, true), 0, "nothing is known of it");
        let idle = UeState {
            is_connected: false,
            ..here
        };
        assert_eq!(idle.changes(&here, true), AmfEvent::Connectivity.bit());
    }

    #[test]
    fn one_or_all() {
        let supi = Supi::from_imsi("001010000000001").expect("digits");
        assert_eq!(ForUe::from(supi).one(), Some(supi));
        assert_eq!(ForUe::any().one(), None);
        let slice = Snssai::new(1, None);
        let all = SmfEventSubscription::new(ForUe::any(), 3);
        assert_eq!(
            (all.slice(), all.in_slice(Some(slice)).slice()),
            (None, Some(slice))
        );
    }
}
