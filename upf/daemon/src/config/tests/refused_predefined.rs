//! Predefined rules and applications that are refused, with the exact words that people see.

use super::refused::refuses;

#[test]
fn predefined_rules_have_names_and_flows() {
    for (rules, message) in [
        (
            "{flows: []}",
            "upf.yaml:9: predefined[0].name: missing; expected a name of 1 to 255 visible characters",
        ),
        (
            "{name: dns, flows: ['deny out ip from any to any']}",
            "upf.yaml:9: predefined[0].flows[0]: got 'deny out ip from any to any'; expected a flow \
             description such as permit out 17 from any 53 to assigned",
        ),
        (
            "{name: dns}, {name: web}, {name: dns}",
            "upf.yaml:9: predefined[2].name: 'dns' is also in line 9; expected each name once",
        ),
        (
            "{name: dns, uplink: shut}",
            "upf.yaml:9: predefined[0].uplink: got 'shut'; expected open or closed",
        ),
        (
            "{name: dns, mbr: {uplink_kbps: 0, downlink_kbps: 1}}",
            "upf.yaml:9: predefined[0].mbr.uplink_kbps: got '0'; expected a whole number of kbit/s \
             from 1 to 1099511627775",
        ),
        (
            "{name: dns, flows: ['permit out 6 from any 1,2,3,4,5,6,7,8 to any 1,2,3,4,5,6,7,8']}",
            "upf.yaml:9: predefined[0].flows: too many flows and ports; expected 63 pairs of port \
             ranges at the most",
        ),
    ] {
        refuses("pools:", &format!("predefined: [{rules}]\npools:"), message);
    }
    let many: Vec<_> = (0..257).map(|n| format!("{{name: r{n}}}")).collect();
    let many = format!("predefined: [{}]\npools:", many.join(", "));
    let message = "upf.yaml:9: predefined: 257 rules; expected 256 at the most";
    refuses("pools:", &many, message);
}

#[test]
fn applications_have_names_and_flows() {
    for (applications, message) in [
        (
            "{name: video}",
            "upf.yaml:9: applications[0].flows: missing; expected a list of flow descriptions",
        ),
        (
            "{name: video, flows: ['permit in ip from any to any']}",
            "upf.yaml:9: applications[0].flows[0]: got 'permit in ip from any to any'; expected a flow \
             description such as permit out 17 from any 53 to assigned",
        ),
        (
            "{name: video, flows: [permit out 6 from any to any]}, \
             {name: video, flows: [permit out 6 from any to any]}",
            "upf.yaml:9: applications[1].name: 'video' is also in line 9; expected each name once",
        ),
        (
            "{name: v, flows: ['permit out 6 from any 1,2,3,4,5,6,7,8 to any 1,2,3,4,5,6,7,8']}",
            "upf.yaml:9: applications[0].flows: too many flows and ports; expected 63 pairs of port \
             ranges at the most",
        ),
    ] {
        let text = format!("applications: [{applications}]\npools:");
        refuses("pools:", &text, message);
    }
}
