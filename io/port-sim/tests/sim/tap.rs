//! The capture file of a tap, as tshark reads it.

use std::fs::{self, File};
use std::io::{self, Write};
use std::process::Command;

use sluice_port_sim::{SimNet, SimPortConfig};

/// An ARP request for 10.0.0.2, padded to the smallest Ethernet frame.
fn arp_request() -> Vec<u8> {
    let ethernet = [
        0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 2, 0, 0, 0, 0, 1, 0x08, 0x06,
    ];
    let (request, sender) = ([0, 1, 8, 0, 6, 4, 0, 1], [2, 0, 0, 0, 0, 1, 10, 0, 0, 1]);
    let target = [0, 0, 0, 0, 0, 0, 10, 0, 0, 2];
    [&ethernet[..], &request, &sender, &target, &[0; 18]].concat()
}

#[test]
fn tshark_reads_frames_and_times_of_a_tap() {
    let path = std::env::temp_dir().join(format!("sluice-tap-{}.pcap", std::process::id()));
    let net = SimNet::new(1);
    let port = net.add_port(SimPortConfig::named("n6"));
    port.tap(File::create(&path).unwrap()).unwrap();
    port.inject(&arp_request());
    port.inject_at(2_000_000_007, &arp_request());
    net.advance_to(3_000_000_000);
    port.untap().unwrap();
    port.inject(&arp_request());
    let fields = [
        "-Tfields",
        "-eframe.time_epoch",
        "-eframe.len",
        "-earp.dst.proto_ipv4",
    ];
    let tshark = Command::new("tshark")
        .arg("-r")
        .arg(&path)
        .args(fields)
        .output();
    fs::remove_file(&path).unwrap();
    let tshark = tshark.expect("this test needs tshark");
    assert_eq!(
        String::from_utf8_lossy(&tshark.stdout),
        "0.000000000\t60\t10.0.0.2\n2.000000007\t60\t10.0.0.2\n",
        "{}",
        String::from_utf8_lossy(&tshark.stderr)
    );
}

/// Takes so many bytes and no more.
struct FullDisk {
    room_bytes: usize,
}

impl Write for FullDisk {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let left = self.room_bytes.checked_sub(bytes.len());
        self.room_bytes = left.ok_or(io::ErrorKind::StorageFull)?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[test]
fn a_tap_that_cannot_write_says_so_at_its_end_and_disturbs_nothing() {
    let net = SimNet::new(1);
    let port = net.add_port(SimPortConfig::named("n6"));
    let file_header_bytes = 24;
    port.tap(FullDisk {
        room_bytes: file_header_bytes,
    })
    .unwrap();
    port.inject(&arp_request());
    assert_eq!(port.stats().rx_packets, 1);
    assert_eq!(port.untap().unwrap_err().kind(), io::ErrorKind::StorageFull);
    port.untap().unwrap();
}
