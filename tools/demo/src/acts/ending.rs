//! Demo phase: session deletion, usage comparison, and no traffic without a session.

use std::net::IpAddr;
use std::time::Duration;

use super::MOVING_UE;
use super::account::{listed, more};
use crate::core::Core;
use crate::error::DemoError;
use crate::host::Host;
use crate::phase::Starved;
use crate::plan;
use crate::ran::Ran;
use crate::report::{Report, Usage};
use crate::run::DemoContext;
use crate::traffic::ping::{PingPlan, ping};
use crate::upf::Ctl;

/// Packets each way that find no session any more.
const KNOCKS: u32 = 3;
/// How long an answer is waited for that must not come.
const KNOCK_WAIT: Duration = Duration::from_millis(300);

/// The sessions end; the UPF's usage is the kernel's, to the byte: of both families, without what UEs
/// say on their own links.
pub(crate) fn detach(
    stage: &DemoContext<'_>,
    host: &Host<'_>,
    core: &mut Core,
    ran: &Ran,
    report: &mut Report,
) -> Result<(), DemoError> {
    stage.screen.step("sessions are deleted, usage is compared");
    ran.wait_until_quiet(stage.stop)?;
    // What the host lost between UE and UPF only one of them has counted.
    let unsure = host.lost()?.total() * u64::from(plan::UE_MTU);
    for (index, (ue, result)) in ran.ues.iter().zip(&mut report.ues).enumerate() {
        let reported = core.delete(index)?;
        let counted = ue.counters()?;
        // What a UE says on its own link ends at the UPF.
        let link_local = ran.by_family(index)?.link_local_uplink.bytes;
        let usage = Usage {
            uplink_bytes: reported.uplink_octets,
            downlink_bytes: reported.downlink_octets,
            tun_uplink_bytes: counted.tx_bytes.saturating_sub(link_local),
            tun_downlink_bytes: counted.rx_bytes,
        };
        let name = &ue.name;
        for (way, tun, upf) in [
            ("uplink", usage.tun_uplink_bytes, usage.uplink_bytes),
            ("downlink", usage.tun_downlink_bytes, usage.downlink_bytes),
        ] {
            let name = format!("{name} usage {way}, bytes");
            let expected = match unsure {
                0 => tun.to_string(),
                _ => format!("{tun}, and {unsure} at most that the host lost"),
            };
            let pass = tun.abs_diff(upf) <= unsure;
            report.checks.holds(name, expected, upf.to_string(), pass);
        }
        result.usage = Some(usage);
        result.gnb = ran.gnb(ue.gnb).name().to_owned();
    }
    Ok(())
}

/// Without a session nothing passes, every packet is dropped under a name, and the gNB is told.
pub(crate) fn knock(
    stage: &DemoContext<'_>,
    ctl: &Ctl,
    ran: &Ran,
    report: &mut Report,
) -> Result<Starved, DemoError> {
    let Some(ue) = ran.ues.get(MOVING_UE) else {
        return Ok(Starved::new());
    };
    stage
        .screen
        .step(&format!("{} has no session any more", ue.name));
    let before = ctl.ledger()?.dropped;
    let plan = PingPlan {
        to: IpAddr::V4(plan::N6_SERVER),
        count: KNOCKS,
        interval_s: plan::PING_INTERVAL_S,
        payload_bytes: 56,
        wait: KNOCK_WAIT,
    };
    let uplink = ping(&ue.ns, plan, stage.stop)?;
    let downlink = ping(
        &stage.topology.dn,
        PingPlan {
            to: IpAddr::V4(ue.address),
            ..plan
        },
        stage.stop,
    )?;
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
            *report.expected_drops.entry(reason).or_default() += packets;
        }
    }
    let name = "Error Indications at the gNB";
    let told = ran.error_indications(MOVING_UE)?;
    report
        .checks
        .holds(name, "at least 1", told.to_string(), told > 0);
    Ok(Starved::new())
}
