//! The `sluice` command: a 5G user plane, and what is needed to try, drive and measure it.
//!
//! [`cli`] is the command line; each subcommand is one room with a `run` function.
#![forbid(unsafe_code)]

pub mod check;
pub mod cli;
pub mod config;
pub mod ctl;
pub mod exit {
    //! Exit codes of all subcommands.
    //!
    //! Scripts rely on these codes.

    use std::process::ExitCode;

    /// The end of a run.
    #[derive(Clone, Copy, PartialEq, Eq, Debug)]
    pub enum Exit {
        /// Done, and all checks held.
        Done,
        /// A check failed, or the work could not be finished.
        Failed,
        /// The command line or a configuration file is wrong; the message says where.
        Usage,
        /// The environment lacks something; the message says what and how to get it.
        Lacking,
    }

    impl From<Exit> for ExitCode {
        fn from(exit: Exit) -> Self {
            Self::from(match exit {
                Exit::Done => 0,
                Exit::Failed => 1,
                Exit::Usage => 2,
                Exit::Lacking => 3,
            })
        }
    }
}
pub mod logging;
pub mod reference;
pub mod screen;
pub mod upf;
