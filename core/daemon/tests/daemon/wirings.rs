//! Functions in programs of their own: UEs, operators and reload see no difference, and a program that is killed is
//! started again.

use std::collections::BTreeSet;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::process::Command;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use sluice_ue::UeState;

use crate::all_functions_are_registered;
use crate::place::{Core, KEY, LIMIT, Place, Ran, run, ue};

const RING: &str = "wiring: {transport: ring}\n";
const TOGETHER: &str = "wiring: {transport: ring, programs: {functions: [amf, ausf, udm, udr, nrf, nssf, smf, pcf]}}\n";
pub const TWO: &str = "wiring: {transport: ring, programs: {functions: [ausf, udm]}}\n";
const UDR: &str =
    "wiring: {transport: ring, programs: [{functions: [udr]}, {functions: [ausf, udm]}]}\n";
const DATA: &str = "wiring: {transport: socket, programs: {functions: [ausf, udm, udr]}}\n";
/// Functions that may have programs of their own.
const APART: [&str; 8] = ["amf", "ausf", "nrf", "nssf", "pcf", "smf", "udm", "udr"];
const SOCKET: &str = "wiring: {transport: socket}\n";

pub fn start(place: &Place, wiring: &str) -> Core {
    Core::start_with(place, &format!("{}{wiring}", place.config()))
}

/// Programs that a core has started: a process and the functions that it was told.
fn programs(core: &Core) -> Vec<(u32, String)> {
    let pid = core.child.id();
    let children = std::fs::read_to_string(format!("/proc/{pid}/task/{pid}/children")).unwrap();
    let pids = children.split_whitespace();
    let named = pids.map(|pid| {
        let words = std::fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
        let words = String::from_utf8(words).unwrap();
        let functions = words.split('\0').skip_while(|word| *word != "nf").skip(1);
        let functions: Vec<_> = functions.take_while(|word| *word != "--config").collect();
        (pid.parse().unwrap(), functions.join(" "))
    });
    named.collect()
}

pub fn names(core: &Core) -> BTreeSet<String> {
    programs(core).into_iter().map(|(_, name)| name).collect()
}

pub fn signal(pid: u32, name: &str) {
    let sent = Command::new("kill").args([name, &pid.to_string()]).status();
    assert!(sent.unwrap().success());
}

pub fn kill(pid: u32) {
    signal(pid, "-KILL");
}

pub fn wait(what: &str, mut holds: impl FnMut() -> bool) {
    let end = Instant::now() + LIMIT;
    while !holds() {
        assert!(Instant::now() < end, "{what}");
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// An NRF that was started again hears of all a moment later.
fn functions_are_registered_again(core: &Core) {
    wait("all functions are registered", || {
        let nfs = core.try_ask(json!({ "cmd": "nfs" })).unwrap();
        nfs["nfs"].as_array().is_some_and(|all| all.len() == 7)
    });
    all_functions_are_registered(core);
}

pub fn pid_of(core: &Core, name: &str) -> u32 {
    pid_of_any(core, name).unwrap()
}

pub fn pid_of_any(core: &Core, name: &str) -> Option<u32> {
    let all = programs(core);
    let found = all.iter().find(|(_, one)| one == name);
    found.map(|(pid, _)| *pid)
}

/// A gNB with a UE that stays connected.
fn connected(place: &Place) -> Ran {
    let mut stays = ue("0000000001", KEY);
    stays.follow_on = true;
    Ran::connect(place, [0, 0, 7], vec![stays])
}

fn deregister(core: &Core, ran: &mut Ran) {
    core.ask_of("deregister", "001010000000001");
    ran.wait("the deregistration", |ran| ran.phones[0].1.is_none());
}

/// Lines of a UE's call flow without their time, in an order that no clock changes.
fn flow(core: &Core) -> Vec<String> {
    let flow = core.ask_of("flow", "001010000000001");
    let lines = flow["lines"].as_array().expect("lines").iter();
    let text = |line: &Value| {
        let part = |name: &str| line[name].as_str().unwrap().to_owned();
        ["step", "from", "to", "what"].map(part).join(" | ")
    };
    let mut lines: Vec<String> = lines.map(text).collect();
    lines.sort();
    lines
}

/// Names of what operators are told, and counts that are the same in each wiring.
fn forms(place: &Place, core: &Core) -> Vec<String> {
    let counters = core.ask("counters");
    let mut told: Vec<String> = counters
        .as_object()
        .unwrap()
        .iter()
        .map(|(part, all)| {
            let names: Vec<_> = all
                .as_object()
                .into_iter()
                .flatten()
                .map(|(name, _)| name)
                .collect();
            format!("{part}: {names:?}")
        })
        .collect();
    told.push(counters["nssf"].to_string());
    let metrics = core.ask("metrics");
    let lines = metrics["text"].as_str().unwrap().lines();
    let names = lines
        .filter_map(|line| line.rsplit_once(' '))
        .map(|(name, _)| name);
    told.extend(names.map(|name| name.replace(&place.ip(3), "UPF")));
    told
}

#[test]
fn ues_register_and_operators_see_the_same_in_each_wiring() {
    let (mut flows, mut told) = (Vec::new(), Vec::new());
    for (wiring, expected) in [
        ("", ""),
        (RING, "amf,ausf,nrf,nssf,pcf,smf,udm,udr"),
        (TWO, "ausf udm"),
        (TOGETHER, "amf ausf udm udr nrf nssf smf pcf"),
        (SOCKET, "amf,ausf,nrf,nssf,pcf,smf,udm,udr"),
        (UDR, "ausf udm,udr"),
        (DATA, "ausf udm udr"),
    ] {
        let place = Place::new();
        let core = start(&place, wiring);
        let expected = expected.split(',').filter(|name| !name.is_empty());
        assert_eq!(names(&core), expected.map(str::to_owned).collect());
        let ues = vec![ue("0000000001", KEY), ue("0000000002", KEY)];
        let mut ran = Ran::connect(&place, [0, 0, 7], ues);
        ran.register(0);
        ran.register(1);
        for (ue, _) in &ran.phones {
            assert_eq!(ue.state(), UeState::Registered);
        }
        functions_are_registered_again(&core);
        flows.push(flow(&core));
        told.push(forms(&place, &core));
        let (code, log) = core.stop();
        assert_eq!(code, Some(0), "{log}");
    }
    assert!(flows[0].iter().any(|line| line.contains("UDM | UDR")));
    for other in 1..flows.len() {
        assert_eq!(flows[0], flows[other]);
        assert_eq!(told[0], told[other]);
    }
}

#[test]
fn a_program_that_is_killed_is_started_again_and_ues_register() {
    killed_and_started_again(RING, &["its program is gone"]);
}

#[test]
fn a_program_behind_a_socket_that_is_killed_is_started_again_and_ues_register() {
    // Whichever is seen first, the end of its link or of itself.
    killed_and_started_again(SOCKET, &["its program is gone", "its connection has ended"]);
}

fn killed_and_started_again(wiring: &str, why: &[&str]) {
    let place = Place::new();
    killed_in_turn(start(&place, wiring), &place, why);
}

/// Each program of a core is killed in turn: UEs register again, and operators are told why the UDM was not reached.
pub fn killed_in_turn(core: Core, place: &Place, why: &[&str]) {
    for name in APART {
        let mut ran = connected(place);
        let pid = pid_of(&core, name);
        kill(pid);
        // A UE that comes meanwhile is refused for congestion, at once, and tries again.
        let end = Instant::now() + LIMIT;
        while ran.phones[0].0.state() != UeState::Registered {
            assert!(Instant::now() < end, "the {name} does not come back");
            ran.register(0);
        }
        let all = APART.map(str::to_owned).into();
        wait("it is started again", || {
            names(&core) == all && pid_of_any(&core, name) != Some(pid)
        });
        functions_are_registered_again(&core);
        deregister(&core, &mut ran);
    }
    let (code, log) = core.stop();
    assert_eq!(code, Some(0), "{log}");
    let is_told = |why: &&str| log.contains(&format!("UDM is not reached: {why}"));
    assert!(why.iter().any(is_told), "{log}");
}

/// UEs of the storm.
pub const MANY: usize = 40;
/// UEs that come in ten milliseconds: 300 a second, as far as the machine is as fast.
const AT_ONCE: usize = 3;

/// UEs that register again and again.
pub struct Storm {
    pub ran: Ran,
    pub done: usize,
    /// Each time as if for the first time: all are authenticated.
    pub are_new: bool,
}

impl Storm {
    pub fn connect(place: &Place) -> Self {
        let ues = (1..=MANY).map(|number| ue(&format!("{number:010}"), KEY));
        let ran = Ran::connect(place, [0, 0, 7], ues.collect());
        Self {
            ran,
            done: 0,
            are_new: false,
        }
    }

    /// Some that are idle come; whoever has been served is counted.
    fn turn(&mut self) {
        if self.ran.is_lost {
            self.ran.connect_again();
        }
        let phones = self.ran.phones.iter();
        let idle = phones.enumerate().filter(|(_, (_, at))| at.is_none());
        let come: Vec<usize> = idle.map(|(one, _)| one).take(AT_ONCE).collect();
        for one in come {
            if self.are_new {
                self.ran.phones[one].0.forget_keys();
            }
            self.ran.come(one);
        }
        let registered = |storm: &Self| {
            let phones = storm.ran.phones.iter();
            let done = phones.filter(|(ue, at)| at.is_some() && ue.state() == UeState::Registered);
            done.count()
        };
        let before = registered(self);
        self.ran.turn();
        self.done += registered(self).saturating_sub(before);
        // Those that were served come behind those that were not.
        self.ran.phones.rotate_left(AT_ONCE);
    }

    pub fn until(&mut self, what: &str, holds: impl Fn(&Self) -> bool) {
        let end = Instant::now() + LIMIT;
        while !holds(self) {
            assert!(Instant::now() < end, "{what}");
            self.turn();
        }
    }
}

/// Each program is killed while UEs register: those that it served are refused and come again, and none is stuck.
#[test]
fn ues_register_on_while_each_program_is_killed() {
    let place = Place::new();
    let core = Core::start_with(&place, &of_storm(&place, RING));
    let mut storm = Storm::connect(&place);
    storm.until("the first UEs register", |storm| storm.done >= MANY);
    for name in APART {
        let pid = pid_of(&core, name);
        kill(pid);
        let is_back = || pid_of_any(&core, name).is_some_and(|other| other != pid);
        storm.until("the program is back", |_| is_back());
        let so_far = storm.done;
        storm.until("UEs register again", |storm| storm.done >= so_far + MANY);
    }
    storm.until("all UEs are registered", |storm| {
        let mut phones = storm.ran.phones.iter();
        phones.all(|(ue, _)| ue.state() == UeState::Registered)
    });
    storm.ran.wait("all UEs are idle", |ran| {
        ran.phones.iter().all(|(_, at)| at.is_none())
    });
    let ues = core.ask("ues");
    assert_eq!(
        (&ues["registered"], &ues["connected"]),
        (&json!(MANY), &json!(0))
    );
    wait("no procedure is left", || {
        core.ask("procedures")["procedures"] == json!([])
    });
    assert_eq!(core.ask("counters")["amf"]["panics"], 0);
    assert_eq!(core.stop().0, Some(0));
}

/// A configuration with all UEs of the storm, and this wiring.
pub fn of_storm(place: &Place, wiring: &str) -> String {
    let config = place.config();
    let (rest, subscribers) = config.split_once("subscribers:\n").unwrap();
    let first = subscribers.lines().next().unwrap();
    let all = (1..=MANY).map(|number| {
        let imsi = format!("00101{number:010}");
        first.replace("001010000000001", &imsi) + "\n"
    });
    let all: String = all.collect();
    format!("{rest}{wiring}subscribers:\n{all}")
}

#[test]
fn programs_end_with_a_core_that_is_killed_and_a_new_one_starts_its_own() {
    for wiring in [RING, SOCKET] {
        let place = Place::new();
        let mut core = start(&place, wiring);
        let before = programs(&core);
        assert_eq!(before.len(), APART.len());
        core.child.kill().unwrap();
        core.child.wait().unwrap();
        let end = Instant::now() + LIMIT;
        let runs = |pid: &u32| PathBuf::from(format!("/proc/{pid}")).exists();
        while before.iter().any(|(pid, _)| runs(pid)) {
            assert!(
                Instant::now() < end,
                "a program has no core and does not end"
            );
            std::thread::sleep(Duration::from_millis(20));
        }
        let core = start(&place, wiring);
        assert_eq!(names(&core).len(), APART.len());
        assert_eq!(core.stop().0, Some(0));
    }
}

#[test]
fn reload_reaches_a_udm_of_another_program() {
    let place = Place::new();
    let core = start(&place, RING);
    let key = place.folder.path().join("home.key");
    std::fs::write(&key, "77".repeat(32)).unwrap();
    std::fs::set_permissions(&key, std::fs::Permissions::from_mode(0o600)).unwrap();
    let forbids = format!(
        "{}{RING}security: {{null_scheme: false}}\nhome_network_keys: {{id: 1, profile: a, file: {}}}\n",
        place.config(),
        key.display()
    );
    place.file(&forbids);
    let told = core.ask("reload");
    assert_eq!(
        told["changed"],
        json!(["security", "home_network_keys"]),
        "{told}"
    );
    let mut ran = connected(&place);
    // The other program hears of it a moment later.
    let end = Instant::now() + LIMIT;
    loop {
        ran.register(0);
        if ran.phones[0].0.state() != UeState::Registered {
            break;
        }
        assert!(Instant::now() < end, "the UDM goes on with its keys");
        deregister(&core, &mut ran);
    }
    wait("the core hears of the refusal", || {
        core.ask("refusals").to_string().contains("null_scheme")
    });
    // What needs a restart is refused.
    place.file(&place.config());
    let told = core.ask("reload");
    assert!(told["error"].as_str().unwrap().contains("wiring"), "{told}");
    assert_eq!(core.stop().0, Some(0));
}

#[test]
fn a_check_looks_at_programs_and_at_where_they_find_the_core() {
    let place = Place::new();
    let file = place.folder.path().join("none");
    std::fs::write(&file, "").unwrap();
    let wiring = format!(
        "wiring: {{transport: ring, socket: {}, programs: {{functions: udm, cpu: 4000}}}}\n",
        file.display()
    );
    let config = place.file(&format!("{}{wiring}", place.config()));
    let output = run(&config, &["--check"]);
    let text = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(3), "{text}");
    for expected in [
        "wiring.socket: ",
        "there is something that is no socket",
        "this process may not run on CPU 4000",
    ] {
        assert!(text.contains(expected), "{text}");
    }
    let config = place.file(&format!("{}{RING}", place.config()));
    let output = run(&config, &["--check"]);
    let text = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(0), "{text}");
}

#[test]
fn a_program_that_stands_still_is_told_of_by_the_nrf_of_another() {
    let place = Place::new();
    let core = start(&place, &format!("{RING}nrf: {{heart_beat_s: 60}}\n"));
    // What the NRF has from now on all functions hear.
    place.file(&format!(
        "{}{RING}nrf: {{heart_beat_s: 1}}\n",
        place.config()
    ));
    assert_eq!(core.ask("reload")["changed"], json!(["nrf"]));
    wait("the NRF goes on with its heart-beats", || {
        let counters = core.ask("counters");
        core.ask("nfs")["heart_beat_s"] == 1 && counters["nrf"]["heart_beats"].as_u64() > Some(6)
    });
    let pid = pid_of(&core, "pcf");
    signal(pid, "-STOP");
    let status = || {
        let nfs = core.ask("nfs");
        let mut nfs = nfs["nfs"].as_array().unwrap().iter();
        let pcf = nfs.find(|one| one["type"] == "PCF").unwrap();
        pcf["status"].clone()
    };
    wait("the NRF suspends the PCF", || status() == "SUSPENDED");
    wait("the core hears of it", || {
        let refusals = core.ask("refusals").to_string();
        refusals.contains("it is suspended, and not discovered")
    });
    // Whoever asks for what it alone knows waits for it no longer than it takes to say so.
    let stop = json!({ "cmd": "qos_stop", "imsi": "001010000000001", "name": "call" });
    let told = core.try_ask(stop.clone()).unwrap();
    assert!(
        told["error"]
            .as_str()
            .unwrap()
            .contains("PCF is not reached"),
        "{told}"
    );
    signal(pid, "-CONT");
    wait("the PCF is there again", || status() == "REGISTERED");
    let told = core.try_ask(stop).unwrap();
    assert_eq!(told["reason"], "not_found", "{told}");
    assert_eq!(core.stop().0, Some(0));
}

#[test]
fn a_program_without_its_core_or_with_functions_that_are_the_cores_own_says_so() {
    let place = Place::new();
    let told = |file: &PathBuf| {
        let mut command = crate::place::program(&["nf", "udm", "-c"]);
        let output = command.arg(file).output().unwrap();
        let text = String::from_utf8(output.stderr).unwrap();
        (output.status.code(), text)
    };
    let (code, text) = told(&place.file(&place.config()));
    assert_eq!(code, Some(2), "{text}");
    let expected = "wiring: all functions are the core's own; expected wiring.transport: ring, socket or http2";
    assert!(text.contains(expected), "{text}");
    let file = place.file(&format!("{}{RING}", place.config()));
    let (code, text) = told(&file);
    assert_eq!(code, Some(4), "{text}");
    assert!(text.contains("no core is reached at"), "{text}");
}

#[test]
fn wirings_that_cannot_be_are_refused() {
    let place = Place::new();
    // Each function once, and none of a thread has a program.
    let twice =
        "wiring: {transport: ring, programs: [{functions: udm}, {functions: [ausf, udm]}]}\n";
    let thread = "wiring: {programs: {functions: udm}}\n";
    for (wiring, expected) in [
        (twice, "expected each function once"),
        (
            "wiring: {transport: ring, programs: [{functions: amf}, {functions: amf, instance: 1}]}\n",
            "AMF has one instance, and this is its instance 1",
        ),
        (
            "wiring: {transport: ring, programs: [{functions: [amf, udm]}, {functions: udm, instance: 1}]}\n",
            "UDM has several instances, and one shares its program with the AMF",
        ),
        (thread, "expected wiring.transport: ring, socket or http2"),
        (
            "wiring: {transport: ring, programs: {functions: udm, sbi: 127.0.0.1:7000}}\n",
            "expected wiring.transport: http2, or no sbi",
        ),
        (
            "sbi: {cleartext: true}\n",
            "sbi: given for functions that have no HTTP",
        ),
        (
            "wiring: {transport: http2}\n",
            "services by HTTP have no certificates; expected sbi.tls, or cleartext: true",
        ),
        (
            "wiring: {transport: http2}\nsbi: {cleartext: true, listen: 0.0.0.0:7777}\n",
            "expected ADDRESS:PORT by which others reach it",
        ),
        (
            "wiring: {transport: http2}\nsbi: {cleartext: true, nrf: http://127.0.0.10/x}\n",
            "expected an API root",
        ),
        (
            "wiring: {transport: http2}\nsbi: {cleartext: true, tokens: {rs512_for: AMF}}\n",
            "expected both rs512_key and rs512_for, or neither",
        ),
        (
            "wiring: {transport: http2}\nsbi: {cleartext: true, tokens: {issuer: nrf}}\n",
            "expected an NF instance",
        ),
        (
            "wiring: {transport: ring, programs: {functions: n4}}\n",
            "expected amf or ausf or udm or udr or nrf or nssf or smf or pcf or n2",
        ),
        (
            "wiring: {transport: ring, programs: [{functions: smf}, {functions: pcf}]}\ncontexts: {folder: /run/contexts}\n",
            "both in one program, which stores the contexts of sessions",
        ),
    ] {
        let file = place.file(&format!("{}{wiring}", place.config()));
        let output = run(&file, &["--check=file"]);
        let text = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(2), "{text}");
        assert!(text.contains(expected), "{text}");
    }
    // What is sound, and lost with a program, is told.
    let contexts = format!("{RING}contexts: {{folder: /run/contexts}}\n");
    for (wiring, lost) in [(RING, "AMF"), (UDR, "UDR"), (&*contexts, "")] {
        let file = place.file(&format!("{}{wiring}", place.config()));
        let output = run(&file, &["--check=file"]);
        let text = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(0), "{text}");
        let warning = "has a program, and there are no contexts";
        let told = text.contains(&format!("{lost} {warning}"));
        assert_eq!(told, !lost.is_empty(), "{text}");
    }
}
