//! Control plane of the demo: an emulated SMF.

use std::net::SocketAddrV4;
use std::sync::Arc;

use sluice_host::netns::Ns;
use sluice_ran::FTeid;
use sluice_smf_emulator::{
    Dialect, Imsi, Network, SessionPlan, Smf, SmfConfig, Traffic, Tunnel, Usage,
};
use sluice_wire::ids::{Qfi, Seid};
use sluice_wire::pfcp;

use super::error::DemoError;
use super::plan;

/// The first subscriber; the others follow.
const FIRST_IMSI: u64 = 1_010_000_000_001;

/// The SMF and its sessions, one for each UE.
#[derive(Debug)]
pub(super) struct Core {
    smf: Smf,
    network: Arc<Network>,
    sessions: Vec<Session>,
}

#[derive(Debug)]
struct Session {
    seid: Seid,
    /// The UPF's endpoint.
    uplink: FTeid,
    /// What was reported so far.
    traffic: Traffic,
}

impl Core {
    /// Starts the SMF in `ns` and associates it with the UPF (TS 29.244, 6.2.6).
    pub(super) fn start(ns: &Ns) -> Result<Self, DemoError> {
        let at = |address| SocketAddrV4::new(address, pfcp::PORT);
        let config = SmfConfig::new(Dialect::Ts, ns, at(plan::N4_SMF), at(plan::N4_UPF));
        let smf = Smf::start(&config)?;
        smf.associate()?;
        let network = Network::new(plan::DNN, plan::NETWORK_ACCESS, plan::NETWORK_CORE);
        let network = network.map_err(|error| DemoError::answer("the plan", error.to_string()))?;
        Ok(Self {
            smf,
            network: Arc::new(network),
            sessions: Vec::new(),
        })
    }

    /// Establishes the next UE's session (6.3.2) while its gNB's endpoint is not known yet; gives
    /// the endpoint that the UPF has chosen.
    pub(super) fn establish(&mut self, qfi: Qfi) -> Result<FTeid, DemoError> {
        let index = self.sessions.len();
        let addresses = plan::ue_addresses(index);
        let mut wanted = SessionPlan::new(addresses, Arc::clone(&self.network), qfi);
        wanted.measured = true;
        wanted.imsi = Imsi::new(&format!("{:015}", FIRST_IMSI + index as u64)).ok();
        let established = self.smf.establish(wanted)?;
        let uplink = FTeid {
            address: established.uplink.address,
            teid: established.uplink.teid,
        };
        self.sessions.push(Session {
            seid: established.cp_seid,
            uplink,
            traffic: Traffic::default(),
        });
        Ok(uplink)
    }

    /// Tells the UPF the gNB's endpoint for the first time (6.3.3).
    pub(super) fn connect(&mut self, index: usize, gnb: FTeid) -> Result<(), DemoError> {
        let seid = self.session(index)?.seid;
        let changed = self.smf.modify(seid, tunnel(gnb))?;
        self.add(index, &changed.usage)
    }

    /// Tells the UPF another gNB's endpoint and asks for an End Marker to the old one.
    pub(super) fn switch_path(&mut self, index: usize, gnb: FTeid) -> Result<(), DemoError> {
        let seid = self.session(index)?.seid;
        let changed = self.smf.path_switch(seid, tunnel(gnb))?;
        self.add(index, &changed.usage)
    }

    /// The UPF's endpoint for a UE.
    pub(super) fn uplink(&self, index: usize) -> Result<FTeid, DemoError> {
        self.session(index).map(|session| session.uplink)
    }

    /// Deletes a session (6.3.4); gives all usage that was ever reported for it.
    pub(super) fn delete(&mut self, index: usize) -> Result<Traffic, DemoError> {
        let seid = self.session(index)?.seid;
        let usage = self.smf.delete(seid)?;
        self.add(index, &usage)?;
        self.session(index).map(|session| session.traffic)
    }

    /// Ends the association (6.2.8), and the SMF.
    pub(super) fn end(self) -> Result<(), DemoError> {
        Ok(self.smf.release()?)
    }

    fn session(&self, index: usize) -> Result<&Session, DemoError> {
        let session = self.sessions.get(index);
        session.ok_or_else(|| DemoError::answer("the SMF", format!("no session {index}")))
    }

    fn add(&mut self, index: usize, usage: &Usage) -> Result<(), DemoError> {
        self.session(index)?;
        if let Some(session) = self.sessions.get_mut(index) {
            let reported = usage
                .urrs
                .iter()
                .map(sluice_smf_emulator::UrrUsage::traffic);
            session.traffic = reported.fold(session.traffic, Traffic::plus);
        }
        Ok(())
    }
}

fn tunnel(endpoint: FTeid) -> Tunnel {
    Tunnel {
        teid: endpoint.teid,
        address: endpoint.address,
    }
}
