//! Logging to standard error.

use std::io::IsTerminal;
use std::sync::OnceLock;
use tracing_subscriber::Registry;
use tracing_subscriber::filter::{LevelFilter, Targets};
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::reload;
use tracing_subscriber::util::SubscriberInitExt;

/// The environment variable that sets what is logged.
pub const VARIABLE: &str = "SLUICE_LOG";

/// How talkative the command line wants us.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, clap::Args)]
pub struct Verbosity {
    /// Log more (to standard error): -v what is done, -vv every step
    #[arg(short, long, action = clap::ArgAction::Count, global = true)]
    verbose: u8,
}

impl Verbosity {
    /// How many times `-v` was given.
    pub fn count(self) -> u8 {
        self.verbose
    }
}

/// Settings that the log was started with, and the handle of its filter.
static STARTED: OnceLock<(Verbosity, reload::Handle<Targets, Registry>)> = OnceLock::new();

/// From now on the file has another filter; `-v` and `SLUICE_LOG` stay stronger.
pub fn change(configured: &str) {
    if let Some((verbosity, handle)) = STARTED.get() {
        let variable = std::env::var(VARIABLE).ok();
        let (filter, _) = choose(*verbosity, variable.as_deref(), configured);
        // It fails only where logging has ended.
        let _ = handle.reload(filter);
    }
}

/// Starts logging, once per process. `-v` is stronger than `SLUICE_LOG`, and that stronger than
/// `configured`, a filter such as `info` or `info,sluice_n4=debug`.
pub fn start(verbosity: Verbosity, configured: &str) {
    let variable = std::env::var(VARIABLE).ok();
    let (filter, mistake) = choose(verbosity, variable.as_deref(), configured);
    let lines = tracing_subscriber::fmt::layer()
        .with_writer(std::io::stderr)
        .with_ansi(std::io::stderr().is_terminal());
    let (filter, handle) = reload::Layer::new(filter);
    // A second start, as in tests of one process, leaves the first one in place.
    let started = tracing_subscriber::registry()
        .with(filter)
        .with(lines)
        .try_init();
    if started.is_ok() {
        let _ = STARTED.set((verbosity, handle));
    }
    if let Some(mistake) = mistake {
        tracing::warn!(
            "{VARIABLE}='{mistake}' is no filter; expected one like info,sluice_n4=debug"
        );
    }
}

/// The filter, and the value of the variable if it is none.
fn choose(
    verbosity: Verbosity,
    variable: Option<&str>,
    configured: &str,
) -> (Targets, Option<String>) {
    match verbosity.verbose {
        0 => {}
        1 => return (all_at(LevelFilter::DEBUG), None),
        _ => return (all_at(LevelFilter::TRACE), None),
    }
    let default = || {
        configured
            .parse()
            .unwrap_or_else(|_| all_at(LevelFilter::INFO))
    };
    match variable.map(str::parse) {
        None => (default(), None),
        Some(Ok(filter)) => (filter, None),
        Some(Err(_)) => (default(), variable.map(str::to_owned)),
    }
}

fn all_at(level: LevelFilter) -> Targets {
    Targets::new().with_default(level)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn level(verbose: u8, variable: Option<&str>, configured: &str) -> Option<LevelFilter> {
        choose(Verbosity { verbose }, variable, configured)
            .0
            .default_level()
    }

    #[test]
    fn the_command_line_beats_the_environment_and_that_the_file() {
        assert_eq!(level(0, None, "warn"), Some(LevelFilter::WARN));
        assert_eq!(level(0, Some("error"), "warn"), Some(LevelFilter::ERROR));
        assert_eq!(level(1, Some("error"), "warn"), Some(LevelFilter::DEBUG));
        assert_eq!(level(2, None, "warn"), Some(LevelFilter::TRACE));
    }

    #[test]
    fn a_variable_that_is_no_filter_is_named_and_ignored() {
        let (filter, mistake) = choose(Verbosity::default(), Some("a=b=c"), "warn");
        assert_eq!(filter.default_level(), Some(LevelFilter::WARN));
        assert_eq!(mistake.as_deref(), Some("a=b=c"));
    }
}
