//! Output sinks of the control core's parts.

use super::Env;
use crate::frame::Frames;
use crate::n4_port::PortN4;
use core::net::SocketAddr;
use sluice_datapath::control::ControlEnd;
use sluice_datapath::meta::Meta;
use sluice_datapath::session::txn::Txn;
use sluice_datapath::tables::InterfaceId;
use sluice_n4::Outbox;
use sluice_port::{Packet, PortId};
use sluice_session::Effects;

/// Output of the session machine's datagrams and transactions.
pub struct Sink<'a, S: Env> {
    pub(super) around: &'a mut S,
    pub(super) n4: &'a mut PortN4<S::Packet>,
    pub(super) ready: &'a mut Vec<Box<Txn>>,
}

impl<S: Env> Outbox for Sink<'_, S> {
    fn send(&mut self, to: SocketAddr, bytes: &[u8]) {
        let Self { around, n4, .. } = self;
        if n4.is_absent() || !n4.send(to, bytes, || around.alloc()) {
            around.send(to, bytes);
        }
    }
}

impl<S: Env> Effects for Sink<'_, S> {
    fn transact(&mut self, txn: Box<Txn>) {
        self.ready.push(txn);
    }
}

/// Output of the control core's frames.
pub(super) struct FrameSink<'a, P: Packet, S> {
    pub around: &'a mut S,
    pub end: &'a mut ControlEnd<P>,
    pub lost: &'a mut u64,
}

impl<P: Packet, S: Env<Packet = P>> FrameSink<'_, P, S> {
    fn packet(&mut self, frame: &[u8]) -> Option<P> {
        let written = self.around.alloc().and_then(|mut packet| {
            if let Ok(room) = packet.append(frame.len()) {
                room.copy_from_slice(frame);
                return Some(packet);
            }
            packet.free();
            None
        });
        *self.lost += u64::from(written.is_none());
        written
    }

    fn give_back(&mut self, refused: Result<(), P>) {
        if let Err(packet) = refused {
            *self.lost += 1;
            packet.free();
        }
    }
}

impl<P: Packet, S: Env<Packet = P>> Frames for FrameSink<'_, P, S> {
    fn transmit(&mut self, interface: InterfaceId, frame: &[u8]) {
        if let Some(packet) = self.packet(frame) {
            let refused = self.end.transmit(packet, interface);
            self.give_back(refused);
        }
    }

    fn receive(&mut self, port: PortId, frame: &[u8]) {
        if let Some(packet) = self.packet(frame) {
            let refused = self.end.receive(packet, port);
            self.give_back(refused);
        }
    }

    fn to_ue(&mut self, packet: &[u8], meta: Meta) {
        if let Some(packet) = self.packet(packet) {
            let refused = self.end.to_ue(packet, meta);
            self.give_back(refused);
        }
    }
}
