//! tshark reads every message that we can emit, with every IE, and has nothing to complain about.

mod common;
mod pfcp_common;

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
