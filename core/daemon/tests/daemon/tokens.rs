//! Access tokens: a core whose functions ask each other with them, and strangers that have none, or wrong ones.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, DnType, IsCa, KeyPair, SanType};
use serde_json::{Value, json};
use sluice_ue::UeState;

use crate::place::{Core, KEY, LIMIT, Place, Ran, program, run, ue};

/// Stranger of the same authority, and somebody that it is not.
const STRANGER: &str = "28a54496-eabf-41f1-a832-337339e9d41f";
const OTHER: &str = "38a54496-eabf-41f1-a832-337339e9d41f";

/// Authority of a place.
struct Authority<'a> {
    place: &'a Place,
    issuer: CertifiedIssuer<'static, KeyPair>,
}

/// Paths of certificate and key.
struct Files {
    certificate: PathBuf,
    key: PathBuf,
}

fn put(path: &Path, text: &str) {
    fs::write(path, text).unwrap();
    fs::set_permissions(path, Permissions::from_mode(0o600)).unwrap();
}

impl<'a> Authority<'a> {
    fn new(place: &'a Place) -> Self {
        let mut params = CertificateParams::new(Vec::new()).unwrap();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let name = &mut params.distinguished_name;
        name.push(DnType::CommonName, "authority");
        let key = KeyPair::generate().unwrap();
        let issuer = CertifiedIssuer::self_signed(params, key).unwrap();
        let one = Self { place, issuer };
        put(&one.path("ca.pem"), &one.issuer.pem());
        let token = KeyPair::generate().unwrap();
        put(&one.path("token.key"), &token.serialize_pem());
        put(&one.path("token.pem"), &token.public_key_pem());
        one
    }

    fn path(&self, name: &str) -> PathBuf {
        self.place.folder.path().join(name)
    }

    fn issue(&self, name: &str, instances: &[String]) -> Files {
        let mut params = CertificateParams::new(vec![self.place.ip(1)]).unwrap();
        params.distinguished_name.push(DnType::CommonName, name);
        let uris = instances.iter().map(|id| {
            let uri = format!("urn:uuid:{id}");
            SanType::URI(uri.as_str().try_into().unwrap())
        });
        params.subject_alt_names.extend(uris);
        let key = KeyPair::generate().unwrap();
        let own = params.signed_by(&key, &self.issuer).unwrap();
        let files = Files {
            certificate: self.path(&format!("{name}.pem")),
            key: self.path(&format!("{name}.key")),
        };
        put(&files.certificate, &own.pem());
        put(&files.key, &key.serialize_pem());
        files
    }

    /// Section `sbi` of a core with these files.
    fn section(&self, files: &Files) -> String {
        format!(
            "sbi: {{listen: {}:7777, tls: {{certificate: {}, key: {}, authority: {}}}, tokens: {{key: {}, public: {}}}}}\n",
            self.place.ip(1),
            files.certificate.display(),
            files.key.display(),
            self.path("ca.pem").display(),
            self.path("token.key").display(),
            self.path("token.pem").display(),
        )
    }

    /// `curl` of the one with these files: status, header `www-authenticate`, and body.
    fn curl(&self, files: &Files, arguments: &[&str]) -> (u16, String, Value) {
        let mut command = Command::new("curl");
        command.args([
            "--silent",
            "--show-error",
            "--http2-prior-knowledge",
            "--max-time",
            "20",
        ]);
        command.arg("--cacert").arg(self.path("ca.pem"));
        command.arg("--cert").arg(&files.certificate);
        command.arg("--key").arg(&files.key);
        command.args(["--write-out", "\n%header{www-authenticate}\n%{http_code}"]);
        let output = command.args(arguments).output().unwrap();
        let text = String::from_utf8(output.stdout).unwrap();
        let (rest, status) = text.rsplit_once('\n').unwrap_or(("", "0"));
        let (body, header) = rest.rsplit_once('\n').unwrap_or((rest, ""));
        let body = serde_json::from_str(body).unwrap_or_default();
        (status.parse().unwrap_or_default(), header.to_owned(), body)
    }

    /// Root of the program of this number.
    fn root(&self, program: u16) -> String {
        format!("https://{}:{}", self.place.ip(1), 7_778 + program)
    }

    /// Registers the stranger as an AMF of the core's network.
    fn register(&self, files: &Files, id: &str) -> (u16, String, Value) {
        let profile = json!({
            "nfInstanceId": id, "nfType": "AMF", "nfStatus": "REGISTERED",
            "ipv4Addresses": [self.place.ip(2)],
            "plmnList": [{ "mcc": "001", "mnc": "01" }], "sNssais": [{ "sst": 1 }],
        });
        let uri = format!("{}/nnrf-nfm/v1/nf-instances/{id}", self.root(0));
        let json = "content-type: application/json";
        self.curl(
            files,
            &[
                "-X",
                "PUT",
                "-H",
                json,
                "--data",
                &profile.to_string(),
                &uri,
            ],
        )
    }

    fn ask_token(&self, files: &Files, id: &str, target: &str, scope: &str) -> (u16, Value) {
        let form = format!(
            "grant_type=client_credentials&nfInstanceId={id}&nfType=AMF&targetNfType={target}&scope={scope}"
        );
        let uri = format!("{}/oauth2/token", self.root(0));
        let (status, _, body) = self.curl(files, &["--data", &form, &uri]);
        (status, body)
    }

    fn get(&self, files: &Files, uri: &str, token: &Value) -> (u16, String, Value) {
        let header = format!(
            "authorization: Bearer {}",
            token.as_str().unwrap_or_default()
        );
        self.curl(files, &["-H", &header, uri])
    }
}

/// As many identities as a core has functions.
fn identities() -> Vec<String> {
    let one = |number| format!("48a54496-eabf-41f1-a832-33733900000{number}");
    (0..8).map(one).collect()
}

#[test]
fn a_ue_registers_by_http_with_tokens_and_strangers_are_refused_by_name() {
    let place = Place::new();
    let authority = Authority::new(&place);
    let files = authority.issue("core", &identities());
    let wiring = "wiring: {transport: http2, programs: [{functions: nrf}, {functions: [ausf, udm]}, {functions: udr}]}\n";
    let text = format!("{}{}{wiring}", place.config(), authority.section(&files));
    let core = Core::start_with(&place, &text);
    let mut ran = Ran::connect(&place, [0, 0, 7], vec![ue("0000000001", KEY)]);
    ran.register(0);
    let (state, told) = (ran.phones[0].0.state(), core.ask("refusals"));
    assert_eq!(state, UeState::Registered, "{told}");
    let counters = core.ask("counters");
    let of = |name: &str| counters["sbi_tokens"][name].as_u64().unwrap();
    assert!(of("verified") > 2 && of("asked") > 2, "{counters}");
    for name in [
        "no_token",
        "invalid_token",
        "wrong_audience",
        "wrong_scope",
        "wrong_subject",
        "wrong_instance",
    ] {
        assert_eq!(of(name), 0, "{name}: {counters}");
    }
    assert!(counters["nrf"]["tokens"].as_u64() > Some(2), "{counters}");
    strangers(&authority);
    let counters = core.ask("counters");
    let of = |name: &str| counters["sbi_tokens"][name].as_u64().unwrap();
    let all = [
        "no_token",
        "invalid_token",
        "wrong_audience",
        "wrong_scope",
        "wrong_subject",
        "wrong_instance",
    ];
    assert_eq!(all.map(of), [2, 1, 1, 1, 1, 2], "{counters}");
    let refusals = core.ask("refusals")["refusals"].to_string();
    assert!(
        refusals.contains(STRANGER) && refusals.contains("insufficient_scope"),
        "{refusals}"
    );
    assert!(
        refusals.contains("Service request") && refusals.contains(OTHER),
        "{refusals}"
    );
    assert_eq!(core.stop().0, Some(0));
}

/// A function of the same authority asks for what is not for it, and is refused each time by another reason.
fn strangers(authority: &Authority<'_>) {
    let stranger = authority.issue("stranger", &[STRANGER.to_owned()]);
    let thief = authority.issue("thief", &[OTHER.to_owned()]);
    let nrf = format!("{}/nnrf-nfm/v1/nf-instances", authority.root(0));
    let uecm = format!(
        "{}/nudm-uecm/v1/imsi-001010000000001/registrations/amf-3gpp-access",
        authority.root(1)
    );
    // Without a token.
    for uri in [&nrf, &uecm] {
        let (status, header, problem) = authority.curl(&stranger, &[uri]);
        assert_eq!((status, &problem["status"]), (401, &json!(401)), "{uri}");
        assert!(header.starts_with("Bearer realm="), "{header}");
    }
    let (status, header, _) = authority.get(&stranger, &uecm, &json!("x.y.z"));
    assert_eq!(status, 401);
    assert!(header.contains("error=\"invalid_token\""), "{header}");
    // In the name of somebody else.
    assert_eq!(authority.register(&stranger, OTHER).0, 403);
    let (status, _, kept) = authority.register(&stranger, STRANGER);
    assert_eq!(
        (status, &kept["customInfo"]["oauth2"]),
        (201, &json!(true)),
        "{kept}"
    );
    assert_eq!(
        authority.ask_token(&stranger, OTHER, "UDM", "nudm-uecm").0,
        403
    );
    let (status, refused) = authority.ask_token(&stranger, STRANGER, "UDR", "nudr-dr");
    assert_eq!((status, &refused["error"]), (400, &json!("invalid_scope")));
    let token = |target: &str, scope: &str| {
        let (status, body) = authority.ask_token(&stranger, STRANGER, target, scope);
        assert_eq!(status, 200, "{body}");
        body["access_token"].clone()
    };
    let (right, other) = (token("UDM", "nudm-uecm"), token("UDM", "nudm-sdm"));
    let (status, header, _) = authority.get(&stranger, &uecm, &other);
    assert_eq!(status, 403);
    assert!(
        header.contains("error=\"insufficient_scope\", scope=\"nudm-uecm\""),
        "{header}"
    );
    assert_eq!(
        authority
            .get(&stranger, &uecm, &token("AUSF", "nausf-auth"))
            .0,
        401
    );
    // The token of somebody else.
    assert_eq!(authority.get(&thief, &uecm, &right).0, 403);
    let (status, _, body) = authority.get(&stranger, &uecm, &right);
    assert!(!matches!(status, 0 | 401 | 403), "{status} {body}");
    let (status, _, found) = authority.get(&stranger, &nrf, &token("NRF", "nnrf-nfm"));
    assert_eq!(status, 200, "{found}");
}

#[test]
fn a_certificate_that_names_too_few_and_a_key_that_others_read_are_refused_at_the_start() {
    let place = Place::new();
    let authority = Authority::new(&place);
    let wiring = "wiring: {transport: http2, programs: {functions: [nrf, ausf, udm, udr]}}\n";
    let refused = |files: &Files, expected: &[&str]| {
        let text = format!("{}{}{wiring}", place.config(), authority.section(files));
        let output = run(&place.file(&text), &[]);
        let told = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(3), "{told}");
        assert!(expected.iter().all(|part| told.contains(part)), "{told}");
    };
    let few = authority.issue("few", &identities()[..3]);
    refused(
        &few,
        &[
            "sbi.tls.certificate",
            "names 3 NF instances",
            "--instances 8",
        ],
    );
    refused(&authority.issue("none", &[]), &["names no NF instance"]);
    let files = authority.issue("core", &identities());
    let key = authority.path("token.key");
    fs::set_permissions(&key, Permissions::from_mode(0o640)).unwrap();
    refused(&files, &["sbi.tokens", "token.key", "mode 640"]);
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
fn a_program_that_is_alone_keeps_its_instance() {
    let place = Place::new();
    let contexts = place.folder.path().join("contexts");
    let text = format!(
        "{}sbi: {{listen: {}:7777, cleartext: true}}\ncontexts: {{folder: {}, on_disk: true}}\n\
         wiring: {{transport: http2, programs: {{functions: [nrf, nssf]}}}}\n",
        place.config(),
        place.ip(1),
        contexts.display(),
    );
    let file = place.file(&text);
    let path = contexts.join("nf-instance-nssf-0");
    let started = || {
        let mut command = program(&["nf", "nrf", "nssf", "--alone", "--config"]);
        let child = command.arg(&file).stderr(Stdio::null()).spawn().unwrap();
        let alone = Alone(child);
        let end = Instant::now() + LIMIT;
        while !path.exists() {
            assert!(Instant::now() < end, "the program keeps no identity");
            std::thread::sleep(Duration::from_millis(20));
        }
        drop(alone);
        fs::read_to_string(&path).unwrap()
    };
    let first = started();
    assert_eq!(first.trim().len(), 36, "{first}");
    assert_eq!(started(), first);
}
