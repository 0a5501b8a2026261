//! Wirings beside each other: a call that does nothing, and registrations, by the queue of a thread, and by rings and
//! sockets between hosts.
//!
//! Rings and sockets lie between two threads, as two programs have them. Registrations have AUSF and UDM
//! as the other host, in turn with the core on one thread: no wake-up is counted.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;
use std::{env, process, thread};

use serde_json::{Value, json};
use sluice_bus_local::{Carrier, Manager, Member};
use sluice_core_host::{Functions, Home, Host};
use sluice_core_runtime::system;
use sluice_host::clock;
use sluice_host::poll::wait_readable;
use sluice_host::thread::{allowed_cpus, pin};
use sluice_ids::{AmfId, Guami};
use sluice_sbi::{
    CallId, Done, Effect, HeartBeat, Input, Instant, Key, NetworkFunction, Nf, NfInstance, Now,
    Place, server::CALL_MS,
};
use sluice_testbed::{apart, core as testbed};

use crate::Failure;
use crate::args::CoreArgs;
use crate::registrations::virtual_core::{self, Identity, VirtualCore};
use crate::registrations::{BATCH, Part};
use crate::stats::{Summary, percentile, round};
use crate::watch::history::Series;

/// Calls of a row, one after the other.
const CALLS: u32 = 50_000;
/// Calls before those that count.
const WARM_UP: usize = 1_000;
/// Goals: a call within a thread, and between two programs that spin.
const GOAL_THREAD_NS: f64 = 300.0;
const GOAL_SPIN_NS: f64 = 2_000.0;
/// Registrations per CPU-second by rings, by those of one thread, at the least.
const GOAL_RATIO: f64 = 0.7;
/// Longest wait for an answer.
const PATIENCE: Duration = Duration::from_millis(100);

/// Asks the UDM again and again, and notes how long each answer takes.
#[derive(Default)]
struct Asks {
    left: u32,
    began_ns: u64,
    took_ns: Vec<u64>,
}

impl Asks {
    fn ask(&mut self, now: Now, effects: &mut Vec<Effect>) {
        if self.left > 0 {
            self.left -= 1;
            self.began_ns = clock::monotonic_ns();
            let key = Key {
                slot: self.left,
                generation: 0,
            };
            let message = HeartBeat {
                instance: NfInstance::of([7; 16]),
                load: 0,
            };
            effects.push(Effect::Call {
                to: Nf::Udm.into(),
                call: CallId(key),
                deadline: now.instant.plus_ms(CALL_MS),
                message: message.into(),
            });
        }
    }
}

impl NetworkFunction for Asks {
    fn handle(&mut self, now: Now, input: Input<'_>, effects: &mut Vec<Effect>) {
        match input {
            Input::Time => self.ask(now, effects),
            Input::Reply { .. } => {
                self.took_ns.push(clock::monotonic_ns() - self.began_ns);
                self.ask(now, effects);
            }
            _ => {}
        }
    }

    fn next_deadline(&self) -> Instant {
        Instant::NEVER
    }
}

/// Answers at once, and nothing.
struct Answers;

impl NetworkFunction for Answers {
    fn handle(&mut self, _: Now, input: Input<'_>, effects: &mut Vec<Effect>) {
        if let Input::Request { id, .. } = input {
            let message = Done::ALL.into();
            effects.push(Effect::Answer { id, message });
        }
    }

    fn next_deadline(&self) -> Instant {
        Instant::NEVER
    }
}

#[derive(Default)]
struct Pair {
    asks: Option<Asks>,
    answers: Option<Answers>,
}

impl Functions for Pair {
    fn at(&mut self, place: Place) -> Option<&mut dyn NetworkFunction> {
        Some(match place.nf {
            Nf::Amf => self.asks.as_mut()?,
            Nf::Udm => self.answers.as_mut()?,
            _ => return None,
        })
    }

    fn each(&self, _: &mut dyn FnMut(Nf, &dyn NetworkFunction)) {
        // Nobody registers at an NRF: there is none.
    }
}

fn host(functions: Pair) -> Host<Pair> {
    let plmn = testbed::plmn();
    let amf = AmfId::new(1, 1, 1).expect("small");
    let home = Home {
        guami: Guami { plmn, amf },
        plmns: vec![plmn],
        slices: Vec::new(),
    };
    Host::new(functions, home)
}

fn asks() -> Pair {
    let asks = Asks {
        left: CALLS,
        ..Asks::default()
    };
    Pair {
        asks: Some(asks),
        answers: None,
    }
}

/// A row of calls.
struct Calls {
    name: &'static str,
    goal_ns: Option<f64>,
    took_ns: Vec<u64>,
    /// CPU of a call, in all threads.
    cpu_ns: f64,
}

impl Calls {
    fn new(name: &'static str, goal_ns: Option<f64>, host: &mut Host<Pair>, cpu_ns: u64) -> Self {
        let asks = host.functions.asks.take().unwrap_or_default();
        let mut took_ns: Vec<u64> = asks.took_ns.into_iter().skip(WARM_UP).collect();
        took_ns.sort_unstable();
        Self {
            name,
            goal_ns,
            took_ns,
            cpu_ns: cpu_ns as f64 / f64::from(CALLS),
        }
    }

    fn json(&self) -> Value {
        json!({
            "name": self.name,
            "ns_p50": percentile(&self.took_ns, 0.5),
            "ns_p99": percentile(&self.took_ns, 0.99),
            "cpu_ns": round(self.cpu_ns),
            "goal_ns": self.goal_ns,
        })
    }

    fn line(&self) -> String {
        let goal = self
            .goal_ns
            .map_or(String::new(), |ns| format!(", goal {ns:.0}"));
        format!(
            "  {:<28}{:>8} ns a call (p99 {}{goal}), {:.0} ns of CPU\n",
            self.name,
            percentile(&self.took_ns, 0.5),
            percentile(&self.took_ns, 0.99),
            self.cpu_ns
        )
    }
}

fn by_thread() -> Calls {
    let mut functions = asks();
    functions.answers = Some(Answers);
    let mut host = host(functions);
    let before = clock::thread_cpu_ns();
    host.turn(system::now(), Nf::Amf, Input::Time);
    let cpu_ns = clock::thread_cpu_ns() - before;
    Calls::new("core/call/thread", Some(GOAL_THREAD_NS), &mut host, cpu_ns)
}

/// One turn of a host; with `sleeps` it waits for the other one.
fn turn(host: &mut Host<Pair>, wakes: &std::os::fd::OwnedFd, sleeps: bool) -> Result<(), Failure> {
    host.receive(system::now());
    host.send(system::now());
    if sleeps && host.may_sleep() {
        wait_readable(wakes, PATIENCE).map_err(|error| error.to_string())?;
    }
    Ok(())
}

/// A host with its ends of links, and what wakes it.
fn joined(
    functions: Pair,
    member: Member,
    other: Nf,
) -> Result<(Host<Pair>, std::os::fd::OwnedFd), Failure> {
    use std::os::fd::AsFd as _;
    let wakes = member.as_fd().try_clone_to_owned();
    let wakes = wakes.map_err(|error| error.to_string())?;
    let mut host = host(functions);
    host.connect(Box::new(member), &[other]);
    Ok((host, wakes))
}

fn by(
    carrier: Carrier,
    name: &'static str,
    goal_ns: Option<f64>,
    sleeps: bool,
) -> Result<Calls, Failure> {
    let failed = |error: &dyn std::fmt::Display| error.to_string();
    let path = env::temp_dir().join(format!("sluice-bench-{}", process::id()));
    let mut manager = Manager::listen(&path, carrier).map_err(|e| failed(&e))?;
    let own = manager.join("asks", &[Nf::Amf]).map_err(|e| failed(&e))?;
    let other = manager
        .join("answers", &[Nf::Udm])
        .map_err(|e| failed(&e))?;
    let (mut one, one_wakes) = joined(asks(), own, Nf::Udm)?;
    let answers = Pair {
        asks: None,
        answers: Some(Answers),
    };
    let is_over = AtomicBool::new(false);
    let other_cpu_ns = AtomicU64::new(0);
    let cpus = allowed_cpus().map_err(|e| failed(&e))?;
    let (is_over, other_cpu_ns, cpus) = (&is_over, &other_cpu_ns, &cpus);
    thread::scope(|scope| {
        let answering = scope.spawn(move || -> Result<(), Failure> {
            if let Some(cpu) = cpus.get(1) {
                pin(&[*cpu]).map_err(|error| error.to_string())?;
            }
            let (mut host, wakes) = joined(answers, other, Nf::Amf)?;
            let before = clock::thread_cpu_ns();
            while !is_over.load(Ordering::Relaxed) {
                turn(&mut host, &wakes, sleeps)?;
            }
            other_cpu_ns.store(clock::thread_cpu_ns() - before, Ordering::Relaxed);
            Ok(())
        });
        // Members hear of each other by way of the manager.
        let mut until = 2_000;
        while one.take_reached(Now::default()).is_empty() && until > 0 {
            manager.turn();
            one.may_sleep();
            one.receive(system::now());
            thread::sleep(Duration::from_millis(1));
            until -= 1;
        }
        if let Some(cpu) = cpus.first() {
            pin(&[*cpu]).map_err(|error| error.to_string())?;
        }
        let before = clock::thread_cpu_ns();
        one.turn(system::now(), Nf::Amf, Input::Time);
        let all = CALLS as usize;
        let done = |host: &Host<Pair>| {
            host.functions
                .asks
                .as_ref()
                .map_or(0, |asks| asks.took_ns.len())
        };
        let end = clock::monotonic_ns() + 60_000_000_000;
        while done(&one) < all && clock::monotonic_ns() < end {
            if done(&one) == 0 {
                // Our arena may still be on its way to the other end.
                manager.turn();
            }
            turn(&mut one, &one_wakes, sleeps)?;
        }
        let cpu_ns = clock::thread_cpu_ns() - before;
        is_over.store(true, Ordering::Relaxed);
        pin(cpus).map_err(|error| error.to_string())?;
        answering
            .join()
            .map_err(|_| "a thread has ended early".to_owned())??;
        if done(&one) < all {
            return Err(format!("{} of {all} calls were answered", done(&one)));
        }
        let cpu_ns = cpu_ns + other_cpu_ns.load(Ordering::Relaxed);
        Ok(Calls::new(name, goal_ns, &mut one, cpu_ns))
    })
}

/// Registrations per CPU-second, in each wiring.
#[derive(Default)]
struct Registrations {
    thread: Vec<f64>,
    ring: Vec<f64>,
    socket: Vec<f64>,
}

/// A row of registrations: all wirings in turn, so that a slow moment of the machine is that of all.
fn registrations(args: &CoreArgs, identity: Identity) -> Result<Registrations, Failure> {
    let subscribers = args.registrations * u32::from(args.reps) + BATCH as u32;
    let mut thread = VirtualCore::new(subscribers)?;
    let mut ring = apart::by(apart::Wiring::Ring, || VirtualCore::new(subscribers))?;
    let mut socket = apart::by(apart::Wiring::Socket, || VirtualCore::new(subscribers))?;
    let mut all = Registrations::default();
    let mut number = 0;
    for _ in 0..args.reps {
        let mut cpu_s = [0.0; 3];
        let mut count = 0;
        while count < args.registrations {
            let size = (args.registrations - count).min(BATCH as u32);
            let cores = [&mut thread, &mut ring, &mut socket];
            for (core, cpu_s) in cores.into_iter().zip(&mut cpu_s) {
                let numbers = number + 1..=number + size;
                let ues = numbers.map(|number| virtual_core::ue(number, identity));
                let mut ues: Vec<_> = ues.collect();
                *cpu_s += core.register(&mut ues, false)?.cpu.as_secs_f64();
            }
            (number, count) = (number + size, count + size);
        }
        let [thread_s, ring_s, socket_s] = cpu_s;
        all.thread.push(f64::from(count) / thread_s);
        all.ring.push(f64::from(count) / ring_s);
        all.socket.push(f64::from(count) / socket_s);
    }
    Ok(all)
}

/// Calls and registrations, in each wiring.
pub(super) fn measure(args: &CoreArgs) -> Result<Part, Failure> {
    eprintln!("calls that do nothing");
    let calls = [
        by_thread(),
        by(
            Carrier::Ring,
            "core/call/ring/spin",
            Some(GOAL_SPIN_NS),
            false,
        )?,
        by(Carrier::Ring, "core/call/ring/sleep", None, true)?,
        by(Carrier::Socket, "core/call/socket/spin", None, false)?,
        by(Carrier::Socket, "core/call/socket/sleep", None, true)?,
    ];
    let mut part = Part {
        key: "wiring",
        json: Value::Null,
        series: Vec::new(),
        table: calls.iter().map(Calls::line).collect(),
        fault: None,
    };
    for one in &calls {
        let sample = std::iter::once(percentile(&one.took_ns, 0.5) as f64);
        part.series
            .push(Series::shown(one.name.to_owned(), "ns a call", sample));
    }
    let mut rows = Vec::new();
    for identity in [Identity::Null, Identity::ProfileA] {
        eprintln!(
            "registrations by {}, on a thread, by rings and by sockets",
            identity.name()
        );
        rows.push(tell(&mut part, identity, &registrations(args, identity)?));
    }
    let calls: Vec<Value> = calls.iter().map(Calls::json).collect();
    part.json = json!({ "calls": calls, "registrations": rows });
    Ok(part)
}

/// Adds a row of registrations to the table and to the history; as JSON.
fn tell(part: &mut Part, identity: Identity, all: &Registrations) -> Value {
    let median = |all: &[f64]| Summary::of(all.iter().copied()).median;
    let [thread, ring, socket] = [&all.thread, &all.ring, &all.socket].map(|all| median(all));
    let (ratio, socket_ratio) = (ring / thread, socket / thread);
    let name = format!("core/wiring/{}", identity.name());
    part.table += &format!(
        "  {name:<28}{thread:>8.0} per CPU-second on a thread, {ring:.0} by rings: {ratio:.2} (goal {GOAL_RATIO}), \
         {socket:.0} by sockets: {socket_ratio:.2}\n",
    );
    let row = json!({
        "name": name,
        "thread_per_cpu_s_median": round(thread),
        "ring_per_cpu_s_median": round(ring),
        "socket_per_cpu_s_median": round(socket),
        "ratio": round(ratio),
        "socket_ratio": round(socket_ratio),
        "goal_ratio": GOAL_RATIO,
    });
    for (name, ratio) in [(name.clone(), ratio), (name + "/socket", socket_ratio)] {
        let sample = std::iter::once(ratio);
        part.series
            .push(Series::shown(name, "of registrations on a thread", sample).higher());
    }
    row
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a failed step is a failed test")]
mod tests {
    use super::*;

    #[test]
    fn calls_and_registrations_are_measured_in_each_wiring() {
        let args = CoreArgs {
            registrations: 64,
            reps: 3,
            ues: 600,
            storm_s: 0,
            soak_s: 1,
            soak_hz: 10,
            only: None,
            watch: crate::watch::WatchArgs::default(),
        };
        let part = measure(&args).unwrap();
        let calls = part.json["calls"].as_array().unwrap();
        assert_eq!(calls.len(), 5);
        for one in calls {
            assert!(one["ns_p50"].as_u64() > Some(0), "{one}");
            assert!(one["cpu_ns"].as_f64() > Some(0.0), "{one}");
        }
        for one in part.json["registrations"].as_array().unwrap() {
            assert!(one["ratio"].as_f64() > Some(0.0), "{one}");
            assert!(one["socket_ratio"].as_f64() > Some(0.0), "{one}");
        }
    }
}
