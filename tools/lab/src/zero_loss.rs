//! Runner `zero-loss`: highest rate without loss, by halving (RFC 2544, 26.1), below what
//! a line of the given rate carries.

use super::testbed::{
    CurrentTestbed, ETH, FCS, LINE, Load, Offered, at_mpps, container, each, model, offer, repeats,
    sessions, translated, uplink,
};
use crate::experiments::{Job, Measured, Problem};
use sluice_bench::elastic::models::arrange;
use sluice_bench::elastic::testbed::Testbed;
use sluice_port::Packet;
use std::time::Duration;

/// A trial that the machine disturbed is made again, so often at the most.
const ATTEMPTS: usize = 3;

/// One frame size of tunnel removal or adding.
pub fn zero_loss<P: Packet + Send + 'static>(
    testbed: &mut CurrentTestbed<P>,
    job: &Job<'_>,
) -> Result<Measured, Problem> {
    let line = Line::of(job)?;
    let load = Load {
        inner_lens: vec![line.inner],
        container: container(job)?,
        translated: translated(job)?,
        uplink: uplink(job)?,
    };
    let model = model(job.text("model")?)?;
    let (each, steps) = (each(job)?, job.number("steps")? as u32);
    let testbed = testbed.of_sessions(sessions(job)?, &load)?;
    arrange(testbed, model);
    let mut measured = Measured::default();
    let (mut rates, mut losses) = (vec![], vec![]);
    for _ in 0..repeats(job)? {
        let found = search(testbed, job, line.most_mpps(), steps, each)?;
        rates.push(found.mpps);
        losses.push(found.loss_above * 100.0);
        measured.disturbed = measured.disturbed.or(found.away);
    }
    let percent = |mpps: &f64| mpps / line.most_of_input_mpps() * 100.0;
    let of_ceiling = |mpps: &f64| mpps / line.most_mpps() * 100.0;
    measured.add("percent", rates.iter().map(percent));
    measured.add("of_ceiling", rates.iter().map(of_ceiling));
    measured.add("ceiling_percent", [percent(&line.most_mpps())]);
    measured.add("mpps", rates);
    measured.add("loss_above", losses);
    Ok(measured)
}

/// The model of both lines: frames with FCS, in octets.
struct Line {
    bits_per_s: f64,
    inner: usize,
    frame_in: usize,
    frame_out: usize,
}

impl Line {
    fn of(job: &Job<'_>) -> Result<Self, Problem> {
        let outer = if container(job)? { 44 } else { 36 };
        let (frame, is_up) = (job.number("frame_bytes")? as usize, uplink(job)? > 0.5);
        // The paper's sizes are those of N3 with 36 octets of outer header, or of N6.
        let headers = ETH + FCS + if is_up { 36 } else { 0 };
        let inner = frame.saturating_sub(headers);
        let (plain, tunnel) = (inner + ETH + FCS, inner + ETH + FCS + outer);
        let (frame_in, frame_out) = if is_up {
            (tunnel, plain)
        } else {
            (plain, tunnel)
        };
        Ok(Self {
            bits_per_s: job.number("line_rate_gbps")? * 1e9,
            inner,
            frame_in,
            frame_out,
        })
    }

    /// Rate of the line for incoming frames: 100 %.
    fn most_of_input_mpps(&self) -> f64 {
        self.bits_per_s / ((self.frame_in + LINE) * 8) as f64 / 1e6
    }

    /// Rate that both lines carry; the outgoing one may be the narrower.
    fn most_mpps(&self) -> f64 {
        let widest = self.frame_in.max(self.frame_out);
        self.bits_per_s / ((widest + LINE) * 8) as f64 / 1e6
    }
}

struct Found {
    mpps: f64,
    /// At the least rate that lost packets; 0 if none did.
    loss_above: f64,
    away: Option<String>,
}

fn search<P: Packet + Send + 'static>(
    testbed: &mut Testbed<P>,
    job: &Job<'_>,
    most_mpps: f64,
    steps: u32,
    each: Duration,
) -> Result<Found, Problem> {
    let (mut low, mut high) = (0.0, most_mpps);
    let mut found = Found {
        mpps: 0.0,
        loss_above: 0.0,
        away: None,
    };
    for step in 0..=steps {
        job.go_on()?;
        let rate = if step == 0 {
            high
        } else {
            f64::midpoint(low, high)
        };
        let trial = trial(testbed, rate, each);
        if trial.loss() > 0.0 {
            high = rate;
            found.loss_above = trial.loss();
            found.away = found.away.or(trial.away);
            continue;
        }
        low = rate;
        if step == 0 {
            break;
        }
    }
    found.mpps = low;
    Ok(found)
}

/// A loss while a worker was away is the machine's: it is tried again.
fn trial<P: Packet + Send + 'static>(
    testbed: &mut Testbed<P>,
    mpps: f64,
    each: Duration,
) -> Offered {
    let mut trial = offer(testbed, at_mpps(mpps), each);
    for _ in 1..ATTEMPTS {
        if trial.loss() == 0.0 || trial.away.is_none() {
            break;
        }
        trial = offer(testbed, at_mpps(mpps), each);
    }
    trial
}
