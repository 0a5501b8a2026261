//! Back-off timer value of session management (GPRS timer 3; TS 24.008, 10.5.7.4a): how long a UE asks for no session
//! that it was refused for want of room (T3396, T3584 and T3585; TS 24.501, 6.2.7 and 6.2.8).

use oxirush_nas::nas_5gs as nas;

/// Units in seconds, each with up to 31 of it.
const UNITS_S: [u32; 6] = [2, 30, 60, 600, 3_600, 36_000];

/// The longest time, in seconds.
pub const SESSION_BACK_OFF_MOST_S: u32 = 31 * 36_000;

/// A time as a UE is told it: the shortest that the timer has and that is no shorter, at most
/// [`SESSION_BACK_OFF_MOST_S`].
pub fn told_session_back_off_s(time_s: u32) -> u32 {
    let fits = |unit_s: &&u32| time_s.div_ceil(**unit_s) <= 31;
    let unit_s = UNITS_S.iter().find(fits);
    unit_s.map_or(SESSION_BACK_OFF_MOST_S, |unit_s| {
        time_s.div_ceil(*unit_s) * unit_s
    })
}

pub(crate) fn write(time_s: u32) -> Option<nas::NasGprsTimer3> {
    nas::NasGprsTimer3::from_seconds(told_session_back_off_s(time_s).into()).ok()
}

/// None of a timer that is deactivated, or of no known unit.
pub(crate) fn read(timer: &nas::NasGprsTimer3) -> Option<u32> {
    timer.to_seconds()?.try_into().ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Cause, Downlink, N1_SM, SessionCause, SessionDownlink, Transaction};

    #[test]
    fn a_back_off_of_a_session_is_told_as_no_shorter_than_it_is() {
        let times_s = [1, 62, 63, 930, 931, 1_860, 1_861, 18_601, 2_000_000];
        let told = times_s.map(told_session_back_off_s);
        let expected = [2, 62, 90, 930, 960, 1_860, 2_400, 21_600, 1_116_000];
        assert_eq!(told, expected);
    }

    #[test]
    fn each_back_off_of_a_session_is_read_as_it_is_told() {
        let of = Transaction {
            session: 5,
            procedure: 1,
        };
        for time_s in [2, 62, 90, 930, 960, 1_860, 2_400, 21_600, 1_116_000] {
            let back_off_s = Some(time_s);
            let reject = SessionDownlink::EstablishmentReject {
                cause: SessionCause::INSUFFICIENT_RESOURCES,
                allows_ssc_mode_1: false,
                back_off_s,
            };
            let octets = reject.encode(of);
            assert_eq!(SessionDownlink::decode(&octets), Ok(reject), "{time_s}");
            let returned = Downlink::DlNasTransport {
                kind: N1_SM,
                session: Some(5),
                cause: Some(Cause::DNN_NOT_SUPPORTED),
                back_off_s,
                payload: vec![0x2e, 5, 1, 0xc1],
            };
            let octets = returned.encode();
            assert_eq!(Downlink::decode(&octets).ok(), Some(returned), "{time_s}");
        }
    }
}
