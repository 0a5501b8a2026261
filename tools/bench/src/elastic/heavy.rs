//! Heavy hitters: a fifth of one worker's UEs overload it, with and without scaling.

use super::measure::{PacketBalance, balance};
use super::models::{Model, arrange, full_load};
use super::samples::SAME_SPEED;
use super::source::Pace;
use super::testbed::Testbed;
use crate::path::traffic::Flow;
use crate::report::{join, spread};
use crate::stats::Summary;
use serde_json::{Value, json};
use sluice_datapath::limits::SHARDS;
use sluice_host::clock;
use sluice_port::Packet;
use sluice_upf_daemon::config::Scaling;
use std::time::Duration;

/// One in so many of a worker's UEs becomes heavy.
const HEAVY: usize = 5;
/// Packets flow for so long before the burst, and the burst goes on for so long.
const BEFORE_NS: u64 = 20_000_000;
const BURST_NS: u64 = 60_000_000;
/// By then it has to be levelled; throughput is measured behind that.
pub const GOAL_NS: u64 = 10_000_000;
/// Loss is looked for so often.
const LOOK_NS: u64 = 50_000;
/// A worker that was away for longer has lost packets for that alone: at 5 Mpps this fills three quarters
/// of its queue. Turns in which hundreds of shards move take up to two thirds of that.
const AWAY_NS: u64 = 600_000;
/// Time for which the workers' capacity is measured before and after each burst.
const ABLE: Duration = Duration::from_millis(10);

/// Offered load, as shares of one worker's capacity: of each worker's UEs before and during the burst, and of the heavy
/// UEs on top.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Offer {
    pub before: f64,
    pub even: f64,
    pub heavy: f64,
}

/// Both workers together are able to do it, one alone is not. Until the card follows, what has moved
/// is handed over: two thirds of what both can do without that is what they can do with it.
pub const FITS: Offer = Offer {
    before: 0.3,
    even: 0.15,
    heavy: 0.95,
};
/// More than both are able to do, before and behind: what they do is all that they can.
pub const FILLS: Offer = Offer {
    before: 1.1,
    even: 0.5,
    heavy: 1.2,
};

#[derive(Clone, Debug)]
pub struct Burst {
    /// From its beginning to the last packet lost; none if packets were lost to the end.
    pub levelled_ns: Option<u64>,
    /// Transmitted packets in Mpps: before the burst, while the load is levelled, and after it.
    pub mpps: [f64; 3],
    pub offered_mpps: f64,
    pub balance: PacketBalance,
    /// Moves that the scaling made.
    pub moves: u64,
    /// Whether the worker shares its thread with the control core.
    pub beside_control: bool,
    /// A worker was away meanwhile, or was able to far more before than afterwards, or less.
    pub disturbed: bool,
}

/// Bursts on either worker in turn.
pub fn bursts<P: Packet + Send + 'static>(
    testbed: &mut Testbed<P>,
    offer: Offer,
    reps: usize,
) -> Vec<Burst> {
    let bursts = (0..reps).map(|rep| burst(testbed, offer, rep % 2));
    let bursts = bursts.collect();
    testbed.scale(None);
    arrange(testbed, Model::RunToCompletion);
    bursts
}

/// Present capacity of one worker: the machine's speed changes from one moment to the next.
fn able_mpps_now<P: Packet + Send + 'static>(testbed: &mut Testbed<P>) -> f64 {
    arrange(testbed, Model::RunToCompletion);
    full_load(testbed, 1, ABLE).mpps.median / 2.0
}

fn burst<P: Packet + Send + 'static>(
    testbed: &mut Testbed<P>,
    offer: Offer,
    worker: usize,
) -> Burst {
    let able_mpps = able_mpps_now(testbed);
    let is_of = move |flow: &Flow| (flow.ue % SHARDS) as usize % 2 == worker;
    // Flows lie in random order, and each source makes packets of every other.
    let is_hot = move |place: usize, flow: &Flow| is_of(flow) && (place / 2).is_multiple_of(HEAVY);
    testbed.set_flows(|shard| shard as usize % 2, |place, _| place % 2, is_hot);
    let start = balance(testbed);
    testbed.scale(Some(Scaling::at_least(2)));
    let before = 2.0 * offer.before * able_mpps;
    let heavy = offer.heavy * able_mpps;
    let all = 2.0 * offer.even * able_mpps + heavy;
    let begins_ns = clock::monotonic_ns() + BEFORE_NS;
    // Each source makes half.
    testbed.sources(move |_, source| {
        source.set_pace(Pace::every(2000.0 / before));
        source.save_time();
        let (apart_ns, hot) = (2000.0 / all, heavy / all);
        source.set_next_pace(begins_ns, Pace::Every { apart_ns, hot });
    });
    let seen = watch(testbed, begins_ns);
    let decided = testbed.scale(None).unwrap_or_default();
    testbed.drain();
    let balance = balance(testbed).since(start);
    let able_then_mpps = able_mpps_now(testbed);
    let speed = able_then_mpps / able_mpps;
    Burst {
        levelled_ns: seen.levelled_ns,
        mpps: seen.mpps,
        offered_mpps: all,
        balance,
        moves: decided["levelling_moves"].as_u64().unwrap_or_default(),
        beside_control: worker == 0,
        disturbed: seen.gap_ns > AWAY_NS || !SAME_SPEED.contains(&speed),
    }
}

struct Seen {
    levelled_ns: Option<u64>,
    mpps: [f64; 3],
    gap_ns: u64,
}

/// Looks at losses until the burst's end.
fn watch<P: Packet + Send + 'static>(testbed: &mut Testbed<P>, begins_ns: u64) -> Seen {
    // What it took to set all this up was no program of others.
    testbed.watch.take(|eye| &eye.gap_ns);
    let marks = [begins_ns, begins_ns + GOAL_NS, begins_ns + BURST_NS];
    let (mut at_ns, mut left) = (clock::monotonic_ns(), testbed.watch.sum(|eye| &eye.left));
    let mut last_loss_ns = begins_ns;
    let mut known = gone(testbed);
    let mpps = marks.map(|until_ns| {
        let mut now_ns = clock::monotonic_ns();
        while now_ns < until_ns {
            testbed.turn_for(LOOK_NS);
            now_ns = clock::monotonic_ns();
            let gone = gone(testbed);
            if gone > known && now_ns > begins_ns {
                last_loss_ns = now_ns;
            }
            known = gone;
        }
        let all = testbed.watch.sum(|eye| &eye.left);
        let mpps = (all - left) as f64 / (now_ns - at_ns) as f64 * 1000.0;
        (at_ns, left) = (now_ns, all);
        mpps
    });
    let to_the_end = marks[2] - last_loss_ns.min(marks[2]) < GOAL_NS;
    Seen {
        levelled_ns: (!to_the_end).then_some(last_loss_ns - begins_ns),
        mpps,
        gap_ns: testbed.watch.take(|eye| &eye.gap_ns),
    }
}

/// Packets missed by the card or dropped by the path.
fn gone<P: Packet>(testbed: &Testbed<P>) -> u64 {
    testbed.watch.sum(|eye| &eye.missed) + testbed.core.ledger().dropped_total()
}

/// All bursts of a kind: figures of those that nothing disturbed, and of all.
pub fn to_json(name: &str, bursts: &[Burst]) -> Value {
    let sum = |of: fn(&PacketBalance) -> u64| bursts.iter().map(|b| of(&b.balance)).sum::<u64>();
    let quiet: Vec<&Burst> = bursts.iter().filter(|b| !b.disturbed).collect();
    let all: Vec<&Burst> = bursts.iter().collect();
    let (beside, alone): (Vec<&Burst>, _) = quiet.iter().partition(|b| b.beside_control);
    let moves = Summary::of(bursts.iter().map(|b| b.moves as f64));
    let mut value = json!({
        "name": name,
        "bursts": bursts.len(),
        "bursts_disturbed": bursts.len() - quiet.len(),
        "heavy_share_of_ues": 1.0 / HEAVY as f64,
        "packets": sum(|b| b.made),
        "lost": sum(|b| b.lost),
        "reordered": sum(|b| b.reordered),
        "missed_by_card": sum(|b| b.missed),
        "moves_median": moves.median,
        "goal_ms": GOAL_NS as f64 / 1e6,
    });
    let kinds = [
        ("", &quiet),
        ("_all", &all),
        ("_beside_control", &beside),
        ("_alone", &alone),
    ];
    for (which, bursts) in kinds {
        let not_levelled = bursts.iter().filter(|b| b.levelled_ns.is_none());
        value[format!("not_levelled{which}")] = json!(not_levelled.count());
        let levelled = bursts.iter().filter_map(|b| b.levelled_ns);
        let in_time = levelled.clone().filter(|ns| *ns <= GOAL_NS);
        value[format!("levelled_in_time{which}")] = json!(in_time.count());
        let levelled = Summary::of(levelled.map(|ns| ns as f64 / 1e6));
        let to_before = Summary::of(bursts.iter().map(|b| b.mpps[2] / b.mpps[0]));
        let to_offered = Summary::of(bursts.iter().map(|b| b.mpps[2] / b.offered_mpps));
        let summaries = [
            ("levelled_ms", levelled),
            ("throughput_to_before", to_before),
            ("throughput_to_offered", to_offered),
        ];
        for (key, summary) in summaries {
            value = join(value, spread(&format!("{key}{which}"), summary));
        }
    }
    value
}
