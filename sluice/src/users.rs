//! `sluice ctl users`: users of the core's screen, in their file. A core that runs takes each change at once.

use crate::cli::users::{RoleArg, UsersArgs, UsersCommand};
use rustix::termios::{LocalModes, OptionalActions, tcgetattr, tcsetattr};
use serde_json::{Value, json};
use sluice_program::exit::Exit;
use sluice_web::{Role, UsersError, UsersFile};
use std::io::{self, BufRead as _, IsTerminal as _, Write as _};

/// Does what was asked for, and tells.
pub fn run(args: &UsersArgs, as_json: bool) -> Exit {
    let file = UsersFile(args.file.clone());
    let done = match &args.what {
        UsersCommand::Set {
            name,
            role,
            keep_password,
        } => set(&file, name, *role, *keep_password),
        UsersCommand::List => file.read().map(|users| {
            let row = |(name, role): (&String, Role)| json!({ "name": name, "role": role.name() });
            let rows = users.iter().map(|(name, user)| row((name, user.role)));
            json!({ "users": rows.collect::<Vec<_>>() })
        }),
        UsersCommand::Remove { name } => {
            let removed = file.remove(name);
            removed.map(|()| json!({ "removed": name }))
        }
    };
    match done {
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

fn set(
    file: &UsersFile,
    name: &str,
    role: Option<RoleArg>,
    keeps_password: bool,
) -> Result<Value, UsersError> {
    let password = match keeps_password {
        true => None,
        false => Some(password(name).map_err(|e| UsersError::Io("password".into(), e))?),
    };
    let role = file.set(name, role.map(Role::from), password.as_deref())?;
    Ok(json!({ "name": name, "role": role.name() }))
}

/// The first line of standard input, which a terminal does not show.
fn password(name: &str) -> io::Result<String> {
    let input = io::stdin();
    let shown = input.is_terminal().then(|| tcgetattr(&input)).transpose()?;
    if let Some(shown) = &shown {
        let mut hidden = shown.clone();
        hidden.local_modes.remove(LocalModes::ECHO);
        tcsetattr(&input, OptionalActions::Flush, &hidden)?;
        eprint!("Password of {name} (10 characters or more): ");
    }
    let mut line = String::new();
    let read = input.lock().read_line(&mut line);
    if let Some(shown) = &shown {
        tcsetattr(&input, OptionalActions::Flush, shown)?;
        eprintln!();
    }
    read?;
    Ok(line.trim_end_matches(['\r', '\n']).to_owned())
}

fn text(answer: &Value) -> String {
    let word = |of: &Value, key: &str| of[key].as_str().unwrap_or_default().to_owned();
    let row = |one: &Value| format!("{} {}", word(one, "name"), word(one, "role"));
    match (&answer["users"], answer.get("removed")) {
        (Value::Array(users), _) => users.iter().map(row).collect::<Vec<_>>().join("\n"),
        (_, Some(_)) => format!("removed {}", word(answer, "removed")),
        _ => row(answer),
    }
}

fn exit_of(error: &UsersError) -> Exit {
    match error {
        UsersError::Unfit(_) | UsersError::Line(..) => Exit::Usage,
        UsersError::NoAdmin | UsersError::Full | UsersError::Unknown(_) => Exit::Failed,
        _ => Exit::Lacking,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn users_are_lines_and_changes_are_told() {
        let users = json!({ "users": [
            { "name": "ada", "role": "admin" }, { "name": "vic", "role": "viewer" },
        ]});
        assert_eq!(text(&users), "ada admin\nvic viewer");
        assert_eq!(
            text(&json!({ "name": "ada", "role": "admin" })),
            "ada admin"
        );
        assert_eq!(text(&json!({ "removed": "vic" })), "removed vic");
    }
}
