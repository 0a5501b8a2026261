//! Timed repetitions: limit, closed loop and open loops in turn.

use super::load::{Log, Pace, Wire};
use super::n4_transport::Door;
use super::script::Script;
use super::subscribers::Variety;
use super::testbed::{Loop, Testbed};
use super::turns::Spent;
use crate::Failure;
use crate::measure::{Conditions, Effort, Judged, disturbance};
use crate::report::{Outcome, between, join, spread};
use crate::stats::{Summary, round};
use crate::watch::history::Series;
use serde_json::{Map, json};
use sluice_control::core::Env;
use sluice_port::Packet;

#[derive(Clone, Debug)]
pub struct Case {
    /// As results are named.
    pub name: String,
    /// As those of sessions that are not armed are.
    pub plain_name: String,
    /// Real carrier of the datagrams.
    pub carried_by: &'static str,
    /// Requests of a lap.
    pub messages: usize,
    /// Requests under way in the closed loop.
    pub window: usize,
    /// Requests per second in the open loop.
    pub rate_per_s: f64,
    /// Repetitions that count; one more comes before them.
    pub reps: usize,
}

/// Round trips, in microseconds: the median, 99 of 100, the longest.
#[derive(Clone, Copy, Default, Debug)]
pub struct Trips {
    pub p50: f64,
    pub p99: f64,
    pub max: f64,
}

/// All figures of a case.
#[derive(Clone, Debug)]
pub struct Figures {
    /// Answers per second, closed loop; and those of the limit.
    pub rate_per_s: Summary,
    limit_rate_per_s: Summary,
    /// Time of the N4 thread for a message, nanoseconds, idle turns not counted; and that of the limit.
    pub busy_ns: Summary,
    limit_busy_ns: Summary,
    /// Busy time, and answers per second, by those of the limit, by repetition.
    ratios: Vec<f64>,
    rate_ratios: Vec<f64>,
    /// Medians of the round trips of the open loop in microseconds, by repetition.
    open_p50_us: Vec<f64>,
    /// Share of its time in which the N4 thread had something to do, closed loop.
    busy_share: Summary,
    /// Requests by busy turns of the N4 thread, closed loop.
    per_turn: Summary,
    /// Medians over the repetitions: of the closed loop, of the open loop, and of one that waits when one of the
    /// threads had no CPU.
    pub closed: Trips,
    pub open: Trips,
    undisturbed: Trips,
    /// Share of its requests that were not under way then.
    undisturbed_share: Summary,
    /// Answers per second in the open loop.
    open_rate_per_s: Summary,
    /// Share of the time in which others had one of the two CPUs.
    pub preempted: f64,
    request_octets: f64,
    /// Shares of the kinds of requests.
    pub shares: [(&'static str, f64); 5],
}

/// Heads of the table.
pub const HEADS: &str =
    "|sessions|messages/s (min-max)|ns/message (min-max)|limit ns|ratio|rtt us p50/p99 at rate";

impl Figures {
    /// Whether they can be trusted.
    pub fn judge(&self) -> Judged {
        let spread = self.rate_per_s.spread().max(self.busy_ns.spread());
        Judged {
            disturbed: disturbance(spread, self.preempted, "the CPUs"),
            preempted: self.preempted,
            ns: self.busy_ns.median,
        }
    }

    /// Result of a case with this number of sessions.
    pub fn outcome(
        &self,
        case: &Case,
        (sessions, variety): (u32, Variety),
        conditions: &Conditions,
    ) -> Outcome {
        let Self {
            closed,
            open,
            undisturbed,
            ..
        } = self;
        let (peers, ambrs) = variety.counts();
        let ratio = self.busy_ns.median / self.limit_busy_ns.median;
        let mix = self.shares.iter();
        let mix = mix.map(|(name, share)| ((*name).to_owned(), json!(round(*share))));
        let figures = json!({
            "name": case.name,
            "carried_by": case.carried_by,
            "sessions": sessions,
            "peers": peers,
            "ambrs": ambrs,
            "limit_messages_per_s_median": self.limit_rate_per_s.median.round(),
            "n4_busy_share": round(self.busy_share.median),
            "messages_per_turn": round(self.per_turn.median),
            "limit_ns_median": round(self.limit_busy_ns.median),
            "ratio_to_limit": round(ratio),
            "window": case.window,
            "closed_rtt_us_p50": round(closed.p50),
            "closed_rtt_us_p99": round(closed.p99),
            "rtt_us_p50": round(open.p50),
            "rtt_us_p99": round(open.p99),
            "rtt_us_max": round(open.max),
            "rtt_undisturbed_us_p50": round(undisturbed.p50),
            "rtt_undisturbed_us_p99": round(undisturbed.p99),
            "rtt_undisturbed_us_max": round(undisturbed.max),
            "rtt_undisturbed_share": round(self.undisturbed_share.median),
            "rtt_offered_per_s": case.rate_per_s.round(),
            "rtt_answered_per_s": self.open_rate_per_s.median.round(),
            "messages_per_repetition": case.messages,
            "request_bytes_mean": round(self.request_octets),
            "mix": mix.collect::<Map<_, _>>(),
        });
        let more = [
            spread("messages_per_s", self.rate_per_s),
            spread("ns", self.busy_ns),
            conditions.to_json(),
        ];
        let cells = vec![
            case.name.clone(),
            sessions.to_string(),
            between(self.rate_per_s, 0),
            between(self.busy_ns, 0),
            format!("{:.0}", self.limit_busy_ns.median),
            format!("{ratio:.2}"),
            format!("{:.1}/{:.1} at {:.0}", open.p50, open.p99, case.rate_per_s),
        ];
        let undisturbed = format!(
            "rtt us p50/p99/max {:.1}/{:.1}/{:.1} at {:.0} while both threads had their CPUs: {:.1} % of the requests",
            undisturbed.p50,
            undisturbed.p99,
            undisturbed.max,
            case.rate_per_s,
            self.undisturbed_share.median * 100.0,
        );
        Outcome {
            json: more.into_iter().fold(figures, join),
            cells,
            below: format!(
                "  {}\n  {undisturbed}\n{}",
                case.carried_by,
                conditions.line()
            ),
            series: self.series(&format!("{}/{sessions}", case.name)),
        }
    }

    fn series(&self, name: &str) -> Vec<Series> {
        let of = |behind: &str| format!("{name}{behind}");
        let (ratios, rates) = (self.ratios.clone(), self.rate_ratios.clone());
        let all = [
            Series::ratio(of(""), "ns a message by the limit's", ratios),
            Series::ratio(of("/rate"), "messages/s by the limit's", rates).higher(),
            Series::shown(of("/rtt_p50"), "us", self.open_p50_us.clone()),
        ];
        let disturbed = disturbance(0.0, self.preempted, "the CPUs");
        all.map(|series| series.disturbed(disturbed.clone())).into()
    }
}

/// A repetition: what the limit spent, and closed, open and undisturbed loops, with their round trips; the share of the
/// last one's requests that are timed.
struct Laps {
    limit: Spent,
    loops: [(Spent, Trips); 3],
    undisturbed_share: f64,
}

/// Measures a case. All answers of the N4 loop are read.
pub fn measure<P: Packet>(
    testbed: &mut Testbed<P>,
    (door, wire): (
        &mut impl Door<Around: Env<Packet = P>>,
        &mut (impl Wire + Send),
    ),
    case: &Case,
) -> Result<Figures, Failure> {
    let (mut script, mut log) = (Script::default(), Log::new(case.messages));
    let (mut octets, mut requests) = (0, 0);
    let mut shares = script.shares();
    let closed_pace = Pace::Closed(case.window);
    let paces = [
        closed_pace,
        Pace::Open(case.rate_per_s),
        Pace::Undisturbed(case.rate_per_s),
    ];
    let laps = Effort::new(case.reps, 0.0).repeat(|_| {
        script.mixed(&mut testbed.subscribers, case.messages);
        shares = script.shares();
        let limit = testbed.lap((door, wire), &script, closed_pace, Loop::Limit, &mut log)?;
        let mut loops = [(limit, Trips::default()); 3];
        for (pace, done) in paces.into_iter().zip(&mut loops) {
            // The closed loop asks what the limit was asked.
            if pace != closed_pace {
                script.mixed(&mut testbed.subscribers, case.messages);
            }
            let spent = testbed.lap((door, wire), &script, pace, Loop::N4, &mut log)?;
            testbed.judge(&script, &log)?;
            octets += script.octets();
            requests += script.len();
            *done = (spent, trips(&mut log.rtt_ns));
        }
        Ok(Laps {
            limit,
            loops,
            undisturbed_share: log.rtt_ns.len() as f64 / case.messages as f64,
        })
    })?;
    let request_octets = octets as f64 / requests as f64;
    Ok(sum_up(&laps, case, (request_octets, shares)))
}

fn trips(rtt_ns: &mut [u32]) -> Trips {
    rtt_ns.sort_unstable();
    let last = rtt_ns.len().saturating_sub(1);
    let at = |share: f64| {
        let place = (last as f64 * share) as usize;
        rtt_ns
            .get(place)
            .map_or(f64::NAN, |ns| f64::from(*ns) / 1000.0)
    };
    Trips {
        p50: at(0.5),
        p99: at(0.99),
        max: at(1.0),
    }
}

fn sum_up(
    laps: &[Laps],
    case: &Case,
    (request_octets, shares): (f64, [(&'static str, f64); 5]),
) -> Figures {
    let n = case.messages as f64;
    let rate = |s: &Spent| n * 1e9 / s.lap.wall_ns as f64;
    // By CPU time: others may have the CPU in the midst of a turn.
    let share = |s: &Spent| s.busy_ns as f64 / s.wall_ns as f64;
    let busy = |s: &Spent| s.cpu_ns as f64 * share(s) / n;
    let limit = || laps.iter().map(|lap| &lap.limit);
    let of = |at: usize| laps.iter().map(move |lap| &lap.loops[at].0);
    let (closed, open) = (|| of(0), || of(1));
    let (mut cpu_ns, mut wall_ns) = (0, 0);
    for spent in limit().chain(closed()).chain(open()) {
        cpu_ns += spent.cpu_ns + spent.lap.cpu_ns;
        wall_ns += spent.wall_ns + spent.lap.wall_ns;
    }
    // A figure of each repetition's closed loop by that of its limit.
    let by_limit = |of: &dyn Fn(&Spent) -> f64| -> Vec<f64> {
        let pairs = closed().zip(limit());
        pairs.map(|(spent, limit)| of(spent) / of(limit)).collect()
    };
    let median = |at: usize| {
        let median =
            |of: fn(&Trips) -> f64| Summary::of(laps.iter().map(|lap| of(&lap.loops[at].1))).median;
        Trips {
            p50: median(|t| t.p50),
            p99: median(|t| t.p99),
            max: median(|t| t.max),
        }
    };
    Figures {
        rate_per_s: Summary::of(closed().map(rate)),
        limit_rate_per_s: Summary::of(limit().map(rate)),
        busy_ns: Summary::of(closed().map(busy)),
        limit_busy_ns: Summary::of(limit().map(busy)),
        ratios: by_limit(&busy),
        rate_ratios: by_limit(&rate),
        open_p50_us: laps.iter().map(|lap| lap.loops[1].1.p50).collect(),
        busy_share: Summary::of(closed().map(share)),
        per_turn: Summary::of(closed().map(|s| n / s.busy_turns.max(1) as f64)),
        closed: median(0),
        open: median(1),
        undisturbed: median(2),
        undisturbed_share: Summary::of(laps.iter().map(|lap| lap.undisturbed_share)),
        open_rate_per_s: Summary::of(open().map(rate)),
        preempted: 1.0 - cpu_ns as f64 / wall_ns as f64,
        request_octets,
        shares,
    }
}
