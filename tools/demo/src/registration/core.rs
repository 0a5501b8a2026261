//! The core of the demo, on a thread of its own in its namespace.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use sluice_amf::Amf;
use sluice_ausf::Ausf;
use sluice_core::{N2, Node, system};
use sluice_host::netns::Ns;
use sluice_ids::{AmfId, Guami, Snssai, Supi};
use sluice_n2::PlmnSlices;
use sluice_sbi::Ladder;
use sluice_sctp::{AllowList, Carrier, Config, Endpoint, NGAP_PORT, Prefix};
use sluice_security::suci::HomeKey;
use sluice_security::{K, Opc, Sqn};
use sluice_udm::Udm;
use sluice_udr::{Subscriber, Udr};
use sluice_wiring::Core as Functions;

use crate::error::DemoError;
use crate::plan;

/// How long the loop sleeps while nothing happens, before it looks whether it shall end.
const PATIENCE: Duration = Duration::from_millis(20);

/// A subscriber as both ends know it.
#[derive(Clone, Debug)]
pub(super) struct Account {
    pub(super) supi: Supi,
    pub(super) k: [u8; 16],
    pub(super) opc: [u8; 16],
}

/// How the core stands.
#[derive(Clone, Debug, Default)]
pub(super) struct Status {
    pub(super) registered: usize,
    pub(super) connected: usize,
    pub(super) gnbs: usize,
    pub(super) procedures: usize,
    pub(super) received: u64,
    pub(super) sent: u64,
    pub(super) ladder: Ladder,
    /// Why its loop has ended before it was asked to.
    pub(super) failure: Option<String>,
}

/// The core.
pub(super) struct Core {
    status: Arc<Mutex<Status>>,
    ends: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Core {
    /// Listens to the gNB's address in `ns`.
    pub(super) fn start(
        ns: &Ns,
        accounts: Vec<Account>,
        home_key: [u8; 32],
    ) -> Result<Self, DemoError> {
        let allowed = Prefix::new(plan::N2_GNB.into(), 32);
        let allowed = AllowList::new(allowed.into_iter().collect());
        let endpoint = Endpoint::open(Config::new(NGAP_PORT, allowed))?;
        let node = Node::new(endpoint, Carrier::ip(ns, plan::N2_AMF.into())?);
        let status = Arc::new(Mutex::new(Status::default()));
        let ends = Arc::new(AtomicBool::new(false));
        let (told, end) = (Arc::clone(&status), Arc::clone(&ends));
        // Network functions stay on the thread that made them.
        let work = move || {
            let outcome = functions(accounts, home_key)
                .and_then(|core| serve(N2::new(core, node), &told, &end));
            lock(&told).failure = outcome.err();
        };
        let thread = std::thread::Builder::new().name("core".to_owned());
        let thread = thread
            .spawn(work)
            .map_err(DemoError::io("start the core's thread"))?;
        Ok(Self {
            status,
            ends,
            thread: Some(thread),
        })
    }

    /// How it stands.
    pub(super) fn status(&self) -> Status {
        lock(&self.status).clone()
    }

    /// Ends it.
    pub(super) fn stop(mut self) -> Status {
        self.end();
        self.status()
    }

    fn end(&mut self) {
        self.ends.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take()
            && thread.join().is_err()
        {
            lock(&self.status).failure = Some("the core's thread panicked".to_owned());
        }
    }
}

impl Drop for Core {
    fn drop(&mut self) {
        self.end();
    }
}

fn lock(status: &Mutex<Status>) -> std::sync::MutexGuard<'_, Status> {
    status.lock().unwrap_or_else(PoisonError::into_inner)
}

fn serve(mut n2: N2, status: &Mutex<Status>, ends: &AtomicBool) -> Result<(), String> {
    while !ends.load(Ordering::Relaxed) {
        n2.turn(PATIENCE).map_err(|error| error.to_string())?;
        let said = n2.take_ladder().0;
        let (core, counters) = (n2.core().amf(), n2.counters());
        let mut status = lock(status);
        status.registered = core.registered();
        status.connected = core.connected();
        status.procedures = core.procedures().len();
        status.gnbs = n2.gnbs().count();
        (status.received, status.sent) = (counters.received, counters.sent);
        status.ladder.0.extend(said);
    }
    n2.close();
    Ok(())
}

fn functions(accounts: Vec<Account>, home_key: [u8; 32]) -> Result<Functions, String> {
    let guami = Guami {
        plmn: plan::plmn(),
        amf: AmfId::new(1, 1, 1).ok_or("no AMF identifier")?,
    };
    let slices = vec![Snssai::new(plan::SST, None)];
    let plmns = vec![PlmnSlices {
        plmn: plan::plmn(),
        slices,
    }];
    let mut config = sluice_amf::Config::new(guami, plmns, vec![plan::tai()]);
    config.network_name = Some(("Sluice".to_owned(), "Sluice".to_owned()));
    let amf = Amf::new(config, Box::new(system::random))?;
    let udm = sluice_udm::Config {
        home_keys: BTreeMap::from([(plan::HOME_KEY_ID, HomeKey::profile_a(home_key))]),
        null_scheme: true,
    };
    let mut udr = Udr::default();
    for account in accounts {
        let subscriber = Subscriber {
            k: K::new(account.k),
            opc: Opc::new(account.opc),
            sqn: Sqn::default(),
            ambr_bps: (1_000_000_000, 500_000_000),
            slices: vec![(Snssai::new(plan::SST, None), true)],
            networks: Vec::new(),
        };
        udr.insert(account.supi, subscriber);
    }
    let udm = Udm::new(udm, Box::new(system::random));
    Ok(Functions::new(amf, Ausf::default(), udm, udr))
}
