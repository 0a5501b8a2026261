//! Demo phase: session deletion, usage comparison, and no traffic without a session.

use std::net::IpAddr;
use std::time::Duration;

use sluice_ran::Network;

use super::account::{listed, more};
use super::report::{SmfPart, Usage};
use super::{MOVING_UE, space};
use crate::error::DemoError;
use crate::host::Host;
use crate::phase::Starved;
use crate::plan;
use crate::ran;
use crate::report::{Part as _, Report};
use crate::run::DemoContext;
use crate::traffic::acts::echoes;
use crate::traffic::ping::{PingPlan, ping};
use crate::upf::Ctl;

/// Packets each way that find no session any more.
const KNOCKS: u32 = 3;
/// How long an answer is waited for that must not come.
const KNOCK_WAIT: Duration = Duration::from_millis(300);

/// The sessions end; the UPF's usage is the kernel's, to the byte: of both families, without what UEs
/// say on their own links.
pub(super) fn detach(
    stage: DemoContext<'_>,
    host: &Host<'_>,
    ran: &mut Network,
    report: &mut Report<SmfPart>,
) -> Result<(), DemoError> {
    stage.step("sessions are deleted, usage is compared");
    ran::await_quiet(ran)?;
    // What the host lost between UE and UPF only one of them has counted.
    let unsure = host.lost()?.total() * u64::from(plan::UE_MTU);
    for ue in 0..ran.ues().len() {
        let reported = ran.end_session(ue)?;
        let device = ran.device(ue)?;
        // What a UE says on its own link ends at the UPF.
        let sent = device.counters.tx_bytes;
        let usage = Usage {
            uplink_bytes: reported.uplink_octets,
            downlink_bytes: reported.downlink_octets,
            tun_uplink_bytes: sent.saturating_sub(device.link_local_bytes),
            tun_downlink_bytes: device.counters.rx_bytes,
        };
        let name = report.part.ue(ue);
        for (way, tun, upf) in [
            ("uplink", usage.tun_uplink_bytes, usage.uplink_bytes),
            ("downlink", usage.tun_downlink_bytes, usage.downlink_bytes),
        ] {
            report.check_bytes(format!("{name} usage {way}, bytes"), tun, upf, unsure);
        }
        let gnb = ran::name(ran, ran.serving_gnb(ue)?)?;
        if let Some(result) = report.part.ues.get_mut(ue) {
            (result.usage, result.gnb) = (Some(usage), gnb);
        }
    }
    Ok(())
}

/// Without a session nothing passes, every packet is dropped under a name, and the gNB is told.
pub(super) fn knock(
    stage: DemoContext<'_>,
    ctl: &Ctl,
    ran: &Network,
    report: &mut Report<SmfPart>,
) -> Result<Starved, DemoError> {
    let name = report.part.ue(MOVING_UE);
    stage.step(&format!("{name} has no session any more"));
    let before = ctl.ledger()?.dropped;
    let plan = |to| PingPlan {
        count: KNOCKS,
        wait: KNOCK_WAIT,
        ..echoes(to, 56)
    };
    let own = ran.ues().get(MOVING_UE).and_then(|ue| ue.addresses.ipv4());
    let own = own.unwrap_or(plan::FIRST_UE);
    let to = IpAddr::V4(plan::N6_SERVER);
    let uplink = ping(space(ran, MOVING_UE)?, plan(to), stage.stop)?;
    let downlink = ping(&stage.topology.dn, plan(own.into()), stage.stop)?;
    let name = "answers to pings without a session";
    report
        .checks
        .equal(name, 0, uplink.received + downlink.received);
    let provoked = more(&ctl.ledger()?.dropped, &before);
    let (expected, total) = (uplink.sent + downlink.sent, provoked.values().sum::<u64>());
    report.checks.equal(
        format!("drops for want of a session ({})", listed(&provoked)),
        expected,
        total,
    );
    // Also those of an attempt that the host disturbed.
    if total <= expected {
        for (reason, packets) in provoked {
            *report.part.expected_drops.entry(reason).or_default() += packets;
        }
    }
    let name = "Error Indications at the gNB";
    let told = ran.report(MOVING_UE)?.counters.error_indications;
    report
        .checks
        .holds(name, "at least 1", told.to_string(), told > 0);
    Ok(Starved::new())
}
