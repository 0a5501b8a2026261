//! gNBs and UEs of the demo: networks of `sluice ran`, one with an SMF of its own, one for the core.

use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use sluice_host::netns::Ns;
use sluice_program::screen::Screen;
use sluice_ran::scenario::Scenario;
use sluice_ran::{Device, Network, Until};

use super::child::Stop;
use super::error::DemoError;
use super::host::UePlace;
use super::plan;
use super::topology::{Topology, bound_tcp_windows};

/// Devices that stand still for so long have nothing under way.
const QUIET: Duration = Duration::from_millis(300);

/// The network that a scenario describes, each UE in a namespace of its own.
fn start(text: &str, stop: &Stop, screen: &Screen) -> Result<Network, DemoError> {
    let loaded = Scenario::from_text(Path::new("the demo's scenario"), text);
    let loaded = loaded.map_err(|refused| DemoError::answer("the plan", refused.to_string()))?;
    let until = Until {
        flag: Arc::clone(&stop.0),
        deadline: None,
    };
    let network = Network::start(&Arc::new(loaded.scenario), screen, until)?;
    for ue in network.ues() {
        bound_tcp_windows(&ue.ns)?;
    }
    Ok(network)
}

/// Two gNBs, an SMF that is associated with the UPF (TS 29.244, 6.2.6), and UEs that take turns at the gNBs.
pub(super) fn with_smf(
    topology: &Topology,
    ues: u32,
    stop: &Stop,
    screen: &Screen,
) -> Result<Network, DemoError> {
    let (smf, gnb) = (topology.smf.name(), topology.gnb.name());
    let [first, second] = plan::N3_GNBS;
    let text = format!(
        "n4: {{smf: {N4_SMF}, upf: {N4_UPF}, namespace: {smf}, dnn: {DNN}, access: {ACCESS}, core: {CORE}}}\n\
         gnbs:\n\
         \x20 - {{name: gnb-a, n3: {first}, namespace: {gnb}}}\n\
         \x20 - {{name: gnb-b, n3: {second}, namespace: {gnb}}}\n\
         ues: {{count: {ues}, pdu_type: ipv4v6, address: {address}, prefix: '{prefix}/64', namespace: each, \
         mtu: {MTU}, qfi: {QFI}, imsi: '001010000000001'}}\n\
         steps: [end: ]\n",
        N4_SMF = plan::N4_SMF,
        N4_UPF = plan::N4_UPF,
        DNN = plan::DNN,
        ACCESS = plan::NETWORK_ACCESS,
        CORE = plan::NETWORK_CORE,
        address = plan::FIRST_UE,
        prefix = plan::FIRST_UE_PREFIX,
        MTU = plan::UE_MTU,
        QFI = plan::QFI,
    );
    start(&text, stop, screen)
}

/// Two gNBs with N2 towards the core, and UEs with these SIMs, each of which wants a session of both families.
pub(super) fn with_core(
    topology: &Topology,
    sims: &[String],
    stop: &Stop,
    screen: &Screen,
) -> Result<Network, DemoError> {
    let groups = (1..).zip(sims).map(|(number, sim)| {
        format!(
            "  - {{name: ue{number}, namespace: each, gnbs: gnb-1, mtu: {MTU}, {sim}}}\n",
            MTU = plan::UE_MTU
        )
    });
    let groups: String = groups.collect();
    let (gnb, [n3, _], [n2, _]) = (topology.gnb.name(), plan::N3_GNBS, plan::N2_GNBS);
    let text = format!(
        "gnbs:\n\
         \x20 name: gnb-\n  count: 2\n  n3: {n3}\n  namespace: {gnb}\n\
         \x20 n2: {{amf: {AMF}, local: {n2}, plmn: '00101', tac: 1, slices: '{SST}'}}\n\
         ues:\n{groups}steps: [end: ]\n",
        AMF = plan::N2_AMF,
        SST = plan::SST,
    );
    let mut network = start(&text, stop, screen)?;
    // What they have counted is compared when the sessions are gone.
    network.keep_devices();
    Ok(network)
}

/// Namespaces of UEs' programs.
pub(super) fn spaces(ran: &Network) -> Vec<Ns> {
    ran.ues().iter().map(|ue| ue.ns.clone()).collect()
}

/// UEs with their devices.
pub(super) fn places(ran: &Network) -> Result<Vec<UePlace>, DemoError> {
    let place = |ue: &sluice_ran::NetworkUe| {
        Ok(UePlace {
            name: format!("ue{}", ue.number),
            address: ue
                .addresses
                .ipv4()
                .map_or_else(String::new, |ipv4| ipv4.to_string()),
            ns: ue.ns.clone(),
            tun: ue.link()?,
        })
    };
    ran.ues().iter().map(place).collect()
}

/// Waits until no device has counted anything for a while.
pub(super) fn await_quiet(ran: &mut Network) -> Result<(), DemoError> {
    let devices = |ran: &Network| -> Result<Vec<Device>, DemoError> {
        let ues = 0..ran.ues().len();
        ues.map(|ue| Ok(ran.device(ue)?)).collect()
    };
    let (mut last, mut since) = (devices(ran)?, Instant::now());
    ran.wait_for("traffic of the UEs stands still", |ran| {
        let now = devices(ran)?;
        if now != last {
            (last, since) = (now, Instant::now());
        }
        Ok(since.elapsed() >= QUIET)
    })
}

/// A gNB's name, by its index.
pub(super) fn name(ran: &Network, gnb: usize) -> Result<String, DemoError> {
    Ok(ran.gnb(gnb)?.name().to_owned())
}

/// Packets that gNBs dropped, by gNB and reason.
pub(super) fn drops(ran: &Network) -> Result<Vec<String>, DemoError> {
    let mut drops = Vec::new();
    for station in ran.stations() {
        let counters = station.handle().counters()?;
        let by_reason = counters.drops.iter();
        let by_reason = by_reason.map(|(reason, count)| (reason.name(), count));
        let errors = [("receive_errors", counters.receive_errors)];
        let lost = by_reason.chain(errors).filter(|(_, count)| *count > 0);
        drops.extend(lost.map(|(why, count)| format!("{} {why}: {count}", station.name())));
    }
    Ok(drops)
}
