//! UDP and TCP traffic by iperf3.

use std::process::Command;
use std::time::Duration;

use serde::Serialize;
use serde_json::Value;
use sluice_host::netns::Ns;

use crate::child::{self, Stop};
use crate::error::DemoError;
use crate::plan::{self, Pace};

/// To connect, and to exchange results.
const SLACK: Duration = Duration::from_secs(15);

/// UDP in one direction, as its receiver saw it.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub(crate) struct UdpFlow {
    /// As its sender saw it: less than it was told to send if it did not get a CPU.
    pub(crate) sent_bits_per_second: f64,
    pub(crate) bits_per_second: f64,
    pub(crate) seconds: f64,
    pub(crate) packets: u64,
    pub(crate) lost_packets: u64,
}

/// UDP in both directions at the same time.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub(crate) struct Udp {
    pub(crate) uplink: UdpFlow,
    pub(crate) downlink: UdpFlow,
}

/// TCP in one direction, as its receiver saw it.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub(crate) struct TcpFlow {
    pub(crate) bits_per_second: f64,
    pub(crate) bytes: u64,
    /// Segments that the sender sent again.
    pub(crate) retransmits: u64,
}

/// Which way TCP goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Direction {
    Uplink,
    Downlink,
}

impl Direction {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Uplink => "uplink",
            Self::Downlink => "downlink",
        }
    }

    /// Phase of the demo that sends it.
    pub(crate) fn phase(self) -> &'static str {
        match self {
            Self::Uplink => "iperf3 TCP uplink",
            Self::Downlink => "iperf3 TCP downlink",
        }
    }
}

/// Sends UDP both ways between `ns` and server number `index`.
pub(crate) fn udp(ns: &Ns, index: usize, pace: Pace, stop: &Stop) -> Result<Udp, DemoError> {
    let mut command = client(ns, index, plan::UDP_TIME);
    command.args(["-u", "--bidir"]);
    command.args(["-b", &pace.udp_bps.to_string()]);
    command.args(["-l", &plan::UDP_PAYLOAD_BYTES.to_string()]);
    command.args(["-w", &socket_buffer_bytes(ns).to_string()]);
    let report = run(&mut command, plan::UDP_TIME, stop)?;
    udp_of(&report).ok_or_else(|| DemoError::answer("iperf3", report.to_string()))
}

/// Sends TCP between `ns` and server number `index`.
pub(crate) fn tcp(
    ns: &Ns,
    index: usize,
    direction: Direction,
    pace: Pace,
    stop: &Stop,
) -> Result<TcpFlow, DemoError> {
    let mut command = client(ns, index, plan::TCP_TIME);
    if direction == Direction::Downlink {
        command.arg("-R");
    }
    if let Some(bps) = pace.tcp_bps {
        command.args(["-b", &bps.to_string()]);
    }
    let report = run(&mut command, plan::TCP_TIME, stop)?;
    tcp_of(&report).ok_or_else(|| DemoError::answer("iperf3", report.to_string()))
}

/// Socket buffer for an absence of the receiver of some tens of milliseconds, as far as the kernel grants it: iperf3
/// refuses to run with less than it was told.
fn socket_buffer_bytes(ns: &Ns) -> u32 {
    let limit = |key: &str| {
        let path = format!("/proc/sys/net/core/{key}");
        // Older kernels show the limits, which hold for all, in the first namespace only.
        let inside = ns
            .run(|| std::fs::read_to_string(&path).ok())
            .ok()
            .flatten();
        let text = inside.or_else(|| std::fs::read_to_string(&path).ok())?;
        text.trim().parse().ok()
    };
    let limits = ["rmem_max", "wmem_max"].map(|key| limit(key).unwrap_or(u32::MAX));
    limits.into_iter().fold(plan::UDP_SOCKET_BYTES, u32::min)
}

fn client(ns: &Ns, index: usize, time: Duration) -> Command {
    let mut command = ns.command("iperf3");
    command.args(["-J", "-4", "-c", &plan::N6_SERVER.to_string()]);
    command.args(["-p", &plan::iperf_port(index).to_string()]);
    command.args(["-t", &time.as_secs().to_string()]);
    command
}

fn run(command: &mut Command, time: Duration, stop: &Stop) -> Result<Value, DemoError> {
    let ended = child::run(command, time + SLACK, stop)?;
    let report: Value = serde_json::from_str(&ended.stdout)
        .map_err(|_| DemoError::answer("iperf3", format!("{} {}", ended.stdout, ended.stderr)))?;
    match report.get("error") {
        None => Ok(report),
        Some(error) => Err(DemoError::answer(
            format!("`{}`", ended.command),
            error.to_string(),
        )),
    }
}

fn udp_of(report: &Value) -> Option<Udp> {
    let end = report.get("end")?;
    Some(Udp {
        uplink: udp_flow(end.get("sum_sent")?, end.get("sum_received")?)?,
        downlink: udp_flow(
            end.get("sum_sent_bidir_reverse")?,
            end.get("sum_received_bidir_reverse")?,
        )?,
    })
}

fn udp_flow(sent: &Value, sum: &Value) -> Option<UdpFlow> {
    Some(UdpFlow {
        sent_bits_per_second: sent.get("bits_per_second")?.as_f64()?,
        bits_per_second: sum.get("bits_per_second")?.as_f64()?,
        seconds: sum.get("seconds")?.as_f64()?,
        packets: sum.get("packets")?.as_u64()?,
        lost_packets: sum.get("lost_packets")?.as_u64()?,
    })
}

fn tcp_of(report: &Value) -> Option<TcpFlow> {
    let end = report.get("end")?;
    let (sent, received) = (end.get("sum_sent")?, end.get("sum_received")?);
    Some(TcpFlow {
        bits_per_second: received.get("bits_per_second")?.as_f64()?,
        bytes: received.get("bytes")?.as_u64()?,
        retransmits: sent.get("retransmits")?.as_u64()?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn each_direction_of_udp_is_told_by_its_receiver() {
        let sum = |packets: u64, lost: u64| {
            json!({"bits_per_second": 5e7, "seconds": 6.0, "packets": packets,
                "lost_packets": lost})
        };
        let report = json!({"end": {"sum_sent": sum(9, 0), "sum_received": sum(10, 1),
            "sum_sent_bidir_reverse": sum(22, 0), "sum_received_bidir_reverse": sum(20, 2)}});
        let udp = udp_of(&report).expect("report");
        assert_eq!((udp.uplink.packets, udp.uplink.lost_packets), (10, 1));
        assert_eq!((udp.downlink.packets, udp.downlink.lost_packets), (20, 2));
    }

    #[test]
    fn tcp_counts_what_arrived_and_what_was_sent_again() {
        let report = json!({"end": {
            "sum_sent": {"bytes": 12, "bits_per_second": 2.0, "retransmits": 3},
            "sum_received": {"bytes": 10, "bits_per_second": 1.0}}});
        let tcp = tcp_of(&report).expect("report");
        assert_eq!((tcp.bytes, tcp.retransmits), (10, 3));
        assert_eq!(tcp_of(&json!({"end": {}})), None);
    }
}
