//! Flow steering and receive waiting of ports: probed at start, told to
//! `sluice ctl ports`, and kept beside the shards while they move.

use super::devices::DevicePort;
use crate::config::UpfConfig;
use serde_json::{Value, json};
use sluice_control::core::UpfControl;
use sluice_datapath::limits::STEERED_GROUP_BITS;
use sluice_datapath::lookup::layout::Layout;
use sluice_datapath::migration::port_steering::{Port as SteeredPort, Steerer};
use sluice_port::Packet;
use sluice_port::steer::{Method, Steer, Steering, Traffic};
use sluice_port_dpdk::CpuWaits;
use std::time::Duration;

/// The ports' steering and ways of waiting.
pub struct Steered<S: Steer> {
    steerer: Steerer<S>,
    waits: Vec<Waits>,
}

/// How packets of a port can be waited for, as its driver says.
struct Waits {
    rx_interrupt: Result<(), String>,
    monitor: Result<(), String>,
}

impl<S: Steer> Steered<S> {
    /// Asks each port, and takes the first way of steering that works.
    pub fn probe<P: DevicePort<Steer = S>>(
        config: &UpfConfig,
        layout: &Layout,
        ports: &[P],
    ) -> Self {
        let of_port = |(port, given): (&P, &crate::config::Port)| {
            let traffic = traffic(config, layout, &given.name.value);
            let steering =
                Steering::probe(port.steer(), &traffic, &STEERED_GROUP_BITS, given.steering);
            log(&given.name.value, &steering);
            steering
        };
        let steerings = ports.iter().zip(&config.ports).map(of_port).collect();
        let waits = ports.iter().map(|port| {
            let [rx_interrupt, monitor] = port.waits();
            Waits {
                rx_interrupt,
                monitor,
            }
        });
        Self {
            steerer: Steerer::new(steerings),
            waits: waits.collect(),
        }
    }

    /// Lets the ports follow their shards. Returns how many steps that took.
    pub fn turn<P: Packet>(&mut self, core: &mut UpfControl<P>) -> usize {
        self.steerer.turn(core.end_mut())
    }

    /// Of each port: how it steers.
    pub fn methods(&self) -> impl Iterator<Item = Method> {
        let ports = self.steerer.ports().iter();
        ports.map(|port| port.steering().method())
    }

    /// Of each port: how it steers, with the reasons, and how its packets can be waited for.
    pub fn views<P: Packet>(&self, core: &UpfControl<P>) -> Vec<(Value, Value)> {
        let limit = core.end().mover().still_at_a_time();
        let ports = self.steerer.ports().iter().zip(&self.waits);
        ports
            .map(|(port, waits)| (view(port, limit), waits.view()))
            .collect()
    }
}

/// What a port carries whose shard it can see.
fn traffic(config: &UpfConfig, layout: &Layout, port: &str) -> Vec<Traffic> {
    let mut all: Vec<Traffic> = Vec::new();
    let on_port = config.interfaces.iter().filter(|i| i.port.value == port);
    for interface in on_port {
        let vlan = interface.vlan.map(|at| at.value.get());
        let tunnels = (!interface.tunnels.is_empty()).then(|| layout.tunnels(vlan));
        let instance = interface.n6.as_ref().map(|n6| config.n6_instance(n6));
        let pools = instance.into_iter().flat_map(|id| layout.pools(id, vlan));
        for traffic in tunnels.into_iter().chain(pools) {
            if !all.contains(&traffic) {
                all.push(traffic);
            }
        }
    }
    all
}

fn log<S: Steer>(port: &str, steering: &Steering<S>) {
    let refused = steering.refused().iter();
    let refused: Vec<String> = refused
        .map(|(method, why)| format!("no {}: {why}", method.name()))
        .collect();
    let because = if refused.is_empty() { "" } else { "; " };
    tracing::info!(
        "port {port}: steered by {}{because}{}",
        steering.method().name(),
        refused.join("; ")
    );
}

fn view<S: Steer>(port: &SteeredPort<S>, still_at_a_time: usize) -> Value {
    let steering = port.steering();
    let refused = steering.refused().iter();
    let refused: serde_json::Map<_, _> = refused
        .map(|(method, why)| (method.name().to_owned(), json!(why.to_string())))
        .collect();
    let mut view = json!({ "by": steering.method().name(), "refused": refused });
    if steering.method() != Method::Software {
        view["groups"] = json!(steering.queues().len());
        view["changes"] = json!(port.changes());
        view["follows_moves"] = match port.is_fixed(still_at_a_time) {
            None => json!("yes"),
            Some(why) => json!(format!("no: {why}")),
        };
    }
    view
}

impl Waits {
    fn view(&self) -> Value {
        let tell = |has: &Result<(), String>| match has {
            Ok(()) => "the driver can; not used".to_owned(),
            Err(why) => format!("no: {why}"),
        };
        json!({
            "receive_interrupt": tell(&self.rx_interrupt),
            "monitored_wait": tell(&self.monitor),
        })
    }
}

/// How workers wait, and what the processor has for it.
pub fn waiting(sleep_max: Duration) -> Value {
    let cpu = CpuWaits::of_this_machine();
    let used = match sleep_max.is_zero() {
        true => "polling".to_owned(),
        false => format!(
            "sleep, longer and longer up to {} us; whoever puts something on a ring wakes",
            sleep_max.as_micros()
        ),
    };
    json!({
        "used": used,
        "processor_has_monitored_wait": cpu.monitor,
        "processor_has_timed_pause": cpu.pause,
    })
}
