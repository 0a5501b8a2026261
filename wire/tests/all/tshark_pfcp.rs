//! tshark reads every message that we can emit, with every IE, and has nothing to complain about.

use crate::common;
use crate::pfcp_common;
use sluice_wire::pfcp::PORT;

/// An IPv4 and UDP header around a PFCP message.
fn packet(message: &[u8]) -> Vec<u8> {
    let udp_length = 8 + message.len() as u16;
    let mut packet = vec![0x45, 0];
    packet.extend((20 + udp_length).to_be_bytes());
    packet.extend([0, 0, 0, 0, 64, 17, 0, 0, 127, 0, 0, 1, 127, 0, 0, 2]);
    let sum: u32 = packet
        .chunks(2)
        .map(|w| u32::from(u16::from_be_bytes([w[0], w[1]])))
        .sum();
    let folded = (sum & 0xffff) + (sum >> 16);
    packet[10..12].copy_from_slice(&(!(folded as u16)).to_be_bytes());
    for word in [PORT, PORT, udp_length, 0] {
        packet.extend(word.to_be_bytes());
    }
    packet.extend(message);
    packet
}

#[test]
fn tshark_accepts_every_message() {
    if !common::tshark_is_installed() {
        return;
    }
    let messages = pfcp_common::all_messages();
    let packets: Vec<_> = messages.iter().map(|message| packet(message)).collect();
    let rows = common::ask_tshark("pfcp", &packets, &["pfcp.msg_type", "pfcp.length"]);
    for (row, message) in rows.iter().zip(&messages) {
        assert_eq!(row[0], message[1].to_string());
        assert_eq!(row[1], (message.len() - 4).to_string());
    }
}

/// What tshark reads of a field in one of our messages; values of one field are joined by commas.
fn fields(name: &str, message: &[u8], expected: &[(&str, &str)]) {
    if !common::tshark_is_installed() {
        return;
    }
    let names: Vec<_> = expected.iter().map(|(field, _)| *field).collect();
    let rows = common::ask_tshark(name, &[packet(message)], &names);
    for ((field, value), read) in expected.iter().zip(&rows[0]) {
        assert_eq!(read, value, "{field}");
    }
}

#[test]
fn tshark_reads_an_establishment_as_it_was_meant() {
    let message = pfcp_common::encoded(&pfcp_common::session::establishment_request());
    fields(
        "pfcp-establishment",
        &message,
        &[
            ("pfcp.seid", "0x1122334455667788,0x0102030405060708"),
            ("pfcp.seqno", "66051"),
            ("pfcp.pdr_id", "1"),
            ("pfcp.f_teid.teid", "0x0a0b0c0d"),
            ("pfcp.f_teid.ipv4_addr", "192.0.2.1"),
            ("pfcp.ue_ip_addr_ipv4", "10.45.0.2"),
            ("pfcp.ue_ip_addr_ipv6_prefix", "8"),
            ("pfcp.out_hdr_desc", "6"),
            ("pfcp.outer_hdr_desc", "256,512"),
            ("pfcp.outer_hdr_creation.teid", "0x0a0b0c0d,0x0a0b0c0d"),
            ("pfcp.apply_action.forw", "1,0"),
            ("pfcp.apply_action.buff", "0,1"),
            ("pfcp.apply_action.nocp", "0,1"),
            ("pfcp.gate_status.ulgate", "1"),
            ("pfcp.gate_status.dlgate", "0"),
            ("pfcp.ul_mbr", "100000"),
            ("pfcp.dl_mbr", "1099511627775"),
            ("pfcp.volume_threshold.tovol", "3000"),
            ("pfcp.volume_threshold.ulvol", "1000"),
            ("pfcp.measurement_period", "60"),
            ("pfcp.qfi_value", "0x09,0x05,0x09,0x09"),
            ("pfcp.averaging_window", "2000"),
            ("pfcp.apn_dnn", "internet"),
            ("pfcp.user_id.supi", "imsi-001010000000001"),
            ("pfcp.sereq_flags.flags.resti", "1"),
        ],
    );
}

#[test]
fn tshark_reads_a_report_as_it_was_meant() {
    let message = pfcp_common::encoded(&pfcp_common::session::report_request());
    fields(
        "pfcp-report",
        &message,
        &[
            ("pfcp.report_type.dldr", "1"),
            ("pfcp.report_type.erir", "1"),
            ("pfcp.report_type.upir", "1"),
            ("pfcp.report_type.tmir", "0"),
            ("pfcp.ur_seqn", "12"),
            ("pfcp.usage_report_trigger_flags.volth", "1"),
            ("pfcp.usage_report_trigger.term", "1"),
            ("pfcp.usage_report_trigger.immer", "0"),
            ("pfcp.volume_measurement.tovol", "300"),
            ("pfcp.volume_measurement.ulnop", "1"),
            ("pfcp.volume_measurement.dlnop", "2"),
            ("pfcp.duration_measurement", "16"),
            ("pfcp.query_urr_reference", "99"),
            ("pfcp.dl_data_packets_size", "1500"),
            ("pfcp.srreq_flags.psdbu", "1"),
        ],
    );
}
