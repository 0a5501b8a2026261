//! The emulated SMF and its association.

use std::net::IpAddr;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, TryRecvError, channel};
use std::time::{Duration, Instant};

use sluice_host::netns::Ns;
use sluice_smf_emulator::{
    Imsi, Network, Peer, SessionPlan, Smf, SmfConfig, SmfError, Tunnel, UplinkTeid,
};
use sluice_wire::ids::Teid;
use sluice_wire::pfcp::value::NtpTime;

use super::ues::Ue;
use crate::Failure;
use crate::scenario::{N4, NetnsPlace, Ues};

/// From one try to set up the association to the next.
const AGAIN: Duration = Duration::from_secs(1);
/// The first TEID of the UPF where the SMF chooses.
const FIRST_TEID: u32 = 0x0100_0001;

pub struct Core {
    smf: Smf,
    network: Arc<Network>,
    n3_upf: Option<IpAddr>,
    is_n3_ipv6: bool,
    /// When the UPF started that the association is with.
    pub upf_started: Option<NtpTime>,
    trying: Option<Receiver<Result<Peer, SmfError>>>,
    last_try: Instant,
    is_silent: bool,
}

impl Core {
    /// Starts it and sets up the association. Whether N3 is IPv6 tells which addresses it asks the
    /// UPF for.
    pub fn start(n4: &N4, is_n3_ipv6: bool) -> Result<Self, Failure> {
        let ns = match &n4.namespace {
            NetnsPlace::Named(name) => Ns::named(name),
            _ => Ns::current(),
        };
        let ns = ns.map_err(Failure::lacking)?;
        let mut config = SmfConfig::new(n4.dialect, &ns, n4.smf, n4.upf);
        config.heartbeat_interval_ms = n4.heartbeat_s * 1000;
        (config.t1_ms, config.n1) = (n4.t1_ms, n4.n1);
        let smf = Smf::start(&config).map_err(|error| match &error {
            SmfError::Host(host) if host.is_not_our_address() => Failure::lacking(format!(
                "n4.smf: {error}\ngive the address to an interface there; if another namespace has \
                 it, name that one: n4.namespace"
            )),
            _ => Failure::lacking(error),
        })?;
        let peer = smf
            .associate()
            .map_err(|e| Failure::failed(format!("N4 with the UPF at {}: {e}", n4.upf)))?;
        Ok(Self {
            smf,
            network: Arc::new(n4.network.clone()),
            is_n3_ipv6,
            n3_upf: n4.n3_upf.filter(|_| n4.dialect.chooses_teids()),
            upf_started: Some(peer.recovery_time_stamp),
            trying: None,
            last_try: Instant::now(),
            is_silent: false,
        })
    }

    pub fn smf(&self) -> &Smf {
        &self.smf
    }

    /// The session that a UE wants; the gNB's end is told later.
    pub fn plan(&self, ue: &Ue, group: &Ues) -> SessionPlan {
        let mut plan = SessionPlan::new(ue.addresses, Arc::clone(&self.network), group.qfi);
        let imsi = group.imsi + ue.member as u64;
        plan.imsi = Imsi::new(&format!("{imsi:015}")).ok();
        plan.measured = group.measured;
        (plan.ambr, plan.flow_mbr) = (group.ambr, group.mbr);
        let teid = Teid::new(FIRST_TEID + ue.number as u32);
        if let Some((address, teid)) = self.n3_upf.zip(teid) {
            plan.uplink = UplinkTeid::ChosenByCp(Tunnel { teid, address });
        } else if self.is_n3_ipv6 {
            plan.uplink = UplinkTeid::ChosenByUpAtIpv6;
        }
        plan
    }

    /// Looks at the association, and tries to set it up again where it has gone. `None` while
    /// there is none.
    pub fn keep(&mut self) -> Option<Peer> {
        if let Some(trying) = &self.trying {
            match trying.try_recv() {
                Err(TryRecvError::Empty) => return None,
                // What came of it is seen below.
                Ok(_) | Err(TryRecvError::Disconnected) => self.trying = None,
            }
        }
        let peer = self.smf.peer().ok().flatten();
        self.is_silent = peer.is_some_and(|peer| peer.is_lost);
        if peer.is_none() && self.last_try.elapsed() >= AGAIN {
            self.last_try = Instant::now();
            let (sender, trying) = channel();
            let handle = self.smf.handle().clone();
            // It may take seconds, and the gNBs' counters shall go on meanwhile.
            let started = std::thread::Builder::new()
                .name("associate".to_owned())
                .spawn(move || sender.send(handle.associate()));
            self.trying = started.is_ok().then_some(trying);
        }
        peer
    }

    /// How N4 is, in a word.
    pub fn describe(&self) -> &'static str {
        match (self.upf_started, self.is_silent) {
            (None, _) => "no association",
            (Some(_), true) => "UPF silent",
            (Some(_), false) => "associated",
        }
    }

    /// Whether requests make sense.
    pub fn is_up(&self) -> bool {
        self.upf_started.is_some() && !self.is_silent
    }
}
