//! Downlink: G-PDUs from N3 to the UEs' TUN devices.

use sluice_host::udp::{BATCH_MAX, Datagram, RecvBatch};
use sluice_wire::gtpu::{self, GPdu, GtpuError, PduType};
use sluice_wire::ids::{Qfi, Teid};

use crate::family::Family;
use crate::worker::GnbThread;
use crate::{DropReason, FTeid, Mute, UeId};

/// Bursts in a row before UEs get their turn.
const BURSTS: usize = 4;
/// Packets that wait for a UE that is on its way to another gNB: a moment's.
const HELD: usize = 4096;

impl GnbThread {
    /// Takes what has come on N3.
    pub(crate) fn downlink(&mut self, incoming: &mut RecvBatch) {
        for _ in 0..BURSTS {
            match self.socket.recv(incoming) {
                Ok(received) => {
                    incoming
                        .iter()
                        .for_each(|datagram| self.datagram(&datagram));
                    if received < BATCH_MAX {
                        return;
                    }
                }
                Err(_) => {
                    self.counters.receive_errors += 1;
                    return;
                }
            }
        }
    }

    fn datagram(&mut self, datagram: &Datagram<'_>) {
        self.counters.received.add(datagram.bytes.len());
        if self.mute == Mute::All {
            return self.drop_packet(None, DropReason::Muted);
        }
        if datagram.truncated {
            return self.drop_packet(None, DropReason::DatagramTooLong);
        }
        match GPdu::parse(datagram.bytes) {
            Ok(g_pdu) => self.g_pdu(datagram, &g_pdu),
            Err(GtpuError::NotGPdu(_)) => self.signalling(datagram),
            Err(error) => self.refuse(datagram, error),
        }
    }

    fn g_pdu(&mut self, datagram: &Datagram<'_>, g_pdu: &GPdu) {
        let Some(tunnel) = self.tunnels.get_mut(&g_pdu.teid) else {
            self.drop_packet(None, DropReason::UnknownTeid);
            return self.send_error_indication(datagram, g_pdu.teid);
        };
        if let (true, Some(to)) = (tunnel.is_left, tunnel.forward_to) {
            match &mut tunnel.held {
                Some(held) if held.len() < HELD => held.push(datagram.bytes.into()),
                Some(_) => self.drop_packet(None, DropReason::ForwardingFailed),
                None => self.follow(datagram.bytes, g_pdu, to),
            }
            return;
        }
        if tunnel.is_left {
            tunnel.counters.late.add(usize::from(g_pdu.payload_len));
            return self.drop_packet(None, DropReason::Late);
        }
        let owner = tunnel.owner;
        if let Err(reason) = self.deliver(owner, datagram.bytes, g_pdu) {
            self.drop_packet(Some(owner), reason);
        }
    }

    /// The UE of these endpoints is where what came for it may go now; what waited goes first.
    pub(crate) fn begin_forwarding(&mut self, teids: &[Teid]) {
        for teid in teids {
            let Some(tunnel) = self.tunnels.get_mut(teid) else {
                continue;
            };
            let (held, to) = (tunnel.held.take(), tunnel.forward_to);
            for bytes in held.unwrap_or_default() {
                match (GPdu::parse(&bytes), to) {
                    (Ok(g_pdu), Some(to)) => self.follow(&bytes, &g_pdu, to),
                    // An End Marker, which was counted when it came.
                    (Err(_), Some(to)) => drop(self.forward(&bytes, to)),
                    (_, None) => {}
                }
            }
        }
    }

    fn follow(&mut self, bytes: &[u8], g_pdu: &GPdu, to: FTeid) {
        if !self.forward(bytes, to) {
            return self.drop_packet(None, DropReason::ForwardingFailed);
        }
        let length = usize::from(g_pdu.payload_len);
        self.counters.forwarded.add(length);
        if let Some(tunnel) = self.tunnels.get_mut(&g_pdu.teid) {
            tunnel.counters.forwarded.add(length);
        }
    }

    /// Sends what came for a UE that has left on to `to`, as it is but for the TEID, so that its QoS flow
    /// stays known (TS 38.300, 9.2.3.2.2). False if the kernel does not send it.
    pub(crate) fn forward(&mut self, message: &[u8], to: FTeid) -> bool {
        let Some(room) = self.forwarding.get_mut(..message.len()) else {
            return false;
        };
        room.copy_from_slice(message);
        if let Some(teid) = room.get_mut(4..8) {
            teid.copy_from_slice(&to.teid.get().to_be_bytes());
        }
        self.socket
            .send(room, (to.address, gtpu::PORT), None)
            .is_ok()
    }

    fn deliver(&mut self, owner: UeId, bytes: &[u8], g_pdu: &GPdu) -> Result<(), DropReason> {
        let qfi = downlink_qfi(g_pdu)?;
        let packet = g_pdu.payload(bytes).ok_or(DropReason::Malformed)?;
        let ue = self.ues.get_mut(&owner).ok_or(DropReason::UnknownTeid)?;
        if !ue.is_destination(packet) {
            return Err(DropReason::ForeignDestination);
        }
        if !ue.config.tun.send(packet).unwrap_or(false) {
            return Err(DropReason::TunRefused);
        }
        let family = Family::of(packet);
        ue.counters.downlink.add(packet.len());
        ue.counters.by_family.add_downlink(family, packet.len());
        ue.counters
            .downlink_by_qfi
            .entry(qfi)
            .or_default()
            .add(packet.len());
        ue.counters.reflective_qos += u64::from(g_pdu.rqi);
        self.counters.downlink.add(packet.len());
        self.counters.by_family.add_downlink(family, packet.len());
        Ok(())
    }
}

/// The QoS flow of a container that is there and of downlink.
fn downlink_qfi(g_pdu: &GPdu) -> Result<Qfi, DropReason> {
    match (g_pdu.pdu_type, g_pdu.qfi) {
        (Some(PduType::Downlink), Some(qfi)) => Ok(qfi),
        (Some(PduType::Uplink), _) => Err(DropReason::NotDownlink),
        _ => Err(DropReason::NoContainer),
    }
}
