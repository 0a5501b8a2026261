//! N4 on a port in the process: whole frames in packet buffers, received and sent by the worker,
//! as a NIC's driver would give and take them. No NIC is there, and no DMA.

use super::load::Wire;
use super::n4_transport::Door;
use crate::path::fifo::Pool;
use crate::path::topology::{N4, N4_MAC, N4_SMF, N4_UPF, SMF_MAC};
use core::net::SocketAddr;
use sluice_control::core::{Env, UpfControl};
use sluice_datapath::tables::InterfaceId;
use sluice_mem::ring::{Consumer, Producer, spsc};
use sluice_n4::Outbox;
use sluice_port::{Burst, Packet};
use sluice_wire::eth::{EthHeader, EtherType};
use sluice_wire::ipv4::{HEADER_LEN, Ipv4Header, Protocol};
use sluice_wire::udp::{self, UdpHeader};

/// Frames under way in one direction.
const FRAMES: usize = 1024;
/// Headers of a frame without tag.
const HEADERS: usize = 14 + HEADER_LEN + udp::HEADER_LEN;
/// Frames that the limit takes at once, as the control core does.
const BATCH: usize = 32;
/// Of the N4 interface among the scene's.
const INTERFACE: InterfaceId = InterfaceId(N4.0 as u8);

/// The port's end of the wire.
pub struct N4Port<P: Packet> {
    from_wire: Consumer<P>,
    to_wire: Producer<P>,
}

pub struct PortWire<P: Packet> {
    to_port: Producer<P>,
    from_port: Consumer<P>,
    alloc: Pool<P>,
}

/// Both ends; the wire makes frames of packets of `alloc`.
pub fn pair<P: Packet>(alloc: Pool<P>) -> (N4Port<P>, PortWire<P>) {
    let (to_port, from_wire) = spsc(FRAMES, 0);
    let (to_wire, from_port) = spsc(FRAMES, 0);
    let wire = PortWire {
        to_port,
        from_port,
        alloc,
    };
    (N4Port { from_wire, to_wire }, wire)
}

/// Packets do not free themselves: what nobody took goes back to its pool.
impl<P: Packet> Drop for N4Port<P> {
    fn drop(&mut self) {
        while let Some(packet) = self.from_wire.pop() {
            packet.free();
        }
    }
}

/// The same: reports may come when nobody waits for anything any more.
impl<P: Packet> Drop for PortWire<P> {
    fn drop(&mut self) {
        while let Some(packet) = self.from_port.pop() {
            packet.free();
        }
    }
}

impl<P: Packet> N4Port<P> {
    /// Adds up to `max` packets to `burst`.
    pub fn receive(&mut self, burst: &mut Burst<P>, max: usize) -> usize {
        let room = max.min(burst.remaining());
        for taken in 0..room {
            let Some(packet) = self.from_wire.pop() else {
                return taken;
            };
            if let Err(packet) = burst.push(packet) {
                packet.free();
            }
        }
        room
    }

    /// Takes all packets of `burst`; a full wire loses them, and the caller misses the answers.
    pub fn send(&mut self, burst: &mut Burst<P>) -> usize {
        let n = burst.len();
        for packet in burst.drain() {
            if let Err(packet) = self.to_wire.push(packet) {
                packet.free();
            }
        }
        n
    }
}

impl<P: Packet> Wire for PortWire<P> {
    fn send(&mut self, bytes: &[u8]) -> bool {
        if self.to_port.room() == 0 {
            return false;
        }
        let Some(mut packet) = (self.alloc)() else {
            return false;
        };
        if write_request(&mut packet, bytes).is_none() {
            packet.free();
            return false;
        }
        self.to_port.push(packet).map_err(Packet::free).is_ok()
    }

    fn flush(&mut self) {}

    /// The path's tests judge headers; here the message is of interest.
    fn receive(&mut self, mut take: impl FnMut(&[u8])) -> usize {
        for taken in 0..BATCH {
            let Some(packet) = self.from_port.pop() else {
                return taken;
            };
            let bytes = packet.data();
            let udp_len = bytes.get(38..40).and_then(|len| len.first_chunk());
            let len = udp_len.map_or(0, |len| usize::from(u16::from_be_bytes(*len)));
            let end = HEADERS + len.saturating_sub(udp::HEADER_LEN);
            take(bytes.get(HEADERS..end).unwrap_or_default());
            packet.free();
        }
        BATCH
    }
}

fn write_request<P: Packet>(packet: &mut P, message: &[u8]) -> Option<()> {
    let ethernet = EthHeader {
        destination: N4_MAC,
        source: SMF_MAC,
        ethertype: EtherType::IPV4,
    };
    let ports = UdpHeader {
        source_port: sluice_wire::pfcp::PORT,
        destination_port: sluice_wire::pfcp::PORT,
    };
    let udp = ports.to_bytes(N4_SMF, N4_UPF, message).ok()?;
    let ip = Ipv4Header::new(Protocol::UDP, N4_SMF, N4_UPF);
    let ip = ip.to_bytes(udp.len() + message.len()).ok()?;
    let room = packet.append(HEADERS + message.len()).ok()?;
    let (head, body) = room.split_at_mut(HEADERS);
    head.copy_from_slice(&[&ethernet.to_bytes()[..], &ip, &udp].concat());
    body.copy_from_slice(message);
    Some(())
}

/// The N4 loop's side: packets come to the core by its own rings, answers are written into packets of
/// this pool.
pub struct PortDoor<P>(pub Pool<P>);

impl<P: Packet> Door for PortDoor<P> {
    type Around = Self;

    fn receive(&mut self, _: impl FnMut(&[(SocketAddr, &[u8])], &mut Self)) -> usize {
        0
    }

    fn around(&mut self) -> &mut Self {
        self
    }

    fn flush(&mut self) {}

    /// In the packet of the request: addresses and ports change places, the payload is written
    /// over, checksums are left out.
    fn limit(&mut self, core: &mut UpfControl<P>) -> usize {
        let mut taken = 0;
        let mut packets = arrayvec::ArrayVec::<P, BATCH>::new();
        core.end_mut()
            .receive_n4(BATCH, |packet, _| packets.push(packet));
        for mut packet in packets {
            taken += 1;
            let answered = turn_round(&mut packet);
            if answered.is_none() {
                packet.free();
            } else if let Err(packet) = core.end_mut().transmit(packet, INTERFACE) {
                packet.free();
            }
        }
        taken
    }
}

fn turn_round<P: Packet>(packet: &mut P) -> Option<()> {
    let mut answer = Answer::default();
    let request = packet.data().get(HEADERS..)?;
    super::n4_transport::answer_all(&[(SocketAddr::from((N4_SMF, 0)), request)], &mut answer);
    let len = answer.len;
    packet.truncate(HEADERS);
    packet
        .append(len)
        .ok()?
        .copy_from_slice(answer.bytes.get(..len)?);
    let head = packet.data_mut().first_chunk_mut::<HEADERS>()?;
    head[..12].rotate_left(6);
    head[26..34].rotate_left(4);
    head[34..38].rotate_left(2);
    head[16..18].copy_from_slice(&((HEADERS - 14 + len) as u16).to_be_bytes());
    head[38..40].copy_from_slice(&((udp::HEADER_LEN + len) as u16).to_be_bytes());
    head[40..42].fill(0);
    Some(())
}

/// One answer of the limit.
#[derive(Default)]
struct Answer {
    len: usize,
    bytes: [u8; 32],
}

impl Outbox for Answer {
    fn send(&mut self, _: SocketAddr, bytes: &[u8]) {
        if let Some(room) = self.bytes.get_mut(..bytes.len()) {
            room.copy_from_slice(bytes);
            self.len = bytes.len();
        }
    }
}

impl<P> Outbox for PortDoor<P> {
    /// Everybody here was heard on the port: what comes this way is lost, and missed.
    fn send(&mut self, _: SocketAddr, _: &[u8]) {}
}

impl<P: Packet> Env for PortDoor<P> {
    type Packet = P;

    fn alloc(&mut self) -> Option<P> {
        (self.0)()
    }
}
