//! `sluice ctl subscribers` and `sluice ctl hnkey`: subscribers and home network keys in their database.

mod print;

use crate::cli::subscribers::{
    DatabaseArgs, DatabasePlace, FileFormat, HnkeyArgs, HnkeyCommand, SubscribersArgs,
    SubscribersCommand,
};
use serde_json::{Value, json};
use sluice_program::ask::{self, AskError};
use sluice_program::exit::Exit;
use sluice_subscribers::draft::Secret;
use sluice_subscribers::store::{Format, IMPORT_BYTES};
use sluice_subscribers::{Access, Error, Location, Operation, Problem, Store, StoreKey};
use std::fs::{File, OpenOptions};
use std::io::{self, BufWriter, ErrorKind, Read, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// How long the core may take: an import of many takes seconds.
const CORE_ANSWERS_WITHIN: Duration = Duration::from_secs(300);

/// A database, or the core that serves one.
enum Place<'a> {
    Database(DatabasePlace),
    Core(&'a Path),
}

/// Does what was asked for, and tells. `socket` is the core's.
pub fn run(args: &SubscribersArgs, socket: &Path, as_json: bool) -> Exit {
    let place = Place::of(&args.database, socket);
    let answer = match &args.what {
        SubscribersCommand::Init => match &place {
            Place::Database(place) => init(place).map_err(Failure::from),
            Place::Core(_) => {
                let expected = "--file FILE, or --database URL: a core makes no database";
                Err(Error::from(Problem::new("--file", "missing", expected)).into())
            }
        },
        SubscribersCommand::Import {
            path,
            format,
            replace,
        } => import(&place, path, *format, *replace),
        SubscribersCommand::Export {
            format,
            with_keys,
            output,
        } => match export(&place, *format, *with_keys, output.as_deref()) {
            Ok(None) => return Exit::Done,
            Ok(Some(answer)) => Ok(answer),
            Err(error) => Err(error),
        },
        SubscribersCommand::Restore { from } => restore(&place, from),
        other => match other.operation() {
            Some(operation) => operate(&place, operation),
            None => return Exit::Usage,
        },
    };
    tell(answer, as_json, |answer| {
        print::subscribers(&args.what, answer)
    })
}

/// The same for keys of the home network.
pub fn run_hnkey(args: &HnkeyArgs, socket: &Path, as_json: bool) -> Exit {
    let operation = match &args.what {
        HnkeyCommand::New {
            profile,
            id,
            private_key,
        } => private(private_key.as_deref()).map(|private| Operation::HomeKeyNew {
            profile: (*profile).into(),
            id: *id,
            private,
        }),
        HnkeyCommand::List => Ok(Operation::HomeKeyList),
        HnkeyCommand::Remove { id } => Ok(Operation::HomeKeyRemove { id: *id }),
    };
    let place = Place::of(&args.database, socket);
    let answer = operation
        .map_err(Failure::from)
        .and_then(|operation| operate(&place, operation));
    tell(answer, as_json, print::home_keys)
}

impl<'a> Place<'a> {
    fn of(database: &DatabaseArgs, socket: &'a Path) -> Self {
        database.place().map_or(Self::Core(socket), Self::Database)
    }
}

/// Why it was not done: here, or at the core.
enum Failure {
    Here(Error),
    Core(AskError),
    /// The core's words, and of which kind they are.
    Told(String, Exit),
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        Self::Here(error)
    }
}

impl std::fmt::Display for Failure {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Here(error) => error.fmt(f),
            Self::Core(error) => error.fmt(f),
            Self::Told(text, _) => f.write_str(text),
        }
    }
}

fn tell(answer: Result<Value, Failure>, as_json: bool, text: impl Fn(&Value) -> String) -> Exit {
    match answer {
        Ok(answer) => {
            let text = match as_json {
                true => format!("{answer:#}"),
                false => text(&answer),
            };
            // A closed pipe (`| head`) is the reader's choice.
            let _ = writeln!(io::stdout(), "{text}");
            Exit::Done
        }
        Err(error) => {
            eprintln!("sluice ctl: {error}");
            exit_of(&error)
        }
    }
}

fn exit_of(failure: &Failure) -> Exit {
    match failure {
        Failure::Here(Error::Problems(_)) => Exit::Usage,
        Failure::Here(Error::NotFound(_) | Error::Full | Error::Exists(_)) => Exit::Failed,
        Failure::Core(AskError::Garbled(_)) => Exit::Failed,
        Failure::Here(_) | Failure::Core(_) => Exit::Lacking,
        Failure::Told(_, exit) => *exit,
    }
}

/// Asks the core that serves the database.
fn ask(socket: &Path, operation: &Operation) -> Result<Value, Failure> {
    let told = json!(operation);
    let answer = ask::exchange(socket, &told, CORE_ANSWERS_WITHIN).map_err(Failure::Core)?;
    let Some(error) = answer.get("error") else {
        return Ok(answer);
    };
    let exit = match answer["kind"].as_str() {
        Some("problems") => Exit::Usage,
        Some("lacking") => Exit::Lacking,
        _ => Exit::Failed,
    };
    let text = error.as_str().unwrap_or("refused").to_owned();
    Err(Failure::Told(text, exit))
}

fn now_s() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    since.map_or(0, |since| since.as_secs())
}

fn open(database: &DatabasePlace, access: Access) -> Result<(Store, StoreKey), Error> {
    let key = StoreKey::read(&database.key_file)?;
    let store = Store::open_at(&database.location, &key, access)?;
    Ok((store, key))
}

/// Makes a database, and a key file unless there is one.
fn init(database: &DatabasePlace) -> Result<Value, Error> {
    let path = &database.key_file;
    let (key, made) = match StoreKey::create(path) {
        Ok(key) => (key, true),
        Err(sluice_subscribers::key_file::KeyError::Exists(_)) => (StoreKey::read(path)?, false),
        Err(error) => return Err(error.into()),
    };
    Store::create_at(&database.location, &key)?;
    let at = database.location.to_string();
    Ok(json!({ "file": at, "key_file": path, "key_file_made": made }))
}

fn operate(place: &Place<'_>, operation: Operation) -> Result<Value, Failure> {
    let database = match place {
        Place::Database(place) => place,
        Place::Core(socket) => return ask(socket, &operation),
    };
    let access = match operation {
        Operation::SubscriberShow { .. }
        | Operation::SubscriberList { .. }
        | Operation::HomeKeyList
        | Operation::Backup { .. } => Access::Read,
        _ => Access::Change,
    };
    let (mut store, key) = open(database, access)?;
    Ok(operation.run(&mut store, &key, now_s())?.answer)
}

fn import(
    place: &Place<'_>,
    path: &Path,
    format: Option<FileFormat>,
    replace: bool,
) -> Result<Value, Failure> {
    let format = match format {
        Some(format) => format.into(),
        None => format_of(path).map_err(Error::from)?,
    };
    let octets = read(path)?;
    let database = match place {
        Place::Database(place) => place,
        Place::Core(socket) => {
            let no_text = |_| Error::from(Problem::new("", "octets that are no text", "UTF-8"));
            let operation = Operation::SubscriberImport {
                format,
                replace,
                text: Secret::new(String::from_utf8(octets).map_err(no_text)?),
            };
            return ask(socket, &operation);
        }
    };
    let (mut store, _) = open(database, Access::Change)?;
    let done = store.import(&octets, format, replace, now_s())?;
    Ok(json!({ "added": done.added.len(), "replaced": done.replaced.len() }))
}

/// How a file is written, by its name.
fn format_of(path: &Path) -> Result<Format, Problem> {
    match path.extension().and_then(|e| e.to_str()) {
        Some("csv") => Ok(Format::Csv),
        Some("json") => Ok(Format::Json),
        _ => {
            let name = path.display().to_string();
            let expected = "a name that ends in .csv or .json, or --format";
            Err(Problem::got("", &name, expected))
        }
    }
}

/// A file of the operator's, or standard input; what is longer than any import is not read to its end.
fn read(path: &Path) -> Result<Vec<u8>, Error> {
    let failed = |error| Error::Io(path.to_owned(), error);
    let most = IMPORT_BYTES as u64 + 1;
    let mut octets = Vec::new();
    if path == Path::new("-") {
        io::stdin().lock().take(most).read_to_end(&mut octets)
    } else {
        File::open(path).and_then(|file| file.take(most).read_to_end(&mut octets))
    }
    .map_err(failed)?;
    Ok(octets)
}

/// None if the subscribers themselves went to standard output.
fn export(
    place: &Place<'_>,
    format: Option<FileFormat>,
    with_keys: bool,
    output: Option<&Path>,
) -> Result<Option<Value>, Failure> {
    let format = match (format, output) {
        (Some(format), _) => format.into(),
        (None, Some(path)) => format_of(path).map_err(Error::from)?,
        (None, None) => Format::Csv,
    };
    let done = match place {
        Place::Database(place) => {
            let (store, _) = open(place, Access::Read)?;
            write_out(output, |out| store.export(format, with_keys, now_s(), out))
        }
        Place::Core(socket) => {
            let answer = ask(socket, &Operation::SubscriberExport { format, with_keys })?;
            let text = answer["text"].as_str().unwrap_or_default();
            write_out(output, |out| {
                let written = out.write_all(text.as_bytes());
                written.map_err(|error| Error::Io("export".into(), error))?;
                Ok(answer["subscribers"].as_u64().unwrap_or_default())
            })
        }
    };
    Ok(done?)
}

/// Writes to standard output or to a new file of mode 0600.
fn write_out(
    output: Option<&Path>,
    write: impl FnOnce(&mut dyn Write) -> Result<u64, Error>,
) -> Result<Option<Value>, Error> {
    let Some(path) = output else {
        let mut out = BufWriter::new(io::stdout().lock());
        return match write(&mut out) {
            // A closed pipe is the reader's choice.
            Err(Error::Io(_, error)) if error.kind() == ErrorKind::BrokenPipe => Ok(None),
            Err(error) => Err(error),
            Ok(_) => out
                .flush()
                .map(|()| None)
                .map_err(|e| Error::Io("-".into(), e)),
        };
    };
    let failed = |error: io::Error| match error.kind() {
        ErrorKind::AlreadyExists => Error::Exists(path.to_owned()),
        _ => Error::Io(path.to_owned(), error),
    };
    let file = OpenOptions::new()
        .write(true)
        .create_new(true)
        .mode(0o600)
        .open(path);
    let mut out = BufWriter::new(file.map_err(failed)?);
    let number = write(&mut out).and_then(|number| out.flush().map(|()| number).map_err(failed));
    if number.is_err() {
        let _ = std::fs::remove_file(path);
    }
    Ok(Some(json!({ "subscribers": number?, "file": path })))
}

fn restore(place: &Place<'_>, from: &Path) -> Result<Value, Failure> {
    let database = match place {
        Place::Database(place) => place,
        Place::Core(socket) => {
            let from = crate::cli::subscribers::absolute(from);
            return ask(socket, &Operation::Restore { from });
        }
    };
    let key = StoreKey::read(&database.key_file).map_err(Error::from)?;
    let restored = match &database.location {
        Location::File(file) => Store::restore_file(file, from, &key, now_s())?,
        server @ Location::Server(_) => {
            let mut store = Store::open_at(server, &key, Access::Change)?;
            store.restore(from, &key, now_s())?
        }
    };
    Ok(json!({ "subscribers": restored.subscribers, "damaged_kept_as": restored.damaged }))
}

/// A private key of a file.
fn private(path: Option<&Path>) -> Result<Secret, Error> {
    let Some(path) = path else {
        return Ok(Secret::default());
    };
    let octets = read(path)?;
    let text = String::from_utf8(octets).map_err(|_| {
        let expected = "64 hexadecimal digits of a private key of this profile";
        Problem::new("private", "no such key", expected)
    })?;
    Ok(Secret::new(text.trim()))
}

#[cfg(test)]
mod tests;
