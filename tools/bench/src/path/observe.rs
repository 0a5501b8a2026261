//! Cost of observability on the path: metrics scrapes, statistics, traces.

use super::fifo::Check;
use super::measure::ns_per_packet;
use super::testbed::{Failure, Testbed};
use super::traffic::Direction;
use crate::report::{Effort, HugePages};
use crate::stats::Summary;
use sluice::upf::metrics::{Snapshot, text};
use sluice_datapath::trace::{Filter, Key};
use sluice_port::Packet;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

/// As results are named.
pub const NAME: &str = "path/mix/observed";
/// From one scrape to the next: Prometheus does so every 15 s, some every second.
const SCRAPE_EVERY: Duration = Duration::from_millis(100);
/// The ways of looking.
const WAYS: usize = 3;
/// One repetition's time is shared by turns, so that what the machine does beside hits all alike.
const TURNS: u32 = 8;

/// Times per packet in nanoseconds, and what looking costs, as a share of the path's.
#[derive(Clone, Debug)]
pub struct Observed {
    /// Sessions.
    pub sessions: u32,
    /// Nobody looks.
    pub alone: Summary,
    /// Metrics are scraped.
    pub scraped: Summary,
    /// One UE is followed.
    pub traced: Summary,
    /// What scraping adds, by repetition.
    pub scraped_share: Summary,
    /// What following adds, by repetition.
    pub traced_share: Summary,
    /// With, by without, by repetition: scraped and traced.
    pub ratios: [Vec<f64>; 2],
    /// Pages made, and packets followed.
    pub pages: u64,
    /// See there.
    pub followed: u64,
    /// What lies on huge pages.
    pub huge_pages: HugePages,
}

/// Measures.
pub fn measure<P: Packet>(
    world: &mut Testbed<P>,
    effort: Effort,
    huge_pages: HugePages,
) -> Result<Observed, Failure> {
    let mut times: [Vec<f64>; WAYS] = Default::default();
    let (mut pages, mut followed) = (0, 0);
    let each = effort.each / TURNS;
    world.open(&[Direction::Uplink, Direction::Downlink], Check::Sampled);
    for rep in 0..=effort.reps {
        let mut sums = [0.0; WAYS];
        for turn in 0..TURNS as usize {
            for way in 0..WAYS {
                let way = (way + turn) % WAYS;
                sums[way] += match way {
                    0 => ns_per_packet(world, each)?,
                    1 => scraped(world, each, &mut pages)?,
                    _ => traced(world, each, &mut followed)?,
                };
            }
        }
        // The first one warms caches and tables up.
        if rep > 0 {
            let all = times.iter_mut().zip(sums);
            all.for_each(|(times, sum)| times.push(sum / f64::from(TURNS)));
        }
    }
    world.verdict()?;
    let ratios = [1, 2].map(|way: usize| -> Vec<f64> {
        let pairs = times[way].iter().zip(&times[0]);
        pairs.map(|(with, without)| with / without).collect()
    });
    let share = |way: usize| Summary::of(ratios[way - 1].iter().map(|ratio| ratio - 1.0));
    let summary = |way: usize| Summary::of(times[way].iter().copied());
    Ok(Observed {
        sessions: world.flows.len() as u32,
        alone: summary(0),
        scraped: summary(1),
        traced: summary(2),
        scraped_share: share(1),
        traced_share: share(2),
        ratios,
        pages,
        followed,
        huge_pages,
    })
}

/// Another thread reads the worker's counters and makes pages of them.
fn scraped<P: Packet>(
    world: &mut Testbed<P>,
    each: Duration,
    pages: &mut u64,
) -> Result<f64, Failure> {
    let (stats, stop) = (world.stats(), AtomicBool::new(false));
    thread::scope(|scope| {
        let scraper = scope.spawn(|| {
            let mut made = 0;
            while !stop.load(Ordering::Relaxed) {
                let page = text(&Snapshot::default(), &stats);
                made += u64::from(!page.is_empty());
                thread::park_timeout(SCRAPE_EVERY);
            }
            made
        });
        let ns = ns_per_packet(world, each);
        stop.store(true, Ordering::Relaxed);
        scraper.thread().unpark();
        *pages += scraper.join().unwrap_or_default();
        ns
    })
}

/// The packets of one session are followed, both ways.
fn traced<P: Packet>(
    world: &mut Testbed<P>,
    each: Duration,
    followed: &mut u64,
) -> Result<f64, Failure> {
    let flow = world.flows[0];
    let teid = flow.teid;
    let keys = [Key::Ue(flow.ue.into()), Key::Teid { local: 0, teid }];
    world.trace(Some(Filter {
        keys: keys.into_iter().collect(),
        ..Filter::default()
    }));
    let ns = ns_per_packet(world, each);
    *followed += world.trace(None);
    ns
}
