//! Front of N2: gNBs keep their associations while the AMF is replaced, and UEs their connections.

use sluice_ue::UeState;
use sluice_wire::pfcp::MessageType;

use crate::contexts::{memory, section};
use crate::ending::{terminate, with_session};
use crate::place::{Core, KEY, Place, Ran, run, ue};
use crate::upf::Upf;
use crate::wirings::{pid_of, pid_of_any, signal, wait};

const AMF_APART: &str = "wiring: {transport: ring, programs: [{functions: [amf]}, {functions: [n2]}, {functions: [ausf]}]}\n";
const AMF_OF_CORE: &str = "wiring: {transport: socket, programs: {functions: [n2]}}\n";

fn kill(core: &Core, name: &str) {
    let pid = pid_of(core, name);
    signal(pid, "-KILL");
    wait("another program has its place", || {
        pid_of_any(core, name).is_some_and(|now| now != pid)
    });
}

/// gNBs that the AMF has, if it is there.
fn gnbs(core: &Core) -> usize {
    let told = core.try_ask(serde_json::json!({ "cmd": "gnbs" }));
    let told = told.unwrap_or_default();
    told["gnbs"].as_array().map_or(0, Vec::len)
}

/// A gNB whose AMF, or front, is another one now sets up NG again.
fn connect_again(ran: &mut Ran) {
    // Whatever the gNB sends, the front aborts an association that it does not know.
    let request = ran.gnb.setup();
    ran.send(0, &request);
    ran.wait("the end of the association", |ran| ran.is_lost);
    ran.connect_again();
}

#[test]
fn an_amf_that_was_killed_finds_its_gnbs_and_their_connected_ues() {
    let (place, memory) = (Place::new(), memory());
    let upf = Upf::start(&place, false);
    let section = format!("{}{AMF_APART}", section(&memory));
    let (core, mut ran) = with_session(&place, &upf, &section);
    let at = ran.phones[0].1.expect("connected");
    kill(&core, "amf");
    // The network itself speaks to the UE, over the connection that there was.
    wait("the AMF knows the gNB", || gnbs(&core) == 1);
    assert!(ran.gnb.has(at) && !ran.is_lost);
    core.ask_of("deregister", "001010000000001");
    ran.wait("the deregistration", |ran| ran.phones[0].1.is_none());
    assert!(!ran.is_lost, "the association is the one before");
    wait("the UPF has no session", || {
        upf.count(MessageType::SESSION_DELETION_REQUEST) == 1
    });
    ran.register(0);
    terminate(&core);
    ran.wait("the end in order", |ran| ran.is_shut_down);
    let (code, log) = core.stop();
    assert_eq!(code, Some(0), "{log}");
    assert!(log.contains("the AMF is gone; 1 gNBs are kept"), "{log}");
}

#[test]
fn ues_that_an_amf_has_lost_are_released_by_their_gnb_and_register_anew() {
    let place = Place::new();
    let core = Core::start_with(&place, &format!("{}{AMF_APART}", place.config()));
    let mut stays = ue("0000000001", KEY);
    stays.follow_on = true;
    let mut ran = Ran::connect(&place, [0, 0, 7], vec![stays]);
    ran.register(0);
    let at = ran.phones[0].1.expect("connected");
    kill(&core, "amf");
    ran.wait("NG Reset", |ran| !ran.gnb.has(at));
    assert!(!ran.is_lost);
    ran.register(0);
    assert_eq!(ran.phones[0].0.state(), UeState::Registered);
    assert!(!ran.is_lost, "the association is the one before");
    let (code, log) = core.stop();
    assert_eq!(code, Some(0), "{log}");
}

#[test]
fn ues_stay_registered_when_the_front_is_killed() {
    let place = Place::new();
    let upf = Upf::start(&place, false);
    let (core, mut ran) = with_session(&place, &upf, AMF_OF_CORE);
    let name = ran.phones[0].0.guti();
    kill(&core, "n2");
    connect_again(&mut ran);
    let (phone, _) = &mut ran.phones[0];
    phone.sessions_mut().set_data(1 << 5);
    let request = phone.request_service().unwrap();
    let (at, octets) = ran.gnb.connect(request, name.map(sluice_ids::Guti::s_tmsi));
    ran.phones[0].1 = Some(at);
    ran.send(1, &octets);
    ran.wait("the user plane", |ran| ran.gnb.session(at, 5).is_some());
    assert_eq!(ran.phones[0].0.guti(), name, "it has not registered anew");
    assert_eq!(upf.count(MessageType::SESSION_ESTABLISHMENT_REQUEST), 1);
    terminate(&core);
    ran.wait("the end in order", |ran| ran.is_shut_down);
    let (code, log) = core.stop();
    assert_eq!(code, Some(0), "{log}");
    assert!(
        log.contains("N2's front is not reached: its program is gone"),
        "{log}"
    );
}

#[test]
fn a_front_alone_in_its_program_is_asked_for() {
    let place = Place::new();
    for (programs, expected) in [
        ("{functions: [n2, amf]}", "n2 alone"),
        ("[{functions: [n2]}, {functions: [n2]}]", "n2 once"),
    ] {
        let wiring = format!("wiring: {{transport: ring, programs: {programs}}}\n");
        place.file(&format!("{}{wiring}", place.config()));
        let file = place.folder.path().join("core.yaml");
        let refused = run(&file, &["--check=file"]);
        let told = String::from_utf8(refused.stderr).unwrap();
        assert_eq!(refused.status.code(), Some(2), "{told}");
        assert!(told.contains(expected), "{told}");
    }
}
