//! Ports that steer, driven by a daemon: no card is here, so drivers stand for it that take flow rules
//! (failsafe, which keeps them for a device to come) or a table of queues (null), and bring no packets.
//! failsafe is told to ask a command for its device, since `fd()` with anything but the number of an
//! open file makes it close file 0 again and again.

use serde_json::{Value, json};
use sluice::cli::args::CtlQuery;

use super::kit::*;

/// Bits of the number of a group: 256 flow rules, or a table of 128 entries.
const RULE_GROUPS: u16 = 256;
const TABLE_GROUPS: u16 = 128;

#[test]
fn a_port_steers_no_better_than_it_is_told_to() {
    let Some(lab) = Lab::new("nosteer") else {
        return;
    };
    let mut config = Config::new();
    config.ports = vec![
        "name: n3, device: 'net_failsafe0,exec(true)', steering: software".to_owned(),
        "name: n6, device: 'net_null0,no-rx=1', steering: flow_rules".to_owned(),
    ];
    config.more = "workers: {count: 2, share_cores: true}\n".to_owned();
    let daemon = Daemon::start(&lab, &config);
    for (port, why) in [
        (0, "not wanted"),
        (1, "Function not implemented (os error 38)"),
    ] {
        let steering = steering(&daemon, port);
        assert_eq!(steering["by"], "software");
        assert_eq!(steering["refused"]["masked flow rules"], why);
    }
    let order = daemon.ask(&CtlQuery::Ports)["ports"][1]["order_across_moves"].take();
    assert_eq!(order, "kept");
}

fn steering(daemon: &Daemon, port: usize) -> Value {
    daemon.ask(&CtlQuery::Ports)["ports"][port]["steering"].take()
}

#[test]
fn ports_follow_the_shards_that_an_operator_moves() {
    let Some(lab) = Lab::new("steer") else { return };
    let mut config = Config::new();
    config.ports = vec![
        "name: n3, device: 'net_failsafe0,exec(true)'".to_owned(),
        "name: n6, device: 'net_null0,no-rx=1'".to_owned(),
    ];
    config.more = "workers: {count: 2, share_cores: true}\n".to_owned();
    let daemon = Daemon::start(&lab, &config);
    let [rules, hash] = [0, 1].map(|port| steering(&daemon, port));
    assert_eq!(
        rules,
        json!({
            "by": "masked flow rules",
            "groups": RULE_GROUPS,
            "changes": 0,
            "follows_moves": "yes",
            "refused": {},
        })
    );
    assert_eq!(hash["by"], "Toeplitz hash on the UE's address");
    assert_eq!(hash["groups"], TABLE_GROUPS);
    assert_eq!(
        hash["refused"],
        json!({ "masked flow rules": "Function not implemented (os error 38)" })
    );
    // Shards of group 6 are worker 0's; when most of them are worker 1's, both ports send them there.
    let group = (6..4096).step_by(usize::from(TABLE_GROUPS));
    for shard in group {
        let said = daemon.ctl(&["move", &shard.to_string(), "1"]);
        assert_eq!(said.code, Some(0), "{}", said.err);
    }
    // Two flow rules, 6 and 6 + 128, and one group of the table.
    eventually("the ports have followed", || {
        (0..2).all(|port| steering(&daemon, port)["changes"] == 2 - port as u64)
    });
    let ports = daemon.ask(&CtlQuery::Ports);
    assert_eq!(
        ports["ports"][1]["order_across_moves"],
        "kept for UEs of the pools"
    );
    // All queues and shards go to one worker: nothing is to be steered elsewhere. When the other gets
    // its queues back, it gets its own groups, too, and the ports follow with the one that had moved.
    for workers in ["1", "2"] {
        let said = daemon.ctl(&["scale", workers]);
        assert_eq!(said.code, Some(0), "{}", said.err);
    }
    eventually("the ports have followed back", || {
        (0..2).all(|port| steering(&daemon, port)["changes"] == 2 * (2 - port as u64))
    });
    assert_eq!(daemon.ledger()["dropped_total"], 0);
}
