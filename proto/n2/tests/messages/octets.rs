//! Octets of each message as they stand in a file, and what becomes of each when one of them is another.

use std::cell::Cell;
use std::fmt::Debug;
use std::panic::{self, AssertUnwindSafe};

use sluice_n2::{FromAmf, FromRan, ModifyRequest, SetupRequest};

use crate::{handover, samples};

/// A line a message or transfer: who sends it, its octets, and a digest of what is read of them after changes.
const FILE: &str = include_str!("octets.txt");

thread_local! {
    static IS_QUIET: Cell<bool> = const { Cell::new(false) };
}

fn from_ran() -> Vec<Vec<u8>> {
    let others = handover::from_ran().into_iter().map(FromRan::Handover);
    let all = samples::from_ran()
        .into_iter()
        .chain(samples::sessions_from_ran())
        .chain(samples::of_configuration().0)
        .chain(others);
    all.map(|message| message.encode()).collect()
}

fn from_amf() -> Vec<Vec<u8>> {
    let others = handover::from_amf().into_iter().map(FromAmf::Handover);
    let all = samples::from_amf()
        .into_iter()
        .chain(samples::sessions_from_amf())
        .chain(samples::of_configuration().1)
        .chain([samples::paging(false), samples::paging(true)])
        .chain(others);
    all.map(|message| message.encode()).collect()
}

/// FNV-1a.
fn add(digest: u64, text: &str) -> u64 {
    text.bytes().fold(digest, |digest, octet| {
        (digest ^ u64::from(octet)).wrapping_mul(0x0100_0000_01b3)
    })
}

/// A message said again, as far as it can be said: a value that was read need not be one that is written.
fn again(encode: impl FnOnce() -> Vec<u8>) -> String {
    IS_QUIET.set(true);
    let said = panic::catch_unwind(AssertUnwindSafe(encode));
    IS_QUIET.set(false);
    said.map_or_else(|_| "not said again".to_owned(), |octets| hex(&octets))
}

fn read_by_amf(octets: &[u8]) -> String {
    match FromRan::decode_and_notify(octets) {
        Ok((message, notice)) => {
            let again = again(|| message.encode());
            format!("{} {again} {notice:?}", message.name())
        }
        Err(faulty) => text(&faulty),
    }
}

fn read_by_gnb(octets: &[u8]) -> String {
    match FromAmf::decode(octets) {
        Ok(message) => {
            let again = again(|| message.encode());
            format!("{} {again}", message.name())
        }
        Err(faulty) => text(&faulty),
    }
}

fn text(read: &impl Debug) -> String {
    format!("{read:?}")
}

fn hex(octets: &[u8]) -> String {
    octets.iter().map(|octet| format!("{octet:02x}")).collect()
}

/// Of the octets with one changed or left out, at each place.
fn digest(octets: &[u8], read: impl Fn(&[u8]) -> String) -> u64 {
    let mut digest = add(0xcbf2_9ce4_8422_2325, &read(octets));
    for at in 0..octets.len() {
        for change in [0x01, 0x02, 0x04, 0x08, 0x10, 0x20, 0x40, 0x80, 0xff] {
            let mut changed = octets.to_vec();
            changed[at] ^= change;
            digest = add(digest, &read(&changed));
        }
        let mut shorter = octets.to_vec();
        shorter.remove(at);
        digest = add(digest, &read(&shorter));
    }
    digest
}

#[test]
fn octets_of_each_message_and_what_is_read_of_them_stay() {
    let before = panic::take_hook();
    panic::set_hook(Box::new(move |info| {
        if !IS_QUIET.get() {
            before(info);
        }
    }));
    let mut lines = String::new();
    for octets in from_ran() {
        let digest = digest(&octets, read_by_amf);
        lines += &format!("gNB {} {digest:016x}\n", hex(&octets));
    }
    for octets in from_amf() {
        let digest = digest(&octets, read_by_gnb);
        lines += &format!("AMF {} {digest:016x}\n", hex(&octets));
    }
    let setup = samples::setup_request().encode();
    let modify = samples::modify_request().encode();
    for (octets, digest) in [
        (
            &setup,
            digest(&setup, |octets| text(&SetupRequest::decode(octets))),
        ),
        (
            &modify,
            digest(&modify, |octets| text(&ModifyRequest::decode(octets))),
        ),
    ] {
        lines += &format!("SMF {} {digest:016x}\n", hex(octets));
    }
    if std::env::var_os("SLUICE_WRITE_REFERENCE").is_some() {
        let file = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/messages/octets.txt");
        std::fs::write(file, &lines).expect("the file");
        return;
    }
    for (at, (found, expected)) in lines.lines().zip(FILE.lines()).enumerate() {
        assert_eq!(found, expected, "line {}", at + 1);
    }
    assert_eq!(lines.lines().count(), FILE.lines().count());
}
