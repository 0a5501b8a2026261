//! Subscribers whose sessions have one of four shapes, with bit rates and gNBs of a network.

use super::super::bench::*;
use core::net::{Ipv4Addr, Ipv6Addr};
use sluice_wire::ids::{BarId, Precedence, QerId, Seid, Teid, UrrId};
use sluice_wire::pfcp::group::{CreateBar, CreateUrr};
use sluice_wire::pfcp::message::{SessionEstablishmentRequest, SessionModificationRequest};
use sluice_wire::pfcp::value::*;

/// Bit rates of session AMBRs and flows.
const RATES: u32 = 200;
/// gNBs.
pub const PEERS: u32 = 5_000;
/// Flows with filters of their own in a session that has some, and UDP ports in such filters of all sessions.
const FLOWS: u32 = 3;
const PORTS: u32 = 1_000;

type Establishment<'t> = SessionEstablishmentRequest<'t>;

/// What a session has.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Shape {
    /// A PDR in each direction for an IPv4 address, and a QER.
    Ipv4,
    /// The same for an IPv6 prefix.
    Ipv6,
    /// Three flows beside it, each with an SDF filter and a QER of MBR and GBR, under a session AMBR.
    Flows,
    /// A URR with period, thresholds and a quota, and a BAR.
    Usage,
}

impl Shape {
    pub const ALL: [Self; 4] = [Self::Ipv4, Self::Ipv6, Self::Flows, Self::Usage];

    pub fn name(self) -> &'static str {
        match self {
            Self::Ipv4 => "ipv4",
            Self::Ipv6 => "ipv6",
            Self::Flows => "flows",
            Self::Usage => "usage",
        }
    }
}

/// A subscriber and the session.
#[derive(Debug)]
pub struct Subscriber {
    shape: Shape,
    /// Among those of the shape, below 2^16.
    number: u32,
    /// Flow descriptions.
    flows: Vec<String>,
    /// Of the session, when it stands.
    pub seid: Seid,
}

impl Subscriber {
    pub fn new(shape: Shape, number: u32) -> Self {
        assert!(number < 1 << 16, "subscriber {number}");
        let has_flows = shape == Shape::Flows;
        let ports = (0..FLOWS).map(|flow| 20_000 + (FLOWS * number + flow) % PORTS);
        let text = |port| format!("permit out 17 from 192.0.2.1/32 {port} to assigned");
        let flows = ports.filter(|_| has_flows).map(text).collect();
        Self {
            shape,
            number,
            flows,
            seid: Seid(0),
        }
    }

    pub fn establishment(&self) -> Establishment<'_> {
        let (of_all, rate) = (self.of_all(), self.rate_kbps());
        let ue = Ipv4Addr::from(u32::from(Ipv4Addr::new(10, 44, 0, 0)) + of_all);
        let mut request = default_session(ue, 1 + u64::from(of_all));
        request.create_qer[0] = qer(1, Some(rate), Some(9));
        let ohc = Some(self.tunnel(0));
        let parameters = request.create_far[1].forwarding_parameters.as_mut();
        parameters.unwrap().outer_header_creation = ohc;
        match self.shape {
            Shape::Ipv4 => {}
            Shape::Ipv6 => self.have_prefix(&mut request),
            Shape::Flows => self.have_flows(&mut request, ue),
            Shape::Usage => self.have_usage(&mut request),
        }
        request
    }

    /// Path switch number `nth` to another gNB, with an End Marker for the one before (TS 23.502, 4.9.1.2.2).
    pub fn path_switch(&self, nth: u32) -> SessionModificationRequest<'static> {
        let mut change = path_switch(1);
        let parameters = change.update_far[0].update_forwarding_parameters.as_mut();
        let parameters = parameters.unwrap();
        parameters.outer_header_creation = Some(Edit::Set(self.tunnel(nth)));
        parameters.pfcpsmreq_flags = Some(SessionModificationRequestFlags::SNDEM);
        change
    }

    /// A number that no other subscriber has, below 2^18.
    fn of_all(&self) -> u32 {
        (self.shape as u32) << 16 | self.number
    }

    /// Uplink and downlink.
    fn rate_kbps(&self) -> (u64, u64) {
        let downlink = 100_003 + 49_991 * u64::from(self.number % RATES);
        (downlink / 3, downlink)
    }

    /// The tunnel of the gNB after so many path switches.
    fn tunnel(&self, switches: u32) -> OuterHeaderCreation {
        let nth = (self.of_all() + 7 * switches) % PEERS;
        let gnb = u32::from(Ipv4Addr::new(192, 168, 0, 1)) + nth;
        let teid = 1 + (self.of_all() << 4 | switches);
        OuterHeaderCreation::gtpu_v4(Teid::new(teid).unwrap(), gnb.into())
    }

    fn have_prefix(&self, request: &mut Establishment<'_>) {
        let prefix = 0x2001_0db8_0000_0000 + u128::from(self.number);
        let address = UeIpAddress::v6(Ipv6Addr::from(prefix << 64 | 1), true);
        on_ue(request, address);
        request.pdn_type = Some(PdnType::IPV6);
    }

    fn have_flows<'t>(&'t self, request: &mut Establishment<'t>, ue: Ipv4Addr) {
        const AMBR: QerId = QerId(2);
        let (uplink_kbps, downlink_kbps) = self.rate_kbps();
        let ambr = (4 * uplink_kbps, 4 * downlink_kbps);
        request.create_qer.push(qer(AMBR.0, Some(ambr), None));
        for (flow, text) in (0..).zip(&self.flows) {
            let mut guaranteed = qer(3 + flow, Some(self.rate_kbps()), Some(1 + flow as u8));
            guaranteed.guaranteed_bitrate = Some(BitRate {
                uplink_kbps: uplink_kbps / 2,
                downlink_kbps: downlink_kbps / 2,
            });
            let number = 3 + 2 * flow as u16;
            let mut pdrs = [uplink_pdr(number, 1), downlink_pdr(number + 1, 2, ue)];
            for pdr in &mut pdrs {
                pdr.precedence = Precedence(10 + flow);
                pdr.pdi.sdf_filter.push(SdfFilter::flow(text.as_bytes()));
                pdr.qer_id.push(guaranteed.qer_id);
            }
            request.create_pdr.extend(pdrs);
            request.create_qer.push(guaranteed);
        }
        for pdr in &mut request.create_pdr {
            pdr.qer_id.push(AMBR);
            // All uplink PDRs share the tunnel.
            if let Some(FTeid::Choose { choose_id, .. }) = &mut pdr.pdi.local_f_teid {
                *choose_id = Some(1);
            }
        }
    }

    fn have_usage(&self, request: &mut Establishment<'_>) {
        const MIB: u64 = 1 << 20;
        let total = |octets| Volume {
            total: Some(octets),
            ..Volume::default()
        };
        let triggers = [
            ReportingTriggers::VOLTH,
            ReportingTriggers::VOLQU,
            ReportingTriggers::DROTH,
        ];
        let perio = ReportingTriggers::PERIO;
        request.create_urr.push(CreateUrr {
            reporting_triggers: triggers.into_iter().fold(perio, |all, one| all | one),
            measurement_period: Some(Seconds(3_600 + self.number % 1_000)),
            volume_threshold: Some(total(MIB)),
            volume_quota: Some(total((MIB << 20) + u64::from(self.number))),
            dropped_dl_traffic_threshold: Some(DroppedDlTrafficThreshold {
                downlink_packets: Some(1_000_000 + u64::from(self.number)),
                downlink_octets: None,
            }),
            ..urr(1)
        });
        request.create_bar.push(CreateBar {
            bar_id: BarId(1),
            downlink_data_notification_delay: Some(NotificationDelay(2)),
            suggested_buffering_packets_count: Some(10),
            ..Default::default()
        });
        request.create_far[1].bar_id = Some(BarId(1));
        for pdr in &mut request.create_pdr {
            pdr.urr_id.push(UrrId(1));
        }
    }
}
