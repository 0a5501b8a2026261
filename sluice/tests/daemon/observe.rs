//! What a running daemon tells of itself.

use serde_json::Value;
use sluice::cli::args::CtlQuery;

use super::kit::*;

#[test]
fn workers_tell_what_packets_cost_and_how_long_they_slept() {
    let Some(lab) = Lab::new("cost") else { return };
    let daemon = Daemon::start(&lab, &Config::new());
    let (smf, gnb) = (lab.smf(), lab.gnb());
    let ue = Ue::attach(&lab, &smf, gnb.handle(), 0);
    // One turn in 64 is timed.
    let mut worker = Value::Null;
    eventually("stages are timed", || {
        assert_eq!(ue.ping(&lab, 50, 84), 50);
        worker = daemon.ask(&CtlQuery::Workers)["workers"][0].take();
        let stages = &worker["stages"];
        ["receive", "sort", "execute", "transmit"]
            .iter()
            .all(|stage| stages[stage]["cycles_per_packet"].as_f64() > Some(0.0))
    });
    let number = |key: &str| worker[key].as_f64().unwrap();
    assert!(number("ns_per_packet") > 0.0 && number("packets_per_turn") >= 1.0);
    assert!(number("cycles_per_packet") > 0.0);
    // 100 packets a second are nothing: the worker sleeps most of the time.
    assert!(number("asleep_share") > 0.3, "{worker:#}");
    assert!(number("busy_share") < 0.5, "{worker:#}");
    // Nothing but what came before the stations were known, or as a grant of usage ended.
    let usual = worker["slow_path"].as_object().unwrap();
    let is_usual = |reason: &String| reason == "next_hop" || reason == "grant";
    assert!(usual.keys().all(is_usual), "{worker:#}");
    // A packet for a far network whose TTL ends here, and one that does not fit N3.
    let (address, server) = (ue.address.to_string(), SERVER.to_string());
    let far = ["-c2", "-i0.2", "-W1", "-t1", "-I", &address, &server];
    lab.ue.command("ping").args(far).output().unwrap();
    let whole = ["-c2", "-i0.2", "-W1", "-Mdo", "-s1472", &address];
    lab.dn.command("ping").args(whole).output().unwrap();
    let worker_now = daemon.ask(&CtlQuery::Workers)["workers"][0].take();
    assert_eq!(worker_now["slow_path"]["ttl"], 2, "{worker_now:#}");
    assert!(
        worker_now["slow_path"]["size"].as_u64() >= Some(1),
        "{worker_now:#}"
    );
    let shard = u64::from(u32::from(ue.address) % 4096);
    assert_eq!(worker["hottest"][0]["shard"], shard, "{worker:#}");
    let text = daemon.ctl(&["workers"]).out;
    assert!(text.contains("scaling: by hand"), "{text}");
    assert!(
        text.contains("slow path, by worker and reason:\n  0: "),
        "{text}"
    );
    assert_eq!(daemon.ctl(&["scale", "auto"]).code, Some(0));
    let elastic = daemon.ask(&CtlQuery::Workers)["elastic"].take();
    assert_eq!(elastic["policy"], "cycles", "{elastic:#}");
    assert_eq!(elastic["working"], 1);
    let waiting = daemon.ask(&CtlQuery::Workers)["waiting"].take();
    assert!(waiting["processor_has_timed_pause"].is_boolean());
    assert!(waiting["used"].as_str().unwrap().contains("wakes"));
    let ports = daemon.ask(&CtlQuery::Ports);
    assert!(ports["ports"][0]["order_across_moves"].is_string());
    // af_packet can neither, and has one queue here.
    let port = &ports["ports"][0];
    assert_eq!(port["steering"]["by"], "software", "{port:#}");
    let refused = port["steering"]["refused"].as_object().unwrap();
    assert!(
        refused
            .values()
            .all(|why| why == "it has one receive queue")
    );
    let no = "no: Operation not supported (os error 95)";
    assert_eq!(port["waiting"]["receive_interrupt"], no);
    let text = daemon.ctl(&["ports"]).out;
    assert!(text.contains("\n  steering:\n    by: software\n"), "{text}");
}
