//! Cost of observability on the path: metrics scrapes, statistics, traces.

use super::fifo::Check;
use super::measure::path_lap;
use super::testbed::Testbed;
use super::traffic::Direction;
use crate::Failure;
use crate::measure::Effort;
use crate::report::{HugePages, Outcome, join, spread};
use crate::stats::{Summary, round};
use crate::watch::history::Series;
use serde_json::json;
use sluice_datapath::trace::{Filter, Key};
use sluice_port::Packet;
use sluice_upf_daemon::metrics::{Snapshot, text};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

/// As results are named.
pub const NAME: &str = "path/mix/observed";
/// Allowed cost of metrics, in percent.
const PERCENT_MAX: f64 = 2.0;
/// From one scrape to the next: Prometheus does so every 15 s, some every second.
const SCRAPE_EVERY: Duration = Duration::from_millis(100);
/// Nobody looks; metrics are scraped; one UE is followed.
const WAYS: usize = 3;
/// One repetition's time is shared by turns, so that what the machine does beside hits all alike.
const TURNS: u32 = 8;

pub fn measure<P: Packet>(
    testbed: &mut Testbed<P>,
    effort: Effort,
    huge_pages: HugePages,
) -> Result<Outcome, Failure> {
    let (mut pages, mut followed) = (0, 0);
    let each = effort.each / TURNS;
    testbed.open(&Direction::BOTH, Check::Sampled);
    let times = effort.repeat(|_| {
        let mut sums = [0.0; WAYS];
        for turn in 0..TURNS as usize {
            for way in 0..WAYS {
                let way = (way + turn) % WAYS;
                sums[way] += match way {
                    0 => path_lap(testbed, each)?.ns(),
                    1 => scraped(testbed, each, &mut pages)?,
                    _ => traced(testbed, each, &mut followed)?,
                };
            }
        }
        Ok(sums.map(|sum| sum / f64::from(TURNS)))
    })?;
    testbed.verdict()?;
    let sessions = testbed.flows.len();
    let ns = [0, 1, 2].map(|way| Summary::of(times.iter().map(|ns| ns[way])).median);
    // With, by without, by repetition.
    let ratios = |way: usize| times.iter().map(move |ns| ns[way] / ns[0]);
    let percent = |way| Summary::of(ratios(way).map(|ratio| (ratio - 1.0) * 100.0));
    let [scraping, tracing] = [percent(1), percent(2)];
    let json = json!({
        "name": NAME,
        "sessions": sessions,
        "ns_median": round(ns[0]),
        "ns_median_scraped": round(ns[1]),
        "ns_median_traced": round(ns[2]),
        "scraping_costs": spread("percent", scraping),
        "tracing_costs": spread("percent", tracing),
        "limit_percent": PERCENT_MAX,
        "pages_made": pages,
        "packets_followed": followed,
    });
    let cost = |s: Summary| format!("{:+.1} % ({:+.1} to {:+.1})", s.median, s.min, s.max);
    let line = format!(
        "{NAME:<18}{sessions:>10}  {:.1} ns; metrics scraped {}, one UE traced {}; {pages} pages, {followed} packets\n",
        ns[0],
        cost(scraping),
        cost(tracing),
    );
    let series = [("scraped", 1), ("traced", 2)].map(|(who, way)| {
        let name = format!("{NAME}/{sessions}/{who}");
        huge_pages.of(Series::ratio(name, "ns by those without", ratios(way)))
    });
    Ok(Outcome {
        json: join(json, huge_pages.to_json()),
        below: line,
        series: series.into(),
        ..Outcome::default()
    })
}

/// Another thread reads the worker's counters and makes pages of them.
fn scraped<P: Packet>(
    testbed: &mut Testbed<P>,
    each: Duration,
    pages: &mut u64,
) -> Result<f64, Failure> {
    let (stats, stop) = (testbed.stats(), AtomicBool::new(false));
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
        let ns = path_lap(testbed, each).map(|lap| lap.ns());
        stop.store(true, Ordering::Relaxed);
        scraper.thread().unpark();
        *pages += scraper.join().unwrap_or_default();
        ns
    })
}

/// The packets of one session are followed, both ways.
fn traced<P: Packet>(
    testbed: &mut Testbed<P>,
    each: Duration,
    followed: &mut u64,
) -> Result<f64, Failure> {
    let flow = testbed.flows[0];
    let teid = flow.teid;
    let keys = [Key::Ue(flow.ue.into()), Key::Teid { local: 0, teid }];
    testbed.trace(Some(Filter {
        keys: keys.into_iter().collect(),
        ..Filter::default()
    }));
    let ns = path_lap(testbed, each).map(|lap| lap.ns());
    *followed += testbed.trace(None);
    ns
}
