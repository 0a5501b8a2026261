//! What a configuration needs of the machine: addresses, rights, key files.

use crate::api::access::{Access, TOKEN_MAX, TOKEN_MIN};
use crate::config::kinds::octets;
use crate::config::{Charging, ContextsSection, CoreConfig, Database, HomeKeyFile, Over, Profile};
use crate::parts::contexts;
use crate::parts::store;
use sluice_host::HostError;
use sluice_host::netns::Ns;
use sluice_host::thread;
use sluice_program::config::fields::At;
use sluice_program::config::problem::Problem;
use sluice_program::exit::Exit;
use sluice_program::tool::beside;
use sluice_sctp::{Carrier, OpeningError};
use sluice_security::suci::HomeKey;
use sluice_web::{Door, UsersError, UsersFile};
use std::collections::BTreeMap;
use std::error::Error;
use std::fs::{File, OpenOptions};
use std::io::{self, ErrorKind, Read};
use std::net::{IpAddr, SocketAddr, TcpListener, UdpSocket};
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use zeroize::Zeroizing;

/// Program of functions, which lies beside the one that runs.
pub(crate) const PROGRAM: &str = "sluice-core";
/// Longer than any key file; what is longer is none.
const KEY_FILE_MAX: u64 = 4096;

/// A problem of a line.
pub(crate) fn problem(
    line: u32,
    key: impl Into<String>,
    what: impl Into<String>,
    expected: impl Into<String>,
) -> Problem {
    Problem {
        line,
        key: key.into(),
        what: what.into(),
        expected: expected.into(),
    }
}

/// Reason why a core does not start, and its exit code: [`Exit::Later`] for what may pass without anybody's doing here.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct StartError {
    pub problem: Problem,
    pub exit: Exit,
}

impl From<Problem> for StartError {
    fn from(problem: Problem) -> Self {
        Self {
            problem,
            exit: Exit::Lacking,
        }
    }
}

impl StartError {
    /// Of an address or a path that another program has, if that is why: one that ends, or a kernel that keeps a port
    /// for a while after a crash, gives it back.
    pub fn of(problem: Problem, why: &(dyn Error + 'static)) -> Self {
        let causes = std::iter::successors(Some(why), |error: &&(dyn Error + 'static)| {
            (*error).source()
        });
        let mut causes = causes.filter_map(|error| error.downcast_ref::<io::Error>());
        let exit = match causes.any(|error| error.kind() == ErrorKind::AddrInUse) {
            true => Exit::Later,
            false => Exit::Lacking,
        };
        Self { problem, exit }
    }

    /// Tells it to the operator; how the program ends.
    pub fn tell(&self, file: &Path) -> Exit {
        eprintln!("{}", self.problem.in_file(file));
        self.exit
    }
}

/// Keys in a file that others can read are no secrets.
pub(crate) fn of_file(file: &Path, config: &CoreConfig) -> Option<Problem> {
    let mode = std::fs::metadata(file).ok()?.mode();
    let of_database = config.database.as_ref().is_some_and(Database::has_password);
    let contexts = config.contexts.as_ref();
    let of_contexts = contexts.is_some_and(ContextsSection::has_password);
    let (key, secrets) = match (config.subscribers.is_empty(), of_database, of_contexts) {
        (false, ..) => ("subscribers", "keys are"),
        (true, true, _) => ("subscriber_database.postgresql", "a password is"),
        (true, false, true) => ("contexts.redis.url", "a password is"),
        (true, false, false) => return None,
    };
    (mode & 0o077 != 0).then(|| {
        let mode = mode & 0o777;
        let what = format!("{secrets} in a file that others may read (mode {mode:03o})");
        problem(0, key, what, "chmod 600")
    })
}

/// All that is lacking.
pub(crate) fn of_machine(config: &CoreConfig) -> Vec<StartError> {
    let mut problems = home_keys(&config.home_keys).err().unwrap_or_default();
    problems.extend(records(config).err());
    problems.extend(control_socket(config).err());
    problems.extend(wiring(config));
    problems.extend(n2(config).err());
    if let Some(n4) = config.sessions.as_ref().and_then(|sessions| sessions.n4) {
        let address = SocketAddr::V4(n4.value);
        problems.extend(bind(address.ip(), n4.line, "n4.listen").err());
    }
    let mut lacks: Vec<StartError> = problems.into_iter().map(StartError::from).collect();
    lacks.extend(config.database.as_ref().and_then(store::check));
    lacks.extend(config.contexts.as_ref().and_then(contexts::check));
    lacks.extend(api(config, |_, _| Ok(())).err());
    lacks
}

/// Whether charging records can be added to their file.
fn records(config: &CoreConfig) -> Result<(), Problem> {
    let Some(Charging::File(path)) = config.sessions.as_ref().map(|sessions| &sessions.charging)
    else {
        return Ok(());
    };
    let opened = match std::fs::metadata(path) {
        // Others than files may have the opener wait.
        Ok(there) if !there.is_file() && !there.is_dir() => Ok(()),
        Ok(_) => OpenOptions::new().append(true).open(path).map(drop),
        Err(e) if e.kind() == ErrorKind::NotFound => make_and_remove(path),
        Err(e) => Err(e),
    };
    opened.map_err(|e| no_records(path, &e))
}

/// Charging records have no place.
pub(crate) fn no_records(path: &Path, why: &io::Error) -> Problem {
    let what = format!("{} cannot be written: {why}", path.display());
    let expected = "a file that may be written, in a folder that is there";
    problem(0, "charging_records", what, expected)
}

fn make_and_remove(path: &Path) -> io::Result<()> {
    OpenOptions::new().write(true).create_new(true).open(path)?;
    std::fs::remove_file(path)
}

/// Whether a socket can be made, at a path where nothing else is.
fn control_socket(config: &CoreConfig) -> Result<(), Problem> {
    socket("control_socket", &config.control_socket)
}

/// Programs of a core: theirs is beside its own, their CPUs are there, and they find it at its socket.
fn wiring(config: &CoreConfig) -> Vec<Problem> {
    let wiring = &config.wiring;
    if wiring.carrier.is_none() {
        return Vec::new();
    }
    let path = wiring.socket(&config.control_socket);
    let mut problems: Vec<Problem> = socket("wiring.socket", &path).err().into_iter().collect();
    let program = beside(PROGRAM);
    if !program.as_ref().is_ok_and(|path| path.is_file()) {
        let at = program.map_or_else(|e| e.to_string(), |path| path.display().to_string());
        let expected = format!("the program {PROGRAM} beside the one that runs");
        problems.push(problem(0, "wiring", format!("{at} is missing"), expected));
    }
    let allowed = thread::allowed_cpus().unwrap_or_default();
    let cpus = wiring.programs.iter().filter_map(|one| one.cpu.as_ref());
    for cpu in cpus.filter(|cpu| !allowed.contains(&cpu.value)) {
        let what = format!("this process may not run on CPU {}", cpu.value);
        let allowed: Vec<String> = allowed.iter().map(ToString::to_string).collect();
        let expected = format!("one of {}", allowed.join(", "));
        problems.push(problem(cpu.line, "wiring.programs.cpu", what, expected));
    }
    problems
}

fn socket(key: &str, path: &Path) -> Result<(), Problem> {
    let refused = |why: &str| {
        let what = format!("{} cannot be used: {why}", path.display());
        let expected = "a path of its own for each core, in a folder that it may write to";
        problem(0, key, what, expected)
    };
    if let Ok(there) = path.symlink_metadata()
        && !there.file_type().is_socket()
    {
        return Err(refused("there is something that is no socket"));
    }
    // Folders that are missing are made.
    let folder = path.ancestors().skip(1).find(|folder| folder.exists());
    let probe = format!(".sluice-check-{}", std::process::id());
    let made = folder.map(|folder| make_and_remove(&folder.join(probe)));
    made.unwrap_or(Ok(())).map_err(|e| refused(&e.to_string()))
}

/// Another core that runs with the same control socket: a file may be checked beside it, but two cannot run.
pub(crate) fn other_core(config: &CoreConfig) -> Option<Problem> {
    let path = &config.control_socket;
    UnixStream::connect(path).ok()?;
    let what = format!("another core answers on {}", path.display());
    let expected = "that it ends before this one starts, or a path of its own";
    Some(problem(0, "control_socket", what, expected))
}

/// Opens the door of the management API, if there is to be one, and does something with it.
pub(crate) fn api(
    config: &CoreConfig,
    with: impl FnOnce(TcpListener, Access) -> io::Result<()>,
) -> Result<(), StartError> {
    let Some(listen) = config.api.listen.value else {
        return Ok(());
    };
    let token = config.api.token_file.as_ref().map(read_token).transpose()?;
    let door = config.api.users_file.as_ref().map(open_door).transpose()?;
    let door = door.map(Arc::new);
    let access = Access {
        token,
        door,
        listen,
    };
    let opened = TcpListener::bind(listen).and_then(|listener| with(listener, access));
    opened.map_err(|e| {
        let what = format!("{listen} cannot be used: {e}");
        let expected = "an address of this machine whose port no other program has, or none";
        StartError::of(
            problem(config.api.listen.line, "api.listen", what, expected),
            &e,
        )
    })
}

fn read_token(file: &At<PathBuf>) -> Result<Zeroizing<String>, Problem> {
    let refused =
        |(what, expected): (String, &str)| problem(file.line, "api.token_file", what, expected);
    let text = read_secret(&file.value).map_err(refused)?;
    let token = text.trim();
    let is_token = (TOKEN_MIN..=TOKEN_MAX).contains(&token.len())
        && token.bytes().all(|c| c.is_ascii_graphic());
    match is_token {
        true => Ok(Zeroizing::new(token.to_owned())),
        false => {
            let what = format!("{} holds no token", file.value.display());
            let expected = "16 to 512 characters without spaces, as of `openssl rand -hex 32`";
            Err(refused((what, expected)))
        }
    }
}

fn open_door(file: &At<PathBuf>) -> Result<Door, Problem> {
    let lacking = |error: UsersError| {
        let expected = match &error {
            UsersError::Missing(_) => {
                "the file of `sluice ctl users --file FILE set NAME --role admin`"
            }
            UsersError::Mode(..) => "chmod 600",
            UsersError::Owner(..) => "the user that runs the core, or root",
            _ => "lines as `sluice ctl users` writes them",
        };
        problem(file.line, "api.users_file", error.to_string(), expected)
    };
    Door::open(UsersFile(file.value.clone())).map_err(lacking)
}

/// Whether SCTP may be spoken at the address: a raw socket has no port that somebody else could have.
fn n2(config: &CoreConfig) -> Result<(), Problem> {
    let Some(listen) = config.n2.listen else {
        return Ok(());
    };
    bind(listen.value, listen.line, "n2.listen")?;
    for one in &config.n2.more {
        bind(one.value, one.line, "n2.more_addresses")?;
    }
    let no_namespace = |error: HostError| no_sctp(listen.line, &OpeningError::Carrier(error));
    let ns = Ns::current().map_err(no_namespace)?;
    let is_by_kernel = config.n2.opening(listen.value).is_by_kernel(&ns);
    match is_by_kernel.map_err(|error| no_sctp(listen.line, &error))? {
        false if config.n2.over == Over::Ip => Carrier::ip(&ns, listen.value)
            .map(drop)
            .map_err(no_namespace),
        _ => Ok(()),
    }
}

/// SCTP cannot be spoken as it is wanted.
pub(crate) fn no_sctp(line: u32, why: &OpeningError) -> Problem {
    let (key, expected) = match why {
        OpeningError::Kernel(_) | OpeningError::Unfit(_) => (
            "n2.sctp",
            "userspace, or a kernel whose module sctp is loaded",
        ),
        OpeningError::Carrier(_) | OpeningError::Port(_) => (
            "n2.listen",
            "CAP_NET_RAW (root), or over: udp where the gNBs can",
        ),
    };
    problem(line, key, why.to_string(), expected)
}

fn bind(address: IpAddr, line: u32, key: &str) -> Result<(), Problem> {
    match UdpSocket::bind((address, 0)) {
        Ok(_) => Ok(()),
        Err(e) => {
            let what = format!("{address} cannot be used: {e}");
            Err(problem(line, key, what, "an address of this machine"))
        }
    }
}

/// Keys of the home network, or what is wrong with their files.
pub(crate) fn home_keys(files: &[HomeKeyFile]) -> Result<BTreeMap<u8, HomeKey>, Vec<Problem>> {
    let (mut keys, mut problems) = (BTreeMap::new(), Vec::new());
    for (at, one) in files.iter().enumerate() {
        match read_key(one) {
            Ok(key) => {
                keys.insert(one.id.value, key);
            }
            Err((what, expected)) => {
                let key = format!("home_network_keys[{at}].file");
                problems.push(problem(one.file.line, key, what, expected));
            }
        }
    }
    match problems.is_empty() {
        true => Ok(keys),
        false => Err(problems),
    }
}

fn read_key(one: &HomeKeyFile) -> Result<HomeKey, (String, &'static str)> {
    let text = read_secret(&one.file.value)?;
    let expected = "64 hexadecimal digits, as of `openssl rand -hex 32`";
    let path = one.file.value.display();
    let no_key = || (format!("{path} holds no key"), expected);
    let octets = octets::<32>(text.trim()).ok_or_else(no_key)?;
    match one.profile {
        Profile::A => Ok(HomeKey::profile_a(octets)),
        Profile::B => HomeKey::profile_b(octets).ok_or_else(no_key),
    }
}

/// The text of a file that only its owner may read.
fn read_secret(path: &Path) -> Result<Zeroizing<String>, (String, &'static str)> {
    let shown = path.display();
    let cannot = |e| {
        (
            format!("{shown} cannot be read: {e}"),
            "a file that is there",
        )
    };
    let file = File::open(path).map_err(cannot)?;
    let mode = file.metadata().map_err(cannot)?.mode();
    if mode & 0o077 != 0 {
        let what = format!("{shown} can be read by others (mode {:03o})", mode & 0o777);
        return Err((what, "chmod 600"));
    }
    let mut text = Zeroizing::new(String::new());
    file.take(KEY_FILE_MAX)
        .read_to_string(&mut text)
        .map_err(cannot)?;
    Ok(text)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    fn read(text: &str, mode: u32, profile: Profile) -> Result<(), String> {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("key");
        std::fs::write(&path, text).unwrap();
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(mode)).unwrap();
        let file = HomeKeyFile {
            id: At { line: 1, value: 1 },
            profile,
            file: At {
                line: 1,
                value: path,
            },
        };
        read_key(&file)
            .map(drop)
            .map_err(|(what, expected)| format!("{what}; {expected}"))
    }

    #[test]
    fn a_key_file_is_for_its_owner_alone_and_holds_one_key() {
        let key = format!("{}\n", "1f".repeat(32));
        assert_eq!(read(&key, 0o600, Profile::A), Ok(()));
        assert_eq!(read(&key, 0o400, Profile::B), Ok(()));
        assert!(
            read(&key, 0o640, Profile::A)
                .unwrap_err()
                .contains("mode 640")
        );
        assert!(
            read(&key, 0o604, Profile::A)
                .unwrap_err()
                .ends_with("chmod 600")
        );
        for bad in ["", "00", &"1f".repeat(33), &"zz".repeat(32)] {
            let error = read(bad, 0o600, Profile::A).unwrap_err();
            assert!(error.contains("holds no key"), "{error}");
        }
        // The group's order: no private key of secp256r1 is as great.
        let error = read(&"ff".repeat(32), 0o600, Profile::B).unwrap_err();
        assert!(error.contains("holds no key"), "{error}");
    }
}
