//! Functions of another core in the place of this one's, reached directly and by an SCP.

use std::process::{Child, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use sluice_host::poll::wait_readable;
use sluice_n1::RegistrationKind;
use sluice_sbi_http2::{Config, Event, Http, Limits};
use sluice_services::Response;
use sluice_ue::UeState;

use super::curl;
use crate::place::{Core, KEY, LIMIT, Place, Ran, program, ue};

/// The other core: functions in a program without a core.
struct Others {
    child: Child,
    _place: Place,
    root: String,
}

impl Others {
    fn start() -> Self {
        let place = Place::new();
        let address = format!("{}:7790", place.ip(1));
        let services = format!("sbi: {{listen: {}:7777, cleartext: true}}\n", place.ip(1));
        let programs = format!("{{functions: [nrf, ausf, udm, udr], sbi: '{address}'}}");
        let wiring = format!("wiring: {{transport: http2, programs: {programs}}}\n");
        let file = place.file(&format!("{}{services}{wiring}", place.config()));
        let mut command = program(&["nf", "nrf", "ausf", "udm", "udr", "--alone", "--config"]);
        let child = command.arg(&file).stderr(Stdio::null()).spawn().unwrap();
        Self {
            child,
            _place: place,
            root: format!("http://{address}"),
        }
    }
}

impl Drop for Others {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A core without those functions.
fn start(place: &Place, others: &Others, more: &str) -> Core {
    start_as(place, others, more, "")
}

/// The same with further keys.
fn start_as(place: &Place, others: &Others, more: &str, keys: &str) -> Core {
    let config = place.config();
    let (without_subscribers, _) = config.split_once("subscribers:").unwrap();
    let wiring = "wiring: {transport: http2, programs: [], others: [nrf, ausf, udm, udr]}\n";
    let services = format!(
        "sbi: {{listen: {}:7777, cleartext: true, nrf: '{}'{more}}}\n",
        place.ip(1),
        others.root
    );
    Core::start_with(
        place,
        &format!("{without_subscribers}{wiring}{services}{keys}"),
    )
}

/// UEs that are registered at a core.
fn registered(core: &Core) -> u64 {
    let status = core.ask("status");
    let number = status["ues_registered"].as_u64();
    number.unwrap_or_else(|| panic!("{status}"))
}

/// TS 23.502, 4.2.2.2.2: its AMF finds the one of before at the NRF, by the GUAMI in the 5G-GUTI.
#[test]
fn a_ue_brings_its_context_from_one_core_to_another() {
    let (first, second, others) = (Place::new(), Place::new(), Others::start());
    let old = start(&first, &others, "");
    let new = start_as(&second, &others, "", "amf: {pointer: 2}\n");
    let mut ran = Ran::connect(&first, [0, 0, 7], vec![ue("0000000001", KEY)]);
    ran.register(0);
    let flow = old.ask_of("flow", "001010000000001");
    assert_eq!(ran.phones[0].0.state(), UeState::Registered, "{flow}");
    let mut phone = ran.phones.remove(0).0;
    phone.follow_on = true;
    let before = phone.received().len();
    let name = phone.guti().expect("a name");
    let mut ran = Ran::connect(&second, [0, 0, 7], vec![phone]);
    let nas = ran.phones[0].0.register(RegistrationKind::Mobility);
    let (at, octets) = ran.gnb.connect(nas, Some(name.s_tmsi()));
    ran.phones[0].1 = Some(at);
    ran.send(1, &octets);
    ran.wait("the registration", |ran| {
        ran.phones[0].0.state() == UeState::Registered || ran.phones[0].1.is_none()
    });
    let flow = new.ask_of("flow", "001010000000001");
    let received = &ran.phones[0].0.received()[before..];
    let told = format!("{received:?} {}\n{flow}", new.ask("refusals"));
    assert_eq!(ran.phones[0].0.state(), UeState::Registered, "{told}");
    for question in ["Identity Request", "Authentication Request"] {
        assert!(!received.contains(&question), "{told}");
    }
    assert_ne!(
        ran.phones[0].0.guti().map(|one| one.guami),
        Some(name.guami)
    );
    // The old one has it no more, and UDM says where it is.
    let end = Instant::now() + LIMIT;
    while registered(&old) > 0 {
        assert!(Instant::now() < end, "{}", old.ask("flow"));
        std::thread::sleep(Duration::from_millis(20));
    }
    assert_eq!(registered(&new), 1);
    let ue = "nudm-uecm/v1/imsi-001010000000001/registrations/amf-3gpp-access";
    let (status, registration) = curl(&[&format!("{}/{ue}", others.root)]);
    assert_eq!(status, 200, "{registration}");
    assert_eq!(registration["guami"]["amfId"], "010042");
    for core in [old, new] {
        assert_eq!(core.ask("counters")["sbi"]["protocol_errors"], 0);
        assert_eq!(core.stop().0, Some(0));
    }
}

fn register_and_deregister(core: &Core, place: &Place) {
    let mut stays = ue("0000000001", KEY);
    stays.follow_on = true;
    let mut ran = Ran::connect(place, [0, 0, 7], vec![stays]);
    ran.register(0);
    let flow = core.ask_of("flow", "001010000000001");
    assert_eq!(ran.phones[0].0.state(), UeState::Registered, "{flow}");
    core.ask_of("deregister", "001010000000001");
    ran.wait("the deregistration", |ran| ran.phones[0].1.is_none());
}

#[test]
fn functions_of_another_core_register_a_ue() {
    let (place, others) = (Place::new(), Others::start());
    let core = start(&place, &others, "");
    register_and_deregister(&core, &place);
    let counters = core.ask("counters");
    assert_eq!(counters["sbi"]["protocol_errors"], 0, "{counters}");
    assert_eq!(core.stop().0, Some(0));
}

/// An SCP: requests go on to the API root that they name, or to the other core where they ask for a discovery.
struct Scp {
    ends: Arc<AtomicBool>,
    /// Requests that named their receiver, and that left it to the SCP.
    named: Arc<AtomicU64>,
    discovered: Arc<AtomicU64>,
    thread: Option<JoinHandle<()>>,
}

impl Scp {
    fn start(address: &str, others: &str) -> Self {
        let mut http = Http::start(Config {
            listen: address.parse().unwrap(),
            agent: "SCP".to_owned(),
            limits: Limits::default(),
            tls: None,
        })
        .unwrap();
        let mut scp = Self {
            ends: Arc::default(),
            named: Arc::default(),
            discovered: Arc::default(),
            thread: None,
        };
        let others = others.to_owned();
        let (ends, named, discovered) = (
            Arc::clone(&scp.ends),
            Arc::clone(&scp.named),
            Arc::clone(&scp.discovered),
        );
        scp.thread = Some(std::thread::spawn(move || {
            while !ends.load(Ordering::Relaxed) {
                while let Some(event) = http.next() {
                    relay(&mut http, event, &others, [&named, &discovered]);
                }
                if http.may_sleep() {
                    let _ = wait_readable(&http, Duration::from_millis(100));
                }
            }
        }));
        scp
    }
}

impl Drop for Scp {
    fn drop(&mut self) {
        self.ends.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

fn relay(http: &mut Http, event: Event, others: &str, [named, discovered]: [&AtomicU64; 2]) {
    match event {
        Event::Request {
            exchange,
            mut request,
            until,
            ..
        } => {
            let target = request.headers_mut().remove("3gpp-sbi-target-apiroot");
            let target = target.map(|root| root.to_str().unwrap().to_owned());
            let discovery = request
                .headers_mut()
                .remove("3gpp-sbi-discovery-target-nf-type");
            let root = match (target, discovery) {
                (Some(root), _) => {
                    named.fetch_add(1, Ordering::Relaxed);
                    root
                }
                (None, Some(_)) => {
                    discovered.fetch_add(1, Ordering::Relaxed);
                    others.to_owned()
                }
                // A look whether the SCP is there.
                (None, None) => return http.answer(exchange, Response::default()),
            };
            let until = until.unwrap_or_else(|| Instant::now() + Duration::from_secs(5));
            http.call(exchange, &root, request, until);
        }
        Event::Response { id, response } => http.answer(id, response),
        Event::Failed { id, .. } => {
            let mut response = Response::default();
            *response.status_mut() = http::StatusCode::GATEWAY_TIMEOUT;
            http.answer(id, response);
        }
        Event::Abandoned { .. } => {}
    }
}

#[test]
fn requests_go_through_an_scp_that_is_told_their_receiver_or_finds_it() {
    let others = Others::start();
    for discovers in [false, true] {
        let place = Place::new();
        let address = format!("{}:7777", place.ip(3));
        let scp = Scp::start(&address, &others.root);
        let more = format!(", scp: 'http://{address}', scp_discovers: {discovers}");
        let core = start(&place, &others, &more);
        register_and_deregister(&core, &place);
        let (named, found) = (&scp.named, &scp.discovered);
        let (named, found) = (named.load(Ordering::Relaxed), found.load(Ordering::Relaxed));
        assert!(
            if discovers {
                found > 3
            } else {
                named > 3 && found == 0
            },
            "{named} {found}"
        );
        assert_eq!(core.stop().0, Some(0));
    }
}
