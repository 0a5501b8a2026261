//! What a configuration needs of this machine: rights, interfaces, drivers, PCI devices, huge pages and
//! addresses, looked at without taking any of them.

use std::net::{SocketAddr, TcpListener, UdpSocket};
use std::path::{Path, PathBuf};
use std::{fs, io};

use crate::config::{HugePages, Port, Problem, UpfConfig};
use sluice_host::claim::InterfaceClaim;
use sluice_host::env_check;
use sluice_host::link::Link;
use sluice_host::netns::Ns;
use sluice_port_dpdk::{Eal, EalConfig, Memory, free_huge_mib};

/// Kernel drivers beside which DPDK's own works; devices of all others must be handed over.
const DRIVERS_FOR_DPDK: [&str; 6] = [
    "vfio-pci",
    "uio_pci_generic",
    "igb_uio",
    "mlx4_core",
    "mlx5_core",
    "mana",
];
/// What a look at drivers alone takes, in MiB.
const LOOK_MIB: u32 = 32;

/// What was found.
#[derive(Debug, Default)]
pub(crate) struct Findings {
    /// The UPF will not start for these.
    pub(crate) problems: Vec<Problem>,
    /// What another program has now: the UPF that is to be replaced, perhaps.
    pub(crate) warnings: Vec<Problem>,
}

impl Findings {
    fn problem(&mut self, line: u32, key: &str, what: String, expected: &str) {
        self.problems.push(problem(line, key, what, expected));
    }

    fn warning(&mut self, line: u32, key: &str, what: String, expected: &str) {
        self.warnings.push(problem(line, key, what, expected));
    }
}

/// All that this machine lacks. Starts DPDK, so a process can ask once.
pub(crate) fn of_machine(config: &UpfConfig) -> Findings {
    let mut found = Findings::default();
    memory(config, &mut found);
    let eal = EalConfig {
        memory: Memory::NormalPages { mib: LOOK_MIB },
        pci_devices: Vec::new(),
        ..config.eal()
    };
    let eal = Eal::init(&eal);
    if let Err(error) = &eal {
        found.problem(0, "dpdk", error.to_string(), "a DPDK that starts");
    }
    for (i, port) in config.ports.iter().enumerate() {
        let key = format!("ports[{i}].device");
        found.problems.extend(rights_to(port, &key));
        device(port, &key, eal.as_ref().ok(), &mut found);
        xdp_memory(config, port, &key, &mut found);
    }
    addresses(config, &mut found);
    control_socket(&config.control_socket, &mut found);
    found
}

/// Whether the process may open the devices of all ports.
///
/// # Errors
/// The first that it may not.
pub(crate) fn rights(config: &UpfConfig) -> Result<(), Problem> {
    let ports = config.ports.iter().enumerate();
    let mut lacking = ports.filter_map(|(i, port)| rights_to(port, &format!("ports[{i}].device")));
    lacking.next().map_or(Ok(()), Err)
}

fn rights_to(port: &Port, key: &str) -> Option<Problem> {
    let missing = env_check::missing(&[port.needs()?]);
    let why = missing.first()?.to_string();
    Some(problem(
        port.device.line,
        key,
        why,
        "rights to open the device",
    ))
}

fn memory(config: &UpfConfig, found: &mut Findings) {
    if let Err(error) = config.eal().memory.is_there() {
        let line = config.dpdk.memory_mb.line;
        let expected = "huge pages that are free, or dpdk.huge_pages: auto";
        found.problem(line, "dpdk.huge_pages", error.to_string(), expected);
    }
}

/// XDP sockets share packet buffers with the kernel, which DPDK can do with huge pages only.
fn xdp_memory(config: &UpfConfig, port: &Port, key: &str, found: &mut Findings) {
    let (wanted, free) = (config.dpdk.memory_mb.value, free_huge_mib());
    let has_huge = config.dpdk.huge_pages != HugePages::Never && wanted <= free;
    if port.device_name().starts_with("net_af_xdp") && !has_huge {
        let what = format!(
            "XDP sockets need {wanted} MiB of huge pages (dpdk.memory_mb), {free} are free"
        );
        let expected = "huge pages: `sysctl vm.nr_hugepages=...`, and not dpdk.huge_pages: never";
        found.problem(port.device.line, key, what, expected);
    }
}

fn device(port: &Port, key: &str, eal: Option<&Eal>, found: &mut Findings) {
    let line = port.device.line;
    if port.is_pci() {
        pci(port.device_name(), line, key, found);
    } else if eal.is_some_and(|eal| !eal.has_driver_for(&port.device.value)) {
        let what = format!("DPDK has no driver for {}", port.device_name());
        let expected = "a device of a driver that is installed, such as net_af_packet0";
        found.problem(line, key, what, expected);
    }
    if let Some(name) = port.kernel_interface() {
        interface(name, line, key, found);
    }
    if let Some(socket) = memif_server(&port.device.value)
        && !listens(&socket)
    {
        let what = format!("no memif server has made the socket {socket} yet");
        let expected = "a server that is there when packets are to flow: the port waits for it";
        found.warning(line, key, what, expected);
    }
}

/// The socket of the server that a memif client connects to; DPDK's default where none is named.
fn memif_server(device: &str) -> Option<String> {
    let mut arguments = device.split(',');
    let is_memif = arguments.next()?.starts_with("net_memif");
    let arguments: Vec<_> = arguments.collect();
    let is_server = arguments
        .iter()
        .any(|a| matches!(*a, "role=server" | "role=master"));
    let socket = arguments.iter().find_map(|a| a.strip_prefix("socket="));
    (is_memif && !is_server).then(|| socket.unwrap_or("/run/memif.sock").to_owned())
}

/// Whether somebody listens on a local socket: a file, or a name in the abstract namespace, which is DPDK's
/// default.
fn listens(socket: &str) -> bool {
    let sockets = fs::read_to_string("/proc/net/unix").unwrap_or_default();
    let mut names = sockets
        .lines()
        .filter_map(|line| line.split_whitespace().nth(7));
    names.any(|name| name.trim_matches('@') == socket)
}

/// Whether a PCI class, as sysfs tells it ("0x020000"), is a network controller's.
fn is_network(class: &str) -> bool {
    class.trim().starts_with("0x02")
}

fn interface(name: &str, line: u32, key: &str, found: &mut Findings) {
    match Ns::current().and_then(|ns| Link::new(&ns, name)?.exists()) {
        Ok(true) => {
            // Given back at once.
            if let Err(taken) = InterfaceClaim::take(name) {
                let expected = "an interface that is free when the UPF starts";
                found.warning(line, key, taken.to_string(), expected);
            }
        }
        Ok(false) => {
            let what = format!("this machine has no network interface '{name}'");
            found.problem(line, key, what, "one that `ip link` shows");
        }
        Err(error) => {
            let expected = "an interface that can be looked at";
            found.problem(line, key, error.to_string(), expected);
        }
    }
}

fn pci(address: &str, line: u32, key: &str, found: &mut Findings) {
    let full = match address.matches(':').count() {
        1 => format!("0000:{address}"),
        _ => address.to_owned(),
    };
    let device = Path::new("/sys/bus/pci/devices").join(full);
    if !device.exists() {
        let what = format!("this machine has no PCI device {address}");
        return found.problem(line, key, what, "one that `lspci -D` shows");
    }
    let class = fs::read_to_string(device.join("class")).unwrap_or_default();
    if !class.is_empty() && !is_network(&class) {
        let what = format!("{address} is no network card (PCI class {})", class.trim());
        return found.problem(line, key, what, "an Ethernet controller of `lspci -D`");
    }
    let driver = fs::read_link(device.join("driver")).ok();
    let driver = driver.as_deref().and_then(Path::file_name);
    match driver.map(|name| name.to_string_lossy()) {
        None => {
            let what = format!("no kernel driver has {address}, so nothing can be mapped");
            found.problem(
                line,
                key,
                what,
                "vfio-pci: `dpdk-devbind.py -b vfio-pci ...`",
            );
        }
        Some(name) if !DRIVERS_FOR_DPDK.contains(&&*name) => {
            let what = format!("{address} belongs to the kernel's driver {name}");
            let expected = "vfio-pci, or a driver that shares the device with DPDK";
            found.warning(line, key, what, expected);
        }
        Some(_) => {}
    }
}

/// Addresses that the UPF will listen on by the kernel's sockets.
fn addresses(config: &UpfConfig, found: &mut Findings) {
    for (i, at) in config.n4.listen.iter().enumerate() {
        let outcome = UdpSocket::bind(at.value).map(drop);
        listen(
            outcome,
            at.value,
            at.line,
            &format!("n4.listen[{i}]"),
            found,
        );
    }
    if let Some(at) = config.metrics.listen.filter(|_| config.metrics.is_given) {
        let outcome = TcpListener::bind(at).map(drop);
        listen(outcome, at, config.metrics.line, "metrics.listen", found);
    }
}

fn listen(outcome: io::Result<()>, at: SocketAddr, line: u32, key: &str, found: &mut Findings) {
    let Err(error) = outcome else { return };
    if error.kind() == io::ErrorKind::AddrInUse {
        let what = format!("another program listens on {at} now");
        found.warning(line, key, what, "a port that is free when the UPF starts");
    } else {
        let what = format!("{at} cannot be listened on: {error}");
        found.problem(line, key, what, "an address of this machine");
    }
}

/// The folder must be there, or there must be one in which it can be made.
fn control_socket(path: &Path, found: &mut Findings) {
    let Some(folder) = existing_folder(path) else {
        return;
    };
    if let Err(error) = env_check::is_writable(&folder) {
        let what = format!("{} cannot be written to: {error}", folder.display());
        found.problem(
            0,
            "control_socket",
            what,
            "a path in a folder that the UPF may write to",
        );
    }
}

fn existing_folder(path: &Path) -> Option<PathBuf> {
    let folders = path
        .ancestors()
        .skip(1)
        .map(|folder| match folder.as_os_str().is_empty() {
            true => Path::new("."),
            false => folder,
        });
    let mut there = folders.filter(|folder| folder.exists());
    there.next().map(Path::to_owned)
}

fn problem(line: u32, key: &str, what: String, expected: &str) -> Problem {
    Problem {
        line,
        key: key.to_owned(),
        what,
        expected: expected.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::net::UnixListener;

    #[test]
    fn a_memif_client_needs_its_server_and_a_server_nobody() {
        let of = |arguments: &str| memif_server(&format!("net_memif0{arguments}"));
        assert_eq!(of(",role=client,socket=/run/x"), Some("/run/x".to_owned()));
        assert_eq!(of(""), Some("/run/memif.sock".to_owned()));
        assert_eq!(of(",role=server,socket=/run/x"), None);
        assert_eq!(memif_server("net_null0"), None);
    }

    #[test]
    fn a_socket_counts_when_somebody_listens_on_it() {
        let socket = std::env::temp_dir().join(format!("sluice-memif-{}", std::process::id()));
        let name = socket.to_str().expect("UTF-8");
        assert!(!listens(name));
        let listener = UnixListener::bind(&socket).expect("a socket");
        assert!(listens(name));
        drop(listener);
        fs::remove_file(&socket).expect("it was there");
    }

    #[test]
    fn only_network_controllers_are_ports() {
        assert!(is_network("0x020000\n") && is_network("0x028000"));
        assert!(!is_network("0x030000\n") && !is_network("0x060200"));
    }
}
