//! Arguments of the daemons, which `sluice` describes and their programs obey.

use clap::{Args, ValueEnum};
use std::ffi::OsString;
use std::path::PathBuf;

/// `sluice upf` and `sluice core`.
#[derive(Clone, Debug, Args)]
pub struct DaemonArgs {
    /// The configuration; docs/upf.yaml and docs/core.yaml explain every key
    #[arg(short, long, value_name = "FILE")]
    pub config: PathBuf,
    /// Check the file and what it needs of this machine, show what it amounts to, and end;
    /// `--check=file` leaves the machine out
    #[arg(
        long,
        value_name = "WHAT",
        num_args = 0..=1,
        require_equals = true,
        default_missing_value = "machine"
    )]
    pub check: Option<CheckScope>,
    /// Write one JSON object to standard output (with --check)
    #[arg(long, requires = "check")]
    pub json: bool,
}

impl DaemonArgs {
    /// The same as words of a command line.
    pub fn words(&self) -> Vec<OsString> {
        let mut words = vec!["--config".into(), self.config.clone().into()];
        words.extend(self.check.map(|scope| match scope {
            CheckScope::Machine => "--check=machine".into(),
            CheckScope::File => "--check=file".into(),
        }));
        words.extend(self.json.then(|| "--json".into()));
        words
    }
}

/// `sluice nf`.
#[derive(Clone, Debug, Args)]
pub struct NfArgs {
    /// Functions that this program has
    #[arg(required = true, value_name = "NAME")]
    pub functions: Vec<NfName>,
    /// The configuration of the core, which all its programs read
    #[arg(short, long, value_name = "FILE")]
    pub config: PathBuf,
    /// Instance of these functions, as wiring.programs of the configuration numbers it
    #[arg(long, value_name = "NUMBER", default_value_t = 0, value_parser = clap::value_parser!(u8).range(0..16))]
    pub instance: u8,
    /// CPU that this program has for itself
    #[arg(long, value_name = "NUMBER")]
    pub cpu: Option<usize>,
    /// Without a core: for others, by HTTP/2 (wiring.transport: http2)
    #[arg(long)]
    pub alone: bool,
}

impl NfArgs {
    /// The same as words of a command line.
    pub fn words(&self) -> Vec<OsString> {
        let mut words = vec!["nf".into()];
        let names = self.functions.iter().filter_map(NfName::to_possible_value);
        words.extend(names.map(|name| name.get_name().into()));
        words.extend(["--config".into(), self.config.clone().into()]);
        if self.instance > 0 {
            words.extend(["--instance".into(), self.instance.to_string().into()]);
        }
        if let Some(cpu) = self.cpu {
            words.extend(["--cpu".into(), cpu.to_string().into()]);
        }
        words.extend(self.alone.then(|| "--alone".into()));
        words
    }
}

/// Functions that may have a program of their own, and the front of N2.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub enum NfName {
    /// Access and mobility management
    Amf,
    /// Authentication server
    Ausf,
    /// Unified data management
    Udm,
    /// Repository of subscribers
    Udr,
    /// Repository of network functions
    Nrf,
    /// Slice selection
    Nssf,
    /// Session management
    Smf,
    /// Policy control
    Pcf,
    /// Front of N2: keeps associations of gNBs while the AMF is replaced; alone in its program
    N2,
}

/// Shown by `sluice nf --help`.
pub const NF_EXAMPLES: &str = "\
Examples:
  sluice nf ausf udm -c core.yaml            both in one program, for the core that has this file
  sluice nf n2 -c core.yaml                  associations of gNBs, for the AMF of that core
  sluice nf nrf --alone -c core.yaml         an NRF for functions of others, by HTTP/2

`sluice core` starts the programs that `wiring.programs` names, watches and ends them itself; this command is for
those that somebody else is to start. A program ends when its core does.";

/// Scope of `--check`.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub enum CheckScope {
    /// The files, and whether this machine has what they name
    Machine,
    /// The files alone, as for another machine
    File,
}

/// Shown by `sluice upf --help`.
pub const UPF_EXAMPLES: &str = "\
Examples:
  sluice upf -c upf.yaml                   runs until SIGTERM or Ctrl-C
  sluice upf -c upf.yaml --check           is the file right, and does this machine have all that it names?
  sluice upf -c upf.yaml --check=file      the file alone, as for another machine
  sluice upf -c upf.yaml --check --json    the same for scripts: ok, problems[], warnings[]

What this machine lacks ends with exit code 3, a file that cannot be used with 2; both with one line for
each problem:
  upf.yaml:12: ports[0].mtu: got 'big'; expected auto or a whole number of bytes from 576 to 9216";

/// Shown by `sluice core --help`.
pub const CORE_EXAMPLES: &str = "\
Examples:
  sluice core -c core.yaml                   runs until SIGTERM or Ctrl-C
  sluice core -c core.yaml --check           is the file right, and does this machine have all that it names?
  sluice core -c core.yaml --check=file      the file alone, as for another machine
  sluice core -c core.yaml --check --json    the same for scripts: ok, problems[], warnings[]
  sluice ctl ues                             who is registered, once it runs
  sluice ctl --core refusals                 who was refused, why, and what to do about it

The UPF is a program of its own, `sluice upf` or any other. A file that cannot be used ends with exit code 2,
what this machine lacks with 3, and with 4 what may be there in a while: a port that another program has still,
a server of contexts or subscribers that is away. All with one line for each problem:
  core.yaml:12: n2.listen: got 'amf'; expected an IP address";

#[cfg(test)]
mod tests {
    use super::*;
    use clap::Command;

    #[test]
    fn words_say_what_was_given() {
        for line in [
            "test --config f.yaml",
            "test --config f.yaml --check=file",
            "test --config f.yaml --check=machine --json",
        ] {
            let command = DaemonArgs::augment_args(Command::new("test"));
            let matches = command.try_get_matches_from(line.split(' ')).unwrap();
            let args = <DaemonArgs as clap::FromArgMatches>::from_arg_matches(&matches).unwrap();
            let words: Vec<_> = line.split(' ').skip(1).map(OsString::from).collect();
            assert_eq!(args.words(), words);
        }
    }
}
