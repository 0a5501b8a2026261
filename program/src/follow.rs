//! Messages of a UE that a core gives to whoever follows it: N1 without its protection, N2, N4.

use crate::ask::{AskError, ask};
use serde_json::{Value, json};
use sluice_host::pcapng::{Frame, FrameDirection, LinkType, exported_pdu};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Interfaces of a capture of such messages, in the order of [`At`].
pub const INTERFACES: [(&str, LinkType); 3] = [
    ("N1", LinkType::ExportedPdu),
    ("N2", LinkType::ExportedPdu),
    ("N4", LinkType::ExportedPdu),
];

/// Interface that a message passed.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum At {
    /// NAS.
    N1,
    /// NGAP.
    N2,
    /// PFCP.
    N4,
}

impl At {
    fn of(text: &str) -> Option<Self> {
        match text {
            "N1" => Some(Self::N1),
            "N2" => Some(Self::N2),
            "N4" => Some(Self::N4),
            _ => None,
        }
    }

    /// Name of Wireshark's dissector for such a message.
    fn dissector(self) -> &'static str {
        match self {
            Self::N1 => "nas-5gs",
            Self::N2 => "ngap",
            Self::N4 => "pfcp",
        }
    }
}

/// A message.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Message {
    /// When the core had it, since 1970-01-01 00:00 UTC.
    pub time: Duration,
    /// Interface of the message.
    pub at: At,
    /// Whether the core received it; else it sent it.
    pub is_received: bool,
    octets: Vec<u8>,
}

impl Message {
    fn of(object: &Value) -> Option<Self> {
        let octets = octets(object["hex"].as_str()?)?;
        let at = At::of(object["at"].as_str()?)?;
        Some(Self {
            time: Duration::from_micros(object["unix_us"].as_u64()?),
            at,
            is_received: object["received"].as_bool()?,
            octets: exported_pdu(at.dissector(), &octets),
        })
    }

    /// For a capture whose first interfaces are [`INTERFACES`].
    pub fn frame(&self) -> Frame<'_> {
        Frame {
            interface: self.at as u32,
            time: self.time,
            way: match self.is_received {
                true => FrameDirection::In,
                false => FrameDirection::Out,
            },
            bytes: &self.octets,
            wire_bytes: 0,
            comment: "",
        }
    }
}

/// Follows one UE of a core, or all. The core begins with the first question, and ends when it is told so
/// or has not been asked for 30 s.
#[derive(Clone, Debug)]
pub struct Follower {
    socket: PathBuf,
    imsi: Option<String>,
}

impl Follower {
    /// Of the core at this control socket; `None`: all UEs.
    pub fn new(socket: &Path, imsi: Option<String>) -> Self {
        let socket = socket.to_owned();
        Self { socket, imsi }
    }

    /// Messages since the last call, and how many were lost since the first one, as nobody asked in time.
    /// With `ends` it is the last call.
    ///
    /// # Errors
    /// The core's refusal, when somebody follows another UE, or that it does not answer.
    pub fn take(&self, ends: bool) -> Result<(Vec<Message>, u64), AskError> {
        let request = json!({ "cmd": "trace", "imsi": self.imsi, "ends": ends });
        let answer = ask(&self.socket, &request)?;
        let messages = answer["messages"].as_array();
        let messages = messages.into_iter().flatten().filter_map(Message::of);
        let lost = answer["lost"].as_u64().unwrap_or_default();
        Ok((messages.collect(), lost))
    }
}

/// Octets of their hexadecimal digits.
pub fn octets(hex: &str) -> Option<Vec<u8>> {
    let digits = hex.as_bytes().chunks(2);
    let octet = |pair: &[u8]| u8::from_str_radix(std::str::from_utf8(pair).ok()?, 16).ok();
    digits.map(octet).collect()
}
