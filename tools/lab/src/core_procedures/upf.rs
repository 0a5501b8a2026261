//! The least of a UPF: it associates on N4, and accepts whatever is asked of sessions, with tunnels and addresses.

use crate::experiments::Problem;
use sluice_host::clock;
use sluice_host::netns::Ns;
use sluice_host::thread::pin;
use sluice_n4::{Config, Endpoint, Features, Input, Instant, NodeId, Outbox, Role, SessionRequest};
use sluice_wire::ids::{PdrId, Seid, Teid};
use sluice_wire::pfcp::group::CreatedPdr;
use sluice_wire::pfcp::message::{
    SessionDeletionResponse, SessionEstablishmentRequest, SessionEstablishmentResponse,
    SessionModificationResponse,
};
use sluice_wire::pfcp::value::{FSeid, FTeid, NtpTime, UeIpAddress, UpFunctionFeatures};
use sluice_wire::pfcp::{Cause, MessageType};
use std::net::{IpAddr, Ipv4Addr, SocketAddr, UdpSocket};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

pub const PFCP_PORT: u16 = 8805;
/// Between two looks at timers, and at whether it shall end.
const TICK: Duration = Duration::from_millis(100);
/// Addresses of UEs are 10.45.0.0/16 without the first.
const UE_ADDRESSES: u32 = 0xffff;

/// Messages that leave.
struct Sent<'a>(&'a UdpSocket);

impl Outbox for Sent<'_> {
    fn send(&mut self, to: SocketAddr, bytes: &[u8]) {
        // What is lost is asked again.
        let _ = self.0.send_to(bytes, to);
    }
}

/// Addresses of a UPF on N4.
#[derive(Clone, Copy, Debug)]
pub struct N4 {
    /// Address of its socket.
    pub own: Ipv4Addr,
    /// Address by which SMFs reach it: its own, or that of a relay.
    pub told: Ipv4Addr,
}

/// A UPF on a thread of its own.
pub struct Upf {
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Upf {
    /// In the namespace, on these CPUs.
    pub fn start(ns: &Ns, n4: N4, cpus: Vec<usize>) -> Result<Self, Problem> {
        let bound = ns.run(|| {
            let socket = UdpSocket::bind((n4.own, PFCP_PORT))?;
            socket.set_read_timeout(Some(TICK))?;
            std::io::Result::Ok(socket)
        });
        let socket = bound.map_err(|e| e.to_string())?;
        let socket = socket.map_err(|e| format!("N4 of the UPF: {e}"))?;
        let stop = Arc::<AtomicBool>::default();
        let end = Arc::clone(&stop);
        let serves = move || {
            // On other CPUs it serves as well.
            let _ = pin(&cpus);
            Serving::new(&socket, n4.told).run(&end);
        };
        let thread = Some(std::thread::spawn(serves));
        Ok(Self { stop, thread })
    }
}

impl Drop for Upf {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

struct Serving<'a> {
    socket: &'a UdpSocket,
    address: Ipv4Addr,
    endpoint: Endpoint,
    /// Sessions that were established; the next one has its tunnel and its address of it.
    sessions: u32,
}

impl<'a> Serving<'a> {
    fn new(socket: &'a UdpSocket, address: Ipv4Addr) -> Self {
        let started = NtpTime::from_unix_s(clock::wall().as_secs());
        let mut config = Config::new(NodeId::Ip(IpAddr::V4(address)), started);
        config.features = Features::of_up(UpFunctionFeatures::FTUP | UpFunctionFeatures::UEIP);
        Self {
            socket,
            address,
            endpoint: Endpoint::new(Role::Up, config),
            sessions: 0,
        }
    }

    fn run(mut self, end: &AtomicBool) {
        let mut room = [0; 16_384];
        while !end.load(Ordering::Relaxed) {
            let received = self.socket.recv_from(&mut room);
            let now = Instant(clock::monotonic_ns());
            let mut sent = Sent(self.socket);
            if let Ok((length, from)) = received {
                let octets = room.get(..length).unwrap_or_default();
                let input = self.endpoint.handle(now, from, octets, &mut sent);
                if let Input::Session(request) = input {
                    self.answer(now, &request);
                }
            }
            self.endpoint.tick(now, &mut sent);
            while self.endpoint.next_event().is_some() {}
        }
    }

    fn answer(&mut self, now: Instant, request: &SessionRequest<'_>) {
        let header = *request.header();
        // A session has the name that the core gave it.
        let mut name = header.seid.unwrap_or_default();
        let mut sent = Sent(self.socket);
        let cause = Cause::REQUEST_ACCEPTED;
        // An answer that has no room is asked for again, and the procedure fails in the end.
        let _ = match header.message_type {
            MessageType::SESSION_ESTABLISHMENT_REQUEST => {
                let mut asked = SessionEstablishmentRequest::default();
                if asked.parse_into(request.body).is_err() {
                    return;
                }
                name = asked.cp_f_seid.seid;
                self.sessions += 1;
                let node_id = NodeId::Ip(IpAddr::V4(self.address));
                let answer = established(&node_id, self.address, (name, self.sessions));
                self.endpoint
                    .reply(now, request.reply, Some(name), &mut sent, |w| {
                        answer.emit(w)
                    })
            }
            MessageType::SESSION_DELETION_REQUEST => {
                let answer = SessionDeletionResponse {
                    cause,
                    ..SessionDeletionResponse::default()
                };
                self.endpoint
                    .reply(now, request.reply, Some(name), &mut sent, |w| {
                        answer.emit(w)
                    })
            }
            _ => {
                let answer = SessionModificationResponse {
                    cause,
                    ..SessionModificationResponse::default()
                };
                self.endpoint
                    .reply(now, request.reply, Some(name), &mut sent, |w| {
                        answer.emit(w)
                    })
            }
        };
    }
}

fn established(
    node_id: &NodeId,
    address: Ipv4Addr,
    (name, number): (Seid, u32),
) -> SessionEstablishmentResponse<'_> {
    let mut answer = SessionEstablishmentResponse {
        node_id: node_id.as_wire(),
        cause: Cause::REQUEST_ACCEPTED,
        up_f_seid: Some(FSeid {
            seid: name,
            ipv4: Some(address),
            ipv6: None,
        }),
        ..SessionEstablishmentResponse::default()
    };
    let mut created = CreatedPdr {
        pdr_id: PdrId(1),
        ..CreatedPdr::default()
    };
    if let Some(teid) = Teid::new(number) {
        created.local_f_teid.push(FTeid::Assigned {
            teid,
            ipv4: Some(address),
            ipv6: None,
        });
    }
    let ue = u32::from(Ipv4Addr::new(10, 45, 0, 0)) + 1 + number % (UE_ADDRESSES - 1);
    created.ue_ip_address.push(UeIpAddress {
        destination: true,
        ipv4: Some(Ipv4Addr::from_bits(ue)),
        ..UeIpAddress::default()
    });
    answer.created_pdr.push(created);
    answer
}
