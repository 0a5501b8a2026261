//! Arguments of `sluice ctl users`.

use clap::{Args, Subcommand, ValueEnum};
use sluice_web::Role;
use std::path::PathBuf;

/// `sluice ctl users`
#[derive(Clone, PartialEq, Eq, Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct UsersArgs {
    /// Users file, api.users_file of core.yaml
    #[arg(long, value_name = "FILE")]
    pub file: PathBuf,
    /// Command
    #[command(subcommand)]
    pub what: UsersCommand,
}

const EXAMPLES: &str = "\
Examples:
  sluice ctl users --file /etc/sluice/users set anna --role admin       asks for the password
  sluice ctl users --file /etc/sluice/users set anna --role admin <password.txt
  sluice ctl users --file /etc/sluice/users set bert --role viewer --keep-password
  sluice ctl users --file /etc/sluice/users list

The first user is an admin, and makes the file. A core that runs takes each change at once.";

/// Commands for users.
#[derive(Clone, PartialEq, Eq, Debug, Subcommand)]
pub enum UsersCommand {
    /// Add a user, or give one another role, another password or both; standard input has the password
    Set {
        /// Name: letters, digits and - _ . @
        #[arg(value_name = "NAME")]
        name: String,
        /// Role [default: that it has]
        #[arg(long)]
        role: Option<RoleArg>,
        /// Leave the password as it is
        #[arg(long)]
        keep_password: bool,
    },
    /// List names and roles
    List,
    /// Remove a user; its sessions end
    Remove {
        /// Name
        #[arg(value_name = "NAME")]
        name: String,
    },
}

/// Role of a user.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub enum RoleArg {
    /// Sees everything but keys
    Viewer,
    /// Changes UEs, sessions and subscribers
    Operator,
    /// Changes users, home network keys and the core itself
    Admin,
}

impl From<RoleArg> for Role {
    fn from(role: RoleArg) -> Self {
        match role {
            RoleArg::Viewer => Self::Viewer,
            RoleArg::Operator => Self::Operator,
            RoleArg::Admin => Self::Admin,
        }
    }
}
