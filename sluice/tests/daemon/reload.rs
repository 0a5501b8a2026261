//! `sluice ctl reload` beside a session with traffic.

use super::kit::*;

#[test]
fn what_may_change_does_and_sessions_stay() {
    let Some(lab) = Lab::new("reload") else {
        return;
    };
    let config = Config::new();
    let daemon = Daemon::start(&lab, &config);
    let (smf, gnb) = (lab.smf(), lab.gnb());
    let ue = Ue::attach(&lab, &smf, gnb.handle(), 0);
    assert_eq!(ue.ping(&lab, 5, 84), 5);
    let file = lab.path("upf.yaml");
    let reload_with = |n3: &str| {
        let mut other = Config::new();
        // Lines are not what they were.
        other.more.push_str("# A remark.\n");
        other.interfaces[0] = format!("name: n3, port: n3, addresses: {n3}, n3: {{}}");
        let text = format!("# Another.\n{}", other.text(&daemon.socket));
        std::fs::write(&file, text).unwrap();
        daemon.ctl(&["reload"])
    };
    // Tunnels of others than this gNB.
    let said = reload_with(&format!("{N3_UPF}/24, peers: [203.0.113.0/24]"));
    assert_eq!(said.code, Some(0), "{said:?}");
    assert_eq!(ue.ping(&lab, 3, 84), 0);
    assert!(daemon.dropped("outer_source") >= 3);
    // What needs a restart is refused with all else that the file says.
    let said = reload_with(&format!("{N3_UPF}/16"));
    assert_ne!(said.code, Some(0), "{said:?}");
    assert!(
        said.err
            .contains("interfaces: changes there need a restart"),
        "{said:?}"
    );
    let said = reload_with("nowhere");
    assert_ne!(said.code, Some(0), "{said:?}");
    assert!(said.err.contains("interfaces[0].addresses"), "{said:?}");
    assert_eq!(ue.ping(&lab, 2, 84), 0, "as before");
    let said = reload_with(&format!("{N3_UPF}/24"));
    assert_eq!(said.code, Some(0), "{said:?}");
    assert_eq!(ue.ping(&lab, 5, 84), 5);
    assert!(daemon.log().contains("was read again"));
    // Applications and pools come; a pool with a UE stays.
    let reload_pools = |pools: &[&str]| {
        let mut other = Config::new();
        other.pools = pools.iter().map(|pool| (*pool).to_owned()).collect();
        let video = "applications: [{name: video, flows: [permit out 17 from any to assigned]}]\n";
        other.more.push_str(video);
        std::fs::write(&file, other.text(&daemon.socket)).unwrap();
        daemon.ctl(&["reload"])
    };
    let (core, more) = (
        "network_instance: core, prefix: 10.60.0.0/24",
        "network_instance: core, prefix: 10.61.0.0/24, allocate: true",
    );
    let said = reload_pools(&[more]);
    assert_ne!(said.code, Some(0), "{said:?}");
    assert!(said.err.contains("1 UEs have addresses of"), "{said:?}");
    let said = reload_pools(&[core, more]);
    assert_eq!(said.code, Some(0), "{said:?}");
    assert!(daemon.ctl(&["applications"]).out.contains("video"));
    assert_eq!(ue.ping(&lab, 5, 84), 5);
}
