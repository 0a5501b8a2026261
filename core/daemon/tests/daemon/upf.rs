//! The least of a UPF on N4: it associates, chooses tunnels and addresses, and tells what was used.

use std::collections::HashSet;
use std::net::{IpAddr, Ipv4Addr, SocketAddr, UdpSocket};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::Duration;

use sluice_n4::{Config, Endpoint, Features, Input, Instant, NodeId, Outbox, Role, SessionRequest};
use sluice_wire::ids::{PdrId, Seid, Teid, UrrId};
use sluice_wire::pfcp::group::{CreatedPdr, UsageReport};
use sluice_wire::pfcp::message::{
    SessionDeletionResponse, SessionEstablishmentRequest, SessionEstablishmentResponse,
    SessionModificationResponse,
};
use sluice_wire::pfcp::value::{
    FSeid, FTeid, NtpTime, UeIpAddress, UpFunctionFeatures, VolumeMeasurement,
};
use sluice_wire::pfcp::{Cause, MessageType};

use crate::place::Place;

/// What a session has used when it is deleted.
pub const USED: (u64, u64) = (700, 41_000);

#[derive(Default)]
struct Sent(Vec<(SocketAddr, Vec<u8>)>);

impl Outbox for Sent {
    fn send(&mut self, to: SocketAddr, bytes: &[u8]) {
        self.0.push((to, bytes.to_vec()));
    }
}

/// Messages that came.
type Asked = Vec<(MessageType, Vec<u8>)>;

/// A UPF on a thread of its own.
pub struct Upf {
    asked: Arc<Mutex<Asked>>,
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Upf {
    /// At the place of the UPF; one that is `lazy` answers no deletion.
    pub fn start(place: &Place, lazy: bool) -> Self {
        let at: IpAddr = place.ip(3).parse().unwrap();
        let socket = UdpSocket::bind((at, 8805)).unwrap();
        let (asked, stop) = (Arc::default(), Arc::<AtomicBool>::default());
        let (theirs, end) = (Arc::clone(&asked), Arc::clone(&stop));
        let thread = std::thread::spawn(move || serve(&socket, at, lazy, &theirs, &end));
        let thread = Some(thread);
        Self {
            asked,
            stop,
            thread,
        }
    }

    /// Messages of this type that came; one that was sent again, as on a busy machine, is one.
    pub fn count(&self, kind: MessageType) -> usize {
        let asked = self.asked.lock().unwrap();
        let asked = asked.iter().filter(|(one, _)| *one == kind);
        asked.collect::<HashSet<_>>().len()
    }

    /// How often messages of this type came, also the same one.
    pub fn came(&self, kind: MessageType) -> usize {
        let asked = self.asked.lock().unwrap();
        asked.iter().filter(|(one, _)| *one == kind).count()
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

fn serve(socket: &UdpSocket, at: IpAddr, lazy: bool, asked: &Mutex<Asked>, stop: &AtomicBool) {
    let mut config = Config::new(NodeId::Ip(at), NtpTime(0xe000_0000));
    config.features = Features::of_up(UpFunctionFeatures::FTUP | UpFunctionFeatures::UEIP);
    config.retains_sessions = true;
    let mut endpoint = Endpoint::new(Role::Up, config);
    let begin = std::time::Instant::now();
    socket
        .set_read_timeout(Some(Duration::from_millis(20)))
        .unwrap();
    let mut room = [0; 16_384];
    while !stop.load(Ordering::Relaxed) {
        let now = Instant(1 + begin.elapsed().as_nanos() as u64);
        let mut sent = Sent::default();
        if let Ok((length, from)) = socket.recv_from(&mut room) {
            let octets = room[..length].to_vec();
            asked.lock().unwrap().push((MessageType(room[1]), octets));
            let input = endpoint.handle(now, from, &room[..length], &mut sent);
            if let Input::Session(request) = input {
                answer(&mut endpoint, now, at, lazy, &request, &mut sent);
            }
        }
        endpoint.tick(now, &mut sent);
        while endpoint.next_event().is_some() {}
        for (to, octets) in sent.0 {
            let _ = socket.send_to(&octets, to);
        }
    }
}

fn answer(
    endpoint: &mut Endpoint,
    now: Instant,
    at: IpAddr,
    lazy: bool,
    request: &SessionRequest<'_>,
    sent: &mut Sent,
) {
    let IpAddr::V4(at) = at else { return };
    let header = *request.header();
    // A session has the name that the core gave it.
    let name = header.seid.unwrap_or_default();
    let replied = match header.message_type {
        MessageType::SESSION_ESTABLISHMENT_REQUEST => {
            let mut asked = SessionEstablishmentRequest::default();
            asked.parse_into(request.body).expect("sound");
            let name = asked.cp_f_seid.seid;
            let node_id = NodeId::Ip(IpAddr::V4(at));
            let answer = established(&node_id, at, name);
            endpoint.reply(now, request.reply, Some(name), sent, |w| answer.emit(w))
        }
        MessageType::SESSION_DELETION_REQUEST if lazy => Ok(()),
        MessageType::SESSION_DELETION_REQUEST => {
            let mut answer = SessionDeletionResponse {
                cause: Cause::REQUEST_ACCEPTED,
                ..SessionDeletionResponse::default()
            };
            let used = UsageReport {
                urr_id: UrrId(1),
                volume_measurement: Some(VolumeMeasurement {
                    uplink: Some(USED.0),
                    downlink: Some(USED.1),
                    ..VolumeMeasurement::default()
                }),
                ..UsageReport::default()
            };
            answer.usage_report.push(used);
            endpoint.reply(now, request.reply, Some(name), sent, |w| answer.emit(w))
        }
        _ => {
            let answer = SessionModificationResponse {
                cause: Cause::REQUEST_ACCEPTED,
                ..SessionModificationResponse::default()
            };
            endpoint.reply(now, request.reply, Some(name), sent, |w| answer.emit(w))
        }
    };
    replied.expect("room");
}

fn established(node_id: &NodeId, at: Ipv4Addr, name: Seid) -> SessionEstablishmentResponse<'_> {
    let mut answer = SessionEstablishmentResponse {
        node_id: node_id.as_wire(),
        cause: Cause::REQUEST_ACCEPTED,
        up_f_seid: Some(FSeid {
            seid: name,
            ipv4: Some(at),
            ipv6: None,
        }),
        ..SessionEstablishmentResponse::default()
    };
    let mut created = CreatedPdr {
        pdr_id: PdrId(1),
        ..CreatedPdr::default()
    };
    created.local_f_teid.push(FTeid::Assigned {
        teid: Teid::new(0x77).expect("not zero"),
        ipv4: Some(at),
        ipv6: None,
    });
    created.ue_ip_address.push(UeIpAddress {
        destination: true,
        ipv4: Some(Ipv4Addr::new(10, 45, 0, 9)),
        ..UeIpAddress::default()
    });
    answer.created_pdr.push(created);
    answer
}
