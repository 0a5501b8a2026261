//! Registration Reject and Service Reject: the cause, and the back-off time of the UE (TS 24.501, 8.2.9 and 8.2.18).

use core::fmt;

use oxirush_nas::nas_5gs as nas;

use crate::cause::Cause;

/// Units of GPRS timer 2 (TS 24.008, 10.5.7.4) in seconds, each with up to 31 of it.
const UNITS_S: [u32; 3] = [2, 60, 360];

/// The longest time of GPRS timer 2, in seconds.
pub const T3346_MOST_S: u32 = 31 * 360;

/// Why a UE is refused.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Reject {
    /// The cause.
    pub cause: Cause,
    /// T3346 in seconds: the UE begins nothing by itself so long (5.3.9). It counts only in a message with
    /// integrity protection (5.5.1.2.5, 5.6.1.5).
    pub t3346_s: Option<u32>,
}

impl From<Cause> for Reject {
    fn from(cause: Cause) -> Self {
        Self {
            cause,
            t3346_s: None,
        }
    }
}

impl fmt::Display for Reject {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.t3346_s {
            Some(time_s) => write!(f, "{}, T3346 {time_s} s", self.cause),
            None => write!(f, "{}", self.cause),
        }
    }
}

impl Reject {
    pub(crate) fn read(cause: &nas::NasFGmmCause, timer: Option<&nas::NasGprsTimer2>) -> Self {
        let time_s = timer.and_then(nas::NasGprsTimer2::to_seconds);
        Self {
            cause: Cause(cause.value),
            t3346_s: time_s.and_then(|time_s| u32::try_from(time_s).ok()),
        }
    }

    /// The timer, none if there is none of that length.
    pub(crate) fn timer(&self) -> Option<nas::NasGprsTimer2> {
        nas::NasGprsTimer2::from_seconds(told_t3346_s(self.t3346_s?).into()).ok()
    }
}

/// T3346 as a UE is told it: the shortest time that GPRS timer 2 has and that is no shorter, at most
/// [`T3346_MOST_S`].
pub fn told_t3346_s(time_s: u32) -> u32 {
    let fits = |unit_s: &&u32| time_s.div_ceil(**unit_s) <= 31;
    let unit_s = UNITS_S.iter().find(fits);
    unit_s.map_or(T3346_MOST_S, |unit_s| time_s.div_ceil(*unit_s) * unit_s)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Downlink;

    #[test]
    fn a_back_off_is_told_as_no_shorter_than_it_is() {
        let told = [1, 2, 61, 62, 63, 900, 1860, 1861, 11_160, 90_000].map(told_t3346_s);
        assert_eq!(told, [2, 2, 62, 62, 120, 900, 1860, 2160, 11_160, 11_160]);
    }

    #[test]
    fn each_back_off_is_read_as_it_is_told() {
        for time_s in 1..=T3346_MOST_S {
            let t3346_s = Some(told_t3346_s(time_s));
            let reject = Reject {
                cause: Cause::CONGESTION,
                t3346_s,
            };
            for message in [
                Downlink::RegistrationReject(reject),
                Downlink::ServiceReject(reject),
            ] {
                let read = Downlink::decode(&message.encode());
                assert_eq!(read.ok(), Some(message), "{time_s}");
            }
        }
    }
}
