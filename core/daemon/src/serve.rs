//! The daemon's loop: all sides are served until a signal comes.

use crate::daemon::Daemon;
use crate::ending;
use crate::operators::control;
use crate::operators::part::Part;
use crate::operators::request::Ask;
use sluice_host::signal::Shutdown;
use sluice_program::lines::{self, PeerNames};
use std::io;
use std::time::Duration;

/// Longest wait: limits on log lines end by time.
const PATIENCE: Duration = Duration::from_millis(500);
/// Questions answered between two turns of the core.
const QUESTIONS_OF_A_TURN: usize = 4;

/// Serves all sides until a signal comes.
///
/// # Errors
/// SCTP's socket fails.
pub(crate) fn run(mut daemon: Daemon, shutdown: &Shutdown) -> io::Result<()> {
    let mut has_more = false;
    while !shutdown.is_requested() {
        let patience = if has_more { Duration::ZERO } else { PATIENCE };
        daemon.runtime.turn(patience)?;
        daemon.take();
        control::reply_to_answered(&mut daemon);
        // gNBs and UPFs are not kept waiting by however many ask.
        let answered = answer_some(&mut daemon);
        has_more = answered == QUESTIONS_OF_A_TURN;
        daemon.take_subscribers();
        lines::tell_withheld(&PeerNames::default());
    }
    tracing::info!("ends; a second signal ends it at once");
    ending::run(&mut daemon, shutdown)?;
    daemon.runtime.core_mut().finish_contexts();
    daemon.take_at_end();
    // Programs end before the links to them do.
    daemon.programs = None;
    daemon.runtime.close();
    if let Some(subscribers) = daemon.subscribers {
        subscribers.close();
    }
    Ok(())
}

/// Answers some questions; how many.
fn answer_some(daemon: &mut Daemon) -> usize {
    let mut answered = 0;
    while answered < QUESTIONS_OF_A_TURN
        && let Some(asked) = daemon.ctl.next()
    {
        answered += 1;
        match &asked.request {
            Ask::Core(request) => {
                let request = request.clone();
                match &mut daemon.programs {
                    Some(programs) if programs.have_part_of(&request) => {
                        programs.ask(asked, request);
                    }
                    _ => control::reply(daemon, asked, &request, Part::default()),
                }
            }
            Ask::Subscribers(_) => daemon.operate(asked),
        }
    }
    answered
}
