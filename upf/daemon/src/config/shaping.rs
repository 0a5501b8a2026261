//! Section `shaping`: which maximum bit rates let their excess wait instead of dropping it, and how long.

use super::UpfConfig;
use super::fields::{At, Fields};
use super::kind::{number, word};
use super::problem::Report;
use sluice_datapath::limits::{BUCKET_DEPTH_NS, SHAPED};
use sluice_datapath::session::token_bucket;
use sluice_datapath::session::token_bucket::Lead;
use sluice_session::ShapedRates;

const NS_PER_MS: u64 = 1_000_000;
/// Longest burst, which is that of policed rates; their difference is what keeps the fast path short.
const BURST_MS_MAX: u32 = (BUCKET_DEPTH_NS / NS_PER_MS) as u32;
/// A packet that waits longer is of no use to its flow, which has sent it again.
const DELAY_MS_MAX: u32 = 1_000;
/// Half of what a worker has places for: the other half is for what comes with shards.
const PACKETS_MAX: u32 = SHAPED as u32 / 2;

/// How rates are shaped.
#[derive(Clone, PartialEq, Debug)]
pub struct Shaping {
    /// Which.
    pub rates: ShapedRates,
    /// Longest burst, in milliseconds at the rate.
    pub burst_ms: u32,
    /// Longest wait.
    pub delay_ms: u32,
    /// Packets of one session and direction that wait.
    pub session_packets: u32,
    /// Packets that one worker lets wait.
    pub worker_packets: At<u32>,
}

impl Shaping {
    pub(super) fn read(fields: &mut Fields<'_, '_>) -> Self {
        let rates = word(&[
            ("none", ShapedRates::Nothing),
            ("session_ambr", ShapedRates::SessionAmbr),
            ("all", ShapedRates::All),
        ]);
        let ms = |max| number(1, max, "milliseconds");
        let packets = || number(1, PACKETS_MAX, "packets");
        Self {
            rates: fields.or("rates", "none", &rates).value,
            burst_ms: fields.or("burst_ms", "10", &ms(BURST_MS_MAX)).value,
            delay_ms: fields.or("delay_ms", "100", &ms(DELAY_MS_MAX)).value,
            session_packets: fields.or("session_packets", "1024", &packets()).value,
            worker_packets: fields.or("worker_packets", "8192", &packets()),
        }
    }

    /// What waits must not take the buffers that ports receive into.
    pub(super) fn check(config: &UpfConfig, report: &mut Report) {
        let shaping = &config.shaping;
        let workers = config.placement.workers.len() as u64;
        let waiting = workers * u64::from(shaping.worker_packets.value);
        let most = u64::from(config.dpdk.mbufs.value) / 2;
        if shaping.rates != ShapedRates::Nothing && waiting > most {
            let what = format!(
                "{waiting} packets of all workers are more than half of dpdk.mbufs ({})",
                config.dpdk.mbufs.value
            );
            let expected = format!("at most {}, or more mbufs", most / workers);
            let line = shaping.worker_packets.line;
            report.problem(line, "shaping.worker_packets", what, expected);
        }
    }

    /// For the path.
    pub(super) fn of_path(&self) -> token_bucket::Shaping {
        if self.rates == ShapedRates::Nothing {
            return token_bucket::Shaping::default();
        }
        let ms = |ms| Lead::from_ns(u64::from(ms) * NS_PER_MS);
        token_bucket::Shaping {
            burst: ms(self.burst_ms),
            delay: ms(self.delay_ms),
            session_packets: self.session_packets,
            worker_packets: self.worker_packets.value,
        }
    }
}
