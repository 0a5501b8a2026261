//! The core of the demo: `sluice core` in its namespace, its control socket and its charging records.

use std::path::{Path, PathBuf};
use std::time::Duration;

use serde_json::{Value, json};
use sluice_core_runtime::system;
use sluice_host::netns::Ns;
use sluice_ids::Supi;
use sluice_program::ask::{ask, ask_for};
use sluice_security::suci::HomePublicKey;

use crate::child::{self, Daemon, Stop};
use crate::error::DemoError;
use crate::plan;
use crate::workdir::WorkDir;

const START_LIMIT: Duration = Duration::from_secs(20);
const HTTP_LIMIT: Duration = Duration::from_secs(30);
/// More than iperf3 comes to: what a limit drops the UE's device has counted, and nobody is charged for.
const AMBR: &str = "100G";

/// A subscriber as both ends know it.
#[derive(Clone, Debug)]
pub(super) struct Account {
    pub(super) supi: Supi,
    k: [u8; 16],
    opc: [u8; 16],
    pub(super) is_concealed: bool,
}

impl Account {
    pub(super) fn new(supi: Supi, is_concealed: bool) -> Self {
        let (mut k, mut opc) = ([0; 16], [0; 16]);
        system::random(&mut k);
        system::random(&mut opc);
        Self {
            supi,
            k,
            opc,
            is_concealed,
        }
    }

    /// For a scenario of gNBs and UEs.
    pub(super) fn sim(&self, public: &HomePublicKey) -> String {
        let home_key = match self.is_concealed {
            true => format!(
                ", home_key: {{id: {}, public: {}}}",
                plan::HOME_KEY_ID,
                hex(&public.octets())
            ),
            false => String::new(),
        };
        format!(
            "imsi: '{}', sim: {{k: {}, opc: {}{home_key}, sessions: {{id: {}, type: ipv4v6}}}}",
            self.supi.imsi(),
            hex(&self.k),
            hex(&self.opc),
            super::SESSION
        )
    }
}

/// How the core stands.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Status {
    pub(super) registered: u64,
    pub(super) connected: u64,
    pub(super) sessions: u64,
    pub(super) associations: u64,
    pub(super) procedures: u64,
    /// UPFs whose PFCP association is up.
    pub(super) upfs: usize,
    /// NGAP messages of the gNB, and to it.
    pub(super) received: u64,
    pub(super) sent: u64,
}

/// Final charging record of a session.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Charged {
    pub(super) uplink_octets: u64,
    pub(super) downlink_octets: u64,
}

/// The running core; it ends with the value.
#[derive(Debug)]
pub(super) struct Core {
    ns: Ns,
    pub(super) daemon: Daemon,
    pub(super) socket: PathBuf,
    records: PathBuf,
}

impl Core {
    /// Starts it in `ns`; when it returns, the core answers on its control socket.
    pub(super) fn start(
        ns: &Ns,
        work: &WorkDir,
        accounts: &[Account],
        home_key: [u8; 32],
        (wiring, stop): (&str, &Stop),
    ) -> Result<Self, DemoError> {
        let (socket, records) = (work.join("core.ctl"), work.join("charging.jsonl"));
        let key = work.write("home-key", hex(&home_key).as_bytes())?;
        let text = config(&socket, &records, &key, accounts, wiring);
        let config = work.write("core.yaml", text.as_bytes())?;
        for secret in [&key, &config] {
            for_owner_alone(secret)?;
        }
        let program = sluice_program::tool::beside("sluice-core");
        let program = program.map_err(DemoError::io("find this program"))?;
        let mut command = ns.command(&program.to_string_lossy());
        command.arg("-c").arg(config);
        let daemon = Daemon::start("the core", command, work.join("core.log"))?;
        let mut this = Self {
            ns: ns.clone(),
            daemon,
            socket,
            records,
        };
        stop.wait_until("the core answers", START_LIMIT, || {
            this.daemon.check_alive()?;
            Ok(this.status().is_ok())
        })?;
        Ok(this)
    }

    pub(super) fn status(&self) -> Result<Status, DemoError> {
        let status = ask_for(&self.socket, "status")?;
        let counters = ask_for(&self.socket, "counters")?;
        let number = |of: &Value, key: &str| of[key].as_u64().unwrap_or_default();
        let upfs = status["upfs"].as_array().map_or(&[][..], Vec::as_slice);
        let is_up = |upf: &&Value| upf["associated"] == true;
        Ok(Status {
            registered: number(&status, "ues_registered"),
            connected: number(&status, "ues_connected"),
            sessions: number(&status, "sessions"),
            associations: number(&status, "associations"),
            procedures: number(&status, "procedures"),
            upfs: upfs.iter().filter(is_up).count(),
            received: number(&counters["n2"], "received"),
            sent: number(&counters["n2"], "sent"),
        })
    }

    pub(super) fn refusals(&self) -> Result<Vec<String>, DemoError> {
        let answer = ask_for(&self.socket, "refusals")?;
        let rows = answer["refusals"].as_array().map_or(&[][..], Vec::as_slice);
        Ok(rows.iter().map(ToString::to_string).collect())
    }

    /// Call flow of a UE.
    pub(super) fn flow(&self, supi: &Supi) -> Result<Vec<String>, DemoError> {
        let request = json!({ "cmd": "flow", "imsi": supi.imsi() });
        let answer = ask(&self.socket, &request)?;
        let lines = answer["lines"].as_array().map_or(&[][..], Vec::as_slice);
        let text = |line: &Value| {
            let [step, from, to, what] =
                ["step", "from", "to", "what"].map(|key| line[key].as_str().unwrap_or_default());
            format!("{step:<5} {from:<4} -> {to:<4}  {what}")
        };
        Ok(lines.iter().map(text).collect())
    }

    /// Has the core do something for an application or an operator, by its HTTP API; gives the status.
    pub(super) fn http(
        &self,
        method: &str,
        path: &str,
        body: Option<&Value>,
        stop: &Stop,
    ) -> Result<u16, DemoError> {
        let mut command = self.ns.command("curl");
        command.args(["-q", "-sS", "--noproxy", "*", "-o", "/dev/null"]);
        command.args(["-w", "%{http_code}", "-X", method]);
        if let Some(body) = body {
            command.args(["-H", "Content-Type: application/json"]);
            command.args(["--data-binary", &body.to_string()]);
        }
        command.arg(format!("http://{}{path}", plan::CORE_API));
        let said = child::run(&mut command, HTTP_LIMIT, stop)?.success()?;
        let status = said.trim().parse();
        status.map_err(|_| DemoError::answer("the core's HTTP API", said))
    }

    /// Deregisters a UE for the operator.
    pub(super) fn deregister(&self, supi: &Supi) -> Result<(), DemoError> {
        let imsi = supi.imsi();
        let request = json!({ "cmd": "deregister", "imsi": imsi, "registers_again": false });
        ask(&self.socket, &request)?;
        Ok(())
    }

    /// Final charging record of a subscriber's session; none before its end.
    pub(super) fn charged(&self, supi: &Supi) -> Option<Charged> {
        let text = std::fs::read_to_string(&self.records).ok()?;
        let records = text
            .lines()
            .filter_map(|line| serde_json::from_str::<Value>(line).ok());
        let is_it = |record: &Value| record["imsi"] == supi.imsi() && record["is_last"] == true;
        let last = records.rev().find(is_it)?;
        Some(Charged {
            uplink_octets: last["uplink_octets"].as_u64()?,
            downlink_octets: last["downlink_octets"].as_u64()?,
        })
    }
}

fn for_owner_alone(path: &Path) -> Result<(), DemoError> {
    use std::os::unix::fs::PermissionsExt;
    let mode = std::fs::Permissions::from_mode(0o600);
    let changed = std::fs::set_permissions(path, mode);
    changed.map_err(DemoError::io(format!(
        "change the mode of {}",
        path.display()
    )))
}

fn hex(octets: &[u8]) -> String {
    octets.iter().map(|octet| format!("{octet:02x}")).collect()
}

/// The file's text.
fn config(socket: &Path, records: &Path, key: &Path, accounts: &[Account], wiring: &str) -> String {
    let sbi = match wiring {
        // Nobody else is in the namespace.
        "http2" => "sbi: {listen: 127.0.0.1:7777, cleartext: true}\n",
        _ => "",
    };
    let plmn = plan::plmn();
    let subscriber = |account: &Account| {
        format!(
            "  - {{imsi: '{}', k: {}, opc: {}, ambr_down_bps: {AMBR}, ambr_up_bps: {AMBR}, \
             networks: {{name: {}}}}}\n",
            account.supi.imsi(),
            hex(&account.k),
            hex(&account.opc),
            plan::DNN
        )
    };
    let subscribers: String = accounts.iter().map(subscriber).collect();
    format!(
        "# Written by `sluice demo`.\n\
         control_socket: {socket}\n\
         wiring: {{transport: {wiring}}}\n{sbi}\
         plmns: {{plmn: {plmn}, slices: {SST}}}\n\
         tracking_areas: {{tac: 1}}\n\
         home_network_keys: {{id: {HOME_KEY_ID}, profile: a, file: {key}}}\n\
         network_name: {{full: Sluice}}\n\
         api: {{listen: '{CORE_API}'}}\n\
         n2: {{listen: {N2_AMF}, gnbs: [{gnbs}]}}\n\
         n4: {{listen: {N4_SMF}}}\n\
         upfs: {{n4: {N4_UPF}, access_instance: {NETWORK_ACCESS}}}\n\
         data_networks:\n\
         \x20 - name: {DNN}\n    network_instance: {NETWORK_CORE}\n    mtu: {UE_MTU}\n\
         \x20   charging_octets: 10000000\n\
         charging_records: {records}\n\
         subscribers:\n{subscribers}",
        socket = socket.display(),
        key = key.display(),
        records = records.display(),
        SST = plan::SST,
        HOME_KEY_ID = plan::HOME_KEY_ID,
        N2_AMF = plan::N2_AMF,
        CORE_API = plan::CORE_API,
        gnbs = plan::N2_GNBS.map(|gnb| gnb.to_string()).join(", "),
        N4_SMF = plan::N4_SMF,
        N4_UPF = plan::N4_UPF,
        NETWORK_ACCESS = plan::NETWORK_ACCESS,
        NETWORK_CORE = plan::NETWORK_CORE,
        DNN = plan::DNN,
        UE_MTU = plan::UE_MTU,
    )
}
