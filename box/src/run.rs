//! Start and end of both daemons: the UPF on this thread, the core on one of its own.

use crate::Cli;
use crate::addresses;
use sluice_core_daemon::config::{CoreConfig, Loaded as LoadedCore};
use sluice_host::HostError;
use sluice_host::datagram_ring::{self, RingEnd};
use sluice_host::signal::{EndRequest, Shutdown};
use sluice_program::args::{CheckScope, DaemonArgs};
use sluice_program::check::show_warnings;
use sluice_program::exit::Exit;
use sluice_program::logging;
use sluice_upf_daemon::boot::boot;
use sluice_upf_daemon::config::{Loaded as LoadedUpf, Machine, UpfConfig};
use sluice_upf_daemon::control::Ended;
use sluice_upf_daemon::devices::Dpdk;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::Duration;

/// PFCP messages that wait in one direction: more than both have under way at a time.
const RING: usize = 4096;
/// How often a thread that waits for another signal looks whether it still has to.
const LOOK: Duration = Duration::from_millis(100);

/// Runs both until a signal comes, or checks.
pub(crate) fn run(cli: &Cli) -> Exit {
    if let Some(scope) = cli.check {
        return check(cli, scope);
    }
    let Some((core, upf)) = load(cli) else {
        return Exit::Usage;
    };
    logging::start(cli.verbosity, &upf.config.log);
    show_warnings(&cli.core, &core.warnings);
    show_warnings(&cli.upf, &upf.warnings);
    if sluice_core_daemon::is_exposed(&cli.core, &core.config) {
        return Exit::Lacking;
    }
    let Some(addresses) = addresses(cli, &core.config, &upf.config) else {
        return Exit::Usage;
    };
    let ends = (|| {
        Ok((
            Ends::new()?,
            datagram_ring::pair(addresses, RING).map_err(ring)?,
        ))
    })();
    let (ends, [of_core, of_upf]) = match ends {
        Ok(made) => made,
        Err(error) => {
            let error: HostError = error;
            eprintln!("sluice box: {error}");
            return Exit::Lacking;
        }
    };
    serve(cli, core, &upf.config, ends, of_core, of_upf)
}

fn ring(source: std::io::Error) -> HostError {
    let action = "make rings between core and UPF".to_owned();
    HostError::Os { action, source }
}

/// Both files, or all that is wrong with either.
fn load(cli: &Cli) -> Option<(LoadedCore, LoadedUpf)> {
    let core = CoreConfig::load(&cli.core).map_err(|refused| eprintln!("{refused}"));
    let upf = UpfConfig::load(&cli.upf, &Machine::this());
    let upf = upf.map_err(|refused| eprintln!("{refused}"));
    core.ok().zip(upf.ok())
}

fn addresses(cli: &Cli, core: &CoreConfig, upf: &UpfConfig) -> Option<[std::net::SocketAddr; 2]> {
    let addresses = addresses::of_both(core, upf);
    let told = addresses.map_err(|problem| eprintln!("{}", problem.in_file(&cli.core)));
    told.ok()
}

fn check(cli: &Cli, scope: CheckScope) -> Exit {
    let Some((core, upf)) = load(cli) else {
        return Exit::Usage;
    };
    if addresses(cli, &core.config, &upf.config).is_none() {
        return Exit::Usage;
    }
    let of = |config: &PathBuf| DaemonArgs {
        config: config.clone(),
        check: Some(scope),
        json: false,
    };
    let core = sluice_core_daemon::run(&of(&cli.core), cli.verbosity);
    match sluice_upf_daemon::run(&of(&cli.upf), cli.verbosity) {
        Exit::Done => core,
        refused => refused,
    }
}

/// Who is asked to end, and by whom.
struct Ends {
    /// Of the core: by signals.
    core: Shutdown,
    /// Of the UPF: when the core has ended.
    upf: Shutdown,
}

impl Ends {
    fn new() -> Result<Self, HostError> {
        Ok(Self {
            core: Shutdown::install()?,
            upf: Shutdown::by_request()?,
        })
    }
}

fn serve(
    cli: &Cli,
    core: LoadedCore,
    upf: &UpfConfig,
    ends: Ends,
    of_core: RingEnd,
    of_upf: RingEnd,
) -> Exit {
    let requests = (|| Ok((ends.core.end_request()?, ends.upf.end_request()?)))();
    let (end_core, end_upf) = match requests {
        Ok(requests) => requests,
        Err(error) => {
            let error: HostError = error;
            eprintln!("sluice box: {error}");
            return Exit::Lacking;
        }
    };
    let running = match boot::<Dpdk>(upf, &cli.upf, ends.upf, Some(of_upf)) {
        Ok(running) => running,
        Err(e) => {
            eprintln!("sluice box: {}", e.in_file(&cli.upf));
            return Exit::Lacking;
        }
    };
    let has_ended = Arc::new(AtomicBool::new(false));
    let core = CoreThread {
        file: cli.core.clone(),
        config: core.config,
        shutdown: ends.core,
        end_upf,
        upf_has_ended: has_ended.clone(),
    };
    // From here on, for the thread has the place in the machine that the UPF's boot gave to this one:
    // beside its control core, off its workers' CPUs.
    let core = match core.start(of_core) {
        Ok(core) => core,
        Err(error) => {
            eprintln!("sluice box: no thread for the core: {error}");
            return Exit::Lacking;
        }
    };
    tracing::info!("the UPF is ready");
    let ended = running.run();
    has_ended.store(true, Ordering::Relaxed);
    end_core.send();
    let core = core.join().unwrap_or(Exit::Failed);
    match ended {
        Ended::AsAsked => core,
        Ended::WorkerDied => Exit::Failed,
    }
}

/// All that the core's thread has.
struct CoreThread {
    file: PathBuf,
    config: CoreConfig,
    shutdown: Shutdown,
    end_upf: EndRequest,
    upf_has_ended: Arc<AtomicBool>,
}

impl CoreThread {
    fn start(self, ring: RingEnd) -> std::io::Result<JoinHandle<Exit>> {
        let thread = thread::Builder::new().name("sluice-core".to_owned());
        thread.spawn(move || self.run(ring))
    }

    /// The core, and behind it the UPF's end: that has nobody left on its ring.
    fn run(self, ring: RingEnd) -> Exit {
        let file: &Path = &self.file;
        let exit = sluice_core_daemon::serve_until(&self.shutdown, file, &self.config, vec![ring]);
        self.end_upf.send();
        // While it waits for other SMFs, another signal ends it at once.
        let is_clear = self.shutdown.again().is_ok();
        while is_clear && !self.upf_has_ended.load(Ordering::Relaxed) {
            if self.shutdown.wait(LOOK).unwrap_or(true) {
                self.end_upf.send();
                break;
            }
        }
        exit
    }
}
