//! The end of the daemon, in order: gNBs are told, sessions are released, UPFs are left, SCTP is shut down.

use crate::config::AtEnd;
use crate::daemon::Daemon;
use sluice_core_runtime::{Runtime, system};
use sluice_host::signal::Shutdown;
use std::io;
use std::time::{Duration, Instant};

/// Longest wait of a turn.
const PATIENCE: Duration = Duration::from_millis(100);
/// How long UPFs have to answer an Association Release.
const UPFS_WITHIN: Duration = Duration::from_secs(2);
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
    daemon.runtime.core_mut().end(system::now());
    if releases {
        daemon.runtime.core_mut().sessions().end(system::now());
    }
    let sessions = |runtime: &Runtime| runtime.core().smf().map_or(0, |smf| smf.sessions());
    let within = Duration::from_secs(end.within_s.into());
    if releases {
        wait(daemon, shutdown, within, &|runtime| sessions(runtime) == 0)?;
        let left = sessions(&daemon.runtime);
        if left > 0 && !shutdown.is_requested() {
            tracing::warn!("{left} sessions are deleted with the associations of their UPFs");
        }
        daemon
            .runtime
            .core_mut()
            .sessions()
            .leave_upfs(system::now());
        let upfs = |runtime: &Runtime| runtime.core().smf().map_or(0, |smf| smf.upfs_left());
        wait(daemon, shutdown, UPFS_WITHIN, &|runtime| upfs(runtime) == 0)?;
    } else {
        tracing::info!("{} sessions stay at their UPFs", sessions(&daemon.runtime));
    }
    daemon.runtime.shut_down_n2();
    let has_gnbs = |runtime: &Runtime| runtime.n2().gnbs().next().is_some();
    wait(daemon, shutdown, GNBS_WITHIN, &|runtime| !has_gnbs(runtime))
}

fn wait(
    daemon: &mut Daemon,
    shutdown: &Shutdown,
    within: Duration,
    is_done: &dyn Fn(&Runtime) -> bool,
) -> io::Result<()> {
    let until = Instant::now() + within;
    while !is_done(&daemon.runtime) && !shutdown.is_requested() {
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
