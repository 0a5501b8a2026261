//! Parts that the programs of Sluice share, above all the daemons.
//!
//! | module | contents |
//! |---|---|
//! | [`args`] | arguments of the daemons |
//! | [`tool`] | programs that lie beside the one that runs |
//! | [`config`] | YAML files read key by key, with file, line, key and what was expected in every error |
//! | [`check`] | what `--check` writes |
//! | [`control`] | the local socket of `sluice ctl`: one JSON request line, one object back |
//! | [`ask`], [`follow`] | its client, and one UE's messages |
//! | [`lines`] | the limit on log lines that others cause |
//! | [`logging`] | the log, on standard error |
//! | [`exit`] | exit codes |
//! | [`screen`], [`units`] | progress, and quantities as people write them |
#![forbid(unsafe_code)]

pub mod args;
pub mod ask;
pub mod check;
pub mod config;
pub mod control;
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
        /// Something is not there now that may be in a while, such as a port that another program has still, or a server
        /// that does not answer: to start again may mend it, and the message says what it waits for.
        Later,
    }

    impl Exit {
        /// The code.
        pub fn code(self) -> u8 {
            match self {
                Self::Done => 0,
                Self::Failed => 1,
                Self::Usage => 2,
                Self::Lacking => 3,
                Self::Later => 4,
            }
        }
    }

    impl From<Exit> for ExitCode {
        fn from(exit: Exit) -> Self {
            Self::from(exit.code())
        }
    }
}
pub mod follow;
pub mod lines;
pub mod logging;
pub mod screen;
pub mod tool;
pub mod units;
