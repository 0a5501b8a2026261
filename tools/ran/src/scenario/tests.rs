//! The example is the schema's documentation: it must work, name every key and no other, and tell
//! the defaults of the code. Whatever happens to it, it is read or refused with a place.

use std::path::Path;

use proptest::prelude::*;
use proptest::sample::Index;

use super::*;
use sluice_program::config::example::{is_explained, shown_keys, with_alternatives};

const EXAMPLE: &str = include_str!("../../../../docs/ran.yaml");
const MANUAL: &str = include_str!("../../../../docs/ran.md");

fn load(text: &str) -> Result<Loaded, Refused> {
    Scenario::from_text(Path::new("ran.yaml"), text)
}

fn accepted(text: &str) -> Loaded {
    load(text).unwrap_or_else(|refused| panic!("{refused}"))
}

/// The one problem of a text.
fn problem(text: &str) -> String {
    let refused = load(text).expect_err("refused");
    let text = refused.to_string();
    assert_eq!(refused.problems.len(), 1, "{text}");
    text
}

/// A scenario that is right, with this step.
fn with_step(step: &str) -> String {
    format!(
        "n4: {{smf: 198.18.4.2, upf: 198.18.4.1}}\ngnbs: {{count: 2, n3: 198.18.3.11}}\n\
         ues: {{count: 12, address: 10.60.0.2}}\nsteps:\n  - {step}\n"
    )
}

/// Steps inside of `repeat` have the same keys.
fn is_inner(path: &str) -> bool {
    path.contains(".repeat.steps[]")
}

#[test]
fn the_example_names_every_key_with_its_default_and_a_word_about_it() {
    accepted(EXAMPLE);
    let text = with_alternatives(EXAMPLE);
    let lines: Vec<_> = text.lines().collect();
    let shown = shown_keys(&text);
    let known = accepted(&text).known_keys;
    assert!(known.len() > 100, "{}", known.len());
    for key in known.iter().filter(|key| !is_inner(&key.path)) {
        let Some(at) = shown.get(&key.path) else {
            panic!("not in docs/ran.yaml: {}", key.path);
        };
        let told = at.iter().find_map(|line| {
            let line = lines.get(*line as usize - 1)?;
            Some(line.split_once("# default: ")?.1.trim())
        });
        // `within` and `since` stand in several checks.
        assert_eq!(told, key.default, "{}", key.path);
    }
    for (path, at) in shown.iter().filter(|(path, _)| !is_inner(path)) {
        let mut at = at.iter();
        let explained = at.any(|line| is_explained(&lines, *line as usize - 1));
        let is_figure = path.starts_with("steps[].check.");
        assert!(explained || is_figure, "no comment above {path}");
    }
}

#[test]
fn the_short_scenario_in_the_example_is_one() {
    let short = EXAMPLE
        .lines()
        .skip_while(|line| !line.starts_with("#   n4:"))
        .take_while(|line| line.starts_with("#   "))
        .map(|line| &line[4..]);
    let loaded = accepted(&short.collect::<Vec<_>>().join("\n"));
    assert!(!loaded.scenario.ends());
}

#[test]
fn the_scenarios_that_help_and_the_manual_show_are_some() {
    let help = crate::command::args::RAN_EXAMPLES;
    // In the manual a scenario ends with its block, in the help with its indentation.
    for (text, first) in [
        (help, "  n4:"),
        (help, "  gnbs: {n3: 198.18.3.11, n2"),
        (MANUAL, "# with-core.yaml"),
    ] {
        let is_inside = |line: &&str| match text == help {
            true => line.starts_with("  "),
            false => *line != "```",
        };
        let lines = text.lines().skip_while(|line| !line.starts_with(first));
        let lines: Vec<_> = lines.take_while(is_inside).collect();
        let loaded = accepted(&lines.join("\n"));
        assert!(loaded.scenario.ends(), "{first}");
    }
}

#[test]
fn sims_and_their_gnbs_are_checked_together() {
    let sim = "k: 465b5ce8b199b49faa5f0a2ee238a6bc, opc: cd63cb71954a9f4e48a5994e37a02baf";
    let with = |n2: &str, sim: &str, step: &str| {
        format!(
            "gnbs: {{n3: 198.18.3.11{n2}}}\nues: {{count: 3, imsi: '310410000000001', \
             sim: {{{sim}}}}}\nsteps:\n  - {step}\n"
        )
    };
    let n2 = ", n2: {amf: 198.18.2.1, plmn: '310410', slices: '1, 2-0a0b0c'}";
    let scenario = accepted(&with(n2, sim, "register:")).scenario;
    let group = scenario.gnbs[0].n2.as_ref().expect("n2");
    assert_eq!(group.slices[1].sd(), Some([10, 11, 12]));
    assert_eq!(
        (group.locals_of(1)[0].to_string(), group.amf.port()),
        ("198.18.3.12".to_owned(), 38412)
    );
    let sims = scenario.ues[0].sims.as_ref().expect("SIMs");
    assert_eq!(
        (sims.home.to_string().as_str(), sims.home_digits),
        ("310-41", 5)
    );
    for (text, part) in [
        (with("", sim, "register:"), "has SIMs, and gNBs without n2"),
        (with(n2, "opc: 00", "register:"), "sim.k: missing"),
        (with(n2, &sim[..35], "register:"), "sim.opc: missing"),
        (
            with(n2, &format!("{sim}, op: {}", "0".repeat(32)), "register:"),
            "not what op and k make",
        ),
        (
            with(n2, &format!("{sim}, sessions: [{{}}, {{}}]"), "register:"),
            "two sessions have the id 1",
        ),
        (
            with(n2, &format!("{sim}, home_key: {{public: 00}}"), "register:"),
            "64 hex digits",
        ),
        (
            with(n2, &format!("{sim}, ciphering: 9"), "register:"),
            "numbers from 0 to 3",
        ),
        (
            with(n2, sim, "handover: {to: gnb}"),
            "there are UEs with SIMs",
        ),
        (
            with(&n2.replace("'1, ", "'x, "), sim, "register:"),
            "SST-SD",
        ),
        (
            with(
                &n2.replace("amf: 198.18.2.1", "amf: '::1'"),
                sim,
                "register:",
            ),
            "two families",
        ),
        (
            with(n2, sim, "register:").replace("count: 3", "count: 3, address: 10.0.0.1"),
            "together with sim",
        ),
        (
            with(n2, sim, "register:").replace("310410000000001", "310419999999999"),
            "no room for 3 numbers",
        ),
    ] {
        let refused = load(&text).expect_err(part).to_string();
        assert!(refused.contains(part), "{part}: {refused}");
    }
    let none = with_step("register: {ues: 1-3}");
    assert!(problem(&none).contains("none of them has a SIM"));
}

#[test]
fn pages_need_a_data_network_and_devices_and_nothing_else_does() {
    let with = |sim: &str, step: &str| {
        let keys = "k: 465b5ce8b199b49faa5f0a2ee238a6bc, opc: cd63cb71954a9f4e48a5994e37a02baf";
        format!(
            "gnbs: {{n3: 198.18.3.11, n2: {{amf: 198.18.2.1, plmn: '00101'}}}}\n\
             ues: {{count: 3, sim: {{{keys}, {sim}}}}}\nsteps:\n  - {step}\n"
        )
    };
    let devices = "sessions: [{id: 1}]";
    let scenario = accepted(&with(devices, "page: {ues: 1, data_network: dn}")).scenario;
    let Act::Signal(signal) = &scenario.steps[0].act else {
        panic!("{:?}", scenario.steps)
    };
    let dn = Some(NetnsPlace::Named("dn".to_owned()));
    let is = (signal.what, &signal.data_network);
    assert_eq!(is, (SignalKind::Page, &dn));
    let cycle = "cycle: {for: 1s, procedures: [establish, page], data_network: current}";
    let scenario = accepted(&with(devices, cycle)).scenario;
    let Act::Cycle(cycle) = &scenario.steps[0].act else {
        panic!("{:?}", scenario.steps)
    };
    let procedures = [SignalKind::Establish(None), SignalKind::Page];
    assert_eq!(cycle.procedures, procedures);
    assert_eq!(cycle.data_network, Some(NetnsPlace::Current));
    for (sim, step, part) in [
        (
            devices,
            "page: {ues: 1}",
            "steps[0].page.data_network: missing",
        ),
        (
            devices,
            "cycle: {for: 1s, procedures: [establish, page, release]}",
            "steps[0].cycle.data_network: missing; expected current or the name of a network",
        ),
        (
            devices,
            "cycle: {for: 1s, procedures: [idle, service], data_network: dn}",
            "steps[0].cycle.data_network: no packet comes for UEs; expected page among procedures",
        ),
        (
            devices,
            "cycle: {for: 1s, procedures: [page], data_network: a/b}",
            "steps[0].cycle.data_network: got 'a/b'",
        ),
        (
            "sessions: [{id: 1}], devices: false",
            "page: {data_network: dn}",
            "steps[0].page.ues: packets come for UEs that are paged",
        ),
        (
            "sessions: [{id: 1}], devices: false",
            "cycle: {for: 1s, procedures: page, data_network: dn}",
            "steps[0].cycle.ues: packets come for UEs that are paged",
        ),
    ] {
        let text = problem(&with(sim, step));
        assert!(text.contains(part), "{part}: {text}");
    }
}

#[test]
fn ues_and_gnbs_are_picked_by_number_and_name() {
    let scenario = accepted(&with_step("attach: {ues: '3, 1-2,2', gnb: gnb2}")).scenario;
    let Act::Attach(attach) = &scenario.steps[0].act else {
        panic!("{:?}", scenario.steps)
    };
    assert_eq!((&attach.ues[..], attach.gnb), (&[0, 1, 2][..], Some(1)));
    for wrong in ["13", "0", "4-2", "phones", "''", "1-", "'-'"] {
        let text = problem(&with_step(&format!("attach: {{ues: {wrong}}}")));
        assert!(text.contains("ran.yaml:5: steps[0].attach.ues"), "{text}");
        assert!(text.contains("numbers from 1 to 12"), "{text}");
    }
}

#[test]
fn bounds_are_read_as_people_write_them() {
    let text = with_step("check: {attached: 12, drops: at most 3, end_markers: 2 to 4}");
    let scenario = accepted(&text).scenario;
    let Act::Check(check) = &scenario.steps[0].act else {
        panic!("{:?}", scenario.steps)
    };
    let mut bounds: Vec<_> = check.expectations.iter().map(|e| e.bound).collect();
    bounds.sort_by_key(ToString::to_string);
    let wanted = [
        Bound::Exactly(12.0),
        Bound::Between(2.0, 4.0),
        Bound::AtMost(3.0),
    ];
    assert_eq!(bounds, wanted);
    assert!(Bound::Between(2.0, 4.0).holds(4.0) && !Bound::Between(2.0, 4.0).holds(4.1));
    assert!(Bound::AtLeast(1.0).holds(1.0) && !Bound::AtMost(1.0).holds(1.5));
    for wrong in ["'>= 3'", "few", "-1", "4 to 2", "nan"] {
        let text = problem(&with_step(&format!("check: {{drops: {wrong}}}")));
        assert!(text.contains("expected a number, at least N"), "{text}");
    }
}

#[test]
fn slips_are_told_with_line_key_and_what_was_meant() {
    for (step, parts) in [
        (
            "atach: {}",
            [
                "unknown key (did you mean 'attach'?)",
                "a step without an action",
            ],
        ),
        (
            "attach: {}\n    detach: {}",
            ["steps[0]", "several actions"],
        ),
        (
            "check: {ping_losst: 0}",
            ["did you mean 'ping_lost'?", "nothing is checked"],
        ),
        (
            "check: {gnbs: gnb1, ping_lost: 0}",
            ["steps[0].check.ping_lost", "told for all gNBs"],
        ),
        (
            "ping: {}",
            ["steps[0].ping.to: missing", "an address such as 198.18.6.2"],
        ),
        (
            "handover: {to: gnb9}",
            ["steps[0].handover.to: got 'gnb9'", "gnb1 ... gnb2"],
        ),
        ("end", ["steps[0]: got 'end'", "'- end:'"]),
        ("wait: long", ["steps[0].wait: got 'long'", "500ms"]),
        (
            "run: {command: ls, ues: 1, namespace: x}",
            ["run.namespace", "one of both"],
        ),
        (
            "repeat: {times: 2}",
            ["steps[0].repeat.steps: missing", "a list of steps"],
        ),
    ] {
        let text = load(&with_step(step)).expect_err(step).to_string();
        for part in parts {
            assert!(text.contains(part), "{step}: {text}");
        }
        assert!(text.starts_with("ran.yaml:"), "{text}");
    }
}

#[test]
fn what_does_not_fit_together_is_refused() {
    let text = "gnbs: [{n3: 1.1.1.1}, {n3: 1.1.1.2}]\nues: {address: 10.0.0.1}\nsteps: [{end: }]\n";
    let refused = load(text).expect_err("refused").to_string();
    assert!(refused.contains("two gNBs are called gnb"), "{refused}");
    assert!(refused.contains("there is no n4"), "{refused}");
    let text = with_step("end:").replace("upf: 198", "dialect: free5gc, upf: 198");
    assert!(problem(&text).contains("n4.n3_upf: missing"), "{text}");
    let text = with_step("end:").replace("count: 12", "count: 5000");
    assert!(
        load(&text)
            .expect_err("refused")
            .to_string()
            .contains("at most 4096")
    );
    let text = with_step("end:").replace("10.60.0.2", "255.255.255.250");
    assert!(
        problem(&text).contains("no room for 12 addresses"),
        "{text}"
    );
    let text = with_step("end:").replace("count: 12", "count: 12, pdu_type: ipv4v6");
    assert!(problem(&text).contains("ues.prefix: missing"), "{text}");
    let text = with_step("end:").replace("address: 10.60.0.2", "pdu_type: ipv6");
    assert!(problem(&text).contains("ues.prefix: missing"), "{text}");
    let text = with_step("end:").replace("address: 10.60.0.2", "mtu: 1400");
    assert!(problem(&text).contains("ues.address: missing"), "{text}");
    let text = with_step("handover: {}").replace("count: 2, ", "");
    assert!(problem(&text).contains("there is one gNB"), "{text}");
}

#[test]
fn n3_is_of_one_family_and_its_addresses_count_up() {
    let text = with_step("end:").replace("198.18.3.11", "'2001:db8:3::ffff'");
    let scenario = accepted(&text).scenario;
    assert!(scenario.is_n3_ipv6());
    let second = scenario.gnbs[0].n3_of(1).to_string();
    assert_eq!(second, "2001:db8:3::1:0");
    let last = "ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff";
    let text = text.replace("2001:db8:3::ffff", last);
    assert!(problem(&text).contains("no room for 2 addresses"), "{text}");
    let tunnels = "tunnels: {upf: 198.18.3.1, uplink_teid: 1, downlink_teid: 1}";
    let text = format!(
        "gnbs: [{{name: a, n3: '2001:db8:3::1'}}, {{name: b, n3: 198.18.3.2}}]
ues: {{address: 10.0.0.1, {tunnels}}}
steps: [{{end: }}]
"
    );
    let refused = load(&text).expect_err("refused").to_string();
    assert!(
        refused.contains("gnbs.n3: 198.18.3.2 and the gNB"),
        "{refused}"
    );
    assert!(refused.contains("ues.tunnels.upf: 198.18.3.1"), "{refused}");
}

#[test]
fn two_gnbs_with_one_end_of_n2_are_told_by_address_port_and_key() {
    let two = |second: &str| {
        let n2 = |more: &str| format!("n2: {{amf: 198.18.2.1, plmn: '00101'{more}}}");
        format!(
            "gnbs:\n  - {{name: a, count: 3, n3: 198.18.3.11, {}}}\n  - {{name: b, n3: 198.18.3.20, {}}}\n\
             ues: {{sim: {{k: 465b5ce8b199b49faa5f0a2ee238a6bc, opc: cd63cb71954a9f4e48a5994e37a02baf}}}}\n\
             steps:\n  - end:\n",
            n2(", over: udp"),
            n2(second),
        )
    };
    accepted(&two(", over: udp"));
    let text = problem(&two(", over: udp, local: 198.18.3.12"));
    assert!(
        text.contains("3: gnbs[1].n2.local: 198.18.3.12 with UDP port 9899 is that of gNB b and of gNB a2 in line 2"),
        "{text}"
    );
    // Another port, or SCTP itself.
    accepted(&two(", over: udp, local: 198.18.3.12, udp_port: 9900"));
    accepted(&two(", local: 198.18.3.12"));
    let over_ip = two(", local: 198.18.3.12").replace(", over: udp", "");
    accepted(&over_ip);
    let text = problem(&over_ip.replace("198.18.3.12", "198.18.3.11"));
    assert!(text.contains("198.18.3.11 with SCTP port 38500"), "{text}");
    let elsewhere = ", over: udp, local: 198.18.3.12, namespace: other";
    accepted(&two(elsewhere));
}

#[test]
fn addresses_of_ues_count_up_in_both_families() {
    let ues = "pdu_type: ipv4v6, address: 10.60.0.2, prefix: '2001:db8:60:ff::/64'";
    let text = with_step("end:").replace("address: 10.60.0.2", ues);
    let scenario = accepted(&text).scenario;
    let third = scenario.ues[0].addresses_of(2);
    assert_eq!(
        third.ipv4().map(|a| a.to_string()).as_deref(),
        Some("10.60.0.4")
    );
    let ipv6 = third.ipv6().map(|a| a.to_string());
    assert_eq!(ipv6.as_deref(), Some("2001:db8:60:101::102"));
    let text = text.replace("/64", "/56");
    assert!(problem(&text).contains("an IPv6 prefix of 64 bits"));
}

#[test]
fn what_speaks_of_gnbs_and_ues_is_not_blamed_for_what_is_wrong_with_them() {
    let text = with_step("handover: {ues: 3-12, to: gnb2}");
    let wrong = problem(&text.replace("count: 12", "count: many"));
    assert!(wrong.contains("ues.count: got 'many'"), "{wrong}");
    let wrong = problem(&text.replace("198.18.3.11", "eth0"));
    assert!(wrong.contains("gnbs.n3: got 'eth0'"), "{wrong}");
    let wrong = problem(&with_step("handover: {}").replace("count: 2", "count: two"));
    assert!(wrong.contains("gnbs.count: got 'two'"), "{wrong}");
}

/// Values for wrong places.
const SCRAPS: [&str; 14] = [
    "-",
    ":",
    "[",
    "]",
    "{",
    "}",
    "\"",
    "#",
    "&a",
    "\t",
    "0",
    "all",
    "99999999999999999999",
    "é",
];

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn whatever_happens_to_a_scenario_it_is_read_or_refused_with_a_place(
        spoils in prop::collection::vec((any::<Index>(), any::<Index>(), 0usize..17), 1..4)
    ) {
        let mut lines: Vec<String> = EXAMPLE.lines()
            .filter(|line| !line.trim_start().starts_with('#') && !line.is_empty())
            .map(str::to_owned)
            .collect();
        for (line, other, what) in spoils {
            let (at, to) = (line.index(lines.len()), other.index(lines.len()));
            match what {
                14 => drop(lines.remove(at)),
                15 => lines.swap(at, to),
                16 => lines.insert(at, lines[to].clone()),
                scrap => {
                    let mut letters: Vec<char> = lines[at].chars().collect();
                    let place = other.index(letters.len() + 1);
                    letters.splice(place..place, SCRAPS[scrap].chars());
                    lines[at] = letters.into_iter().collect();
                }
            }
        }
        if let Err(refused) = load(&lines.join("\n")) {
            prop_assert!(!refused.problems.is_empty());
            for problem in &refused.problems {
                prop_assert!(problem.line > 0 && !problem.expected.is_empty(), "{problem:?}");
            }
        }
    }
}
