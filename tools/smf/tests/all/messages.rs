//! Messages of every dialect in every procedure, as an independent codec (rs-pfcp) reads them.
//!
//! The expected texts in `tests/messages/` are the reviewed statement of how the real SMFs
//! encode; `UPDATE_EXPECT=1` writes them anew.
#![allow(clippy::unwrap_used, reason = "a failed step is a failed test")]

use std::fmt::Write;
use std::path::PathBuf;

use crate::common::net::{Net, smf_address};
use crate::common::outline::outline;
use crate::common::{gnb, plan};
use sluice_smf_emulator::{Change, Dialect};
use sluice_wire::pfcp::MessageType;
use sluice_wire::pfcp::value::BitRate;

/// Everything that the SMF sends in the life of a session, under the names of the procedures.
fn life(dialect: Dialect) -> String {
    let mut net = Net::associated(dialect);
    let mut text = String::new();
    take(&mut net, "associate", &mut text);
    let session = net.establish(dialect, 2).unwrap();
    take(&mut net, "establish", &mut text);
    let changes = [
        ("modify", Change::Connect(gnb(1))),
        ("path switch", Change::SwitchPath(gnb(2))),
        ("idle", Change::Idle),
        ("activate", Change::Activate(gnb(3))),
        ("drop", Change::DropDownlink),
        ("query", Change::Query),
    ];
    for (name, change) in changes {
        let measured = !dialect.profile().urr.is_empty();
        if measured || change != Change::Query {
            net.change(session.cp_seid, change).unwrap();
            take(&mut net, name, &mut text);
        }
    }
    net.delete(session.cp_seid).unwrap();
    take(&mut net, "delete", &mut text);
    net.run(|smf, now, out| smf.release(now, out)).unwrap();
    take(&mut net, "release", &mut text);
    text
}

fn take(net: &mut Net, name: &str, text: &mut String) {
    writeln!(text, "== {name}").unwrap();
    for frame in net
        .log
        .drain(..)
        .filter(|frame| frame.from == smf_address())
    {
        text.push_str(&outline(&frame.bytes));
    }
}

fn check(dialect: Dialect) {
    let file = format!(
        "{}/tests/all/messages/{dialect}.txt",
        env!("CARGO_MANIFEST_DIR")
    );
    let (path, actual) = (PathBuf::from(file), life(dialect));
    if std::env::var_os("UPDATE_EXPECT").is_some() {
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, &actual).unwrap();
    }
    let expected = std::fs::read_to_string(&path).unwrap();
    for (number, (actual, expected)) in actual.lines().zip(expected.lines()).enumerate() {
        assert_eq!(actual, expected, "{dialect}, line {}", number + 1);
    }
    assert_eq!(
        actual.lines().count(),
        expected.lines().count(),
        "{dialect}: lines"
    );
}

#[test]
fn ts_speaks_by_the_book() {
    check(Dialect::Ts);
}

#[test]
fn open5gs_speaks_like_open5gs() {
    check(Dialect::Open5gs);
}

#[test]
fn free5gc_speaks_like_free5gc() {
    check(Dialect::Free5gc);
}

#[test]
fn oai_speaks_like_oai() {
    check(Dialect::Oai);
}

#[test]
fn sdcore_speaks_like_sd_core() {
    check(Dialect::SdCore);
}

#[test]
fn marking_speaks_by_the_book_and_marks() {
    check(Dialect::Marking);
}

/// The establishment of a plan that differs from the usual one.
fn establishment(
    dialect: Dialect,
    change: impl FnOnce(&mut sluice_smf_emulator::SessionPlan),
) -> String {
    let mut net = Net::associated(dialect);
    let mut plan = plan(dialect, 2);
    change(&mut plan);
    net.run(|smf, now, out| smf.establish(now, plan, out))
        .unwrap();
    outline(net.sent_by_smf(MessageType::SESSION_ESTABLISHMENT_REQUEST.0)[0])
}

#[test]
fn without_ambr_imsi_and_measurement_their_ies_are_absent() {
    for dialect in Dialect::ALL {
        let text = establishment(dialect, |plan| {
            (plan.ambr, plan.imsi, plan.measured) = (None, None, false);
        });
        for absent in ["Mbr", "UserId", "Urr"] {
            assert!(!text.contains(absent), "{dialect}: {absent}\n{text}");
        }
    }
}

#[test]
fn a_flow_mbr_stands_where_the_dialect_has_it() {
    let rate = |text: &str| {
        let lines = text.lines().filter(|line| line.contains("Mbr"));
        lines.map(|line| line.trim().to_owned()).collect::<Vec<_>>()
    };
    let mbr = BitRate {
        uplink_kbps: 1,
        downlink_kbps: 2,
    };
    let ambr = "Mbr uplink 100000 downlink 200000 kbit/s";
    let flow = "Mbr uplink 1 downlink 2 kbit/s";
    let expected = [
        (Dialect::Ts, vec![ambr, flow]),
        (Dialect::Open5gs, vec![ambr]),
        (Dialect::Free5gc, vec![ambr, flow]),
        (Dialect::Oai, vec!["Mbr uplink 1 downlink 0 kbit/s"]),
        (Dialect::SdCore, vec![ambr, flow]),
        (Dialect::Marking, vec![ambr, flow]),
    ];
    for (dialect, expected) in expected {
        let text = establishment(dialect, |plan| plan.flow_mbr = Some(mbr));
        assert_eq!(rate(&text), expected, "{dialect}");
    }
}

#[test]
fn a_gnb_known_at_the_establishment_is_told_at_once_except_by_oai() {
    for dialect in Dialect::ALL {
        let text = establishment(dialect, |plan| plan.gnb = Some(gnb(7)));
        let told = text.contains("GTP-U 0x60000007 at 192.168.3.107");
        assert_eq!(told, dialect != Dialect::Oai, "{dialect}\n{text}");
    }
}
