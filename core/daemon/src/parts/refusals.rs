//! Refused requests: lines for the log, and what `sluice ctl --core refusals` is told.

use crate::operators::answers::{Cause, Refusal, RefusalOfUe, Refusals};
use crate::parts::flow::cut;
use serde::{Deserialize, Serialize};
use sluice_program::lines::{self, Kind, Peer};
use sluice_sbi::Refused;
use std::borrow::Cow;
use std::collections::{BTreeMap, VecDeque};
use std::net::IpAddr;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// Refusals that are kept.
const KEPT: usize = 1024;
/// Kinds of request and cause that are counted apart: a TS has some dozen of each.
const CAUSES: usize = 1024;

/// Addresses that are remembered as told of.
const STRANGERS: usize = 256;
/// When one that goes on is told of again.
const TOLD_AGAIN: Duration = Duration::from_secs(60);

/// Who wanted to speak on N2 and may not: each is told of once in a while.
#[derive(Default)]
pub(crate) struct Strangers(BTreeMap<IpAddr, Instant>);

impl Strangers {
    /// What is told of one now, if anything.
    pub fn refused(&mut self, address: IpAddr, now: Instant) -> Option<Refused> {
        self.0
            .retain(|_, told| now.duration_since(*told) < TOLD_AGAIN);
        if self.0.len() >= STRANGERS || self.0.contains_key(&address) {
            return None;
        }
        self.0.insert(address, now);
        Some(Refused {
            who: format!("SCTP of {address}"),
            supi: None,
            request: "SCTP association",
            cause: "not answered".to_owned(),
            why: "the address is none of n2.gnbs".to_owned(),
            remedy: "add it to n2.gnbs and reload, if it is one of your gNBs",
        })
    }
}

/// A refusal as it is kept, and as programs tell it; logged where it is made, as far as the limit on lines allows.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Kept {
    who: String,
    /// Subscriber, if it is known.
    imsi: Option<String>,
    request: Cow<'static, str>,
    cause: String,
    why: String,
    remedy: Cow<'static, str>,
}

impl From<Refused> for Kept {
    fn from(mut refused: Refused) -> Self {
        for text in [&mut refused.who, &mut refused.cause, &mut refused.why] {
            cut(text);
        }
        if lines::permits(Peer::Local, Kind::Refusal) {
            tracing::warn!("{refused}");
        }
        Self {
            who: refused.who,
            imsi: refused.supi.map(|supi| supi.imsi().to_owned()),
            request: refused.request.into(),
            cause: refused.cause,
            why: refused.why,
            remedy: refused.remedy.into(),
        }
    }
}

/// The newest refusals, and all by request and cause.
#[derive(Default)]
pub(crate) struct RefusalLog {
    newest: VecDeque<(u64, u64, Kept)>,
    by_cause: BTreeMap<(Cow<'static, str>, String), u64>,
    total: u64,
}

impl RefusalLog {
    /// One more: kept and counted.
    pub fn add(&mut self, refused: impl Into<Kept>) {
        let refused = refused.into();
        let now = SystemTime::now().duration_since(UNIX_EPOCH);
        self.keep(now.map_or(0, |now| now.as_secs()), refused);
    }

    fn keep(&mut self, unix_s: u64, refused: Kept) {
        self.total += 1;
        let cause = (refused.request.clone(), refused.cause.clone());
        if self.by_cause.len() < CAUSES || self.by_cause.contains_key(&cause) {
            *self.by_cause.entry(cause).or_default() += 1;
        }
        if self.newest.len() >= KEPT {
            self.newest.pop_front();
        }
        self.newest.push_back((self.total, unix_s, refused));
    }

    /// How many there were.
    pub fn total(&self) -> u64 {
        self.total
    }

    /// All by request and cause.
    pub fn by_cause(&self) -> impl Iterator<Item = (&str, &str, u64)> {
        let all = self.by_cause.iter();
        all.map(|((request, cause), count)| (&**request, cause.as_str(), *count))
    }

    /// The newest, the newest first, and all by cause.
    pub fn view(&self) -> Refusals {
        let row = |(number, unix_s, refused): &(u64, u64, Kept)| Refusal {
            number: *number,
            unix_s: *unix_s,
            who: refused.who.clone(),
            request: refused.request.clone(),
            cause: refused.cause.clone(),
            why: refused.why.clone(),
            remedy: refused.remedy.clone(),
        };
        let count = |((request, cause), count): (&(Cow<'static, str>, String), &u64)| Cause {
            count: *count,
            request: request.clone(),
            cause: cause.clone(),
        };
        Refusals {
            total: self.total,
            by_cause: self.by_cause.iter().map(count).collect(),
            refusals: self.newest.iter().rev().map(row).collect(),
        }
    }

    /// The newest of a subscriber, the newest first.
    pub fn of(&self, who: &str) -> Vec<RefusalOfUe> {
        let its = self.newest.iter().rev().filter(|(_, _, refused)| {
            let its = refused.imsi.as_deref();
            refused.who == who || its.is_some_and(|its| who.strip_prefix("imsi-") == Some(its))
        });
        let row = |(_, unix_s, refused): &(u64, u64, Kept)| RefusalOfUe {
            unix_s: *unix_s,
            request: refused.request.clone(),
            cause: refused.cause.clone(),
            why: refused.why.clone(),
            remedy: refused.remedy.clone(),
        };
        its.take(4).map(row).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stranger_is_told_of_once_in_a_while() {
        let mut strangers = Strangers::default();
        let (now, one) = (Instant::now(), IpAddr::from([192, 0, 2, 7]));
        let told = strangers.refused(one, now).expect("told");
        assert!(told.who.contains("192.0.2.7") && told.why.contains("n2.gnbs"));
        assert!(strangers.refused(one, now + TOLD_AGAIN / 2).is_none());
        assert!(strangers.refused(one, now + TOLD_AGAIN).is_some());
        let many = (0..1_000_u32).filter(|n| {
            let address = IpAddr::from(n.to_be_bytes());
            strangers.refused(address, now + TOLD_AGAIN).is_some()
        });
        assert_eq!(many.count(), STRANGERS - 1);
    }

    #[test]
    fn all_are_counted_and_the_newest_are_kept() {
        let mut log = RefusalLog::default();
        for number in 0..KEPT + 5 {
            log.keep(
                1_700_000_000,
                Kept::from(Refused {
                    who: format!("imsi-{number}"),
                    supi: None,
                    request: "Registration",
                    cause: "#3 (illegal UE)".to_owned(),
                    why: "there is no subscriber of this identity".to_owned(),
                    remedy: "add it",
                }),
            );
        }
        let view = log.view();
        let all = (KEPT + 5) as u64;
        assert_eq!((view.total, view.by_cause[0].count), (all, all));
        let rows = &view.refusals;
        assert_eq!((rows.len(), rows[0].number), (KEPT, all));
        assert_eq!(log.of("imsi-1").len(), 0, "it is forgotten");
        assert_eq!(log.of(&format!("imsi-{}", KEPT + 4))[0].remedy, "add it");
    }
}
