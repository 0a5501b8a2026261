//! Testbed of the runners: one benchmark testbed at a time, with what a point varies set in it.

use crate::experiments::{Job, Measured, Problem};
use sluice_bench::elastic::measure::{PacketBalance, balance};
use sluice_bench::elastic::models::{FullLoad, Model, arrange, full_load};
use sluice_bench::elastic::packet_template::PacketTemplate;
use sluice_bench::elastic::source::Pace;
use sluice_bench::elastic::testbed::Testbed;
use sluice_bench::path::io::Pool;
use sluice_bench::path::variant::Variant;
use sluice_bench::stats::percentile;
use sluice_host::clock;
use sluice_port::Packet;
use std::any::Any;
use std::sync::Arc;
use std::time::Duration;

/// A worker that was away for longer has lost packets, or time, for that alone.
pub const AWAY_NS: u64 = 1_000_000;
/// An Ethernet header, and the frame check sequence that the papers count.
pub const ETH: usize = 14;
pub const FCS: usize = 4;
/// Octets of a frame on the line beyond its length: preamble, start, gap.
pub const LINE: usize = 20;
/// IPv4 and UDP inside.
pub const INNER_HEADERS: usize = 28;
/// Payloads of IMIX, 7 to 4 to 1 in an order without runs; their mean is 309 octets (system B).
const IMIX: [usize; 12] = [36, 496, 36, 36, 496, 36, 1472, 36, 496, 36, 36, 496];

/// Machine below the testbeds: packet buffers, and threads that may use them.
pub struct Machine<P> {
    /// Gives fresh packets to one worker.
    pub pool: Box<dyn Fn() -> Pool<P>>,
    /// Registers a thread as a worker, for as long as the returned value is kept.
    pub register: Arc<dyn Fn() -> Box<dyn Any> + Send + Sync>,
    pub cpus: [usize; 2],
}

/// Testbed of the last point, which the next one uses again if it has the same sessions.
pub struct CurrentTestbed<P: Packet + Send + 'static> {
    machine: Machine<P>,
    testbed: Option<((u32, Variant), Testbed<P>)>,
}

/// Traffic of a point.
#[derive(Clone, PartialEq, Debug)]
pub struct Load {
    /// Inner packets, one after the other, in octets.
    pub inner_lens: Vec<usize>,
    /// 44 octets of outer header instead of 36.
    pub container: bool,
    /// The data network sees public addresses and ports.
    pub translated: bool,
    /// The share of packets that go up.
    pub uplink: f64,
}

impl Load {
    /// As axes and what is held say: `header_bytes`; `direction` or `uplink_percent`; and one of
    /// `traffic`, `payload_bytes`.
    pub fn of(job: &Job<'_>) -> Result<Self, Problem> {
        let payloads = match job.text("traffic") {
            Ok("IMIX") => IMIX.to_vec(),
            Ok("64 B") => vec![64],
            Ok("1400 B") => vec![1400],
            Ok(other) => return Err(bad("traffic", other, "IMIX, '64 B' or '1400 B'")),
            Err(_) => vec![job.number("payload_bytes")? as usize],
        };
        Ok(Self {
            inner_lens: payloads.iter().map(|p| p + INNER_HEADERS).collect(),
            container: container(job)?,
            translated: translated(job)?,
            uplink: uplink(job)?,
        })
    }

    /// The kind of its sessions.
    fn variant(&self) -> Variant {
        match (self.container, self.translated) {
            (true, false) => Variant::USUAL,
            (false, false) => Variant::BARE,
            (true, true) => Variant::TRANSLATED,
            (false, true) => Variant::BARE_TRANSLATED,
        }
    }

    /// Packets of these sizes come from now on, and this share of them goes up.
    fn set_in<P: Packet + Send + 'static>(
        &self,
        testbed: &mut Testbed<P>,
        uplink: f64,
    ) -> Result<(), Problem> {
        let form = self.variant().forms[0];
        let mould = Arc::new(PacketTemplate::of(&self.inner_lens, form)?);
        testbed.sources(move |_, source| source.set_mould(mould.clone(), uplink));
        Ok(())
    }

    /// The mean of frames on N3 without FCS, in octets.
    pub fn tunnel_frame(&self) -> f64 {
        let sum: usize = self.inner_lens.iter().sum();
        let outer = if self.container { 44 } else { 36 };
        sum as f64 / self.inner_lens.len() as f64 + (ETH + outer) as f64
    }
}

/// Whether `header_bytes` says that there is a PDU Session Container.
pub fn container(job: &Job<'_>) -> Result<bool, Problem> {
    match job.number("header_bytes")? as u32 {
        36 => Ok(false),
        44 => Ok(true),
        other => Err(bad("header_bytes", &other.to_string(), "36 or 44")),
    }
}

/// Whether `translation` says that the data network sees public addresses and ports; it does not where nothing is said.
pub fn translated(job: &Job<'_>) -> Result<bool, Problem> {
    match job.text("translation") {
        Ok("napt") => Ok(true),
        Ok("none") | Err(_) => Ok(false),
        Ok(other) => Err(bad("translation", other, "none or napt")),
    }
}

/// The share of packets that go up: half of them where an experiment says nothing of directions.
pub fn uplink(job: &Job<'_>) -> Result<f64, Problem> {
    match job.text("direction") {
        Ok("uplink") => Ok(1.0),
        Ok("downlink") => Ok(0.0),
        Ok("both") => Ok(job.number("uplink_percent")? / 100.0),
        Err(_) => Ok(job.number("uplink_percent").unwrap_or(50.0) / 100.0),
        Ok(other) => Err(bad("direction", other, "uplink, downlink or both")),
    }
}

/// The execution model of this name.
pub fn model(name: &str) -> Result<Model, Problem> {
    match name {
        "rtc" | "sluice" => Ok(Model::RunToCompletion),
        "pipeline" => Ok(Model::Pipeline),
        "mixed" => Ok(Model::Mixed),
        other => Err(bad("model", other, "rtc, pipeline, mixed or sluice")),
    }
}

/// Error for a value that no runner knows.
pub fn bad(name: &str, got: &str, expected: &str) -> Problem {
    Problem::Failed(format!("{name}: got '{got}'; expected {expected}"))
}

/// Result of an offered load.
#[derive(Clone, Debug)]
pub struct Offered {
    pub balance: PacketBalance,
    /// The longest time that a worker was away, if it was long.
    pub away: Option<String>,
    /// Times of packets from due to sent, sorted.
    pub times_ns: Vec<u32>,
}

impl Offered {
    /// Packets that came and did not leave, by those that came.
    pub fn loss(&self) -> f64 {
        let PacketBalance {
            made, lost, missed, ..
        } = self.balance;
        (lost + missed) as f64 / (made + missed).max(1) as f64
    }

    /// Microseconds that `share` of the packets did not exceed.
    pub fn us(&self, share: f64) -> f64 {
        f64::from(percentile(&self.times_ns, share)) / 1000.0
    }
}

impl<P: Packet + Send + 'static> CurrentTestbed<P> {
    pub fn new(machine: Machine<P>) -> Self {
        Self {
            machine,
            testbed: None,
        }
    }

    /// CPUs of both workers.
    pub fn cpus(&self) -> [usize; 2] {
        self.machine.cpus
    }

    /// A testbed with so many sessions for these packets; the one that stands, if it is such a one.
    pub fn of_sessions(&mut self, sessions: u32, load: &Load) -> Result<&mut Testbed<P>, Problem> {
        let variant = load.variant();
        let wanted = (sessions, variant);
        if self
            .testbed
            .as_ref()
            .is_none_or(|(kind, _)| *kind != wanted)
        {
            self.clear();
            let pools = [(self.machine.pool)(), (self.machine.pool)()];
            let register = self.machine.register.clone();
            let cpus = self.machine.cpus;
            let built = Testbed::build(sessions, cpus, variant, pools, move || register());
            let mut testbed = built?;
            if load.translated {
                load.set_in(&mut testbed, 1.0)?;
                testbed.send_once()?;
            }
            self.testbed = Some((wanted, testbed));
        }
        let (_, testbed) = self
            .testbed
            .as_mut()
            .ok_or_else(|| "no testbed".to_owned())?;
        testbed.drain();
        load.set_in(testbed, load.uplink)?;
        testbed.watch.take(|eye| &eye.gap_ns);
        Ok(testbed)
    }

    /// Ends what stands, and gives its packets back.
    pub fn clear(&mut self) {
        if let Some((_, testbed)) = self.testbed.take() {
            testbed.end();
        }
    }
}

impl<P: Packet + Send + 'static> Drop for CurrentTestbed<P> {
    fn drop(&mut self) {
        self.clear();
    }
}

/// Sessions of a point.
pub fn sessions(job: &Job<'_>) -> Result<u32, Problem> {
    match job.number("sessions")? {
        n if (4_096.0..=4_000_000.0).contains(&n) => Ok(n as u32),
        n => Err(bad("sessions", &n.to_string(), "4096 to 4000000")),
    }
}

/// Length of a repetition.
pub fn each(job: &Job<'_>) -> Result<Duration, Problem> {
    let seconds = job.number("seconds")?;
    Duration::try_from_secs_f64(seconds)
        .map_err(|_| bad("seconds", &seconds.to_string(), "seconds"))
}

pub fn repeats(job: &Job<'_>) -> Result<usize, Problem> {
    Ok((job.number("repeats")? as usize).max(1))
}

/// As many repetitions at full load as the job asks for, in this model; and what disturbed one, if so.
pub fn at_full_load<P: Packet + Send + 'static>(
    testbed: &mut Testbed<P>,
    model: Model,
    job: &Job<'_>,
) -> Result<(Vec<FullLoad>, Option<String>), Problem> {
    arrange(testbed, model);
    let each = each(job)?;
    let (mut all, mut disturbed) = (vec![], None);
    for _ in 0..repeats(job)? {
        let lap = undisturbed(testbed, job, |testbed| full_load(testbed, 1, each))?;
        all.push(lap.what);
        disturbed = disturbed.or(lap.disturbed);
    }
    Ok((all, disturbed))
}

/// Rate of the engine if packets cost nothing to make and to check, in Mpps.
pub fn engine_mpps(load: &FullLoad) -> f64 {
    1000.0 / load.engine_ns[0].max(load.engine_ns[1])
}

/// Packets come at this pace for so long, and what is under way leaves. Looks at all packets.
pub fn offer<P: Packet + Send + 'static>(
    testbed: &mut Testbed<P>,
    pace: Pace,
    each: Duration,
) -> Offered {
    testbed.drain();
    testbed.sources(|_, source| drop(source.take_samples()));
    let before = balance(testbed);
    testbed.watch.take(|eye| &eye.gap_ns);
    testbed.watch.sample(true);
    testbed.sources(move |_, source| source.set_pace(pace));
    testbed.turn_for(each.as_nanos() as u64);
    testbed.watch.sample(false);
    let away = away(testbed);
    testbed.drain();
    let mut times_ns = testbed.sources(|_, source| source.take_samples()).concat();
    times_ns.sort_unstable();
    Offered {
        balance: balance(testbed).since(before),
        away,
        times_ns,
    }
}

/// Pace of this rate in Mpps, half of it from each source.
pub fn at_mpps(mpps: f64) -> Pace {
    Pace::every(2000.0 / mpps.max(1e-6))
}

/// Whether a worker was away for long since the last question.
fn away<P: Packet>(testbed: &Testbed<P>) -> Option<String> {
    let gap_ns = testbed.watch.take(|eye| &eye.gap_ns);
    let ms = gap_ns as f64 / 1e6;
    (gap_ns > AWAY_NS).then(|| format!("a worker was away for {ms:.1} ms"))
}

/// Adds where a tenth, a fifth, ... of the sorted times lie: y in percent, x in microseconds.
pub fn add_distribution(measured: &mut Measured, times_ns: &[u32]) {
    let shares = (0..=100).map(|n| f64::from(n) / 100.0).chain([0.999]);
    let at = |share: f64| {
        [
            f64::from(percentile(times_ns, share)) / 1000.0,
            share * 100.0,
        ]
    };
    let mut curve: Vec<[f64; 2]> = shares.skip(1).map(at).collect();
    curve.sort_by(|a, b| a[1].total_cmp(&b[1]));
    curve.retain(|place| place[0] > 0.0);
    measured.curves.insert("latency".to_owned(), curve);
}

/// If others had a worker's CPU for more of the time, the figures tell of them as well.
pub const SHARE_MOST: f64 = 0.01;
/// Most measurements of a point that is disturbed.
const ATTEMPTS: usize = 3;

/// Measured value, and the reason for distrust, if any.
pub struct Seen<T> {
    /// Of the attempt that was disturbed least.
    pub what: T,
    pub disturbed: Option<String>,
}

/// Measures until nothing disturbs it, three times at the most.
pub fn undisturbed<P: Packet + Send + 'static, T>(
    testbed: &mut Testbed<P>,
    job: &Job<'_>,
    mut measure: impl FnMut(&mut Testbed<P>) -> T,
) -> Result<Seen<T>, Problem> {
    best_of(SHARE_MOST, || {
        job.go_on()?;
        Ok(in_share(testbed, &mut measure))
    })
}

/// A measurement, and in which share of the time others had a worker's CPU.
pub fn in_share<P: Packet + Send + 'static, T>(
    testbed: &mut Testbed<P>,
    measure: impl FnOnce(&mut Testbed<P>) -> T,
) -> (T, f64) {
    testbed.watch.take(|eye| &eye.away_ns);
    let began_ns = clock::monotonic_ns();
    let what = measure(testbed);
    let took_ns = clock::monotonic_ns() - began_ns;
    let away_ns = testbed.watch.take(|eye| &eye.away_ns);
    (what, away_ns as f64 / took_ns as f64)
}

/// `attempt` gives what it measured, and in which share of the time others had a CPU: more than
/// `share_most` disturbs.
pub fn best_of<T>(
    share_most: f64,
    mut attempt: impl FnMut() -> Result<(T, f64), Problem>,
) -> Result<Seen<T>, Problem> {
    let (mut what, mut share) = attempt()?;
    for _ in 1..ATTEMPTS {
        if share <= share_most {
            break;
        }
        let (other, others_share) = attempt()?;
        if others_share < share {
            (what, share) = (other, others_share);
        }
    }
    let says = |percent: f64| format!("others had a CPU for {percent:.1} % of the time");
    let disturbed = (share > share_most).then(|| says(share * 100.0));
    Ok(Seen { what, disturbed })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seen(shares: &[f64]) -> (usize, Option<String>) {
        let mut attempts = shares.iter().copied().enumerate();
        let best = best_of(SHARE_MOST, || attempts.next().ok_or(Problem::Interrupted)).unwrap();
        (best.what, best.disturbed)
    }

    #[test]
    fn what_was_disturbed_is_measured_again_and_the_quietest_counts() {
        assert_eq!(seen(&[0.0]), (0, None));
        assert_eq!(seen(&[0.3, 0.009]), (1, None));
        let (which, why) = seen(&[0.3, 0.02, 0.05]);
        assert_eq!(which, 1);
        let why = why.unwrap();
        assert!(why.ends_with("for 2.0 % of the time"), "{why}");
    }
}
