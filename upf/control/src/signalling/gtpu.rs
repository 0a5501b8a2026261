//! GTP-U signalling (TS 29.281, clauses 7.2 and 7.3) at our own addresses.

use super::way_back::{Arrived, Ends};
use super::{Control, Event};
use crate::frame::{self, Frames};
use crate::paths::PathEnds;
use core::net::IpAddr;
use sluice_datapath::message::UnknownTeid;
use sluice_wire::eth::MacAddr;
use sluice_wire::gtpu::{
    ErrorIndication, GtpuError, Message, PORT, echo_response,
    supported_extension_headers_notification, write_error_indication,
};
use sluice_wire::icmp::Unreachable;
use sluice_wire::ids::Teid;
use sluice_wire::ipv4::Ipv4;
use sluice_wire::udp::{Udp, UdpHeader};

impl Control {
    pub(super) fn udp(
        &mut self,
        now_ns: u64,
        arrived: &Arrived<'_, Ipv4<'_>>,
        udp: &Udp<'_>,
        out: &mut impl Frames,
    ) -> Option<Event> {
        let tunnels = &arrived.interface.tunnels;
        let serves = tunnels
            .iter()
            .any(|t| t.address == arrived.ip.destination());
        if udp.destination_port() != PORT || !serves {
            self.unreachable(now_ns, arrived, Unreachable::Port, out);
            return None;
        }
        self.gtpu_datagram(now_ns, arrived, udp, out)
    }

    /// A datagram to the GTP-U port of a tunnel address of ours.
    pub(super) fn gtpu_datagram<Ip: Ends>(
        &mut self,
        now_ns: u64,
        arrived: &Arrived<'_, Ip>,
        udp: &Udp<'_>,
        out: &mut impl Frames,
    ) -> Option<Event> {
        let peer = arrived.ip.ends().remote;
        match Message::parse(udp.payload()) {
            Ok(message) => self.gtpu(now_ns, arrived, udp, &message, out),
            Err(GtpuError::UnsupportedExtension { .. }) => {
                if !self.notifications.allow(peer, now_ns) {
                    self.counters.extension_notifications_limited += 1;
                    return None;
                }
                self.sequence = self.sequence.wrapping_add(1);
                let notice = supported_extension_headers_notification(self.sequence);
                self.counters.extension_notifications += 1;
                self.reply(arrived, PORT, &notice, out);
                None
            }
            Err(_) => {
                self.counters.ignored += 1;
                None
            }
        }
    }

    fn gtpu<Ip: Ends>(
        &mut self,
        now_ns: u64,
        arrived: &Arrived<'_, Ip>,
        udp: &Udp<'_>,
        message: &Message<'_>,
        out: &mut impl Frames,
    ) -> Option<Event> {
        let ends = arrived.ip.ends();
        match message {
            Message::EchoRequest { .. } if !self.echoes.allow(ends.remote, now_ns) => {
                self.counters.gtpu_echo_limited += 1;
                None
            }
            Message::EchoRequest { sequence } => {
                self.counters.gtpu_echo_responses += 1;
                self.reply(arrived, udp.source_port(), &echo_response(*sequence), out);
                None
            }
            Message::EchoResponse { sequence } => {
                self.echo_answered(now_ns, ends, *sequence);
                None
            }
            Message::ErrorIndication(indication) => self.indicated(ends.remote, indication),
            Message::EndMarker(_) => {
                self.counters.end_markers += 1;
                None
            }
            _ => {
                self.counters.ignored += 1;
                None
            }
        }
    }

    /// Taken seriously only from the peer that the tunnel leads to: the address inside must be
    /// the one that it came from.
    fn indicated(&mut self, peer: IpAddr, indication: &ErrorIndication) -> Option<Event> {
        let teid = Teid::new(indication.teid);
        match teid {
            Some(teid) if indication.peer == peer => {
                self.counters.error_indications_received += 1;
                Some(Event::ErrorIndication { peer, teid })
            }
            _ => {
                self.counters.ignored += 1;
                None
            }
        }
    }

    fn reply<Ip: Ends>(
        &self,
        arrived: &Arrived<'_, Ip>,
        port: u16,
        payload: &[u8],
        out: &mut impl Frames,
    ) {
        let ports = UdpHeader {
            source_port: PORT,
            destination_port: port,
        };
        let PathEnds { local, remote } = arrived.ip.ends();
        let (interface, mac) = (arrived.interface, arrived.mac());
        if let Some(frame) = frame::udp(interface, mac, (local, remote), ports, payload) {
            arrived.send(&frame, out);
        }
    }

    /// If the peer's station is not known yet it is asked for; the peer's next packet brings
    /// another notice.
    pub(super) fn send_error_indication(
        &mut self,
        now_ns: u64,
        notice: UnknownTeid,
        out: &mut impl Frames,
    ) -> Option<()> {
        let interface = self.interface(notice.interface)?;
        let station = self
            .directory
            .station_towards(notice.interface, notice.peer)?;
        let mac = self.mac_or_ask(now_ns, notice.interface, station, out)?;
        let indication = ErrorIndication {
            teid: notice.teid,
            peer: notice.local,
            udp_source_port: None,
        };
        self.sequence = self.sequence.wrapping_add(1);
        let mut message = [0; 64];
        let len = write_error_indication(&mut message, self.sequence, &indication)?;
        self.send_gtpu(&interface, mac, notice, message.get(..len)?, out)
    }

    fn send_gtpu(
        &mut self,
        interface: &sluice_datapath::tables::Interface,
        mac: MacAddr,
        notice: UnknownTeid,
        message: &[u8],
        out: &mut impl Frames,
    ) -> Option<()> {
        let ports = UdpHeader {
            source_port: PORT,
            destination_port: PORT,
        };
        let frame = frame::udp(interface, mac, (notice.local, notice.peer), ports, message)?;
        self.counters.error_indications_sent += 1;
        out.transmit(notice.interface, &frame);
        Some(())
    }
}
