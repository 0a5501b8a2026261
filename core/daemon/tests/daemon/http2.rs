//! Functions in programs of their own that speak HTTP/2: UEs and operators see no difference, and strangers are served.

mod others;

use std::fs::Permissions;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::process::{Child, Command, Output, Stdio};
use std::time::Instant;

use rcgen::{BasicConstraints, CertificateParams, DnType, IsCa, Issuer, KeyPair};
use serde_json::{Value, json};
use sluice_ue::UeState;

use crate::all_functions_are_registered;
use crate::place::{Core, KEY, LIMIT, Place, Ran, program, run, ue};
use crate::wirings::{killed_in_turn, names};

/// Services of a place, in clear text.
fn sbi(place: &Place) -> String {
    format!("sbi: {{listen: {}:7777, cleartext: true}}\n", place.ip(1))
}

fn start(place: &Place, programs: &str) -> Core {
    let wiring = format!("wiring: {{transport: http2{programs}}}\n");
    Core::start_with(place, &format!("{}{}{wiring}", place.config(), sbi(place)))
}

/// `curl` over HTTP/2 without TLS: status and body; none where there is no curl that has it.
fn curl(arguments: &[&str]) -> (u16, Value) {
    let output: Output = Command::new("curl")
        .args([
            "--silent",
            "--show-error",
            "--http2-prior-knowledge",
            "--max-time",
            "20",
        ])
        .args(["--write-out", "\n%{http_code}"])
        .args(arguments)
        .output()
        .unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    let (body, status) = text.rsplit_once('\n').unwrap_or(("", "0"));
    let body = serde_json::from_str(body).unwrap_or_default();
    (status.parse().unwrap_or_default(), body)
}

fn register_and_deregister(core: &Core, place: &Place) {
    let mut stays = ue("0000000001", KEY);
    stays.follow_on = true;
    let mut ran = Ran::connect(place, [0, 0, 7], vec![stays]);
    ran.register(0);
    assert_eq!(
        ran.phones[0].0.state(),
        UeState::Registered,
        "{}\n{}",
        core.ask("refusals"),
        core.ask_of("flow", "001010000000001")
    );
    core.ask_of("deregister", "001010000000001");
    ran.wait("the deregistration", |ran| ran.phones[0].1.is_none());
}

#[test]
fn a_ue_registers_by_http() {
    let place = Place::new();
    let core = start(
        &place,
        ", programs: [{functions: [nrf]}, {functions: [ausf, udm, udr]}]",
    );
    assert_eq!(names(&core).len(), 2);
    all_functions_are_registered(&core);
    register_and_deregister(&core, &place);
    assert_eq!(core.stop().0, Some(0));
}

/// Files of TLS of a place: a certificate of its authority, and the key.
fn certificates(place: &Place) -> [PathBuf; 3] {
    let paths = ["ca.pem", "core.pem", "core.key"].map(|name| place.folder.path().join(name));
    let authority_key = KeyPair::generate().unwrap();
    let mut authority = CertificateParams::new(Vec::new()).unwrap();
    authority.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    // Else both have the same name, and the second counts as its own authority.
    authority
        .distinguished_name
        .push(DnType::CommonName, "authority");
    let pem = authority.self_signed(&authority_key).unwrap().pem();
    let issuer = Issuer::new(authority, authority_key);
    let key = KeyPair::generate().unwrap();
    let own = CertificateParams::new(vec![place.ip(1)]).unwrap();
    let own = own.signed_by(&key, &issuer).unwrap();
    for (path, text) in paths.iter().zip([pem, own.pem(), key.serialize_pem()]) {
        std::fs::write(path, text).unwrap();
        std::fs::set_permissions(path, Permissions::from_mode(0o600)).unwrap();
    }
    paths
}

#[test]
fn a_ue_registers_by_http_with_certificates_and_strangers_are_refused() {
    let place = Place::new();
    let [authority, certificate, key] = certificates(&place).map(|path| path.display().to_string());
    let sbi = format!(
        "sbi: {{listen: {}:7777, tls: {{certificate: {certificate}, key: {key}, authority: {authority}}}}}\n",
        place.ip(1)
    );
    let wiring = "wiring: {transport: http2, programs: {functions: [nrf, ausf, udm, udr]}}\n";
    let core = Core::start_with(&place, &format!("{}{sbi}{wiring}", place.config()));
    register_and_deregister(&core, &place);
    let list = format!("https://{}:7778/nnrf-nfm/v1/nf-instances", place.ip(1));
    let known = [
        "--cacert",
        &authority,
        "--cert",
        &certificate,
        "--key",
        &key,
        &list,
    ];
    assert_eq!(curl(&known).0, 200);
    assert_eq!(curl(&["--cacert", &authority, &list]).0, 0);
    let refused = core.ask("counters")["sbi"]["tls_refused"].as_u64();
    assert!(refused > Some(0), "{refused:?}");
    // Whoever can read the key can be the core.
    std::fs::set_permissions(&key, Permissions::from_mode(0o644)).unwrap();
    assert_eq!(core.stop().0, Some(0));
    let output = run(&place.folder.path().join("core.yaml"), &[]);
    let told = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(3), "{told}");
    assert!(told.contains("core.key") && told.contains("644"), "{told}");
}

/// A program without a core.
struct Alone(Child);

impl Drop for Alone {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[test]
fn curl_registers_and_discovers_a_function() {
    let place = Place::new();
    let wiring = "wiring: {transport: http2, programs: {functions: nrf}}\n";
    let file = place.file(&format!("{}{}{wiring}", place.config(), sbi(&place)));
    let mut command = program(&["nf", "nrf", "--alone", "--config"]);
    let nrf = command.arg(&file).stderr(Stdio::null()).spawn().unwrap();
    let _nrf = Alone(nrf);
    let root = format!("http://{}:7778", place.ip(1));
    let id = "28a54496-eabf-41f1-a832-337339e9d41f";
    let profile = json!({
        "nfInstanceId": id,
        "nfType": "UDM",
        "nfStatus": "REGISTERED",
        "ipv4Addresses": ["127.0.0.12"],
        "vendorThing": { "kept": true },
        "nfServices": [{
            "serviceInstanceId": "1",
            "serviceName": "nudm-sdm",
            "versions": [{ "apiVersionInUri": "v2", "apiFullVersion": "2.2.0" }],
            "scheme": "http",
            "nfServiceStatus": "REGISTERED",
            "ipEndPoints": [{ "ipv4Address": "127.0.0.12", "port": 7777 }],
        }],
    })
    .to_string();
    let one = format!("{root}/nnrf-nfm/v1/nf-instances/{id}");
    let put = [
        "-X",
        "PUT",
        "-H",
        "content-type: application/json",
        "--data",
        profile.as_str(),
        one.as_str(),
    ];
    let end = Instant::now() + LIMIT;
    let (status, registered) = loop {
        let answer = curl(&put);
        if answer.0 != 0 {
            break answer;
        }
        assert!(Instant::now() < end, "the NRF does not answer");
        std::thread::sleep(std::time::Duration::from_millis(20));
    };
    assert_eq!((status, &registered["heartBeatTimer"]), (201, &json!(10)));
    let question = "/nnrf-disc/v1/nf-instances?target-nf-type=UDM&requester-nf-type=AMF&service-names=nudm-sdm";
    let (status, found) = curl(&[&format!("{root}{question}")]);
    assert_eq!(status, 200);
    let instances = found["nfInstances"].as_array().unwrap();
    assert_eq!(instances.len(), 1);
    assert_eq!(instances[0]["nfInstanceId"], id);
    let beat = json!([{ "op": "replace", "path": "/nfStatus", "value": "REGISTERED" }]).to_string();
    let (status, _) = curl(&[
        "-X",
        "PATCH",
        "-H",
        "content-type: application/json-patch+json",
        "--data",
        &beat,
        &one,
    ]);
    assert!(matches!(status, 200 | 204), "{status}");
    assert_eq!(curl(&[&one]).1["vendorThing"]["kept"], true);
    assert_eq!(curl(&["-X", "DELETE", &one]).0, 204);
    assert_eq!(curl(&[&one]).0, 404);
}

#[test]
fn all_functions_speak_http_and_those_that_are_killed_are_found_again() {
    let place = Place::new();
    let core = start(&place, "");
    assert_eq!(names(&core).len(), 8);
    register_and_deregister(&core, &place);
    let counters = core.ask("counters");
    assert!(
        counters["sbi"]["requests"].as_u64() > Some(20),
        "{counters}"
    );
    assert_eq!(counters["sbi"]["protocol_errors"], 0);
    let taken = counters["sbi_deviations"].as_object().unwrap();
    assert!(taken.values().all(|count| *count == 0), "{counters}");
    killed_in_turn(core, &place, &["its server is not reached"]);
}
