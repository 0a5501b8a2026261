//! T3396 (TS 24.501, 6.2.7 and 6.4.1.4.2): how long a UE asks for no session of a data network that it was refused for
//! want of room.

use sluice_n1::told_session_back_off_s;
use sluice_sbi::context_store::fingerprint;

use crate::context::session::SessionId;
use crate::context::state::State;

/// How long, of the configured range.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum BackOff {
    /// The UE is told nothing.
    None,
    /// The shortest: what is missing may be there in a moment.
    Shortest,
    /// Any time, another one for each UE.
    AnyOfRange,
}

impl State {
    /// T3396 of a UE, in seconds; none if it is told none.
    pub fn back_off_s(&self, id: SessionId, back_off: BackOff) -> Option<u32> {
        let (least_s, most_s) = self.config.back_off_s;
        let time_s = match back_off {
            BackOff::None => return None,
            BackOff::Shortest => least_s,
            BackOff::AnyOfRange => {
                let (number, now) = (id.number(), self.now.instant.0);
                let mixed = fingerprint(&[number.to_be_bytes(), now.to_be_bytes()].concat());
                let times = u64::from(most_s - least_s) + 1;
                least_s + (mixed % times) as u32
            }
        };
        Some(told_session_back_off_s(time_s))
    }
}
