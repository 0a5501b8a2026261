//! Packets from a translated data network, and those of UEs that turn round to UEs.

use crate::config::{Link, Nat};
use crate::forward::came_from;
use crate::fragment::Outer;
use crate::ip;
use crate::ipv4;
use crate::outcome::{Drop, IcmpCause, Notice, Outcome};
use crate::parse;
use crate::rules::SessionId;
use crate::twin::{Turn, Twin};
use std::net::Ipv4Addr;

impl Twin {
    /// The translation of the data network that an IPv4 packet came from, unless it was translated before.
    pub(crate) fn outside(&self, came: &parse::Plain<'_>, turn: Turn) -> Option<(usize, Nat)> {
        let place = self.config.links[came.link].plain.as_ref();
        let is_new = turn == Turn::First && matches!(came.packet, ip::Packet::V4(_));
        let is_inside = self.as_it_came.is_some();
        let nat = self.config.nat(place).filter(|_| is_new && !is_inside);
        nat.map(|(at, nat)| (at, nat.clone()))
    }

    /// A packet from a translated data network: only those to public addresses are for UEs.
    pub(crate) fn came_to_public(
        &mut self,
        now_ns: u64,
        port: u16,
        frame: &[u8],
        ((nat, of), came): ((usize, Nat), parse::Plain<'_>),
    ) -> Vec<Outcome> {
        let ip::Packet::V4(packet) = &came.packet else {
            return Vec::new();
        };
        if !of.addresses.contains(&packet.header.destination_addr()) {
            return vec![Outcome::Dropped(Drop::UnknownUe, None)];
        }
        if packet.header.is_fragmenting_payload() {
            let gathered = self.fragments.add(frame, &Outer::of_ipv4(packet), now_ns);
            return self.gathered(now_ns, port, gathered);
        }
        self.public(now_ns, (nat, of), came.link, packet.bytes)
    }

    fn public(
        &mut self,
        now_ns: u64,
        (nat, of): (usize, Nat),
        link: usize,
        bytes: &[u8],
    ) -> Vec<Outcome> {
        let inside = match self.nats.comes(now_ns, nat, of.filters, bytes) {
            Ok(inside) => inside,
            Err(why) => return vec![Outcome::Dropped(why, None)],
        };
        if bytes[8] <= 1 {
            let sender = came_from(&self.config.links[link]);
            let notice = Notice::Icmp(IcmpCause::TtlExceeded, bytes.to_vec(), sender);
            return vec![Outcome::Dropped(Drop::TtlExceeded, Some(notice))];
        }
        // As if it had come so: what waits is read again in this form.
        let (port, frame) = frame_of(&self.config.links[link], &inside);
        self.go_on(now_ns, (port, &frame, Some(bytes.to_vec())), Turn::First)
    }

    /// What becomes of a packet that was translated, or that has waited: in the form in which it is now, and as it
    /// came.
    pub(crate) fn go_on(
        &mut self,
        now_ns: u64,
        (port, frame, came): (u16, &[u8], Option<Vec<u8>>),
        turn: Turn,
    ) -> Vec<Outcome> {
        self.as_it_came = came;
        let mut outcomes = self.execute(now_ns, port, frame, turn);
        let Some(came) = self.as_it_came.take() else {
            return outcomes;
        };
        for outcome in &mut outcomes {
            // Its sender knows the public address.
            if let Outcome::Dropped(_, Some(Notice::Icmp(_, about, _))) = outcome {
                *about = ipv4::with_one_hop_less(&came);
            }
        }
        outcomes
    }

    /// Packets of UEs to UEs that came since the last call, as they come in again.
    pub fn turn_round(&mut self, now_ns: u64) -> Vec<Outcome> {
        let mut outcomes = Vec::new();
        for (link, packet) in std::mem::take(&mut self.turned) {
            let place = self.config.links[link].plain.as_ref();
            if let Some((at, nat)) = self.config.nat(place) {
                let nat = (at, nat.clone());
                outcomes.extend(self.public(now_ns, nat, link, &packet));
            }
        }
        outcomes
    }

    /// True if a session may be without a free port before so many packets have passed.
    pub fn may_lack_ports(&self, packets: usize) -> bool {
        self.nats.may_fill(packets)
    }

    /// The public address and port that a UE's own port has.
    pub fn public_port(&self, id: SessionId, protocol: u8, own: u16) -> Option<(Ipv4Addr, u16)> {
        self.nats.public(id, protocol, own)
    }
}

/// A packet in the frame in which a link gets it, and the link's port.
fn frame_of(link: &Link, packet: &[u8]) -> (u16, Vec<u8>) {
    let mut frame = [link.mac, [2, 0, 9, 9, 9, 1]].concat();
    if let Some(vlan) = link.vlan {
        frame.extend([0x81, 0x00]);
        frame.extend(vlan.to_be_bytes());
    }
    frame.extend([0x08, 0x00]);
    frame.extend(packet);
    (link.port, frame)
}
