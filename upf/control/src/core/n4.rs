//! N4 over ports, in the control core's turn.

use super::sinks::FrameSink;
use super::{Env, Time, UpfControl};
use crate::frame::Frames;
use crate::n4_port::Arrival;
use arrayvec::ArrayVec;
use core::net::{IpAddr, Ipv4Addr, SocketAddr};
use sluice_datapath::meta::Meta;
use sluice_datapath::tables::InterfaceId;
use sluice_mem::prefetch;
use sluice_port::{Packet, PortId};

/// PFCP packets that are handled together, as many as a socket gives at once: their sessions' waits
/// for memory run side by side.
const N4_BATCH: usize = 32;

impl<P: Packet> UpfControl<P> {
    /// There are no kernel sockets for N4: whatever is for SMFs leaves by the ports.
    pub fn serve_n4_on_ports_only(&mut self) {
        self.n4.be_only();
    }

    /// PFCP packets that workers gave. Returns how many there were.
    pub(super) fn take_n4<S: Env<Packet = P>>(&mut self, time: Time, around: &mut S) -> usize {
        let mut packets = ArrayVec::<(P, InterfaceId), N4_BATCH>::new();
        self.end.receive_n4(N4_BATCH, |packet, interface| {
            packets.push((packet, interface))
        });
        if packets.is_empty() {
            return 0;
        }
        for (packet, _) in &packets {
            prefetch::read_all_bytes(packet.data());
        }
        let mut datagrams = ArrayVec::<_, N4_BATCH>::new();
        let mut fragments = ArrayVec::<usize, N4_BATCH>::new();
        for (i, (packet, interface)) in packets.iter().enumerate() {
            match self.n4.arrive(*interface, packet.data()) {
                Arrival::Datagram { from, local, bytes } => {
                    self.hear(from, local);
                    datagrams.push((from, bytes));
                }
                Arrival::Fragment => fragments.push(i),
                Arrival::Refused => {}
            }
        }
        self.handle(time, &datagrams, around);
        drop(datagrams);
        let taken = packets.len();
        for (i, (packet, interface)) in packets.into_iter().enumerate() {
            match fragments.contains(&i) {
                true => self.fragment(time, packet, interface, around),
                false => packet.free(),
            }
        }
        taken
    }

    #[cold]
    fn fragment<S: Env<Packet = P>>(
        &mut self,
        time: Time,
        packet: P,
        interface: InterfaceId,
        around: &mut S,
    ) {
        let Some(whole) = self.n4.gather(packet, time.now.0) else {
            return;
        };
        if let Arrival::Datagram { from, local, bytes } = self.n4.arrive(interface, &whole) {
            self.hear(from, local);
            self.handle(time, &[(from, bytes)], around);
        }
    }

    /// Strangers are not worth remembering.
    fn hear(&mut self, from: SocketAddr, local: Ipv4Addr) {
        if let IpAddr::V4(peer) = from.ip()
            && self.up.endpoint().is_allowed(from.ip())
        {
            self.n4.hear(peer, local, &self.control.directory);
        }
    }

    /// Sends what is for SMFs behind ports.
    pub(super) fn send_n4<S: Env<Packet = P>>(&mut self, time: Time, around: &mut S) {
        if self.n4.has_waiting() {
            self.settle_n4(time, around);
        }
        for (packet, interface) in self.n4.take_ready() {
            if let Err(packet) = self.end.transmit(packet, interface) {
                self.lost_frames += 1;
                packet.free();
            }
        }
    }

    #[cold]
    fn settle_n4<S: Env<Packet = P>>(&mut self, time: Time, around: &mut S) {
        // Questions go by the same pool, so they are put after.
        let mut questions = Questions::default();
        let mut alloc = || around.alloc();
        let (n4, control) = (&mut self.n4, &mut self.control);
        n4.settle(time.now.0, control, &mut alloc, &mut questions);
        let mut frames = FrameSink {
            around,
            end: &mut self.end,
            lost: &mut self.lost_frames,
        };
        for (interface, frame) in questions.0 {
            frames.transmit(interface, &frame);
        }
    }
}

/// Questions for stations that are put a moment later.
#[derive(Default)]
struct Questions(Vec<(InterfaceId, Vec<u8>)>);

impl Frames for Questions {
    fn transmit(&mut self, interface: InterfaceId, frame: &[u8]) {
        self.0.push((interface, frame.to_vec()));
    }

    fn receive(&mut self, _: PortId, _: &[u8]) {}

    fn to_ue(&mut self, _: &[u8], _: Meta) {}
}
