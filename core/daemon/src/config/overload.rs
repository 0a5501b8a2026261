//! Section `overload`: what becomes of UEs when there are too many of them.

use sluice_amf::{BackOff, Bounds};
use sluice_program::config::fields::Fields;
use sluice_program::config::kind::{boolean, number};

/// The longest time that a UE can be told to stay away (GPRS timer 2; TS 24.008, 10.5.7.4), in seconds.
const BACK_OFF_MOST_S: u32 = 11_160;
/// UEs that are connected at a time, at the most.
const UES: usize = 1_000_000;

/// What becomes of UEs when there are too many.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct OverloadSection {
    /// Whether gNBs are asked to keep UEs away when there is more to do than can be done.
    pub automatic: bool,
    /// UEs at a time that have not proved who they are.
    pub unauthenticated: Bounds,
    /// How long UEs stay away that are refused for congestion.
    pub back_off: BackOff,
}

impl OverloadSection {
    pub(super) fn read(fields: &mut Fields<'_, '_>) -> Self {
        let automatic = fields.or("automatic", "true", &boolean()).value;
        let ues = number(1, UES, "UEs");
        let of_gnb = fields.or("unauthenticated_of_gnb", "2048", &ues);
        let in_all = fields.or("unauthenticated", "16384", &ues).value;
        let time = number(2, BACK_OFF_MOST_S, "seconds");
        let least = fields.or("back_off_least_s", "60", &time);
        let most_s = fields.or("back_off_most_s", "600", &time).value;
        let given = [
            fields.has("unauthenticated_of_gnb"),
            fields.has("back_off_least_s"),
        ];
        if given[0] && of_gnb.value > in_all {
            let what = format!("got {}, more than the {in_all} in all", of_gnb.value);
            let expected = "no more than overload.unauthenticated";
            let key = fields.key("unauthenticated_of_gnb");
            fields.report().problem(of_gnb.line, key, what, expected);
        }
        if given[1] && least.value > most_s {
            let what = format!("got {}, more than the {most_s} at the most", least.value);
            let expected = "no more than overload.back_off_most_s";
            let key = fields.key("back_off_least_s");
            fields.report().problem(least.line, key, what, expected);
        }
        Self {
            automatic,
            unauthenticated: Bounds {
                of_gnb: of_gnb.value.min(in_all),
                in_all,
            },
            back_off: BackOff {
                least_s: least.value.min(most_s),
                most_s,
            },
        }
    }
}
