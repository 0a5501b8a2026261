//! What SMFs of live cores sent, octet by octet, against the whole UPF with packets: nothing is refused, each session
//! carries packets both ways, is paged when it is idle, and reports as its URRs say.
//!
//! SEIDs, sequence numbers and N3 addresses are mapped; what a recorded stream lacks, since the UPF that was recorded
//! had refused it, is completed with the activation, idle and deletion that Open5GS sent for another session.

#![forbid(unsafe_code)]
#![allow(clippy::unwrap_used, reason = "a failed step is a failed test")]

#[path = "../kit/mod.rs"]
mod kit;
#[path = "../../tools/smf/tests/all/common/recorded.rs"]
mod recorded;
mod replay;
mod router;
mod session;

use recorded::recorded;
use replay::Replay;

/// Replays a file; `None` where it is not there.
fn replay(file: &str) -> Option<usize> {
    let messages = recorded(file)?;
    let steps = recorded("open5gs-ipv4.txt")?;
    let mut replay = Replay::new(&steps);
    for (name, message) in &messages {
        replay.next(&format!("{file}: {name}"), message);
    }
    Some(replay.end())
}

#[test]
fn open5gs_ipv4_carries_packets_is_paged_and_reports() {
    assert!(replay("open5gs-ipv4.txt").is_none_or(|sessions| sessions == 1));
}

#[test]
fn open5gs_ipv4v6_ipv6_and_ipv4_carry_packets_are_paged_and_report() {
    assert!(replay("open5gs-ipv4v6.txt").is_none_or(|sessions| sessions == 3));
}

#[test]
fn open5gs_answers_router_solicitations_by_n4_u_of_each_session_with_ipv6() {
    let Some(packets) = router::Packets::recorded() else {
        return;
    };
    let (Some(messages), Some(steps)) =
        (recorded("open5gs-ipv4v6.txt"), recorded("open5gs-ipv4.txt"))
    else {
        return;
    };
    let mut replay = Replay::new(&steps);
    let mut asked = 0;
    for (name, message) in &messages {
        replay.next(name, message);
        asked += u32::from(replay.asks_for_router(&packets));
    }
    replay.end();
    assert_eq!(asked, 2);
}

#[test]
fn open5gs_dedicated_flow_carries_its_packets_beside_the_default_one() {
    assert!(replay("open5gs-flow.txt").is_none_or(|sessions| sessions == 1));
}

#[test]
fn open5gs_sessions_are_restored_with_their_old_f_teids() {
    assert!(replay("open5gs-restored.txt").is_none_or(|sessions| sessions == 3));
}

#[test]
fn free5gc_with_and_without_filters_and_urrs_carries_packets_is_paged_and_reports() {
    assert!(replay("free5gc.txt").is_none_or(|sessions| sessions == 4));
}
