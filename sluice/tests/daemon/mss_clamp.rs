//! TCP connections of a UE whose kernel and server know nothing of the tunnel between them.

use std::io::{Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::thread;

use sluice::cli::args::CtlQuery;

use super::kit::*;

const PORT: u16 = 8080;
const BYTES: usize = 1 << 20;

/// A megabyte each way over one connection, each end's kernel with an MTU of 1500; what was lost in SYNs, and in
/// packets that did not fit.
fn connection(label: &str, clamp: &str) -> Option<(u64, u64)> {
    let lab = Lab::new(label)?;
    let mut config = Config::new();
    config.interfaces[0] = config.interfaces[0].replace("n3: {}", &format!("{clamp}n3: {{}}"));
    let daemon = Daemon::start(&lab, &config);
    let (smf, gnb) = (lab.smf(), lab.gnb());
    let ue = Ue::attach_with(&lab, &smf, gnb.handle(), 0, 1500);
    let to_server = format!("route add {SERVER} dev ue0 src {}\n", ue.address);
    lab.ue.ip_batch(&to_server).unwrap();
    let listener = lab.dn.run(|| TcpListener::bind((SERVER, PORT))).unwrap();
    let listener = listener.unwrap();
    let server = thread::spawn(move || {
        let (stream, _) = listener.accept().unwrap();
        exchange(stream)
    });
    let stream = lab.ue.run(|| TcpStream::connect((SERVER, PORT))).unwrap();
    assert_eq!(exchange(stream.unwrap()), BYTES);
    assert_eq!(server.join().unwrap(), BYTES);
    let worker = daemon.ask(&CtlQuery::Workers)["workers"][0].take();
    assert_eq!(daemon.ledger()["balances"], true);
    let clamped = worker["mss_clamped"].as_u64().unwrap();
    Some((clamped, daemon.dropped("too_big")))
}

/// Sends all, and says how much came.
fn exchange(mut stream: TcpStream) -> usize {
    stream.set_read_timeout(Some(SOON)).unwrap();
    let mut other = stream.try_clone().unwrap();
    let sender = thread::spawn(move || {
        other.write_all(&vec![0x5a; BYTES]).unwrap();
        other.shutdown(Shutdown::Write).unwrap();
    });
    let mut got = Vec::new();
    stream.read_to_end(&mut got).unwrap();
    sender.join().unwrap();
    got.len()
}

#[test]
fn a_clamped_connection_sends_nothing_that_does_not_fit() {
    let Some((clamped, too_big)) = connection("mss", "mss_clamp: auto, ") else {
        return;
    };
    // SYN and SYN-ACK, or one of them again.
    assert!(clamped >= 2, "{clamped}");
    assert_eq!(too_big, 0);
}

#[test]
fn one_that_is_not_clamped_learns_it_from_lost_packets() {
    let Some((clamped, too_big)) = connection("nomss", "") else {
        return;
    };
    assert_eq!(clamped, 0);
    assert!(too_big > 0, "the server's segments are too large");
}
