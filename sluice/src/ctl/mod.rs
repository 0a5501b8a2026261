//! `sluice ctl`: client of the local socket of a running UPF or core.

mod core;
mod print;
mod session;
mod time;
mod trace;

use crate::cli::args::{CtlArgs, CtlQuery, Movable, Wanted, WhichSession};
use crate::subscribers;
use crate::users;
use serde_json::{Value, json};
use sluice_program::ask::AskError;
use sluice_program::exit::Exit;
use std::io::{self, Write};
use std::path::Path;

/// The request line of a query.
fn request(query: &CtlQuery) -> Value {
    let cmd = match query {
        CtlQuery::Session { which } | CtlQuery::Rules { which } => {
            return match which {
                WhichSession::Seid(seid) => json!({ "cmd": "session", "seid": seid.0 }),
                WhichSession::Ue(ue) => json!({ "cmd": "session", "ue": ue }),
            };
        }
        CtlQuery::Move { what, to } => {
            return match what {
                Movable::Shard(shard) => json!({ "cmd": "move", "shard": shard, "to": to }),
                Movable::Ue(ue) => json!({ "cmd": "move", "ue": ue, "to": to }),
            };
        }
        CtlQuery::Nat { public } => {
            return json!({ "cmd": "nat", "address": public.ip(), "port": public.port() });
        }
        CtlQuery::Core(query) => return core::request(query),
        CtlQuery::Trace(args) => return trace::request(args),
        CtlQuery::Scale { workers } => {
            return match workers {
                Wanted::Workers(n) => json!({ "cmd": "scale", "workers": n }),
                Wanted::Auto => json!({ "cmd": "scale" }),
            };
        }
        CtlQuery::Reload => "reload",
        CtlQuery::Status => "status",
        CtlQuery::Sessions => "sessions",
        CtlQuery::Drops => "drops",
        CtlQuery::Ports => "ports",
        CtlQuery::Workers => "workers",
        CtlQuery::Peers => "peers",
        CtlQuery::Counters => "counters",
        CtlQuery::Refusals => "refusals",
        CtlQuery::Applications => "applications",
        CtlQuery::Subscribers(_) | CtlQuery::Hnkey(_) | CtlQuery::Users(_) => "none",
    };
    json!({ "cmd": cmd })
}

/// Asks and prints; with `--json` the daemon's object as it is.
pub fn run(args: &CtlArgs) -> Exit {
    if let CtlQuery::Trace(trace) = &args.query {
        return match trace::run(args.socket(), trace, args.json) {
            Ok(()) => Exit::Done,
            Err(e) => failed(&e),
        };
    }
    match &args.query {
        CtlQuery::Subscribers(what) => return subscribers::run(what, args.socket(), args.json),
        CtlQuery::Hnkey(what) => return subscribers::run_hnkey(what, args.socket(), args.json),
        CtlQuery::Users(what) => return users::run(what, args.json),
        _ => {}
    }
    match ask(args.socket(), &args.query) {
        Ok(answer) => {
            let text = match args.json {
                true => format!("{answer:#}"),
                false => print::text(&args.query, &answer, args.all),
            };
            // A closed pipe (`| head`) is the reader's choice.
            let _ = writeln!(io::stdout(), "{text}");
            Exit::Done
        }
        Err(e) => failed(&e),
    }
}

fn failed(e: &AskError) -> Exit {
    eprintln!("sluice ctl: {e}");
    match e {
        AskError::NotRunning(..) | AskError::Forbidden(_) => Exit::Lacking,
        AskError::Refused(_) | AskError::Garbled(_) | AskError::File(..) => Exit::Failed,
    }
}

/// Asks the daemon at `socket`; gives its object.
pub fn ask(socket: &Path, query: &CtlQuery) -> Result<Value, AskError> {
    sluice_program::ask::ask(socket, &request(query))
}
