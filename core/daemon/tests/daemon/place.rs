//! A core that runs in a place of its own, and an emulated gNB with UEs before it.

use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::SocketAddr;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::sync::atomic::{AtomicU8, Ordering};
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use sluice_core_runtime::Node;
use sluice_host::netns::Ns;
use sluice_ids::{Plmn, Snssai, Tac, Tai};
use sluice_n1::RegistrationKind;
use sluice_n2::{NgSetupRequest, PlmnSlices, RanUeId, SupportedArea};
use sluice_sctp::{
    AllowList, Association, Carrier, Config, Endpoint, Event, Loss, NGAP_PORT, NGAP_PPID, Peer,
    Prefix, Sctp as _,
};
use sluice_security::{K, Opc};
use sluice_subscribers::{Store, StoreKey};
use sluice_ue::{FromGnb, Gnb, Sim, Ue, UeState};
use tempfile::TempDir;

/// For whatever is waited for, on a busy machine too.
pub const LIMIT: Duration = Duration::from_secs(60);

pub const KEY: [u8; 16] = [0x46; 16];
pub const OPC: [u8; 16] = [0xe8; 16];

/// Addresses of one test: tests of one process run side by side.
pub struct Place {
    pub folder: TempDir,
    number: u8,
}

impl Place {
    /// # Panics
    /// Beyond 126 in a process: there are no addresses for more.
    pub fn new() -> Self {
        static PLACES: AtomicU8 = AtomicU8::new(0);
        let number = PLACES.fetch_add(1, Ordering::Relaxed);
        assert!(number < 126, "addresses for 126 places in a process");
        let folder = tempfile::tempdir().unwrap();
        Self { folder, number }
    }

    /// Of a host from 1 to 3.
    pub fn ip(&self, host: u8) -> String {
        // The process keeps runs of this test apart.
        let process = std::process::id();
        format!(
            "127.{}.{}.{}",
            1 + process / 256 % 125 + 125 * u32::from(self.number / 63),
            process % 256,
            4 * (self.number % 63) + host
        )
    }

    pub fn socket(&self) -> PathBuf {
        self.folder.path().join("core.sock")
    }

    pub fn config(&self) -> String {
        let hex = |octets: [u8; 16]| octets.map(|o| format!("{o:02x}")).concat();
        let subscriber = |imsi: &str, networks: &str| {
            format!(
                "  - {{imsi: '{imsi}', k: {}, opc: {}{networks}}}\n",
                hex(KEY),
                hex(OPC)
            )
        };
        format!(
            "plmns: {{plmn: 001-01, slices: 1}}\ntracking_areas: {{tac: 7}}\n\
             n2: {{listen: {core}, over: udp, gnbs: {gnb}}}\nn4: {{listen: {core}}}\n\
             upfs: {{n4: {upf}}}\ndata_networks: {{name: internet}}\n\
             control_socket: {socket}\nsubscribers:\n{one}{two}",
            core = self.ip(1),
            gnb = self.ip(2),
            upf = self.ip(3),
            socket = self.socket().display(),
            one = subscriber("001010000000001", ", networks: {name: internet}"),
            two = subscriber("001010000000002", ""),
        )
    }

    pub fn file(&self, text: &str) -> PathBuf {
        let path = self.folder.path().join("core.yaml");
        fs::write(&path, text).unwrap();
        // It has keys.
        fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).unwrap();
        path
    }
}

pub fn program(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_sluice-core"));
    command.args(arguments).env_remove("SLUICE_LOG");
    command
}

pub fn run(file: &Path, arguments: &[&str]) -> Output {
    let mut command = program(&["-c"]);
    command.arg(file).args(arguments).output().unwrap()
}

/// A core that runs.
pub struct Core {
    pub child: Child,
    pub socket: PathBuf,
}

impl Core {
    pub fn start(place: &Place) -> Self {
        Self::start_with(place, &place.config())
    }

    pub fn start_with(place: &Place, config: &str) -> Self {
        let file = place.file(config);
        let mut command = program(&["-c"]);
        let child = command.arg(file).stderr(Stdio::piped()).spawn().unwrap();
        let mut core = Self {
            child,
            socket: place.socket(),
        };
        let end = Instant::now() + LIMIT;
        while core.try_ask(json!({ "cmd": "status" })).is_none() {
            if let Some(status) = core.child.try_wait().unwrap() {
                let mut log = String::new();
                let mut stderr = core.child.stderr.take().unwrap();
                stderr.read_to_string(&mut log).unwrap();
                panic!("the core ends with {status}: {log}");
            }
            assert!(Instant::now() < end, "the core does not answer");
            std::thread::sleep(Duration::from_millis(20));
        }
        core
    }

    pub fn try_ask(&self, request: Value) -> Option<Value> {
        let mut stream = UnixStream::connect(&self.socket).ok()?;
        writeln!(stream, "{request}").ok()?;
        let mut line = String::new();
        BufReader::new(stream).read_line(&mut line).ok()?;
        serde_json::from_str(&line).ok()
    }

    pub fn ask(&self, cmd: &str) -> Value {
        self.try_ask(json!({ "cmd": cmd })).expect(cmd)
    }

    pub fn ask_of(&self, cmd: &str, imsi: &str) -> Value {
        self.try_ask(json!({ "cmd": cmd, "imsi": imsi }))
            .expect(cmd)
    }

    /// Ends it by SIGTERM; its exit code and its log.
    pub fn stop(mut self) -> (Option<i32>, String) {
        let pid = self.child.id().to_string();
        let killed = Command::new("kill").args(["-TERM", &pid]).status().unwrap();
        assert!(killed.success());
        let mut log = String::new();
        let mut lines = BufReader::new(self.child.stderr.take().unwrap());
        while lines.read_line(&mut log).unwrap() > 0 {}
        (self.child.wait().unwrap().code(), log)
    }
}

impl Drop for Core {
    /// A failed test leaves none behind; one that has ended is not killed again.
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

pub fn plmn() -> Plmn {
    Plmn::new("001", "01").unwrap()
}

/// SCTP over UDP at `own`. A program that another test starts in this moment has copies of this
/// process's sockets until its `exec`, so that the address of a closed one is taken that long.
fn carrier(own: SocketAddr) -> Carrier {
    let end = Instant::now() + LIMIT;
    loop {
        match Carrier::udp(&Ns::current().unwrap(), own) {
            Ok(carrier) => return carrier,
            Err(error) => assert!(Instant::now() < end, "{error:?}"),
        }
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// An emulated gNB with UEs.
pub struct Ran {
    pub node: Node,
    amf: Peer,
    tac: [u8; 3],
    pub association: Association,
    pub streams: u16,
    pub is_lost: bool,
    /// The other side has ended in order.
    pub is_shut_down: bool,
    pub gnb: Gnb,
    pub phones: Vec<(Ue, Option<RanUeId>)>,
}

impl Ran {
    pub fn connect(place: &Place, tac: [u8; 3], ues: Vec<Ue>) -> Self {
        let core: std::net::IpAddr = place.ip(1).parse().unwrap();
        let allowed = AllowList::new(vec![Prefix::new(core, 32).unwrap()]);
        // The port of SCTP, which gNBs choose.
        let port = 40_000 + u16::from(place.number);
        let endpoint = Endpoint::open(Config::new(port, allowed)).unwrap();
        let own = SocketAddr::new(place.ip(2).parse().unwrap(), 9899);
        let carrier = carrier(own);
        let mut node = Node::new(endpoint, carrier);
        let peer = Peer {
            address: core,
            udp_port: 9899,
        };
        let association = node.sctp.connect(peer, NGAP_PORT).unwrap();
        let mut ran = Self {
            node,
            amf: peer,
            tac,
            association,
            streams: 0,
            is_lost: false,
            is_shut_down: false,
            gnb: gnb(Tac(tac)),
            phones: ues.into_iter().map(|ue| (ue, None)).collect(),
        };
        ran.wait("the association", |ran| ran.streams > 0);
        ran.set_up();
        ran
    }

    fn set_up(&mut self) {
        let request = self.gnb.setup();
        self.send(0, &request);
        self.wait("NG Setup", |ran| {
            ran.gnb.response().is_some() || ran.gnb.refused().is_some()
        });
    }

    /// The AMF was lost, and is there again: no UE is connected.
    pub fn connect_again(&mut self) {
        let end = Instant::now() + LIMIT;
        self.streams = 0;
        while self.streams == 0 {
            assert!(Instant::now() < end, "the AMF does not come back");
            self.is_lost = false;
            self.association = self.node.sctp.connect(self.amf, NGAP_PORT).unwrap();
            self.wait("an outcome", |ran| ran.streams > 0 || ran.is_lost);
        }
        self.gnb = gnb(Tac(self.tac));
        self.phones.iter_mut().for_each(|(_, at)| *at = None);
        self.set_up();
    }

    pub fn wait(&mut self, what: &str, holds: impl Fn(&Self) -> bool) {
        let end = Instant::now() + LIMIT;
        while !holds(self) {
            assert!(Instant::now() < end, "{what} did not happen");
            self.turn();
        }
    }

    pub fn turn(&mut self) {
        for event in self.node.turn(Duration::from_millis(10)).unwrap() {
            match event {
                Event::Up { streams, .. } => self.streams = streams,
                Event::Message { stream, octets, .. } => self.receive(stream, &octets),
                Event::Lost { why, .. } => {
                    self.is_lost = true;
                    self.is_shut_down = why == Loss::Ended;
                }
            }
        }
    }

    pub fn receive(&mut self, stream: u16, octets: &[u8]) {
        let mut answers = Vec::new();
        for done in self.gnb.receive(octets) {
            match done {
                FromGnb::ToAmf(octets) => answers.push(octets),
                FromGnb::ToUe(ran, nas) => {
                    let phone = self.phones.iter_mut().find(|(_, at)| *at == Some(ran));
                    let said = phone.map(|(ue, _)| ue.receive(&nas));
                    for nas in said.unwrap_or_default() {
                        answers.extend(self.gnb.uplink(ran, nas));
                    }
                }
                FromGnb::Released(ran) => {
                    for (_, at) in &mut self.phones {
                        *at = at.filter(|at| *at != ran);
                    }
                }
            }
        }
        for octets in answers {
            self.send(stream.min(self.streams - 1), &octets);
        }
    }

    pub fn send(&mut self, stream: u16, octets: &[u8]) {
        let sent = self
            .node
            .sctp
            .send(self.association, stream, NGAP_PPID, octets);
        sent.unwrap();
        self.node.flush();
    }

    /// The UE comes, and wants to register.
    pub fn come(&mut self, phone: usize) {
        if self.is_lost {
            self.connect_again();
        }
        let nas = self.phones[phone].0.register(RegistrationKind::Initial);
        let (ran, octets) = self.gnb.connect(nas, None);
        self.phones[phone].1 = Some(ran);
        self.send(1, &octets);
    }

    /// Until the UE is idle again, registered or not; with `follow_on` until it is registered.
    pub fn register(&mut self, phone: usize) {
        let is_followed = self.phones[phone].0.follow_on;
        self.come(phone);
        self.wait("a registration", |ran| {
            let (ue, at) = &ran.phones[phone];
            at.is_none() || ran.is_lost || (is_followed && ue.state() == UeState::Registered)
        });
    }
}

pub fn gnb(tac: Tac) -> Gnb {
    let plmns = vec![PlmnSlices {
        plmn: plmn(),
        slices: vec![Snssai::new(1, None)],
    }];
    let setup = NgSetupRequest {
        gnb: sluice_n2::Gnb {
            plmn: plmn(),
            id: 5,
            bits: 24,
        },
        name: Some("gnb-5".to_owned()),
        areas: vec![SupportedArea { tac, plmns }],
        retains_ues: false,
    };
    Gnb::new(setup, Tai { plmn: plmn(), tac })
}

pub fn ue(msin: &str, k: [u8; 16]) -> Ue {
    let sim = Sim::new(plmn(), msin, &K::new(k), &Opc::new(OPC));
    Ue::new(sim, plmn()).unwrap()
}

/// A database with one subscriber and its key file, and a configuration with it.
pub fn with_database(place: &Place) -> String {
    let at = |name: &str| place.folder.path().join(name);
    let key = StoreKey::create(&at("db.key")).unwrap();
    let mut store = Store::create(&at("db"), &key).unwrap();
    let hex = |octets: [u8; 16]| octets.map(|o| format!("{o:02x}")).concat();
    let subscriber = json!({ "imsi": "001010000000003", "k": hex(KEY), "opc": hex(OPC) });
    let draft = sluice_subscribers::json::draft_of(subscriber).unwrap();
    store.add(&draft, 1_790_000_000).unwrap();
    let config = place.config();
    let (rest, _) = config.split_once("subscribers:").unwrap();
    format!(
        "{rest}subscriber_database: {{file: {}}}\n",
        at("db").display()
    )
}
