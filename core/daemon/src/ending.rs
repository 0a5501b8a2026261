//! The end of the daemon, in order: gNBs are told, sessions are released, UPFs are left, SCTP is shut down.

use crate::config::AtEnd;
use crate::daemon::Daemon;
use sluice_core_runtime::system;
use sluice_host::signal::Shutdown;
use sluice_sbi::Nf;
use sluice_smf::Smf;
use std::io;
use std::time::{Duration, Instant};

/// Longest wait of a turn.
const PATIENCE: Duration = Duration::from_millis(100);
/// How long UPFs have to answer an Association Release.
const UPFS_WITHIN: Duration = Duration::from_secs(2);
/// How long a store has for the contexts that the last messages follow from.
const CONTEXTS_WITHIN: Duration = Duration::from_secs(3);
/// How long gNBs have to end their associations.
const GNBS_WITHIN: Duration = Duration::from_secs(2);

/// Does all of it, each step in its time; another signal ends it at once.
///
/// # Errors
/// SCTP's socket fails.
pub(crate) fn run(daemon: &mut Daemon, shutdown: &Shutdown) -> io::Result<()> {
    shutdown.again()?;
    let end = daemon.in_force.running.end;
    let releases = end.sessions == AtEnd::Release;
    // TS 23.501, 5.21.2.2.2: gNBs are told first, so that UEs are taken to another AMF.
    daemon.runtime.core_mut().mobility().end(system::now());
    if releases {
        daemon.runtime.core_mut().sessions().end(system::now());
    }
    let within = Duration::from_secs(end.within_s.into());
    if let Some(programs) = &mut daemon.programs {
        programs.end(daemon.runtime.core(), releases);
    }
    if daemon.in_force.running.wiring.is_apart(Nf::Smf) {
        if releases {
            // Its program releases them, leaves its UPFs, and ends.
            wait(daemon, shutdown, within + UPFS_WITHIN, &|daemon| {
                !runs(daemon, Nf::Smf)
            })?;
        }
    } else {
        sessions(daemon, shutdown, releases.then_some(within))?;
    }
    if daemon.in_force.running.wiring.is_apart(Nf::Amf) {
        if let Some(programs) = &mut daemon.programs {
            programs.leave_gnbs(daemon.runtime.core());
        }
        return wait(daemon, shutdown, CONTEXTS_WITHIN + GNBS_WITHIN, &|daemon| {
            !runs(daemon, Nf::Amf)
        });
    }
    // What gNBs are to hear waits for the contexts that it follows from.
    wait(daemon, shutdown, CONTEXTS_WITHIN, &|daemon| {
        !daemon.runtime.core().has_more_to_send()
    })?;
    daemon.runtime.shut_down_n2();
    let has_gnbs = |daemon: &Daemon| {
        let n2 = daemon.runtime.n2();
        n2.is_some_and(|n2| n2.gnbs().next().is_some())
    };
    wait(daemon, shutdown, GNBS_WITHIN, &|daemon| !has_gnbs(daemon))
}

fn runs(daemon: &Daemon, nf: Nf) -> bool {
    let programs = daemon.programs.as_ref();
    programs.is_some_and(|all| all.runs(nf))
}

/// Sessions of the core's own SMF are released within a time, or stay.
fn sessions(daemon: &mut Daemon, shutdown: &Shutdown, within: Option<Duration>) -> io::Result<()> {
    let sessions = |daemon: &Daemon| daemon.runtime.core().smf().map_or(0, Smf::sessions);
    let Some(within) = within else {
        tracing::info!("{} sessions stay at their UPFs", sessions(daemon));
        return Ok(());
    };
    wait(daemon, shutdown, within, &|daemon| sessions(daemon) == 0)?;
    let left = sessions(daemon);
    if left > 0 && !shutdown.is_requested() {
        tracing::warn!("{left} sessions are deleted with the associations of their UPFs");
    }
    let core = daemon.runtime.core_mut();
    core.sessions().leave_upfs(system::now());
    let upfs = |daemon: &Daemon| daemon.runtime.core().smf().map_or(0, Smf::upfs_left);
    wait(daemon, shutdown, UPFS_WITHIN, &|daemon| upfs(daemon) == 0)
}

fn wait(
    daemon: &mut Daemon,
    shutdown: &Shutdown,
    within: Duration,
    is_done: &dyn Fn(&Daemon) -> bool,
) -> io::Result<()> {
    let until = Instant::now() + within;
    while !is_done(daemon) && !shutdown.is_requested() {
        let left = until.saturating_duration_since(Instant::now());
        if left.is_zero() {
            break;
        }
        daemon.runtime.turn(left.min(PATIENCE))?;
        daemon.take_at_end();
    }
    daemon.take_at_end();
    Ok(())
}
