//! A message as rs-pfcp reads it, one line for each IE, in the order of the octets.

use std::fmt::Write;

use rs_pfcp::ie::apply_action::ApplyAction;
use rs_pfcp::ie::destination_interface::DestinationInterface;
use rs_pfcp::ie::f_teid::Fteid;
use rs_pfcp::ie::fseid::Fseid;
use rs_pfcp::ie::gate_status::GateStatus;
use rs_pfcp::ie::mbr::Mbr;
use rs_pfcp::ie::node_id::NodeId;
use rs_pfcp::ie::outer_header_creation::OuterHeaderCreation;
use rs_pfcp::ie::reporting_triggers::ReportingTriggers;
use rs_pfcp::ie::sdf_filter::SdfFilter;
use rs_pfcp::ie::source_interface::SourceInterface;
use rs_pfcp::ie::ue_ip_address::UeIpAddress;
use rs_pfcp::ie::volume_threshold::VolumeThreshold;
use rs_pfcp::ie::{Ie, IeIterator, IeType};
use rs_pfcp::message::header::Header;

/// Reads a whole message; its header and IEs as text.
pub fn outline(message: &[u8]) -> String {
    rs_pfcp::message::parse(message).expect("rs-pfcp reads the message");
    let header = Header::unmarshal(message).unwrap();
    let mut text = format!("{:?}", header.message_type);
    if header.has_seid {
        write!(text, " seid={:#x}", *header.seid).unwrap();
    }
    if header.has_mp {
        write!(text, " priority={}", header.message_priority).unwrap();
    }
    text.push('\n');
    let start = if header.has_seid { 16 } else { 8 };
    walk(&message[start..], 1, &mut text);
    text
}

fn walk(body: &[u8], depth: usize, text: &mut String) {
    for ie in IeIterator::new(body) {
        let ie = ie.expect("rs-pfcp walks the IEs");
        write!(text, "{:indent$}{:?}", "", ie.ie_type, indent = depth * 2).unwrap();
        if is_group(ie.ie_type) {
            text.push('\n');
            walk(&ie.payload, depth + 1, text);
        } else {
            writeln!(text, " {}", value(&ie)).unwrap();
        }
    }
}

fn is_group(ie_type: IeType) -> bool {
    use IeType::*;
    matches!(
        ie_type,
        CreatePdr
            | Pdi
            | CreateFar
            | ForwardingParameters
            | CreateUrr
            | CreateQer
            | CreateBar
            | UpdatePdr
            | UpdateFar
            | UpdateForwardingParameters
            | RemovePdr
            | RemoveFar
            | RemoveQer
            | QueryUrr
    )
}

fn value(ie: &Ie) -> String {
    let octets = ie.payload.as_slice();
    match ie.ie_type {
        IeType::NodeId => format!("{:?}", NodeId::unmarshal(octets).unwrap()),
        IeType::Fseid => {
            let seid = Fseid::unmarshal(octets).unwrap();
            format!("{:#x} {}", *seid.seid, seid.ipv4_address.unwrap())
        }
        IeType::Fteid => f_teid(&Fteid::unmarshal(octets).unwrap()),
        IeType::UeIpAddress => {
            let ue = UeIpAddress::unmarshal(octets).unwrap();
            let side = if ue.source_destination {
                "destination"
            } else {
                "source"
            };
            let ipv4 = ue.ipv4_address.map(|ipv4| ipv4.to_string());
            let ipv6 = ue.ipv6_address.map(|ipv6| ipv6.to_string());
            let all: Vec<_> = ipv4.into_iter().chain(ipv6).collect();
            format!("{} as {side}", all.join(" "))
        }
        IeType::SourceInterface => {
            format!("{:?}", SourceInterface::unmarshal(octets).unwrap().value)
        }
        IeType::DestinationInterface => {
            format!(
                "{:?}",
                DestinationInterface::unmarshal(octets).unwrap().interface
            )
        }
        IeType::OuterHeaderCreation => {
            let header = OuterHeaderCreation::unmarshal(octets).unwrap();
            assert!(header.description.gtpu_udp_ipv4);
            format!(
                "GTP-U {:#x} at {}",
                *header.teid.unwrap(),
                header.ipv4_address.unwrap()
            )
        }
        _ => rule_value(ie.ie_type, octets),
    }
}

/// Values inside FARs, QERs and URRs, and numbers.
fn rule_value(ie_type: IeType, octets: &[u8]) -> String {
    match ie_type {
        IeType::ApplyAction => apply_action(octets),
        IeType::Mbr => {
            let mbr = Mbr::unmarshal(octets).unwrap();
            format!("uplink {} downlink {} kbit/s", mbr.uplink, mbr.downlink)
        }
        IeType::GateStatus => format!("{:?}", GateStatus::unmarshal(octets).unwrap()),
        IeType::SdfFilter => SdfFilter::unmarshal(octets).unwrap().flow_description,
        IeType::ReportingTriggers => triggers(octets),
        IeType::VolumeThreshold => {
            let volume = VolumeThreshold::unmarshal(octets).unwrap();
            let parts = [
                ("total", volume.total_volume),
                ("uplink", volume.uplink_volume),
                ("downlink", volume.downlink_volume),
            ];
            let given = parts
                .iter()
                .filter_map(|(name, v)| v.map(|v| format!("{name} {v}")));
            given.collect::<Vec<_>>().join(" ")
        }
        IeType::PdrId
        | IeType::FarId
        | IeType::QerId
        | IeType::UrrId
        | IeType::BarId
        | IeType::Precedence
        | IeType::Qfi
        | IeType::MeasurementPeriod
        | IeType::TimeThreshold
        | IeType::PdnType
        | IeType::TgppInterfaceType => number(octets).to_string(),
        IeType::NetworkInstance | IeType::ApnDnn | IeType::UserId => {
            format!("\"{}\"", octets.escape_ascii())
        }
        _ => octets.iter().map(|octet| format!("{octet:02x}")).collect(),
    }
}

fn number(octets: &[u8]) -> u64 {
    octets
        .iter()
        .fold(0, |number, octet| number << 8 | u64::from(*octet))
}

fn f_teid(f_teid: &Fteid) -> String {
    if !f_teid.ch {
        return format!("{:#x} at {}", *f_teid.teid, f_teid.ipv4_address.unwrap());
    }
    let versions = match (f_teid.v4, f_teid.v6) {
        (true, true) => "V4 V6",
        (true, false) => "V4",
        _ => "no IPv4",
    };
    match f_teid.chid {
        true => format!("CHOOSE {versions} CHID {}", f_teid.choose_id),
        false => format!("CHOOSE {versions}"),
    }
}

fn apply_action(octets: &[u8]) -> String {
    let action = ApplyAction::from_octets(octets);
    let flags = [
        ("DROP", ApplyAction::DROP),
        ("FORW", ApplyAction::FORW),
        ("BUFF", ApplyAction::BUFF),
        ("NOCP", ApplyAction::NOCP),
    ];
    let set = flags
        .iter()
        .filter(|(_, flag)| action.contains(*flag))
        .map(|(name, _)| *name);
    format!(
        "{} octets={}",
        set.collect::<Vec<_>>().join(" "),
        octets.len()
    )
}

fn triggers(octets: &[u8]) -> String {
    let triggers = ReportingTriggers::from_octets(octets);
    let flags = [
        ("PERIO", ReportingTriggers::PERIO),
        ("VOLTH", ReportingTriggers::VOLTH),
        ("TIMTH", ReportingTriggers::TIMTH),
    ];
    let set = flags
        .iter()
        .filter(|(_, flag)| triggers.contains(*flag))
        .map(|(name, _)| *name);
    format!(
        "{} octets={}",
        set.collect::<Vec<_>>().join(" "),
        octets.len()
    )
}
