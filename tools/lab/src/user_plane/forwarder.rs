//! A forwarder of sockets, as a UPF without a data plane of its own: tunnels end at a UDP socket, and packets leave by a
//! TUN device and the kernel's routes.
//!
//! One thread carries uplink packets, and looks each tunnel up. The forwarder has no rules, rates, usage or signalling.

use crate::experiments::Problem;
use sluice_host::netns::Ns;
use sluice_host::thread::pin;
use sluice_host::tun::{Tun, TunConfig, TunRoute};
use sluice_wire::gtpu::{self, GPdu};
use std::collections::HashMap;
use std::io;
use std::net::{Ipv4Addr, UdpSocket};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

/// Between two looks at whether it shall end.
const TICK: Duration = Duration::from_millis(100);
/// Longest datagram.
const OCTETS: usize = 2_048;
const MTU: u16 = 1_500;

/// Counts of a tunnel, as little as a UPF has to keep.
#[derive(Default)]
struct Tunnel {
    packets: u64,
    octets: u64,
}

/// A forwarder on a thread of its own, which ends with the value.
pub struct Forwarder {
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Forwarder {
    /// With tunnels 1 to `ues` at `n3`, an address of the namespace, on this CPU.
    pub fn start(ns: &Ns, n3: Ipv4Addr, ues: u32, cpu: usize) -> Result<Self, Problem> {
        let failed = |e: &dyn std::fmt::Display| Problem::Failed(format!("forwarder: {e}"));
        let bound = ns.run(|| {
            std::fs::write("/proc/sys/net/ipv4/ip_forward", "1")?;
            let socket = UdpSocket::bind((n3, gtpu::PORT))?;
            socket.set_read_timeout(Some(TICK))?;
            io::Result::Ok(socket)
        });
        let socket = bound.map_err(|e| failed(&e))?.map_err(|e| failed(&e))?;
        let config = TunConfig {
            name: "ues".to_owned(),
            address: None,
            mtu: MTU,
            route: TunRoute::None,
        };
        let tun = Tun::create(ns, &config).map_err(|e| failed(&e))?;
        let stop = Arc::<AtomicBool>::default();
        let end = Arc::clone(&stop);
        let forwards = move || {
            // On another CPU it forwards as well.
            let _ = pin(&[cpu]);
            forward(&socket, &tun, ues, &end);
        };
        let thread = Some(std::thread::spawn(forwards));
        Ok(Self { stop, thread })
    }
}

impl Drop for Forwarder {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

fn forward(socket: &UdpSocket, tun: &Tun, ues: u32, end: &AtomicBool) {
    let tunnels = (1..=ues).map(|teid| (teid, Tunnel::default()));
    let mut tunnels: HashMap<u32, Tunnel> = tunnels.collect();
    let mut room = [0; OCTETS];
    while !end.load(Ordering::Relaxed) {
        let Ok((length, _)) = socket.recv_from(&mut room) else {
            continue;
        };
        let datagram = room.get(..length).unwrap_or_default();
        let Ok(pdu) = GPdu::parse(datagram) else {
            continue;
        };
        let tunnel = tunnels.get_mut(&pdu.teid.get());
        if let Some((tunnel, packet)) = tunnel.zip(pdu.payload(datagram)) {
            tunnel.packets += 1;
            tunnel.octets += packet.len() as u64;
            // What finds no room is lost, as the generator sees.
            let _ = tun.send(packet);
        }
    }
}
