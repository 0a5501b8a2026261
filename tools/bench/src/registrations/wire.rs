//! Registrations over SCTP: the core on a thread of its own in this process, gNB and UEs in another one.

use std::net::{Ipv4Addr, SocketAddr, UdpSocket};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use sluice_core_runtime::system;
use sluice_host::clock;
use sluice_host::netns::Ns;
use sluice_n1::RegistrationKind;
use sluice_sbi::AssociationId;
use sluice_sctp::{
    AllowList, Association, Carrier, Config, Endpoint, Event, NGAP_PORT, NGAP_PPID, Node, Peer,
    Prefix, Sctp as _,
};
use sluice_ue::{Fleet, FleetUe, Outcome, Procedure};

use super::virtual_core::{self, Identity};
use crate::Failure;
use crate::args::CoreRanArgs;

const LOCAL: Ipv4Addr = Ipv4Addr::LOCALHOST;
/// Registrations under way at a time.
const WINDOW: usize = 64;
/// For all of them, on a busy machine.
const LIMIT: Duration = Duration::from_secs(300);
const PATIENCE: Duration = Duration::from_millis(2);

/// CPU time of the core's thread for so many registrations.
pub fn measure(identity: Identity, count: u32) -> Result<Duration, Failure> {
    let core = virtual_core::core(count);
    let udp = free_port()?;
    let node = node(NGAP_PORT, udp)?;
    let ran = std::env::current_exe().map_err(|error| error.to_string())?;
    let mut child = Command::new(ran)
        .arg("core-ran")
        .args(["--identity", identity.name()])
        .args([
            "--registrations",
            &count.to_string(),
            "--port",
            &udp.to_string(),
        ])
        .stdout(Stdio::null())
        .spawn()
        .map_err(|error| format!("start gNB and UEs: {error}"))?;
    let served = serve(core, node, count, || {
        child
            .try_wait()
            .ok()
            .flatten()
            .map(|status| status.success())
    });
    if served.is_err() {
        // It waits for us in vain.
        let _ = child.kill();
    }
    let _ = child.wait();
    served
}

fn free_port() -> Result<u16, Failure> {
    let socket = UdpSocket::bind((LOCAL, 0)).and_then(|socket| socket.local_addr());
    socket
        .map(|at| at.port())
        .map_err(|error| error.to_string())
}

fn node(port: u16, udp: u16) -> Result<Node, Failure> {
    let ns = Ns::current().map_err(|error| error.to_string())?;
    let allowed = Prefix::new(LOCAL.into(), 32);
    let allowed = AllowList::new(allowed.into_iter().collect());
    let endpoint = Endpoint::open(Config::new(port, allowed)).map_err(|error| error.to_string())?;
    let carrier = Carrier::udp(&ns, SocketAddr::from((LOCAL, udp)));
    Ok(Node::new(
        endpoint,
        carrier.map_err(|error| error.to_string())?,
    ))
}

/// Serves until the other process is done; CPU from the first message of a UE on.
fn serve(
    mut core: sluice_wiring::Core,
    mut node: Node,
    count: u32,
    mut ended: impl FnMut() -> Option<bool>,
) -> Result<Duration, Failure> {
    let end = Instant::now() + LIMIT;
    let (mut begun, mut used) = (None, Duration::ZERO);
    while Instant::now() < end {
        for event in node.turn(PATIENCE).map_err(|error| error.to_string())? {
            match event {
                Event::Message {
                    association,
                    stream,
                    ppid: NGAP_PPID,
                    octets,
                } => {
                    if stream > 0 && begun.is_none() {
                        begun = Some(clock::thread_cpu_ns());
                    }
                    core.n2(system::now(), AssociationId(association.0), stream, &octets);
                }
                Event::Lost { association, .. } => {
                    core.association_lost(system::now(), AssociationId(association.0));
                }
                Event::Up { .. } | Event::Message { .. } => {}
            }
            for message in core.take_to_ran() {
                let to = Association(message.association.0);
                let sent = node
                    .sctp
                    .send(to, message.stream, NGAP_PPID, &message.octets);
                sent.map_err(|error| format!("the gNB does not take a message: {error}"))?;
            }
        }
        node.flush();
        core.take_call_flow();
        if core.next_deadline() <= system::now().instant {
            core.time(system::now());
        }
        let all = core.amf().expect("its own AMF").registered() as u32 == count
            && core.amf().expect("its own AMF").connected() == 0;
        if all && used.is_zero() {
            used = Duration::from_nanos(clock::thread_cpu_ns() - begun.unwrap_or_default());
        }
        match ended() {
            Some(true) if !used.is_zero() => {
                node.close();
                return Ok(used);
            }
            Some(_) => return Err("gNB and UEs ended before all were registered".to_owned()),
            None => {}
        }
    }
    Err(format!("registrations took more than {LIMIT:?}"))
}

/// gNB and UEs, in a process of their own: registers all and ends.
pub fn run_ran(args: &CoreRanArgs) -> Result<(), Failure> {
    let identity = Identity::ALL
        .into_iter()
        .find(|one| one.name() == args.identity);
    let identity = identity.ok_or("no such identity")?;
    let mut node = node(NGAP_PORT + 1, free_port()?)?;
    let amf = Peer {
        address: LOCAL.into(),
        udp_port: args.port,
    };
    let association = node.sctp.connect(amf, NGAP_PORT).ok_or("no association")?;
    let ues = (1..=args.registrations).map(|number| virtual_core::ue(number, identity));
    let ues = ues.map(|ue| FleetUe::new(ue, 0)).collect();
    let mut fleet = Fleet::new(vec![virtual_core::gnb(1)], ues);
    let (mut next, mut done, mut streams) = (0, 0, 1);
    let end = Instant::now() + LIMIT;
    while (done < args.registrations || fleet.connected() > 0) && Instant::now() < end {
        for event in node.turn(PATIENCE).map_err(|error| error.to_string())? {
            match event {
                Event::Up { streams: there, .. } => {
                    streams = there;
                    fleet.set_up(0);
                }
                Event::Message { octets, .. } => fleet.receive(clock::monotonic_ns(), 0, &octets),
                Event::Lost { why, .. } => return Err(format!("SCTP: {why}")),
            }
        }
        let is_up = fleet
            .gnbs()
            .first()
            .is_some_and(|gnb| gnb.response().is_some());
        while is_up && next < args.registrations as usize && fleet.busy() < WINDOW {
            let (now, kind) = (clock::monotonic_ns(), RegistrationKind::Initial);
            let deadline = now + LIMIT.as_nanos() as u64;
            fleet.begin(next, Procedure::Register(kind), now, deadline);
            next += 1;
        }
        for one in fleet.take_ended() {
            if one.outcome != Outcome::Done {
                return Err(format!("a registration: {:?}", one.outcome));
            }
            done += 1;
        }
        fleet.take_touched();
        for message in fleet.take_to_amf() {
            let stream = message
                .ran
                .map_or(0, |ran| 1 + (ran.0 % u32::from(streams.max(2) - 1)) as u16);
            let sent = node
                .sctp
                .send(association, stream, NGAP_PPID, &message.octets);
            sent.map_err(|error| format!("SCTP: {error}"))?;
        }
        node.flush();
    }
    node.sctp.shutdown(association);
    node.turn(Duration::from_millis(100))
        .map_err(|error| error.to_string())?;
    node.close();
    match done == args.registrations {
        true => Ok(()),
        false => Err("not all UEs are registered".to_owned()),
    }
}
