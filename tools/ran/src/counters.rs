//! Packet counters of a gNB: every packet is accounted for.

use std::collections::BTreeMap;

use sluice_wire::ids::Qfi;

use crate::ByFamily;

/// Packets and their bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Flow {
    pub packets: u64,
    /// How many bytes; of whole inner IP packets, unless said otherwise.
    pub bytes: u64,
}

impl Flow {
    pub(crate) fn add(&mut self, bytes: usize) {
        self.packets += 1;
        self.bytes += bytes as u64;
    }
}

macro_rules! drop_reasons {
    ($($(#[$doc:meta])* $reason:ident $name:literal;)*) => {
        /// Why a packet went no further.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum DropReason {
            $($(#[$doc])* $reason,)*
        }

        impl DropReason {
            /// All, in the order of their numbers.
            pub const ALL: [Self; [$($name),*].len()] = [$(Self::$reason),*];

            /// Name of the reason in results, such as `unknown_teid`.
            pub fn name(self) -> &'static str {
                match self {
                    $(Self::$reason => $name,)*
                }
            }
        }
    };
}

drop_reasons! {
    /// Downlink: the bytes are no GTP-U message.
    Malformed "malformed";
    /// Downlink: the datagram is longer than the room for it.
    DatagramTooLong "datagram_too_long";
    /// Downlink: a message type that we do not have.
    UnknownMessage "unknown_message";
    /// Downlink: an extension header that must be comprehended is not (TS 29.281, 5.2.1).
    UnsupportedExtension "unsupported_extension";
    /// Downlink: no tunnel endpoint has the TEID; Error Indication is due.
    UnknownTeid "unknown_teid";
    /// Downlink: the UE has been handed over to another gNB.
    Late "late";
    /// Downlink: no PDU Session Container, which N3 always has (TS 38.415, 5.1).
    NoContainer "no_container";
    /// Downlink: the PDU Session Container is one of uplink.
    NotDownlink "not_downlink";
    /// Downlink: the inner destination is not the UE's address.
    ForeignDestination "foreign_destination";
    /// Downlink: the UE's TUN device does not take it.
    TunRefused "tun_refused";
    /// Downlink: the gNB is mute ([`crate::Mute::All`]).
    Muted "muted";
    /// Downlink: what should be forwarded to another gNB was not sent.
    ForwardingFailed "forwarding_failed";
    /// Uplink: the UE sent more bytes than the gNB has room for.
    PacketTooLong "packet_too_long";
    /// Uplink: the kernel did not send it.
    SendFailed "send_failed";
    /// Uplink: the gNB is mute ([`crate::Mute::All`]).
    MutedUplink "muted_uplink";
}

impl DropReason {
    /// Whether it happens to what comes from the UE.
    pub fn is_uplink(self) -> bool {
        matches!(
            self,
            Self::PacketTooLong | Self::SendFailed | Self::MutedUplink
        )
    }
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Drops([u64; DropReason::ALL.len()]);

impl Drops {
    /// Packets dropped for `reason`.
    pub fn get(&self, reason: DropReason) -> u64 {
        self.0.get(reason as usize).copied().unwrap_or(0)
    }

    pub fn iter(&self) -> impl Iterator<Item = (DropReason, u64)> {
        DropReason::ALL.into_iter().zip(self.0)
    }

    /// Packets dropped for any reason.
    pub fn total(&self) -> u64 {
        self.0.iter().sum()
    }

    pub(crate) fn count(&mut self, reason: DropReason) {
        if let Some(count) = self.0.get_mut(reason as usize) {
            *count += 1;
        }
    }
}

/// Packets of a UE, sent and received over all gNBs that have served it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct UeCounters {
    /// Read from its TUN device and sent on N3.
    pub uplink: Flow,
    /// Received on N3 and given to its TUN device.
    pub downlink: Flow,
    /// The same by QoS flow.
    pub downlink_by_qfi: BTreeMap<Qfi, Flow>,
    /// Of uplink, the flows in which it was marked.
    pub uplink_by_qfi: BTreeMap<Qfi, Flow>,
    /// IPv6 among both.
    pub by_family: ByFamily,
    /// Downlink packets with the Reflective QoS Indicator (TS 38.415, 5.5.3.4).
    pub reflective_qos: u64,
    /// Error Indications that named its uplink tunnel.
    pub error_indications: u64,
    /// Dropped packets of both directions.
    pub drops: Drops,
}

impl UeCounters {
    /// Usage that the URRs of the UE should report, uplink and downlink: packets of a UE on its own link end at the
    /// UPF, and Router Advertisements are packets to the UE.
    pub fn usage(&self) -> [Flow; 2] {
        let link = self.by_family.link_local_uplink;
        let uplink = Flow {
            packets: self.uplink.packets.saturating_sub(link.packets),
            bytes: self.uplink.bytes.saturating_sub(link.bytes),
        };
        [uplink, self.downlink]
    }
}

/// Packets that arrived at one tunnel endpoint of a gNB.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TunnelCounters {
    /// End Markers (TS 29.281, 7.3.2).
    pub end_markers: u64,
    /// G-PDUs that came after the UE had left, and went no further; bytes of the inner packets.
    pub late: Flow,
    /// Packets that were forwarded to the UE's new endpoint.
    pub forwarded: Flow,
}

/// GTP-U messages other than G-PDU, and End Markers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Signalling {
    /// Echo Requests received.
    pub echo_requests: u64,
    /// Echo Responses received, awaited or not.
    pub echo_responses: u64,
    pub error_indications: u64,
    /// Supported Extension Headers Notifications received.
    pub notifications: u64,
    pub tunnel_status: u64,
    /// End Markers received, for known tunnels or not.
    pub end_markers: u64,
}

impl Signalling {
    pub fn total(&self) -> u64 {
        let Self {
            echo_requests,
            echo_responses,
            error_indications,
            notifications,
            tunnel_status,
            end_markers,
        } = self;
        echo_requests
            + echo_responses
            + error_indications
            + notifications
            + tunnel_status
            + end_markers
    }
}

/// Counters of a gNB.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct GnbCounters {
    /// Datagrams received on N3; bytes of the UDP payload.
    pub received: Flow,
    /// Packets for UEs that had left, sent on to where they are.
    pub forwarded: Flow,
    /// Packets of UEs sent on N3.
    pub uplink: Flow,
    /// Packets given to UEs.
    pub downlink: Flow,
    /// IPv6 among both.
    pub by_family: ByFamily,
    pub signalling: Signalling,
    /// Dropped packets of both directions.
    pub drops: Drops,
    pub error_indications_sent: u64,
    /// Supported Extension Headers Notifications sent.
    pub notifications_sent: u64,
    /// Answers not sent because their peers cause too many, or the kernel would not.
    pub answers_withheld: u64,
    /// Echo Requests that a mute gNB left without an answer.
    pub echoes_withheld: u64,
    /// Receive calls on N3 that failed.
    pub receive_errors: u64,
}

impl GnbCounters {
    /// Received datagrams that are neither delivered, nor signalling, nor dropped under a
    /// name: 0, or there is a bug.
    pub fn unaccounted(&self) -> i64 {
        let dropped = self.drops.iter().filter(|(reason, _)| !reason.is_uplink());
        let dropped: u64 = dropped.map(|(_, packets)| packets).sum();
        let known =
            self.downlink.packets + self.forwarded.packets + self.signalling.total() + dropped;
        self.received.packets.cast_signed() - known.cast_signed()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_reason_has_a_place_of_its_own() {
        let mut drops = Drops::default();
        for (number, reason) in DropReason::ALL.into_iter().enumerate() {
            assert_eq!(reason as usize, number);
            drops.count(reason);
        }
        assert!(
            drops
                .iter()
                .all(|(reason, packets)| packets == 1 && drops.get(reason) == 1)
        );
        assert_eq!(drops.total(), DropReason::ALL.len() as u64);
    }

    #[test]
    fn a_datagram_without_a_fate_is_noticed() {
        let mut counters = GnbCounters::default();
        counters.received.add(10);
        assert_eq!(counters.unaccounted(), 1);
        counters.drops.count(DropReason::SendFailed);
        assert_eq!(
            counters.unaccounted(),
            1,
            "an uplink drop accounts for nothing received"
        );
        counters.signalling.end_markers += 1;
        assert_eq!(counters.unaccounted(), 0);
    }
}
