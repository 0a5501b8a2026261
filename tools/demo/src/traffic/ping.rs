//! ICMP echo traffic by ping.

use std::net::IpAddr;
use std::time::Duration;

use serde::Serialize;
use sluice_host::netns::Ns;

use crate::child::{self, Stop};
use crate::error::DemoError;

/// To start and to end, also where the machine is held up: what takes longer hangs.
const SLACK: Duration = Duration::from_secs(60);

/// Figures of a ping run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub(crate) struct Ping {
    pub(crate) sent: u64,
    pub(crate) received: u64,
    /// Mean time of a round trip; `None` when nothing came back.
    pub(crate) rtt_mean_ms: Option<f64>,
}

impl Ping {
    /// Echoes without an answer.
    pub(crate) fn lost(&self) -> u64 {
        self.sent.saturating_sub(self.received)
    }
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct PingPlan {
    pub(crate) to: IpAddr,
    pub(crate) count: u32,
    pub(crate) interval_s: f32,
    /// Octets behind the headers of IP and ICMP; packets must not be fragmented.
    pub(crate) payload_bytes: u16,
    /// For the last answer.
    pub(crate) wait: Duration,
}

/// Pings from `ns`.
pub(crate) fn ping(ns: &Ns, plan: PingPlan, stop: &Stop) -> Result<Ping, DemoError> {
    let mut command = ns.command("ping");
    command.args(["-n", "-q", "-M", "do"]);
    command.args(["-c", &plan.count.to_string()]);
    command.args(["-i", &plan.interval_s.to_string()]);
    command.args(["-s", &plan.payload_bytes.to_string()]);
    command.args(["-W", &plan.wait.as_secs_f32().to_string()]);
    command.arg(plan.to.to_string());
    // Numbers with a point in any locale.
    command.env("LC_ALL", "C");
    // Where an answer is lost ping itself waits for it.
    let limit = Duration::from_secs_f32(plan.interval_s) * plan.count + plan.wait + SLACK;
    // Its status tells of losses, which are not our errors.
    let ended = child::run(&mut command, limit, stop)?;
    parse(&ended.stdout).ok_or_else(|| {
        let said = format!("{} {}", ended.stdout, ended.stderr);
        DemoError::answer(format!("`{}`", ended.command), said)
    })
}

/// "20 packets transmitted, 19 received, 5% packet loss, time 970ms" and, if anything came,
/// "rtt min/avg/max/mdev = 0.032/0.157/0.408/0.177 ms".
fn parse(text: &str) -> Option<Ping> {
    let summary = text
        .lines()
        .find(|line| line.contains(" packets transmitted, "))?;
    let mut numbers = summary
        .split(", ")
        .map(|part| part.split(' ').next().and_then(|word| word.parse().ok()));
    let (sent, received) = (numbers.next()??, numbers.next()??);
    let times = text.lines().find_map(|line| line.strip_prefix("rtt "));
    let mean = times.and_then(|line| line.split('/').nth(4)?.parse().ok());
    Some(Ping {
        sent,
        received,
        rtt_mean_ms: mean,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_summary_is_read() {
        let text = "--- 127.0.0.1 ping statistics ---\n\
            3 packets transmitted, 2 received, 33% packet loss, time 48ms\n\
            rtt min/avg/max/mdev = 0.032/0.157/0.408/0.177 ms\n";
        let ping = parse(text).expect("summary");
        assert_eq!((ping.sent, ping.received, ping.lost()), (3, 2, 1));
        assert_eq!(ping.rtt_mean_ms, Some(0.157));
    }

    #[test]
    fn a_ping_without_answers_has_no_time() {
        let text = "3 packets transmitted, 0 received, +3 errors, 100% packet loss, time 48ms\n";
        let ping = parse(text).expect("summary");
        assert_eq!((ping.lost(), ping.rtt_mean_ms), (3, None));
        assert_eq!(parse("ping: connect: Network is unreachable"), None);
    }
}
