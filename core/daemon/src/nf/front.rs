//! `sluice nf n2`: the front of N2, a program that has SCTP for the AMF of another one.

use super::JOIN_WITHIN;
use crate::boot;
use crate::config::CoreConfig;
use crate::needs::{StartError, problem};
use sluice_bus_local::CoreWatch;
use sluice_core_runtime::Front;
use sluice_host::netns::Ns;
use sluice_host::signal::Shutdown;
use sluice_host::thread;
use sluice_program::args::NfArgs;
use sluice_program::exit::Exit;
use sluice_sctp::front::Listener;
use std::path::Path;
use std::time::Duration;

/// Longest wait of a turn.
const PATIENCE: Duration = Duration::from_millis(500);

/// Runs until its core ends, or SIGTERM or SIGINT.
pub(super) fn run(args: &NfArgs, config: &CoreConfig) -> Exit {
    let tell = |what: &dyn std::fmt::Display| eprintln!("sluice nf n2: {what}");
    if args.functions.len() > 1 {
        tell(&"n2 is alone in its program; expected no other name");
        return Exit::Usage;
    }
    let Some(path) = config.wiring.front(&config.control_socket) else {
        let file = args.config.display();
        tell(&format!(
            "{file}: wiring: N2 is the AMF's own; expected a program that has n2"
        ));
        return Exit::Usage;
    };
    if let Some(cpu) = args.cpu
        && let Err(e) = thread::pin(&[cpu])
    {
        tell(&e);
        return Exit::Lacking;
    }
    let shutdown = match Shutdown::install() {
        Ok(shutdown) => shutdown,
        Err(e) => {
            tell(&e);
            return Exit::Lacking;
        }
    };
    let socket = config.wiring.socket(&config.control_socket);
    let core = match CoreWatch::connect(&socket, JOIN_WITHIN) {
        Ok(core) => core,
        Err(e) => {
            tell(&format!("no core is reached at {}: {e}", socket.display()));
            return Exit::Later;
        }
    };
    let mut front = match open(config, &path).map_err(|lack| lack.tell(&args.config)) {
        Ok(front) => front,
        Err(exit) => return exit,
    };
    let served = serve(&mut front, &core, &shutdown);
    front.close();
    match served {
        Ok(()) => Exit::Done,
        Err(e) => {
            tell(&e);
            Exit::Failed
        }
    }
}

fn open(config: &CoreConfig, path: &Path) -> Result<Front, StartError> {
    let ns = Ns::current().map_err(|e| StartError::from(boot::step("network namespace", &e)))?;
    let node = boot::sctp(config, &ns)?;
    let listener = Listener::open(path).map_err(|e| {
        let what = format!("{} cannot be used: {e}", path.display());
        let expected = "a path of its own for each core, in a folder that it may write to";
        StartError::of(problem(0, "control_socket", what, expected), &e)
    })?;
    Front::new(node, listener).map_err(|e| StartError::from(boot::step("event loop", &e)))
}

fn serve(front: &mut Front, core: &CoreWatch, shutdown: &Shutdown) -> std::io::Result<()> {
    front.also_wait_for(core)?;
    front.also_wait_for(shutdown)?;
    while !shutdown.is_requested() && !core.is_over() {
        front.turn(PATIENCE)?;
        for remark in front.take_remarks() {
            tracing::info!("{remark}");
        }
    }
    Ok(())
}
