//! Rules of QoS flows at the UPF (TS 29.244, 7.5.2 and 7.5.4): for each PCC rule a PDR for each
//! direction with its filters, a QER with gate, bit rates and QFI, and a URR of its own where it is charged
//! by itself.
//!
//! A PDR of the uplink is found by its filters alone and not by the QFI that the UE marks: whoever marks
//! packets of a limited flow as others' gains nothing by it.

use sluice_sbi::{Filter, FlowDirection};
use sluice_wire::flow_description::{AddressMatch, FlowDescription, Ports};
use sluice_wire::ids::{PdrId, Precedence, QerId, Qfi, UrrId};
use sluice_wire::pfcp::group::{
    CreatePdr, CreateQer, CreateUrr, Pdi, RemovePdr, RemoveQer, RemoveUrr, UpdateQer,
};
use sluice_wire::pfcp::value::{
    BitRate, Edit, FTeid, Gate, GateStatus, InterfaceType, MeasurementMethod, Name,
    OuterHeaderRemoval, ReportingTriggers, SdfFilter, SourceInterface, UeIpAddress, Volume,
};
use sluice_wire::pfcp::{Full, IeType, Writer};

use crate::context::flows::Bound;
use crate::upf::rules::{self, put};

/// Common values of a session's rules.
#[derive(Clone, Copy, Debug)]
pub(crate) struct FlowRules<'a> {
    /// Network Instance towards gNBs.
    pub access: Option<&'a [u8]>,
    /// Network Instance of the data network.
    pub network: &'a [u8],
    /// Endpoint of uplink packets.
    pub f_teid: FTeid,
    /// The UE's address, as source.
    pub ue: UeIpAddress,
    /// Octets after which usage is reported; none measures none.
    pub charging_octets: Option<u64>,
}

fn uplink_pdr(id: u8) -> PdrId {
    PdrId(u16::from(id) * 2 + 1)
}

fn downlink_pdr(id: u8) -> PdrId {
    PdrId(u16::from(id) * 2 + 2)
}

fn qer(id: u8) -> QerId {
    QerId(u32::from(id) + 2)
}

fn urr(id: u8) -> UrrId {
    UrrId(u32::from(id) + 1)
}

/// The number of the rule whose usage a URR measures; none of the session's own.
pub(crate) fn rule_of(urr: UrrId) -> Option<u8> {
    let id = urr.0.checked_sub(1)?;
    u8::try_from(id).ok().filter(|id| (1..=15).contains(id))
}

/// A maximum or guaranteed bit rate; 0 is none of that direction.
fn bit_rate((down_bps, up_bps): (u64, u64), none: u64) -> BitRate {
    let kbps = |bps: u64| match bps {
        0 => none,
        bps => bps.div_ceil(1000).min(BitRate::MAX_KBPS),
    };
    BitRate {
        uplink_kbps: kbps(up_bps),
        downlink_kbps: kbps(down_bps),
    }
}

/// Filters of a direction as texts, which are of the downlink (5.2.1A.2A).
fn texts(rule: &Bound, wanted: FlowDirection) -> Vec<(String, Option<[u8; 2]>)> {
    let is_its =
        |filter: &Filter| filter.direction == FlowDirection::Both || filter.direction == wanted;
    let ports = |ports: Option<(u16, u16)>| ports.into_iter().collect::<Ports>();
    let text = |filter: Filter| {
        let remote = match filter.remote {
            None => AddressMatch::Any,
            Some((core::net::IpAddr::V4(address), len)) => AddressMatch::V4 { address, len },
            Some((core::net::IpAddr::V6(address), len)) => AddressMatch::V6 { address, len },
        };
        let flow = FlowDescription {
            protocol: filter.protocol,
            remote,
            remote_ports: ports(filter.remote_ports),
            local: AddressMatch::Any,
            local_ports: ports(filter.local_ports),
        };
        (
            flow.to_string(),
            filter.tos.map(|(value, mask)| [value, mask]),
        )
    };
    rule.pcc.filters().filter(is_its).map(text).collect()
}

impl FlowRules<'_> {
    /// All of rules that are new with the session.
    pub fn create(&self, w: &mut Writer<'_>, rules: &[Bound]) -> Result<(), Full> {
        self.create_uplink(w, rules)?;
        self.create_downlink(w, rules)
    }

    /// QERs, URRs, and what packets from the UE need.
    pub fn create_uplink(&self, w: &mut Writer<'_>, rules: &[Bound]) -> Result<(), Full> {
        for rule in rules {
            self.create_pdr(w, rule, FlowDirection::Uplink)?;
            let guaranteed = rule.pcc.guaranteed_bps();
            let maximum = rule.pcc.maximum_bps();
            let gate = |is_open: bool| if is_open { Gate::Open } else { Gate::Closed };
            let qer = CreateQer {
                qer_id: qer(rule.pcc.id),
                gate_status: GateStatus {
                    uplink: gate(rule.pcc.is_open_up),
                    downlink: gate(rule.pcc.is_open_down),
                },
                maximum_bitrate: (maximum != (0, 0)).then(|| bit_rate(maximum, BitRate::MAX_KBPS)),
                guaranteed_bitrate: guaranteed.map(|bps| bit_rate(bps, 0)),
                qos_flow_identifier: Qfi::new(rule.qfi),
                ..CreateQer::default()
            };
            put(w, IeType::CREATE_QER, &qer)?;
            if let Some(octets) = self.charged_alone(rule) {
                let urr = CreateUrr {
                    urr_id: urr(rule.pcc.id),
                    measurement_method: MeasurementMethod::VOLUM,
                    reporting_triggers: ReportingTriggers::VOLTH,
                    volume_threshold: Some(Volume {
                        total: Some(octets),
                        ..Volume::default()
                    }),
                    ..CreateUrr::default()
                };
                put(w, IeType::CREATE_URR, &urr)?;
            }
        }
        Ok(())
    }

    /// Writes the rules for packets to the UE, once the gNB has the flow.
    pub fn create_downlink(&self, w: &mut Writer<'_>, rules: &[Bound]) -> Result<(), Full> {
        for rule in rules {
            self.create_pdr(w, rule, FlowDirection::Downlink)?;
        }
        Ok(())
    }

    fn charged_alone(&self, rule: &Bound) -> Option<u64> {
        self.charging_octets.filter(|_| rule.pcc.has_rating_group)
    }

    /// None for a direction in which the rule has no filter.
    fn create_pdr(
        &self,
        w: &mut Writer<'_>,
        rule: &Bound,
        direction: FlowDirection,
    ) -> Result<(), Full> {
        let texts = texts(rule, direction);
        if texts.is_empty() {
            return Ok(());
        }
        let is_uplink = direction == FlowDirection::Uplink;
        let name = if is_uplink {
            self.access
        } else {
            Some(self.network)
        };
        let (side, kind) = if is_uplink {
            (SourceInterface::ACCESS, InterfaceType::N3_3GPP_ACCESS)
        } else {
            (SourceInterface::CORE, InterfaceType::N6)
        };
        let mut pdi = Pdi {
            source_interface: side,
            source_interface_type: Some(kind),
            local_f_teid: is_uplink.then_some(self.f_teid),
            network_instance: name.map(Name),
            ..Pdi::default()
        };
        let destination = !is_uplink;
        pdi.ue_ip_address.push(UeIpAddress {
            destination,
            ..self.ue
        });
        for (text, tos) in &texts {
            pdi.sdf_filter.push(SdfFilter {
                tos_traffic_class: *tos,
                ..SdfFilter::flow(text.as_bytes())
            });
        }
        let measured = match self.charged_alone(rule) {
            Some(_) => Some(urr(rule.pcc.id)),
            None => self.charging_octets.map(|_| rules::USAGE_URR),
        };
        // What is guaranteed is beside the session AMBR (TS 23.501, 5.7.1.8).
        let shared = rule
            .pcc
            .guaranteed_bps()
            .is_none()
            .then_some(rules::AMBR_QER);
        let pdr = CreatePdr {
            pdr_id: match is_uplink {
                true => uplink_pdr(rule.pcc.id),
                false => downlink_pdr(rule.pcc.id),
            },
            precedence: Precedence(rule.pcc.precedence.into()),
            pdi,
            outer_header_removal: is_uplink.then_some(OuterHeaderRemoval::GTPU_UDP_IP),
            far_id: Some(match is_uplink {
                true => rules::UPLINK_FAR,
                false => rules::DOWNLINK_FAR,
            }),
            urr_id: measured.into_iter().collect(),
            // That with the QFI first.
            qer_id: [qer(rule.pcc.id)].into_iter().chain(shared).collect(),
            ..CreatePdr::default()
        };
        put(w, IeType::CREATE_PDR, &pdr)
    }

    /// All of rules that are gone.
    pub fn remove(&self, w: &mut Writer<'_>, rules: &[Bound]) -> Result<(), Full> {
        for rule in rules {
            let id = rule.pcc.id;
            if !rule.is_at_upf {
                continue;
            }
            if !texts(rule, FlowDirection::Uplink).is_empty() {
                let pdr_id = uplink_pdr(id);
                put(w, IeType::REMOVE_PDR, &RemovePdr { pdr_id })?;
            }
            if rule.has_downlink && !texts(rule, FlowDirection::Downlink).is_empty() {
                let pdr_id = downlink_pdr(id);
                put(w, IeType::REMOVE_PDR, &RemovePdr { pdr_id })?;
            }
            put(w, IeType::REMOVE_QER, &RemoveQer { qer_id: qer(id) })?;
            if self.charged_alone(rule).is_some() {
                put(w, IeType::REMOVE_URR, &RemoveUrr { urr_id: urr(id) })?;
            }
        }
        Ok(())
    }
}

/// Another session AMBR.
pub(crate) fn write_ambr(w: &mut Writer<'_>, ambr_bps: (u64, u64)) -> Result<(), Full> {
    for qer_id in [rules::FLOW_QER, rules::AMBR_QER] {
        let qer = UpdateQer {
            qer_id,
            maximum_bitrate: Some(Edit::Set(bit_rate(ambr_bps, 0))),
            ..UpdateQer::default()
        };
        put(w, IeType::UPDATE_QER, &qer)?;
    }
    Ok(())
}
