//! Frames of HTTP/2 by hand (RFC 9113, 4.1), for peers that behave as no library would.

use std::io::{Read as _, Write as _};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::time::Duration;

use crate::support::PATIENCE;

pub const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";

pub const DATA: u8 = 0;
pub const HEADERS: u8 = 1;
pub const RST_STREAM: u8 = 3;
pub const SETTINGS: u8 = 4;
pub const PING: u8 = 6;
pub const GOAWAY: u8 = 7;
pub const WINDOW_UPDATE: u8 = 8;
pub const CONTINUATION: u8 = 9;

pub const END_STREAM: u8 = 1;
pub const ACK: u8 = 1;
pub const END_HEADERS: u8 = 4;

pub const NO_ERROR: u32 = 0;
pub const REFUSED_STREAM: u32 = 7;
pub const CANCEL: u32 = 8;
pub const ENHANCE_YOUR_CALM: u32 = 11;

/// `:status: 200` in HPACK.
pub const STATUS_200: &[u8] = &[0x88];
/// `GET http /` and an authority.
pub const GET: &[u8] = b"\x82\x86\x84\x01\x01a";
/// `POST http /` and an authority.
pub const POST: &[u8] = b"\x83\x86\x84\x01\x01a";

#[derive(Debug)]
pub struct Frame {
    pub kind: u8,
    pub flags: u8,
    pub stream: u32,
    pub payload: Vec<u8>,
}

impl Frame {
    pub fn code(&self) -> u32 {
        let at = if self.kind == GOAWAY { 4 } else { 0 };
        let octets = self.payload[at..at + 4].try_into().expect("four octets");
        u32::from_be_bytes(octets)
    }
}

pub fn frame(kind: u8, flags: u8, stream: u32, payload: &[u8]) -> Vec<u8> {
    let length = u32::try_from(payload.len()).expect("a short frame");
    let mut octets = length.to_be_bytes()[1..].to_vec();
    octets.extend([kind, flags]);
    octets.extend(stream.to_be_bytes());
    octets.extend(payload);
    octets
}

pub fn go_away(last: u32, code: u32) -> Vec<u8> {
    let payload = [last.to_be_bytes(), code.to_be_bytes()].concat();
    frame(GOAWAY, 0, 0, &payload)
}

pub fn reset(stream: u32, code: u32) -> Vec<u8> {
    frame(RST_STREAM, 0, stream, &code.to_be_bytes())
}

/// A whole answer without a body.
pub fn answer(stream: u32) -> Vec<u8> {
    frame(HEADERS, END_HEADERS | END_STREAM, stream, STATUS_200)
}

/// Connection whose frames a test reads and writes.
pub struct Hand(pub TcpStream);

impl Hand {
    /// Connects from an address of this machine and opens HTTP/2 with these SETTINGS.
    pub fn connect(from: Ipv4Addr, to: &str, settings: &[u8]) -> Self {
        let mut hand = Self::connect_only(from, to);
        hand.write(PREFACE);
        hand.write(&frame(SETTINGS, 0, 0, settings));
        hand
    }

    pub fn connect_only(from: Ipv4Addr, to: &str) -> Self {
        let to: SocketAddr = to.parse().expect("an address");
        let mut runtime = tokio::runtime::Builder::new_current_thread();
        let runtime = runtime.enable_io().build().expect("a runtime");
        let stream = runtime.block_on(async {
            let socket = tokio::net::TcpSocket::new_v4().expect("a socket");
            socket.bind(SocketAddr::from((from, 0))).expect("loopback");
            let stream = socket.connect(to).await.expect("a listener");
            stream.into_std().expect("a stream")
        });
        Self::of(stream)
    }

    pub fn of(stream: TcpStream) -> Self {
        stream.set_nonblocking(false).expect("a socket");
        stream.set_read_timeout(Some(PATIENCE)).expect("a socket");
        stream.set_nodelay(true).expect("a socket");
        Self(stream)
    }

    /// Takes a connection, reads its preface and opens HTTP/2.
    pub fn accept(listener: &TcpListener) -> Self {
        let (stream, _) = listener.accept().expect("a connection");
        let mut hand = Self::of(stream);
        let mut preface = [0; 24];
        hand.0.read_exact(&mut preface).expect("a preface");
        assert_eq!(preface, PREFACE);
        hand.write(&frame(SETTINGS, 0, 0, &[]));
        hand
    }

    /// Writes, unless the peer has gone.
    pub fn write(&mut self, octets: &[u8]) {
        let _ = self.0.write_all(octets);
    }

    /// The next frame, unless the connection ends.
    pub fn read(&mut self) -> Option<Frame> {
        let mut head = [0; 9];
        self.0.read_exact(&mut head).ok()?;
        let length = u32::from_be_bytes([0, head[0], head[1], head[2]]);
        let mut payload = vec![0; length as usize];
        self.0.read_exact(&mut payload).ok()?;
        let stream = u32::from_be_bytes([head[5], head[6], head[7], head[8]]);
        Some(Frame {
            kind: head[3],
            flags: head[4],
            stream,
            payload,
        })
    }

    /// The next frame of this kind.
    pub fn read_until(&mut self, kind: u8) -> Frame {
        loop {
            let frame = self.read().expect("a frame before the end");
            if frame.kind == kind {
                return frame;
            }
        }
    }

    /// Reads until the connection ends; says the code of a GOAWAY.
    pub fn end(mut self) -> Option<u32> {
        let mut code = None;
        while let Some(frame) = self.read() {
            if frame.kind == GOAWAY {
                code = Some(frame.code());
            }
        }
        code
    }
}

/// A server whose connections a script serves, one after the other.
pub fn scripted(
    script: impl FnOnce(TcpListener) + Send + 'static,
) -> (String, std::thread::JoinHandle<()>) {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let root = format!("http://{}", listener.local_addr().expect("an address"));
    (root, std::thread::spawn(move || script(listener)))
}

/// A moment in which something wrong would show.
pub fn moment() {
    std::thread::sleep(Duration::from_millis(100));
}
