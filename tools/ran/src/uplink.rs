//! Uplink: packets from the UEs' TUN devices to N3.

use std::time::Duration;

use sluice_host::udp::BATCH_MAX;
use sluice_wire::gtpu::{self, ShortContainer, g_pdu_header_with_container};

use crate::family::Family;
use crate::worker::{G_PDU_HEADER_BYTES, GnbThread};
use crate::{DropReason, Mute, UeId};

/// How long the kernel may have no room for what we send before it counts as lost.
const PATIENCE: Duration = Duration::from_millis(100);

impl GnbThread {
    /// Takes a burst of what `id` sends.
    pub(crate) fn uplink(&mut self, id: UeId) {
        for _ in 0..BATCH_MAX {
            if self.outgoing.is_full() {
                self.flush();
            }
            if !self.uplink_packet(id) {
                return;
            }
        }
    }

    fn uplink_packet(&mut self, id: UeId) -> bool {
        let Some(ue) = self.ues.get(&id) else {
            return false;
        };
        let slot = self.outgoing.slot().unwrap_or_default();
        let Some((_, room)) = slot.split_first_chunk_mut::<G_PDU_HEADER_BYTES>() else {
            return false;
        };
        let length = match ue.config.tun.recv(room) {
            Ok(Some(length)) => length,
            Ok(None) => return false,
            Err(_) => {
                self.lose_tun(id);
                return false;
            }
        };
        self.wrap(id, length);
        true
    }

    /// Takes a packet of `id` that was read from its device before it came here.
    pub(crate) fn uplink_held(&mut self, id: UeId, packet: &[u8]) {
        if self.outgoing.is_full() {
            self.flush();
        }
        let slot = self.outgoing.slot().unwrap_or_default();
        let room = slot.get_mut(G_PDU_HEADER_BYTES..G_PDU_HEADER_BYTES + packet.len());
        match room {
            Some(room) => {
                room.copy_from_slice(packet);
                self.wrap(id, packet.len());
            }
            None => self.drop_packet(Some(id), DropReason::PacketTooLong),
        }
    }

    /// Puts the header before the packet in the next slot.
    fn wrap(&mut self, id: UeId, length: usize) {
        if self.mute == Mute::All {
            return self.drop_packet(Some(id), DropReason::MutedUplink);
        }
        let Some(ue) = self.ues.get(&id) else { return };
        let slot = self.outgoing.slot().unwrap_or_default();
        let Some((header, room)) = slot.split_first_chunk_mut::<G_PDU_HEADER_BYTES>() else {
            return;
        };
        let packet = room.get(..length).unwrap_or_default();
        let (family, qfi) = (Family::of(packet), ue.qfi_of(packet));
        let container = ShortContainer::uplink(qfi);
        match g_pdu_header_with_container(ue.config.uplink.teid, container, length) {
            Ok(made) if length <= usize::from(self.largest_pdu_bytes) => {
                *header = made;
                let to = (ue.config.uplink.address, gtpu::PORT);
                self.outgoing.push(0..G_PDU_HEADER_BYTES + length, to, None);
                self.senders.push((id, length, family, qfi));
            }
            _ => self.drop_packet(Some(id), DropReason::PacketTooLong),
        }
    }

    /// Sends what has been read, and counts it.
    pub(crate) fn flush(&mut self) {
        if self.outgoing.is_empty() {
            return;
        }
        let mut is_lost = [false; BATCH_MAX];
        self.socket.flush(&mut self.outgoing, PATIENCE, |index, _| {
            if let Some(lost) = is_lost.get_mut(index) {
                *lost = true;
            }
        });
        let mut senders = std::mem::take(&mut self.senders);
        for ((id, length, family, qfi), is_lost) in senders.drain(..).zip(is_lost) {
            if is_lost {
                self.drop_packet(Some(id), DropReason::SendFailed);
                continue;
            }
            self.counters.uplink.add(length);
            self.counters.by_family.add_uplink(family, length);
            if let Some(ue) = self.ues.get_mut(&id) {
                ue.counters.uplink.add(length);
                ue.counters.by_family.add_uplink(family, length);
                let flows = &mut ue.counters.uplink_by_qfi;
                flows.entry(qfi).or_default().add(length);
            }
        }
        // With its memory, for the next burst.
        self.senders = senders;
    }
}
