//! Header checks of every G-PDU on N3.

use std::collections::HashMap;
use std::io;
use std::path::Path;

use sluice_host::pcap::{self, Frame};

/// Octets of a frame that are checked: more than all headers together.
pub(super) const SNAP_BYTES: u16 = 128;
/// Frames that tshark sees of headers that are alike.
const SAMPLES: usize = 16;
/// Far more than the tunnels of the demo have; so the memory has a bound.
const KINDS_MAX: usize = 4096;
/// Complaints that are kept in words.
const SHOWN_MAX: usize = 10;

const ETHERNET: usize = 14;
const UDP: usize = ETHERNET + 20;
const GTP_U: usize = UDP + 8;
const IPV6: usize = 40;
/// Ports from here on belong to nobody (RFC 6335, section 6), so that no dissector minds which.
const DYNAMIC_PORTS: u16 = 49_152;

/// Headers seen so far.
#[derive(Debug, Default)]
pub(super) struct Headers {
    pub(super) frames: u64,
    /// Frames in which a field is wrong.
    pub(super) wrong: u64,
    /// The first of them in words.
    pub(super) first_wrong: Vec<String>,
    /// By all octets in front of the inner packet, without the fields that change.
    kinds: HashMap<Vec<u8>, usize>,
    samples: Vec<(Vec<u8>, u32)>,
}

impl Headers {
    /// Looks at a frame.
    pub(super) fn take(&mut self, frame: Frame<'_>) {
        self.frames += 1;
        let kept = check(frame).and_then(|inner| self.keep(frame, inner));
        if let Err(what) = kept {
            self.wrong += 1;
            if self.first_wrong.len() < SHOWN_MAX {
                self.first_wrong
                    .push(format!("G-PDU {}: {what}", self.frames));
            }
        }
    }

    pub(super) fn kinds(&self) -> u64 {
        self.kinds.len() as u64
    }

    /// Frames that tshark shall judge.
    pub(super) fn samples(&self) -> u64 {
        self.samples.len() as u64
    }

    /// Writes those into a capture file.
    pub(super) fn write_samples(&self, path: &Path) -> io::Result<()> {
        let frames = self.samples.iter().map(|(bytes, wire_bytes)| Frame {
            bytes,
            wire_bytes: *wire_bytes,
        });
        pcap::write(io::BufWriter::new(std::fs::File::create(path)?), frames)
    }

    fn keep(&mut self, frame: Frame<'_>, inner: usize) -> Result<(), &'static str> {
        let mut all = [0; SNAP_BYTES as usize];
        let kind = kind(&mut all, frame.bytes, inner)?;
        let full = self.kinds.len() == KINDS_MAX;
        let seen = match self.kinds.get_mut(kind) {
            Some(seen) => seen,
            None if full => return Err("of a kind that is too much to be judged"),
            None => self.kinds.entry(kind.to_vec()).or_default(),
        };
        if *seen < SAMPLES {
            *seen += 1;
            self.samples.push((frame.bytes.to_vec(), frame.wire_bytes));
        }
        Ok(())
    }
}

/// Whether the fields that change from packet to packet fit this one; where the inner packet is.
fn check(frame: Frame<'_>) -> Result<usize, &'static str> {
    let bytes = frame.bytes;
    let ip_bytes = ipv4(bytes, ETHERNET)?;
    ensure(
        ip_bytes + ETHERNET == frame.wire_bytes as usize,
        "outer IPv4 length",
    )?;
    ensure(octet(bytes, ETHERNET)? == 0x45, "outer IPv4 options")?;
    ensure(u16_at(bytes, ETHERNET + 6)? & 0x3fff == 0, "outer fragment")?;
    let udp_bytes = usize::from(u16_at(bytes, UDP + 4)?);
    ensure(udp_bytes + 20 == ip_bytes, "UDP length")?;
    let gtp_bytes = usize::from(u16_at(bytes, GTP_U + 2)?);
    ensure(gtp_bytes + 8 + 8 == udp_bytes, "GTP-U length")?;
    let inner = behind_gtp_u(bytes)?;
    let inner_bytes = (GTP_U + 8 + gtp_bytes).checked_sub(inner);
    ensure(
        inner_bytes == Some(inner_length(bytes, inner)?),
        "inner IP length",
    )?;
    Ok(inner)
}

/// Behind the GTP-U header and its extension headers (TS 29.281, 5.1 and 5.2.1).
fn behind_gtp_u(bytes: &[u8]) -> Result<usize, &'static str> {
    let flags = octet(bytes, GTP_U)?;
    ensure(flags & 0xf8 == 0x30, "GTP-U version")?;
    let mut at = GTP_U + 8;
    if flags & 7 == 0 {
        return Ok(at);
    }
    at += 4;
    let mut next = if flags & 4 == 0 {
        0
    } else {
        octet(bytes, at - 1)?
    };
    while next != 0 {
        let words = usize::from(octet(bytes, at)?);
        ensure(words > 0, "extension header of length 0")?;
        at += 4 * words;
        next = octet(bytes, at - 1)?;
    }
    Ok(at)
}

/// The length that the inner IP header states.
fn inner_length(bytes: &[u8], at: usize) -> Result<usize, &'static str> {
    match octet(bytes, at)? >> 4 {
        6 => u16_at(bytes, at + 4).map(|payload| IPV6 + usize::from(payload)),
        _ => ipv4(bytes, at),
    }
}

/// The total length that an IPv4 header states, whose checksum must be right.
fn ipv4(bytes: &[u8], at: usize) -> Result<usize, &'static str> {
    let first = octet(bytes, at)?;
    ensure(first >> 4 == 4, "IP version")?;
    let header = bytes
        .get(at..at + 4 * usize::from(first & 0xf))
        .ok_or(SHORT)?;
    let words = header
        .chunks_exact(2)
        .map(|word| u32::from(word[0]) << 8 | u32::from(word[1]));
    let sum = words.sum::<u32>();
    ensure(
        (sum >> 16) + (sum & 0xffff) == 0xffff,
        "IPv4 header checksum",
    )?;
    u16_at(bytes, at + 2).map(usize::from)
}

/// The octets in front of `inner`, in `out`, with the fields that change set to what they mean
/// for everything else.
fn kind<'a>(out: &'a mut [u8], bytes: &[u8], inner: usize) -> Result<&'a [u8], &'static str> {
    let out = out.get_mut(..inner).ok_or(SHORT)?;
    out.copy_from_slice(bytes.get(..inner).ok_or(SHORT)?);
    let source = u16_at(bytes, UDP)?;
    set(out, UDP, source.min(DYNAMIC_PORTS));
    set(out, UDP + 6, u16_at(bytes, UDP + 6)?.min(1));
    // Total length, identification, checksum of IPv4; length of UDP; length of GTP-U.
    for field in [
        ETHERNET + 2,
        ETHERNET + 4,
        ETHERNET + 10,
        UDP + 4,
        GTP_U + 2,
    ] {
        set(out, field, 0);
    }
    if octet(bytes, GTP_U)? & 2 != 0 {
        set(out, GTP_U + 8, 0);
    }
    Ok(out)
}

const SHORT: &str = "cut short in its headers";

fn ensure(holds: bool, what: &'static str) -> Result<(), &'static str> {
    if holds { Ok(()) } else { Err(what) }
}

fn octet(bytes: &[u8], at: usize) -> Result<u8, &'static str> {
    bytes.get(at).copied().ok_or(SHORT)
}

fn u16_at(bytes: &[u8], at: usize) -> Result<u16, &'static str> {
    Ok(u16::from_be_bytes([
        octet(bytes, at)?,
        octet(bytes, at + 1)?,
    ]))
}

fn set(out: &mut [u8], at: usize, value: u16) {
    if let Some(field) = out.get_mut(at..at + 2) {
        field.copy_from_slice(&value.to_be_bytes());
    }
}

#[cfg(test)]
mod tests;
