//! Whole files: the example, which is the schema's documentation, and what is refused.

use super::contexts::tests::known_keys;
use super::{Charging, CoreConfig, Loaded, Over};
use crate::convert;
use sluice_amf::Amf;
use sluice_pcf::Pcf;
use sluice_program::check::refused_json;
use sluice_program::config::example::{is_explained, shown_keys, with_alternatives};
use sluice_program::config::problem::Refused;
use sluice_smf::Smf;
use std::path::Path;

const EXAMPLE: &str = include_str!("../../../../docs/core.yaml");

/// The shortest file that makes a core with sessions.
const SHORT: &str = "\
plmns: {plmn: 001-01, slices: 1}
tracking_areas: {tac: 1}
n2: {listen: 192.0.2.20, gnbs: 192.0.2.0/24}
n4: {listen: 192.0.2.20}
upfs: {n4: 192.0.2.10}
data_networks: {name: internet}
";

fn load(text: &str) -> Result<Loaded, Refused> {
    CoreConfig::from_text(Path::new("core.yaml"), text)
}

fn accepted(text: &str) -> Loaded {
    load(text).unwrap_or_else(|refused| panic!("refused:\n{refused}"))
}

fn short_with(old: &str, new: &str) -> String {
    assert!(SHORT.contains(old), "{old}");
    SHORT.replacen(old, new, 1)
}

#[test]
fn the_example_is_accepted_without_warnings() {
    assert_eq!(accepted(EXAMPLE).warnings, []);
}

#[test]
fn the_example_names_every_key_and_its_alternatives_are_accepted() {
    let text = with_alternatives(EXAMPLE);
    let shown = shown_keys(&text);
    let known = known_keys(&text);
    let missing: Vec<_> = known
        .iter()
        .filter(|key| !shown.contains_key(&key.path))
        .collect();
    assert!(missing.is_empty(), "not in docs/core.yaml: {missing:?}");
    assert!(known.len() > 60, "{}", known.len());
}

#[test]
fn the_example_tells_the_defaults_of_the_code() {
    let text = with_alternatives(EXAMPLE);
    let lines: Vec<_> = text.lines().collect();
    let shown = shown_keys(&text);
    for key in known_keys(&text) {
        let at = shown.get(&key.path).expect("every key is shown");
        let told = at.iter().find_map(|line| {
            let line = lines.get(*line as usize - 1)?;
            Some(line.split_once("# default: ")?.1.trim())
        });
        assert_eq!(told, key.default, "{}", key.path);
    }
}

#[test]
fn every_key_of_the_example_is_explained() {
    let text = with_alternatives(EXAMPLE);
    let lines: Vec<_> = text.lines().collect();
    for (path, at) in shown_keys(&text) {
        let explained = at
            .iter()
            .any(|line| is_explained(&lines, *line as usize - 1));
        assert!(explained, "no comment above {path}");
    }
}

#[test]
fn the_short_file_in_the_example_is_a_file() {
    let commented = EXAMPLE
        .lines()
        .skip_while(|line| !line.starts_with("#   plmns:"))
        .take_while(|line| line.starts_with("#   "))
        .map(|line| &line[4..]);
    let short = commented.collect::<Vec<_>>().join("\n");
    let config = accepted(&short).config;
    assert_eq!(config.subscribers.len(), 1);
    assert_eq!(config.subscribers[0].networks[0].types, [true; 3]);
    assert_eq!(accepted(&short).warnings, []);
}

#[test]
fn a_short_file_has_the_defaults_that_the_example_shows() {
    let (short, example) = (accepted(SHORT).config, accepted(EXAMPLE).config);
    assert_eq!(short.amf.guami, example.amf.guami);
    assert_eq!(short.security.ciphering, example.security.ciphering);
    assert_eq!(short.security.integrity, example.security.integrity);
    assert_eq!(short.timers.t3512_s, example.timers.t3512_s);
    assert_eq!((short.n2.over, short.n2.port), (Over::Ip, example.n2.port));
    assert_eq!(short.control_socket, example.control_socket);
    assert_eq!((short.overload, short.nrf), (example.overload, example.nrf));
    assert_eq!(
        short.overload.unauthenticated,
        sluice_amf::Bounds::default()
    );
    assert_eq!(short.overload.back_off, sluice_amf::BackOff::default());
    let charging = &short.sessions.expect("sessions").charging;
    assert_eq!(*charging, Charging::None);
}

#[test]
fn what_is_accepted_is_taken_by_the_functions_of_the_core() {
    for text in [SHORT, EXAMPLE] {
        let config = accepted(text).config;
        let random = |octets: &mut [u8]| octets.fill(7);
        let amf = Amf::new(convert::amf(&config).expect("an AMF"), Box::new(random));
        assert!(amf.is_ok());
        let sessions = config.sessions.as_ref().expect("sessions");
        let smf = Smf::new(convert::smf(&config, 1_700_000_000).expect("an SMF"));
        assert!(smf.is_ok());
        assert!(Pcf::new(convert::pcf(sessions)).is_ok());
        config.subscribers.iter().for_each(|account| {
            let subscriber = convert::subscriber(account);
            assert_eq!(subscriber.subscriber.networks.len(), account.networks.len());
            assert!(
                subscriber.subscriber.slices[0].1,
                "the first slice is the default one"
            );
        });
    }
}

#[test]
fn a_core_without_upfs_registers_ues_and_says_so() {
    let text = "plmns: {plmn: 001-01, slices: 1}\ntracking_areas: {tac: 1}\n\
                n2: {listen: 192.0.2.20, gnbs: 192.0.2.0/24}\n";
    let loaded = accepted(text);
    assert!(loaded.config.sessions.is_none());
    let warning = loaded.warnings[0]
        .in_file(Path::new("core.yaml"))
        .to_string();
    assert!(warning.contains("no PDU sessions"), "{warning}");
}

/// What is written instead of what, and what is said of it.
const MISTAKES: &[(&str, &str, &str)] = &[
    (
        "001-01",
        "0010",
        "core.yaml:1: plmns.plmn: got '0010'; expected MCC-MNC",
    ),
    (
        "slices: 1",
        "slices: 1-0a",
        "core.yaml:1: plmns.slices: got '1-0a'; expected a slice",
    ),
    (
        "slices: 1",
        "slices: []",
        "core.yaml:1: plmns.slices: missing; expected a list of a slice",
    ),
    (
        "tac: 1",
        "tac: 16777214",
        "core.yaml:2: tracking_areas.tac: got '16777214'; expected a number",
    ),
    (
        "{tac: 1}",
        "{tac: 1, plmn: 002-02}",
        "tracking_areas[0].plmn: 002-02 is none of plmns",
    ),
    (
        "{tac: 1}",
        "[{tac: 1}, {tac: 1}]",
        "tracking_areas[1].tac: the same as in line 2",
    ),
    (
        "listen: 192.0.2.20, gnbs",
        "listen: amf, gnbs",
        "core.yaml:3: n2.listen: got 'amf'; expected an IP address",
    ),
    (
        "listen: 192.0.2.20, gnbs",
        "listen: 0.0.0.0, gnbs",
        "core.yaml:3: n2.listen: got '0.0.0.0'",
    ),
    (
        "gnbs: 192.0.2.0/24",
        "gnbs: []",
        "core.yaml:3: n2.gnbs: missing; expected a list of an IP address",
    ),
    (
        "gnbs:",
        "gnb:",
        "core.yaml:3: n2.gnb: unknown key (did you mean 'gnbs'?)",
    ),
    (
        "n4: {listen: 192.0.2.20}",
        "n4: {listen: 0.0.0.0}",
        "core.yaml:4: n4.listen: got '0.0.0.0:8805'",
    ),
    ("n4: {listen: 192.0.2.20}\n", "", "n4.listen: missing"),
    (
        "n4: {listen: 192.0.2.20}\n",
        "overload: {unauthenticated: 8, unauthenticated_of_gnb: 9}\nn4: {listen: 192.0.2.20}\n",
        "core.yaml:4: overload.unauthenticated_of_gnb: got 9, more than the 8 in all",
    ),
    (
        "n4: {listen: 192.0.2.20}\n",
        "overload: {unauthenticated: 0}\nn4: {listen: 192.0.2.20}\n",
        "core.yaml:4: overload.unauthenticated: got '0'; expected a whole number of UEs from 1 to 1000000",
    ),
    (
        "n4: {listen: 192.0.2.20}\n",
        "overload: {back_off_most_s: 60, back_off_least_s: 61}\nn4: {listen: 192.0.2.20}\n",
        "core.yaml:4: overload.back_off_least_s: got 61, more than the 60 at the most",
    ),
    (
        "upfs: {n4: 192.0.2.10}\n",
        "",
        "upfs: missing; expected a list of n4",
    ),
    (
        "upfs: {n4: 192.0.2.10}",
        "upfs: {n4: 192.0.2.10, data_networks: x}",
        "'x' is none of data_networks",
    ),
    (
        "{name: internet}",
        "{name: internet, ipv4: false, ipv6: false}",
        "ipv6: false, and ipv4 is false",
    ),
    (
        "{name: internet}",
        "{name: internet, mtu: 1279}",
        "data_networks.mtu: got '1279'",
    ),
    (
        "{name: internet}",
        "{name: internet, dns: 127.0.0.1, p_cscf: ['::1']}",
        "that UEs can reach\ncore.yaml:6: data_networks.p_cscf[0]: got '::1'",
    ),
    (
        "{name: internet}",
        "{name: internet, charging_octets: 0}",
        "got '0'; expected none, or a whole number",
    ),
    (
        "{name: internet}",
        "[{name: a}, {name: a}]",
        "data_networks[1].name: the same as in line 6",
    ),
];

#[test]
fn a_mistake_is_told_with_line_key_and_what_was_expected() {
    for (old, new, said) in MISTAKES {
        let refused = load(&short_with(old, new)).expect_err(new).to_string();
        assert!(refused.contains(said), "{new}: {refused}");
    }
}

/// Sections that may be missing, with a mistake, and what is said of it.
const MORE_MISTAKES: &[(&str, &str)] = &[
    (
        "security: {integrity: [nia0]}",
        "security.integrity[0]: got 'nia0'; expected nia1 or nia2",
    ),
    (
        "security: {integrity: []}",
        "security.integrity: missing; expected one algorithm",
    ),
    (
        "security: {null_scheme: false}",
        "home_network_keys: none, and security.null_scheme is false",
    ),
    (
        "home_network_keys: {id: 0, profile: a, file: /k}",
        "home_network_keys.id: got '0'",
    ),
    (
        "home_network_keys: {id: 1, profile: c, file: /k}",
        "profile: got 'c'; expected a or b",
    ),
    (
        "home_network_keys: {id: 1, profile: a, file: k}",
        "file: got 'k'; expected an absolute path",
    ),
    (
        "network_name: {time_zone: CET}",
        "network_name.time_zone: got 'CET'; expected none, or the difference",
    ),
    (
        "timers: {t3512_s: 1}",
        "timers.t3512_s: got '1'; expected a whole number of seconds",
    ),
    ("amf: {set: 1024}", "amf.set: got '1024'"),
    (
        "amf: {plmn: 999-70}",
        "core.yaml:7: amf.plmn: 999-70 is none of plmns",
    ),
    (
        "api: {listen: 9471}",
        "core.yaml:7: api.listen: got '9471'; expected none, or ADDRESS:PORT",
    ),
    (
        "api: {listen: '192.0.2.20:9471'}",
        "api.listen: whoever reaches 192.0.2.20:9471 could change the core; expected an address of the \
         loopback, a token_file, a users_file, or allow_remote: true",
    ),
    (
        "api: {listen: '[::]:9471', allow_remote: false}",
        "api.listen: whoever reaches [::]:9471",
    ),
    ("access_policies: {rfsp: 0}", "policies.rfsp: got '0'"),
    (
        "charging_records: here",
        "charging_records: got 'here'; expected none, stdout, or an absolute path",
    ),
    (
        "subscribers: {imsi: '00101', k: x, opc: y}",
        "subscribers.imsi: got '00101'",
    ),
];

/// A rule of a policy with a mistake, and what is said of it.
const MISTAKES_OF_RULES: &[(&str, &str, &str)] = &[
    ("name: a", "name: a b", "policies.rules.name: got 'a b'"),
    (
        "precedence: 1",
        "precedence: 255",
        "policies.rules.precedence: got '255'",
    ),
    (
        "five_qi: 9",
        "five_qi: 0",
        "policies.rules.five_qi: got '0'",
    ),
    (
        "five_qi: 9",
        "five_qi: 1",
        "a rule has guaranteed bit rates if its 5QI guarantees bit rates",
    ),
    (
        "five_qi: 9",
        "five_qi: 9, guaranteed_up: 1M",
        "and only then",
    ),
    (
        "five_qi: 9",
        "five_qi: 1, guaranteed_up: 2M, most_up: 1M",
        "no more is guaranteed than may be used",
    ),
    (
        "permit inout ip from any to any",
        "deny out ip from any to any",
        "core.yaml:7: policies.rules.filters: 'deny out ip from any to any': it begins neither with",
    ),
    (
        "permit inout ip from any to any",
        "permit out udp from 1.2.3 to any",
        "word 5",
    ),
    (
        "['permit inout ip from any to any']",
        "[]",
        "policies.rules.filters: missing",
    ),
    (
        "data_network: internet",
        "data_network: lab",
        "'lab' is none of data_networks",
    ),
    (
        "[{name: a",
        "[{name: b, precedence: 1, five_qi: 9, filters: ['permit in ip from any to any']}, {name: a",
        "two rules have one precedence",
    ),
    (
        "subscribers: '001*'",
        "subscribers: x",
        "policies.subscribers: got 'x'",
    ),
];

#[test]
fn mistakes_of_policies_are_told_by_line_and_key() {
    let policy = "policies: {name: p, data_network: internet, subscribers: '001*', rules: [{name: a, \
                  precedence: 1, five_qi: 9, filters: ['permit inout ip from any to any']}]}";
    accepted(&format!("{SHORT}{policy}\n"));
    for (old, new, expected) in MISTAKES_OF_RULES {
        let wrong = policy.replace(old, new);
        assert_ne!(wrong, policy, "{old}");
        let refused = load(&format!("{SHORT}{wrong}\n"))
            .expect_err(new)
            .to_string();
        let text = refused
            .replace("policies[0]", "policies")
            .replace("rules[0]", "rules");
        assert!(text.contains(expected), "{new}: {text}");
    }
    let elsewhere = short_with("upfs: {n4", "upfs: {tais: [9], n4");
    let refused = load(&elsewhere).expect_err("elsewhere").to_string();
    assert!(refused.contains("is none of tracking_areas"), "{refused}");
}

/// A file with so many policies, each of its own name.
fn with_policies(count: usize, five_qi: u8) -> String {
    let one = |n| {
        format!(
            "  - {{name: p{n}, data_network: internet, rules: [{{name: a, precedence: 1, \
             five_qi: {five_qi}, filters: ['permit inout ip from any to any']}}]}}\n"
        )
    };
    let all: String = (0..count).map(one).collect();
    format!("{SHORT}policies:\n{all}")
}

#[test]
fn more_policies_than_the_pcf_has_are_refused() {
    let most = sluice_pcf::POLICIES;
    accepted(&with_policies(most, 9));
    let refused = load(&with_policies(most + 1, 9)).expect_err("too many");
    assert!(refused.to_string().contains("policies"), "{refused}");
}

#[test]
fn a_reload_tells_policies_apart_and_what_carries_n2() {
    let one = accepted(&with_policies(1, 9)).config;
    let same = accepted(&with_policies(1, 9)).config;
    let other = accepted(&with_policies(1, 8)).config;
    assert_eq!(one.changed(&same), [""; 0]);
    assert_eq!(one.changed(&other), ["policies"]);
    assert_eq!(one.needs_restart(&other), [""; 0]);
    let kernel = short_with(
        "{listen: 192.0.2.20, gnbs",
        "{listen: 192.0.2.20, sctp: kernel, gnbs",
    );
    let more = short_with(
        "{listen: 192.0.2.20, gnbs",
        "{listen: 192.0.2.20, sctp: kernel, more_addresses: [192.0.2.21], gnbs",
    );
    let [plain, kernel, more] = [SHORT, &kernel, &more].map(|text| accepted(text).config);
    assert_eq!(plain.needs_restart(&kernel).len(), 1);
    assert_eq!(kernel.needs_restart(&more).len(), 1);
    assert_eq!(more.needs_restart(&more), [""; 0]);
}

#[test]
fn mistakes_of_sections_that_may_be_missing_are_told_too() {
    let subscriber = "subscribers: {imsi: '001010000000001', k: 465b5ce8b199b49faa5f0a2ee238a6bc, \
                      opc: e8ed289deba952e4283b54e88e6183ca";
    let of_subscriber = [
        (
            format!("{subscriber}, op: 1}}"),
            "subscribers.op: unknown key",
        ),
        (
            format!("{subscriber}, networks: {{name: x}}}}"),
            "networks[0].name: 'x' is none of data_networks",
        ),
        (
            format!("{subscriber}, networks: {{name: internet, slice: 9}}}}"),
            "9 is none of the subscriber's slices",
        ),
        (
            format!("{subscriber}, networks: {{name: internet, five_qi: 66}}}}"),
            "five_qi: got '66'; expected a 5QI from 1 to 255 that guarantees no bit rate",
        ),
        (
            format!(
                "{subscriber}, networks: [{{name: internet, ipv4: 10.0.0.7}}, \
                 {{name: internet, ipv4: 10.0.0.7}}]}}"
            ),
            "subscribers[0].networks[1].ipv4: 10.0.0.7 is given before, in line 7",
        ),
        (
            format!("{subscriber}, ambr_up_bps: 1T}}"),
            "subscribers.ambr_up_bps: got '1T'",
        ),
        (
            format!("{subscriber}, networks: {{name: internet, types: [ethernet]}}}}"),
            "got 'ethernet'; expected ipv4 or",
        ),
    ];
    let of_subscriber = of_subscriber
        .iter()
        .map(|(section, said)| (section.as_str(), said));
    let more = MORE_MISTAKES.iter().map(|(section, said)| (*section, said));
    for (section, said) in more.chain(of_subscriber) {
        let refused = load(&format!("{SHORT}{section}\n")).expect_err(section);
        let refused = refused.to_string();
        assert!(refused.contains(said), "{section}: {refused}");
    }
}

#[test]
fn the_management_api_may_be_had_from_elsewhere_by_token_or_by_choice() {
    let with = |section: &str| accepted(&format!("{SHORT}api: {section}\n")).warnings;
    let token = "{listen: '192.0.2.20:9471', token_file: /etc/sluice/api-token}";
    assert_eq!(with(token), []);
    let open = with("{listen: '192.0.2.20:9471', allow_remote: true}");
    let warning = open[0].in_file(Path::new("core.yaml")).to_string();
    assert!(warning.contains("could change the core"), "{warning}");
    assert_eq!(with("{listen: '[::1]:9471'}"), []);
}

#[test]
fn keys_are_never_shown() {
    let loaded = accepted(EXAMPLE);
    let shown = [
        format!("{:?}", loaded.config),
        loaded.config.summary(),
        loaded.config.summary_json().to_string(),
    ];
    for text in shown {
        let text = text.to_lowercase();
        assert!(
            !text.contains("465b5ce8") && !text.contains("cd63cb71"),
            "{text}"
        );
        // As numbers of octets.
        assert!(!text.contains("70, 91, 92"), "{text}");
    }
}

/// A SIM's key with a digit too few, another, its space or its place missing; what is said of it.
const MISTYPED: &[(&str, &str)] = &[
    (
        "k: 465b5ce8b199b49faa5f0a2ee238a6b, opc: x",
        "subscribers.k: got 31 characters; expected 32 hexadecimal digits",
    ),
    (
        "k: 465b5ce8b199b49faa5f0a2ee238a6bz, opc: [e8ed289deba952e4283b54e88e6183ca]",
        "subscribers.opc: got a list",
    ),
    (
        "'k:465b5ce8b199b49faa5f0a2ee238a6bc': 1",
        "k:(32 digits): unknown key",
    ),
    (
        "ambr_up_bps: 465b5ce8b199b49faa5f0a2ee238a6bc",
        "got '(32 digits)'",
    ),
    (
        "networks: [e8ed289deba952e4283b54e88e6183ca]",
        "got '(32 digits)'",
    ),
];

#[test]
fn a_mistyped_key_of_a_sim_is_not_shown() {
    for (mistake, said) in MISTYPED {
        let text = format!("{SHORT}subscribers: {{imsi: '001010000000001', {mistake}}}\n");
        let refused = load(&text).expect_err(mistake);
        for told in [refused.to_string(), refused_json(&refused)] {
            assert!(
                told.contains(said) || told.contains("\"ok\""),
                "{mistake}: {told}"
            );
            assert!(
                !told.contains("5b5ce8b1") && !told.contains("ed289deb"),
                "{told}"
            );
        }
    }
}

#[test]
fn a_subscriber_has_the_keys_of_its_algorithm_and_a_method() {
    let text = |keys: &str| {
        format!(
            "plmns: {{plmn: 001-01, slices: 1}}\ntracking_areas: {{tac: 1}}\n\
             n2: {{listen: 192.0.2.20, gnbs: 192.0.2.0/24}}\nsubscribers: {{imsi: '001010000000001', {keys}}}\n"
        )
    };
    let (short, long) = ("46".repeat(16), "47".repeat(32));
    let told = |keys: String| {
        let config = accepted(&text(&keys)).config;
        format!("{:?}", config.subscribers[0].credentials)
    };
    assert_eq!(
        told(format!("k: '{short}', opc: '{short}'")),
        "Milenage by FiveGAka"
    );
    let eap = format!("k: '{short}', opc: '{short}', method: eap_aka_prime");
    assert_eq!(told(eap), "Milenage by EapAkaPrime");
    for k in [&short, &long] {
        let tuak = format!("algorithm: tuak, k: '{k}', topc: '{long}'");
        assert_eq!(told(tuak), "Tuak by FiveGAka");
    }
}
