//! Wirings of a core in virtual time: AUSF, UDM and NSSF as another host in the same thread, reached by rings or sockets, or
//! all functions as services by HTTP. With `SLUICE_WIRING=ring`, `socket` or `http2` all cores of the testbed are put together
//! so, and tests hold as they do for functions of one host.

use std::cell::{Cell, RefCell};
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};

use sluice_ausf::Ausf;
use sluice_bus_local::{Carrier, Manager, News};
use sluice_core_host::{Home, Host};
use sluice_nssf::Nssf;
use sluice_sbi::{CallFlow, Instant, Nf, Now};
use sluice_udm::Udm;
use sluice_wiring::{Apart, Core, slices_of};

use crate::lossy::Lossy;
use crate::services;

/// Carrier of what functions of a core have for each other.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Wiring {
    /// References in shared memory, to AUSF, UDM and NSSF.
    Ring,
    /// Sockets, to the same.
    Socket,
    /// Services by HTTP, between all functions.
    Http2,
}

/// Another host of a core, and the manager of both.
struct Elsewhere {
    host: Host<Apart>,
    manager: Manager,
    /// Last time that it was told; none before it began.
    told: Option<Instant>,
}

thread_local! {
    static WANTED: Cell<Option<Wiring>> = const { Cell::new(None) };
    /// Faults of links that are made: in percent, and their seed.
    static FAULTS: Cell<(u64, u64)> = const { Cell::new((0, 0)) };

    /// Call flow of what was carried for somebody who does not look at it.
    static SAID: RefCell<CallFlow> = const { RefCell::new(CallFlow(Vec::new())) };

    /// Other hosts of the cores that a test has.
    static ELSEWHERE: RefCell<Vec<Elsewhere>> = const { RefCell::new(Vec::new()) };
}

/// Wiring of cores; none where functions of one host share a queue.
pub fn wanted() -> Option<Wiring> {
    let named = || {
        let wiring = std::env::var_os("SLUICE_WIRING")?;
        match wiring.to_str() {
            Some("ring") => Some(Wiring::Ring),
            Some("socket") => Some(Wiring::Socket),
            Some("http2") => Some(Wiring::Http2),
            _ => panic!("SLUICE_WIRING is ring, socket or http2"),
        }
    };
    WANTED.get().or_else(named)
}

/// Makes a core of this wiring.
pub fn by<T>(wiring: Wiring, make: impl FnOnce() -> T) -> T {
    let before = WANTED.replace(Some(wiring));
    let made = make();
    WANTED.set(before);
    made
}

/// The same, with links that lose, delay and repeat `percent` of a hundred envelopes or requests each, by a seed.
pub fn by_lossy<T>(wiring: Wiring, percent: u64, seed: u64, make: impl FnOnce() -> T) -> T {
    FAULTS.set((percent, seed));
    let made = by(wiring, make);
    FAULTS.set((0, 0));
    made
}

fn path() -> PathBuf {
    static NUMBER: AtomicU64 = AtomicU64::new(0);
    let number = NUMBER.fetch_add(1, Ordering::Relaxed);
    std::env::temp_dir().join(format!("sluice-apart-{}-{number}", std::process::id()))
}

/// Gives a core an AUSF and a UDM: its own, or elsewhere.
pub fn with(core: Core, home: Home, ausf: Ausf, udm: Udm) -> Core {
    let carrier = match wanted() {
        None => return core.with_ausf(ausf).with_udm(udm),
        Some(Wiring::Http2) => {
            let mut core = core.with_ausf(ausf).with_udm(udm);
            services::connect(&mut core, &home, FAULTS.get());
            return core;
        }
        Some(Wiring::Ring) => Carrier::Ring,
        Some(Wiring::Socket) => Carrier::Socket,
    };
    elsewhere(core.without(&[Nf::Nssf]), home, carrier, (ausf, udm))
}

/// Puts AUSF, UDM and NSSF of a core into another host.
fn elsewhere(mut core: Core, home: Home, carrier: Carrier, (ausf, udm): (Ausf, Udm)) -> Core {
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

/// Carries all that core and other hosts have for each other; the next [`exchange`] tells what was said meanwhile.
pub fn carry(core: &mut Core, now: Now) {
    let said = exchange(core, now);
    SAID.set(said);
}

/// Asserts what was said. By HTTP a question may be several of its receiver, as the TS has resources, and procedures that do
/// not wait for each other speak in another order.
#[track_caller]
pub fn assert_call_flow(said: &CallFlow, expected: &str) {
    let said = said.to_string();
    if wanted() != Some(Wiring::Http2) {
        return assert_eq!(said, expected);
    }
    let is_inside = |line: &&str| line.contains("UDM  -> UDR") || line.contains("UDR  -> UDM");
    let lines = |text: &str| {
        let lines = text.lines().filter(|line| !is_inside(line));
        let mut lines: Vec<String> = lines.map(str::to_owned).collect();
        lines.sort();
        lines
    };
    assert_eq!(lines(&said), lines(expected));
}

/// Carries all that core and other hosts have for each other; what was said meanwhile, in its order.
pub fn exchange(core: &mut Core, now: Now) -> CallFlow {
    let mut said = SAID.take();
    said.0.extend(core.take_call_flow().0);
    if !core.is_connected() {
        return said;
    }
    services::set_now(now.instant);
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
        let has_served = services::serve_nrf(core, now);
        said.0.extend(core.take_call_flow().0);
        if core.remote_counters() == before && !has_served {
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
    let services = services::next_deadline();
    core.next_deadline().min(elsewhere).min(services)
}

/// Challenges that wait for their answers at the AUSF of a core, wherever that is.
pub fn authentications(core: &Core) -> usize {
    let pending = |ausf: &Option<Ausf>| ausf.as_ref().map_or(0, Ausf::pending);
    let elsewhere = ELSEWHERE.with_borrow(|all| {
        let all = all.iter();
        all.map(|one| pending(&one.host.functions.ausf))
            .sum::<usize>()
    });
    pending(&core.apart().ausf) + elsewhere
}
