//! Charging: what UEs that have sessions of the core are charged for their traffic.

use sluice_ran::Network;

use super::process::{Account, Charged, Core};
use super::report::CorePart;
use crate::error::DemoError;
use crate::host::Host;
use crate::plan;
use crate::ran;
use crate::report::{Part as _, Report};
use crate::run::DemoContext;

/// Charging records are what the UEs' devices counted, to the byte.
pub(super) fn settle(
    stage: DemoContext<'_>,
    host: &Host<'_>,
    ran: &mut Network,
    (core, accounts): (&Core, &[Account]),
    report: &mut Report<CorePart>,
) -> Result<(), DemoError> {
    stage.step("charging records are compared with the UEs' devices");
    ran::await_quiet(ran)?;
    // What the host lost between UE and UPF only one of them has counted.
    let unsure = host.lost()?.total() * u64::from(plan::UE_MTU);
    for (ue, account) in accounts.iter().enumerate() {
        let name = report.part.ue(ue);
        let Some(Charged {
            uplink_octets,
            downlink_octets,
        }) = core.charged(&account.supi)
        else {
            let name = format!("{name}: charging record");
            report.checks.holds(name, "one", "none", false);
            continue;
        };
        let device = ran.device(ue)?;
        let sent = device.counters.tx_bytes;
        let up = sent.saturating_sub(device.link_local_bytes);
        let what = |way| format!("{name} charged {way}, bytes");
        report.check_bytes(what("uplink"), up, uplink_octets, unsure);
        let down = device.counters.rx_bytes;
        report.check_bytes(what("downlink"), down, downlink_octets, unsure);
    }
    let drops = ran::drops(ran)?;
    let got = match &drops[..] {
        [] => "none".to_owned(),
        drops => drops.join(", "),
    };
    let name = "packets that the gNBs dropped";
    report.checks.holds(name, "none", got, drops.is_empty());
    for station in ran.stations() {
        let forwarded = station.handle().counters()?.forwarded;
        report.part.forwarded_packets += forwarded.packets;
    }
    Ok(())
}
