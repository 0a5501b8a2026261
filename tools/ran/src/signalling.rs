//! GTP-U signalling of a gNB (TS 29.281, 7.2 and 7.3).

use std::net::{IpAddr, SocketAddr};
use std::sync::mpsc::Sender;
use std::time::Duration;

use sluice_host::clock;
use sluice_host::udp::Datagram;
use sluice_wire::gtpu::{self, ErrorIndication, GtpuError, Message};
use sluice_wire::ids::Teid;

use crate::worker::GnbThread;
use crate::{DropReason, FTeid, Mute};

/// An Echo Request without its answer yet.
#[derive(Debug)]
pub(crate) struct PendingEcho {
    peer: IpAddr,
    sequence: u16,
    sent_ns: u64,
    deadline_ns: u64,
    answer: Sender<Duration>,
}

impl GnbThread {
    /// Takes a message that is no G-PDU.
    pub(crate) fn signalling(&mut self, datagram: &Datagram<'_>) {
        let counters = &mut self.counters.signalling;
        match Message::parse(datagram.bytes) {
            Ok(Message::EchoRequest { sequence }) => {
                counters.echo_requests += 1;
                if self.mute != Mute::No {
                    self.counters.echoes_withheld += 1;
                    return;
                }
                self.answer(&gtpu::echo_response(sequence), datagram.from);
            }
            Ok(Message::EchoResponse { sequence }) => {
                counters.echo_responses += 1;
                self.take_echo(datagram.from.ip(), sequence);
            }
            Ok(Message::ErrorIndication(indication)) => {
                counters.error_indications += 1;
                self.take_error_indication(&indication);
            }
            Ok(Message::EndMarker(marker)) => {
                counters.end_markers += 1;
                let Some(tunnel) = self.tunnels.get_mut(&marker.teid) else {
                    return;
                };
                tunnel.counters.end_markers += 1;
                match (&mut tunnel.held, tunnel.forward_to) {
                    (Some(held), _) => held.push(datagram.bytes.into()),
                    (None, Some(to)) => drop(self.forward(datagram.bytes, to)),
                    (None, None) => {}
                }
            }
            Ok(Message::SupportedExtensionHeadersNotification { .. }) => {
                counters.notifications += 1;
            }
            Ok(Message::TunnelStatus { .. }) => counters.tunnel_status += 1,
            // The caller has taken the G-PDUs.
            Ok(Message::GPdu(_)) => self.drop_packet(None, DropReason::Malformed),
            Err(error) => self.refuse(datagram, error),
        }
    }

    /// Drops what cannot be read, and tells the sender where TS 29.281 wants that.
    pub(crate) fn refuse(&mut self, datagram: &Datagram<'_>, error: GtpuError) {
        match error {
            GtpuError::UnsupportedExtension { .. } => {
                self.drop_packet(None, DropReason::UnsupportedExtension);
                if self.may_answer() {
                    let notification = gtpu::supported_extension_headers_notification(0);
                    let sent = self.answer(&notification, n3_of(datagram));
                    self.counters.notifications_sent += u64::from(sent);
                }
            }
            GtpuError::MessageType(_) => self.drop_packet(None, DropReason::UnknownMessage),
            _ => self.drop_packet(None, DropReason::Malformed),
        }
    }

    /// Tells the sender of a G-PDU that nobody has that TEID (TS 29.281, 7.3.1).
    pub(crate) fn send_error_indication(&mut self, datagram: &Datagram<'_>, teid: Teid) {
        if !self.may_answer() {
            return;
        }
        let indication = ErrorIndication {
            teid: teid.get(),
            peer: self.socket.local().ip(),
            udp_source_port: Some(datagram.from.port()),
        };
        let mut room = [0; 64];
        let length = gtpu::write_error_indication(&mut room, 0, &indication);
        if let Some(message) = length.and_then(|length| room.get(..length)) {
            let sent = self.answer(message, n3_of(datagram));
            self.counters.error_indications_sent += u64::from(sent);
        }
    }

    /// Sends an Echo Request; the time until its answer goes to `answer`.
    pub(crate) fn send_echo(&mut self, peer: IpAddr, timeout: Duration, answer: Sender<Duration>) {
        let sent_ns = clock::monotonic_ns();
        self.echoes.retain(|echo| echo.deadline_ns > sent_ns);
        self.echo_sequence = self.echo_sequence.wrapping_add(1);
        let sequence = self.echo_sequence;
        let timeout_ns = u64::try_from(timeout.as_nanos()).unwrap_or(u64::MAX);
        let deadline_ns = sent_ns.saturating_add(timeout_ns);
        self.echoes.push(PendingEcho {
            peer,
            sequence,
            sent_ns,
            deadline_ns,
            answer,
        });
        self.answer(
            &gtpu::echo_request(sequence),
            SocketAddr::new(peer, gtpu::PORT),
        );
    }

    fn take_echo(&mut self, peer: IpAddr, sequence: u16) {
        let mine = |echo: &PendingEcho| echo.peer == peer && echo.sequence == sequence;
        if let Some(position) = self.echoes.iter().position(mine) {
            let echo = self.echoes.swap_remove(position);
            let took_ns = clock::monotonic_ns().saturating_sub(echo.sent_ns);
            // Whoever asked may have stopped waiting.
            let _ = echo.answer.send(Duration::from_nanos(took_ns));
        }
    }

    /// Counts it for the UE whose uplink tunnel the UPF does not know.
    fn take_error_indication(&mut self, indication: &ErrorIndication) {
        let Some(teid) = Teid::new(indication.teid) else {
            return;
        };
        let address = indication.peer;
        let named = FTeid { address, teid };
        for ue in self.ues.values_mut().filter(|ue| ue.config.uplink == named) {
            ue.counters.error_indications += 1;
        }
    }

    fn may_answer(&mut self) -> bool {
        let may = self.answers.take(clock::monotonic_ns());
        self.counters.answers_withheld += u64::from(!may);
        may
    }

    /// Whether it was sent.
    fn answer(&mut self, message: &[u8], to: SocketAddr) -> bool {
        let sent = self.socket.send(message, to, None).is_ok();
        self.counters.answers_withheld += u64::from(!sent);
        sent
    }
}

/// Receiver of messages about a G-PDU: the registered port, not the source port (TS 29.281, 4.4.2.4 and 4.4.2.5).
fn n3_of(datagram: &Datagram<'_>) -> SocketAddr {
    SocketAddr::new(datagram.from.ip(), gtpu::PORT)
}
