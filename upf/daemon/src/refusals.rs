//! Refused requests: lines for the log, and what `sluice ctl refusals` is told.

use super::lines::{self, Kind, Peer};
use super::n4::time;
use serde_json::{Value, json};
use sluice_n4::refusals::{Refused, RuleName};
use sluice_n4::{Endpoint, Instant, Refusals, Stranger, Strangers};
use sluice_session::{RefusalWords, words_of};
use sluice_wire::pfcp::MessageType;

/// Seconds from the era of NTP (1900) to that of Unix.
const NTP_TO_UNIX_S: u64 = 2_208_988_800;

/// How far the log has come.
#[derive(Debug, Default)]
pub struct RefusalLog {
    /// The number of the last refusal that it has looked at.
    seen: u64,
    /// The number of the last stranger.
    seen_strangers: u64,
}

impl RefusalLog {
    /// Writes what was refused since the last turn, and who was not answered, as far as the limit on lines allows.
    pub fn turn(&mut self, endpoint: &Endpoint) {
        if endpoint.refusals().total() != self.seen {
            self.write(endpoint.refusals());
        }
        if endpoint.strangers().total() != self.seen_strangers {
            self.write_strangers(endpoint.strangers());
        }
    }

    #[cold]
    fn write_strangers(&mut self, strangers: &Strangers) {
        for stranger in strangers.since(self.seen_strangers) {
            if lines::permits(Peer::Address(stranger.peer.ip()), Kind::Refusal) {
                let request = name_of(stranger.request);
                let peer = stranger.peer;
                tracing::warn!(
                    "{request} of {peer} is not answered: the address is none of n4.peers"
                );
            }
        }
        self.seen_strangers = strangers.total();
    }

    #[cold]
    fn write(&mut self, refusals: &Refusals) {
        let mut kept = 0;
        for refused in refusals.since(self.seen) {
            kept += 1;
            if lines::permits(Peer::Address(refused.peer.ip()), Kind::Refusal) {
                tracing::warn!("{}", line(refused));
            }
        }
        let lost = refusals.total() - self.seen - kept;
        if lost > 0 {
            lines::withheld(Kind::Refusal, lost);
        }
        self.seen = refusals.total();
    }
}

fn words(refused: &Refused) -> Option<&'static RefusalWords> {
    words_of(refused.cause, refused.offending_ie)
}

/// The line of the log: what was refused, why, and what to do.
fn line(refused: &Refused) -> String {
    match words(refused) {
        Some(words) => format!("{refused}: {}; {}", words.why, words.remedy),
        None => refused.to_string(),
    }
}

/// The newest refusals, the newest first, and all by cause.
pub fn view(endpoint: &Endpoint) -> Value {
    let refusals = endpoint.refusals();
    let time = time();
    let wall_s = u64::from(time.wall.0).saturating_sub(NTP_TO_UNIX_S);
    let newest = refusals.iter().rev();
    let newest: Vec<_> = newest
        .map(|refused| row(refused, time.now, wall_s))
        .collect();
    json!({
        "total": refusals.total(),
        "by_cause": by_cause(endpoint),
        "refusals": newest,
        "strangers": strangers(endpoint.strangers(), time.now, wall_s),
    })
}

/// Addresses that may not speak N4, the newest first.
fn strangers(strangers: &Strangers, now: Instant, wall_s: u64) -> Vec<Value> {
    let row = |stranger: &Stranger| {
        let age_ns = now.ns_since(stranger.at);
        json!({
            "number": stranger.number,
            "age_s": age_ns as f64 / 1e9,
            "unix_s": wall_s.saturating_sub(age_ns / 1_000_000_000),
            "peer": stranger.peer.to_string(),
            "request": name_of(stranger.request),
            "messages": stranger.messages,
        })
    };
    strangers.iter().rev().map(row).collect()
}

fn name_of(request: Option<MessageType>) -> &'static str {
    request.map_or("no PFCP", |request| request.name().unwrap_or("?"))
}

fn row(refused: &Refused, now: Instant, wall_s: u64) -> Value {
    let age_ns = now.ns_since(refused.at);
    let seid = |seid: sluice_wire::ids::Seid| format!("{:#x}", seid.0);
    json!({
        "number": refused.number,
        "age_s": age_ns as f64 / 1e9,
        "unix_s": wall_s.saturating_sub(age_ns / 1_000_000_000),
        "peer": refused.peer.to_string(),
        "request": refused.request.name().unwrap_or("?"),
        "cause": refused.cause.0,
        "cause_name": refused.cause.name(),
        "offending_ie": refused.offending_ie.map(|ie| ie.to_string()),
        "rule": refused.rule.map(|rule| RuleName(rule).to_string()),
        "cp_seid": refused.cp_seid.map(seid),
        "up_seid": refused.up_seid.map(seid),
        "holder": refused.holder.map(|holder| holder.to_string()),
        "why": words(refused).map(|words| words.why),
        "remedy": words(refused).map(|words| words.remedy),
    })
}

/// How often each cause was given since the start, over all kinds of requests.
fn by_cause(endpoint: &Endpoint) -> Vec<Value> {
    let counters = endpoint.counters();
    let mut counts: Vec<(_, u64)> = Vec::new();
    for (_, cause, n) in counters
        .causes()
        .filter(|(_, cause, _)| !cause.is_acceptance())
    {
        match counts.iter_mut().find(|(known, _)| *known == cause) {
            Some((_, sum)) => *sum += n,
            None => counts.push((cause, n)),
        }
    }
    counts.sort_by_key(|(cause, _)| cause.0);
    let row = |(cause, n): (sluice_wire::pfcp::Cause, u64)| json!({ "cause": cause.0, "cause_name": cause.name(), "count": n });
    counts.into_iter().map(row).collect()
}
