//! Clients that are no functions: one of HTTP/1.1, and curl.

use std::io::{Read as _, Write as _};
use std::net::{Ipv4Addr, TcpStream};
use std::process::Command;

use sluice_sbi_http2::Limits;

use crate::frames::{Hand, PREFACE};
use crate::support::{Answering, counted, start};

#[test]
fn another_protocol_is_answered_in_its_words_and_closed() {
    let server = start(Limits::default());
    let mut stream = TcpStream::connect(server.address()).expect("a server");
    stream
        .write_all(b"GET / HTTP/1.1\r\nhost: a\r\n\r\n")
        .expect("a peer");
    let mut text = String::new();
    let _ = stream.read_to_string(&mut text);
    assert!(text.starts_with("HTTP/1.1 400 Bad Request\r\n"), "{text}");
    let (head, body) = text.split_once("\r\n\r\n").expect("head and body");
    assert!(
        head.contains(&format!("Content-Length: {}\r\n", body.len())),
        "{text}"
    );
    let octets = server.counters().other_protocols;
    assert_eq!(octets, 1);
}

/// A peer that breaks HTTP/2 loses its connection.
#[test]
fn frames_out_of_order_end_a_connection() {
    let server = start(Limits::default());
    let mut hand = Hand::connect_only(Ipv4Addr::LOCALHOST, &server.address().to_string());
    hand.write(PREFACE);
    // DATA of a stream that is not there.
    hand.write(&crate::frames::frame(crate::frames::SETTINGS, 0, 0, &[]));
    hand.write(&crate::frames::frame(crate::frames::DATA, 0, 1, b"x"));
    let protocol_error = 1;
    assert_eq!(hand.end(), Some(protocol_error));
    counted(&server, |counters| counters.protocol_errors == 1);
}

#[test]
fn curl_is_served() {
    let server = Answering::echo(Limits::default());
    let curl = Command::new("curl")
        .args([
            "--silent",
            "--show-error",
            "--max-time",
            "20",
            "--http2-prior-knowledge",
        ])
        .args([
            "--data",
            "a=b",
            "--write-out",
            " %{http_version} %{http_code}",
        ])
        .arg(format!("{}/echo", server.root))
        .output();
    let Ok(curl) = curl else {
        eprintln!("skipped: there is no curl");
        return;
    };
    let (text, errors) = (
        String::from_utf8_lossy(&curl.stdout),
        String::from_utf8_lossy(&curl.stderr),
    );
    assert_eq!(text, "a=b 2 200", "{errors}");
}
