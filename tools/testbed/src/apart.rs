//! AUSF, UDM and NSSF of a core as another host in the same thread, reached by rings or sockets: with `SLUICE_WIRING=ring` or
//! `SLUICE_WIRING=socket` all cores of the testbed are put together so, and tests hold in virtual time as they do for
//! functions of one host.

use std::cell::{Cell, RefCell};
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};

use sluice_ausf::Ausf;
pub use sluice_bus_local::Carrier;
use sluice_bus_local::{Manager, News};
use sluice_core_host::{Home, Host};
use sluice_nssf::Nssf;
use sluice_sbi::{CallFlow, Instant, Nf, Now};
use sluice_udm::Udm;
use sluice_wiring::{Apart, Core, slices_of};

use crate::lossy::Lossy;

/// Another host of a core, and the manager of both.
struct Elsewhere {
    host: Host<Apart>,
    manager: Manager,
    /// Last time that it was told; none before it began.
    told: Option<Instant>,
}

thread_local! {
    static WANTED: Cell<Option<Carrier>> = const { Cell::new(None) };
    /// Faults of links that are made: in percent, and their seed.
    static FAULTS: Cell<(u64, u64)> = const { Cell::new((0, 0)) };

    /// Other hosts of the cores that a test has.
    static ELSEWHERE: RefCell<Vec<Elsewhere>> = const { RefCell::new(Vec::new()) };
}

/// Carrier of envelopes to AUSF and UDM, where cores have these elsewhere.
pub fn wanted() -> Option<Carrier> {
    let named = || {
        let wiring = std::env::var_os("SLUICE_WIRING")?;
        match wiring.to_str() {
            Some("ring") => Some(Carrier::Ring),
            Some("socket") => Some(Carrier::Socket),
            _ => panic!("SLUICE_WIRING is ring or socket"),
        }
    };
    WANTED.get().or_else(named)
}

/// Makes a core with its AUSF and UDM elsewhere.
pub fn by<T>(carrier: Carrier, make: impl FnOnce() -> T) -> T {
    let before = WANTED.replace(Some(carrier));
    let made = make();
    WANTED.set(before);
    made
}

/// The same, with links that lose, delay and repeat `percent` of a hundred envelopes each, by a seed.
pub fn by_lossy<T>(carrier: Carrier, percent: u64, seed: u64, make: impl FnOnce() -> T) -> T {
    FAULTS.set((percent, seed));
    let made = by(carrier, make);
    FAULTS.set((0, 0));
    made
}

fn path() -> PathBuf {
    static NUMBER: AtomicU64 = AtomicU64::new(0);
    let number = NUMBER.fetch_add(1, Ordering::Relaxed);
    std::env::temp_dir().join(format!("sluice-apart-{}-{number}", std::process::id()))
}

/// Gives a core an AUSF and a UDM: its own, or elsewhere.
pub fn with(mut core: Core, home: Home, ausf: Ausf, udm: Udm) -> Core {
    let Some(carrier) = wanted() else {
        return core.with_ausf(ausf).with_udm(udm);
    };
    core = core.without(&[Nf::Nssf]);
    let mut manager = Manager::listen(&path(), carrier).expect("a path");
    let apart = [Nf::Ausf, Nf::Udm, Nf::Nssf];
    let own: Vec<Nf> = Nf::ALL
        .into_iter()
        .filter(|nf| !apart.contains(nf))
        .collect();
    let member = manager.join("core", &own).expect("a member");
    let other = manager.join("elsewhere", &apart).expect("a member");
    let (percent, seed) = FAULTS.get();
    core.connect(Box::new(Lossy::new(member, percent, seed)), &apart);
    let functions = Apart {
        ausf: Some(ausf),
        udm: Some(udm),
        nssf: Some(Nssf::new(slices_of(
            &core.amf().expect("its own AMF").plmns(),
        ))),
        ..Apart::default()
    };
    let mut host = Host::new(functions, home);
    host.connect(Box::new(Lossy::new(other, percent, !seed)), &own);
    // Members hear of each other, then their arenas pass the manager, if they have some.
    for _ in 0..2 {
        core.may_sleep();
        host.may_sleep();
        manager.turn();
    }
    core.may_sleep();
    host.may_sleep();
    core.receive(Now::default());
    host.receive(Now::default());
    let reached = core.take_reached(Now::default());
    assert_eq!(reached.len(), apart.len(), "all of them are reached");
    let elsewhere = Elsewhere {
        host,
        manager,
        told: None,
    };
    ELSEWHERE.with_borrow_mut(|all| all.push(elsewhere));
    core
}

/// Carries all that core and other hosts have for each other; what was said meanwhile, in its order.
pub fn exchange(core: &mut Core, now: Now) -> CallFlow {
    let mut said = core.take_call_flow();
    if !core.is_connected() {
        return said;
    }
    loop {
        let before = core.remote_counters();
        core.send(now);
        ELSEWHERE.with_borrow_mut(|all| {
            all.retain_mut(|one| {
                // A core that is gone takes its other host along.
                let is_gone = |news: &News| matches!(news, News::Gone { .. });
                if one.manager.turn().iter().any(is_gone) {
                    return false;
                }
                // As a program that reads the same file again.
                if let Some(nssf) = &mut one.host.functions.nssf {
                    nssf.reconfigure(slices_of(&core.amf().expect("its own AMF").plmns()));
                }
                if one.told != Some(now.instant) {
                    one.told = Some(now.instant);
                    one.host.time(now);
                }
                one.host.receive(now);
                said.0.extend(one.host.log.take_call_flow().0);
                one.host.send(now);
                true
            });
        });
        core.receive(now);
        said.0.extend(core.take_call_flow().0);
        if core.remote_counters() == before {
            return said;
        }
    }
}

/// When time is to be told at the latest, to the core or to another host.
pub fn next_deadline(core: &Core) -> Instant {
    let elsewhere = ELSEWHERE.with_borrow(|all| {
        let deadlines = all.iter().map(|one| one.host.next_deadline());
        deadlines.min().unwrap_or(Instant::NEVER)
    });
    core.next_deadline().min(elsewhere)
}

/// Challenges that wait for their answers at AUSFs of other hosts.
pub fn authentications() -> usize {
    ELSEWHERE.with_borrow(|all| {
        let pending = |one: &Elsewhere| one.host.functions.ausf.as_ref().map_or(0, Ausf::pending);
        all.iter().map(pending).sum()
    })
}
