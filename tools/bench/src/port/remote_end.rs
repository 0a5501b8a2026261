//! The remote end, in a thread of this process, or in a process of its own, which is this program
//! again (`sluice bench peer`); both are talked to by pipes.

use super::peer::{Count, Order, Peer, Traffic};
use super::ports::WorkerPorts;
use crate::Failure;
use crate::path::traffic::Flow;
use serde_json::to_string;
use sluice_host::clock;
use sluice_host::process::Process;
use sluice_port::PortIo;
use sluice_port_dpdk::{DpdkIo, Eal, register_thread};
use std::io::{BufRead, BufReader, Read, Write};
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, TryRecvError, channel};
use std::time::{Duration, Instant};

/// Said by the far end when its ports are open.
const READY: &str = "ready";
/// When nothing has come back for so long, what is missing is lost.
const PATIENCE: Duration = Duration::from_millis(200);
const START_LIMIT: Duration = Duration::from_secs(60);

/// The far end, as the measured side has it: orders go there, a line each, and counts come back. It ends
/// with the value.
pub struct RemoteEnd {
    /// Without them it ends.
    orders: Option<Box<dyn Write>>,
    counts: Receiver<Count>,
    ending: Option<Box<dyn FnOnce()>>,
}

impl RemoteEnd {
    /// In a thread on `cpu`.
    pub fn thread(eal: &Eal, peer: Peer<WorkerPorts<DpdkIo>>, cpu: usize) -> Result<Self, Failure> {
        let failed = |e| format!("starting a thread: {e}");
        let (taken, orders) = std::io::pipe().map_err(failed)?;
        let (told, tells) = std::io::pipe().map_err(failed)?;
        let eal = eal.clone();
        let work = move || {
            let _registered = register_thread(&eal);
            if let Err(why) = sluice_host::thread::pin(&[cpu]) {
                eprintln!("{why}");
            }
            serve(peer, taken, tells);
        };
        let thread = std::thread::Builder::new().spawn(work).map_err(failed)?;
        Self::over(orders, told, move || drop(thread.join()))
    }

    /// In a process of its own on `cpu`, with these devices as N3 and N6; its ports are open then.
    pub fn process(flows: &Path, devices: &[String; 2], cpu: usize) -> Result<Self, Failure> {
        let program = std::env::current_exe().map_err(|e| format!("finding this program: {e}"))?;
        let mut command = Command::new(program);
        command
            .args(["peer", "--cpu", &cpu.to_string(), "--flows"])
            .arg(flows)
            .args(devices)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped());
        let mut process = Process::spawn(&mut command).map_err(|e| e.to_string())?;
        let child = process.child();
        let pipes = child.stdin.take().zip(child.stdout.take());
        let (orders, told) = pipes.ok_or("the far end has no pipes")?;
        Self::over(orders, told, move || drop(process))
    }

    fn over(
        orders: impl Write + 'static,
        told: impl Read + Send + 'static,
        ending: impl FnOnce() + 'static,
    ) -> Result<Self, Failure> {
        let (ready, is_ready) = channel();
        let (tells, counts) = channel();
        std::thread::spawn(move || listen(BufReader::new(told), &ready, &tells));
        if is_ready.recv_timeout(START_LIMIT).is_err() {
            return Err("the far end did not start".to_owned());
        }
        Ok(Self {
            orders: Some(Box::new(orders)),
            counts,
            ending: Some(Box::new(ending)),
        })
    }

    fn tell(&mut self, order: &Order) -> Result<(), Failure> {
        let line = to_string(order).map_err(|e| e.to_string())?;
        let orders = self.orders.as_mut().ok_or("it is ending")?;
        writeln!(orders, "{line}").map_err(|e| format!("the far end has ended: {e}"))
    }

    /// Lets it send.
    pub fn start(&mut self, traffic: Traffic) -> Result<(), Failure> {
        self.tell(&Order::Start(traffic))
    }

    /// Lets it send no more; it answers when everything has come back, or is lost. `turn` goes on
    /// meanwhile.
    pub fn stop(&mut self, mut turn: impl FnMut() -> usize) -> Result<Count, Failure> {
        self.tell(&Order::Stop)?;
        loop {
            match self.counts.try_recv() {
                Ok(count) => return Ok(count),
                Err(TryRecvError::Empty) => {
                    for _ in 0..64 {
                        turn();
                    }
                }
                Err(TryRecvError::Disconnected) => return Err("the far end has ended".to_owned()),
            }
        }
    }
}

impl Drop for RemoteEnd {
    fn drop(&mut self) {
        drop(self.orders.take());
        if let Some(end) = self.ending.take() {
            end();
        }
    }
}

/// Reads what the far end says until it ends.
fn listen(output: impl BufRead, ready: &Sender<()>, tells: &Sender<Count>) {
    for line in output.lines().map_while(Result::ok) {
        let heard = match serde_json::from_str(&line) {
            Ok(count) => tells.send(count).is_ok(),
            Err(_) => line != READY || ready.send(()).is_ok(),
        };
        if !heard {
            break;
        }
    }
}

/// Does what it is told, until it is told nothing more.
fn obey<I: PortIo>(
    peer: &mut Peer<I>,
    orders: &Receiver<Order>,
    mut tell: impl FnMut(Count) -> bool,
) {
    let mut began = (Instant::now(), clock::thread_cpu_ns());
    loop {
        match orders.try_recv() {
            Ok(Order::Start(traffic)) => {
                began = (Instant::now(), clock::thread_cpu_ns());
                peer.start(traffic);
            }
            Ok(Order::Stop) => {
                settle(peer);
                let cpu_ns = (clock::thread_cpu_ns() - began.1) as f64;
                let count = Count {
                    cpu_share: cpu_ns / began.0.elapsed().as_nanos() as f64,
                    ..peer.count()
                };
                if !tell(count) {
                    return;
                }
            }
            Err(TryRecvError::Empty) => {}
            Err(TryRecvError::Disconnected) => return,
        }
        for _ in 0..16 {
            peer.turn();
        }
    }
}

/// Until all packets have come back, or nothing comes any more.
fn settle<I: PortIo>(peer: &mut Peer<I>) {
    peer.stop();
    let mut last = Instant::now();
    while peer.under_way() > 0 && last.elapsed() < PATIENCE {
        if peer.turn() > 0 {
            last = Instant::now();
        }
    }
}

/// The far end's work: says that it is ready, takes orders from `input` and writes counts to `output`, a
/// line each.
pub fn serve(
    mut peer: Peer<WorkerPorts<DpdkIo>>,
    input: impl Read + Send + 'static,
    mut output: impl Write,
) {
    let (tell, orders) = channel();
    // It may still wait for input when this end is done.
    std::thread::spawn(move || {
        for line in BufReader::new(input).lines().map_while(Result::ok) {
            let Ok(order) = serde_json::from_str(&line) else {
                eprintln!("sluice bench peer: not an order: {line}");
                break;
            };
            if tell.send(order).is_err() {
                break;
            }
        }
    });
    if writeln!(output, "{READY}").is_ok() {
        obey(&mut peer, &orders, |count| {
            to_string(&count).is_ok_and(|line| writeln!(output, "{line}").is_ok())
        });
    }
}

/// Writes the flows for the other process.
pub fn write_flows(file: &Path, flows: &[Flow]) -> Result<(), Failure> {
    let bytes: Vec<u8> = flows.iter().flat_map(|flow| flow.to_bytes()).collect();
    std::fs::write(file, bytes).map_err(|e| format!("write {}: {e}", file.display()))
}

pub fn read_flows(file: &Path) -> Result<Arc<[Flow]>, Failure> {
    let bytes = std::fs::read(file).map_err(|e| format!("read {}: {e}", file.display()))?;
    let (flows, rest) = bytes.as_chunks();
    match (flows.is_empty(), rest.is_empty()) {
        (false, true) => Ok(flows.iter().map(|flow| Flow::from_bytes(*flow)).collect()),
        _ => Err(format!("{} does not hold flows", file.display())),
    }
}
