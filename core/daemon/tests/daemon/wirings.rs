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
const SOCKET: &str = "wiring: {transport: socket}\n";
const TOGETHER: &str = "wiring: {transport: ring, programs: {functions: [ausf, udm]}}\n";

fn start(place: &Place, wiring: &str) -> Core {
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

fn names(core: &Core) -> BTreeSet<String> {
    programs(core).into_iter().map(|(_, name)| name).collect()
}

fn kill(pid: u32) {
    let killed = Command::new("kill")
        .args(["-KILL", &pid.to_string()])
        .status();
    assert!(killed.unwrap().success());
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

#[test]
fn ues_register_and_operators_see_the_same_in_each_wiring() {
    let mut flows = Vec::new();
    for (wiring, expected) in [
        ("", ""),
        (RING, "ausf,udm"),
        (TOGETHER, "ausf udm"),
        (SOCKET, "ausf,udm"),
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
        all_functions_are_registered(&core);
        flows.push(flow(&core));
        let (code, log) = core.stop();
        assert_eq!(code, Some(0), "{log}");
        // Programs that end with their core miss nobody.
        assert!(!log.contains("is not reached"), "{log}");
    }
    assert!(flows[0].iter().any(|line| line.contains("UDM | UDR")));
    for other in &flows[1..] {
        assert_eq!(flows[0], *other);
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
    let core = start(&place, wiring);
    for name in ["udm", "ausf"] {
        let mut ran = connected(&place);
        let before = programs(&core);
        let (pid, _) = before.iter().find(|(_, one)| one == name).unwrap();
        kill(*pid);
        // A UE that comes meanwhile is refused for congestion, at once, and tries again.
        let end = Instant::now() + LIMIT;
        while ran.phones[0].0.state() != UeState::Registered {
            assert!(Instant::now() < end, "the {name} does not come back");
            ran.register(0);
        }
        let after = programs(&core);
        assert_eq!(names(&core), BTreeSet::from(["ausf".into(), "udm".into()]));
        assert!(after.iter().all(|(other, _)| other != pid), "{after:?}");
        deregister(&core, &mut ran);
    }
    let (code, log) = core.stop();
    assert_eq!(code, Some(0), "{log}");
    let is_told = |why: &&str| log.contains(&format!("UDM is not reached: {why}"));
    assert!(why.iter().any(is_told), "{log}");
}

#[test]
fn programs_end_with_a_core_that_is_killed_and_a_new_one_starts_its_own() {
    for wiring in [RING, SOCKET] {
        let place = Place::new();
        let mut core = start(&place, wiring);
        let before = programs(&core);
        assert_eq!(before.len(), 2);
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
        assert_eq!(names(&core).len(), 2);
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
    let refusals = core.ask("refusals").to_string();
    assert!(refusals.contains("null_scheme"), "{refusals}");
    // What needs a restart is refused.
    place.file(&place.config());
    let told = core.ask("reload");
    assert!(told["error"].as_str().unwrap().contains("wiring"), "{told}");
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
    let expected =
        "wiring: all functions are the core's own; expected wiring.transport: ring or socket";
    assert!(text.contains(expected), "{text}");
    let file = place.file(&format!("{}{RING}", place.config()));
    let (code, text) = told(&file);
    assert_eq!(code, Some(4), "{text}");
    assert!(text.contains("no core is reached at"), "{text}");
    // Each function once, and none of a thread has a program.
    let twice =
        "wiring: {transport: ring, programs: [{functions: udm}, {functions: [ausf, udm]}]}\n";
    let thread = "wiring: {programs: {functions: udm}}\n";
    for (wiring, expected) in [
        (twice, "expected each function once"),
        (thread, "expected wiring.transport: ring or socket"),
        (
            "wiring: {transport: ring, programs: {functions: smf}}\n",
            "expected ausf or udm",
        ),
    ] {
        let file = place.file(&format!("{}{wiring}", place.config()));
        let output = run(&file, &["--check=file"]);
        let text = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(2), "{text}");
        assert!(text.contains(expected), "{text}");
    }
}
