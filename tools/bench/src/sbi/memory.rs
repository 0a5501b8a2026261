//! Memory that a server has for each connection and each stream that is open.

use std::io::Write as _;
use std::net::TcpStream;
use std::thread;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use sluice_host::process::resident_bytes;
use sluice_sbi_http2::{Config, Http, Limits};

use super::told;
use crate::Failure;
use crate::stats::round;

/// Streams of each connection.
const STREAMS: u32 = 16;
/// How long all of them may take to arrive.
const PATIENCE: Duration = Duration::from_secs(30);
/// Preface and SETTINGS without a setting (RFC 9113, 3.4).
const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\x04\0\0\0\0\0";
/// `GET http /` and an authority in HPACK.
const GET: &[u8] = b"\x82\x86\x84\x01\x01a";
/// HEADERS, with END_STREAM and END_HEADERS.
const HEADERS: [u8; 2] = [1, 5];

/// Growth of resident memory by so many connections, and then by the requests on them that the program has taken and not
/// answered.
pub fn measure(connections: u16) -> Result<Value, Failure> {
    let connections = usize::from(connections);
    let streams = connections * STREAMS as usize;
    let limits = Limits {
        connections,
        connections_per_peer: connections,
        streams: STREAMS,
        streams_per_peer: streams,
        exchanges: streams,
        ..Limits::default()
    };
    let config = Config {
        listen: ([127, 0, 0, 1], 0).into(),
        agent: "UDM".to_owned(),
        limits,
        tls: None,
    };
    let mut http = Http::start(config).map_err(told)?;
    let mut taken = Vec::with_capacity(streams);
    let mut clients = Vec::with_capacity(connections);
    let empty = resident_bytes();
    for _ in 0..connections {
        let mut client = TcpStream::connect(http.address()).map_err(told)?;
        client.write_all(PREFACE).map_err(told)?;
        clients.push(client);
    }
    wait(|| http.counters().connections as usize == connections)?;
    let connected = resident_bytes();
    for client in &mut clients {
        let octets: Vec<u8> = (0..STREAMS).flat_map(request).collect();
        client.write_all(&octets).map_err(told)?;
    }
    wait(|| {
        taken.extend(std::iter::from_fn(|| http.next()));
        taken.len() == streams
    })?;
    let full = resident_bytes();
    let each = |from: u64, to: u64, number: usize| round((to as f64 - from as f64) / number as f64);
    Ok(json!({
        "connections": connections,
        "streams_of_each": STREAMS,
        "bytes_per_connection": each(empty, connected, connections),
        "bytes_per_stream": each(connected, full, streams),
    }))
}

/// A request without body on a stream of its own.
fn request(number: u32) -> Vec<u8> {
    let mut octets = vec![0, 0, GET.len() as u8];
    octets.extend(HEADERS);
    octets.extend((2 * number + 1).to_be_bytes());
    octets.extend(GET);
    octets
}

fn wait(mut is_so: impl FnMut() -> bool) -> Result<(), Failure> {
    let until = Instant::now() + PATIENCE;
    while !is_so() {
        if Instant::now() > until {
            return Err("connections and streams do not come".to_owned());
        }
        thread::sleep(Duration::from_millis(2));
    }
    Ok(())
}
