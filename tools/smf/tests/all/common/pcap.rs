//! Captures of simulated wires.

use std::fs::File;
use std::io::{BufWriter, Write};
use std::net::SocketAddr;
use std::path::Path;

use super::net::Frame;

/// Link type of packets that begin with their IP header (LINKTYPE_RAW).
const LINKTYPE_RAW: u32 = 101;

/// Writes datagrams as a classic pcap file, one millisecond apart.
pub fn write(path: &Path, frames: &[Frame]) {
    let mut file = BufWriter::new(File::create(path).unwrap());
    let mut word = |value: u32| file.write_all(&value.to_le_bytes()).unwrap();
    // Magic number; version 2.4.
    for value in [0xa1b2_c3d4, 0x0004_0002, 0, 0, 65_535, LINKTYPE_RAW] {
        word(value);
    }
    for (index, frame) in frames.iter().enumerate() {
        let packet = packet(frame);
        let (length, index) = (packet.len() as u32, index as u32);
        for value in [index / 1000, index % 1000 * 1000, length, length] {
            file.write_all(&value.to_le_bytes()).unwrap();
        }
        file.write_all(&packet).unwrap();
    }
    file.flush().unwrap();
}

fn packet(frame: &Frame) -> Vec<u8> {
    let (SocketAddr::V4(from), SocketAddr::V4(to)) = (frame.from, frame.to) else {
        panic!("IPv4 only");
    };
    let udp_length = (8 + frame.bytes.len()) as u16;
    let mut ip = vec![0x45, 0];
    ip.extend((20 + udp_length).to_be_bytes());
    ip.extend([0, 0, 0, 0, 64, 17, 0, 0]);
    ip.extend(from.ip().octets());
    ip.extend(to.ip().octets());
    let sum = checksum(&ip);
    ip[10..12].copy_from_slice(&sum.to_be_bytes());
    ip.extend(from.port().to_be_bytes());
    ip.extend(to.port().to_be_bytes());
    ip.extend(udp_length.to_be_bytes());
    // No UDP checksum.
    ip.extend([0, 0]);
    ip.extend(&frame.bytes);
    ip
}

/// RFC 1071.
fn checksum(header: &[u8]) -> u16 {
    let words = header
        .chunks(2)
        .map(|pair| u32::from(pair[0]) << 8 | u32::from(pair[1]));
    let sum = words.sum::<u32>();
    let sum = (sum & 0xffff) + (sum >> 16);
    !(sum as u16 + (sum >> 16) as u16)
}
