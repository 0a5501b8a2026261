//! Operations on users and on sessions of browsers: log-in, log-out, names and roles.

use super::access::{Access, COOKIE, Caller};
use super::problem::Problem;
use super::readers::Given;
use super::route::Own;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use sluice_program::lines::{self, Kind, Peer};
use sluice_web::{Door, Opened, Refused, Role, UsersError};
use std::sync::Arc;
use std::time::Instant;
use zeroize::Zeroizing;

/// Role of a user; each may do what the one before it may.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(rename = "Role")]
pub enum RoleName {
    /// Sees everything but keys.
    Viewer,
    /// Changes UEs, sessions and subscribers.
    Operator,
    /// Changes users, home network keys and the core itself.
    Admin,
}

impl From<Role> for RoleName {
    fn from(role: Role) -> Self {
        match role {
            Role::Viewer => Self::Viewer,
            Role::Operator => Self::Operator,
            Role::Admin => Self::Admin,
        }
    }
}

impl From<RoleName> for Role {
    fn from(role: RoleName) -> Self {
        match role {
            RoleName::Viewer => Self::Viewer,
            RoleName::Operator => Self::Operator,
            RoleName::Admin => Self::Admin,
        }
    }
}

/// Way into the API for browsers.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(rename = "WayIn")]
pub enum Way {
    /// Users log in.
    Users,
    /// Programs alone, which show a token.
    Token,
    /// Nobody logs in: pages may look, and change nothing.
    Open,
}

/// Session of a browser.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, JsonSchema)]
#[schemars(deny_unknown_fields, rename = "BrowserSession")]
pub struct Session {
    pub(super) log_in: Way,
    /// Null while nobody is logged in.
    pub(super) user: Option<String>,
    /// Null while nobody is logged in and somebody has to be.
    pub(super) role: Option<RoleName>,
    /// Header X-CSRF-Token of changes.
    pub(super) csrf: Option<String>,
    pub(super) version: &'static str,
}

/// Name and password of a user.
#[derive(Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct LogIn {
    user: String,
    password: String,
}

/// Users of the API.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub struct Users {
    users: Vec<UserRow>,
}

/// A user.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub struct UserRow {
    name: String,
    role: RoleName,
}

/// Change of a user; a new one needs both.
#[derive(Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct UserChange {
    role: Option<RoleName>,
    /// 10 characters or more; never shown again.
    password: Option<String>,
}

/// The answer, and the header Set-Cookie if there is to be one.
pub(super) type Answered = Result<(Value, Option<String>), Problem>;

/// Answers an operation of users. It may take some 20 ms of a CPU: passwords are hashed.
pub(super) fn answer(
    own: Own,
    access: &Access,
    caller: Option<&Caller>,
    is_by_tls: bool,
    given: &Given<'_>,
) -> Answered {
    let told = |value: Value| Ok((value, None));
    match own {
        Own::Session => told(value(session(access, caller))),
        Own::LogIn => log_in(door(access)?, access, is_by_tls, given),
        Own::LogOut => {
            if let (Some(Caller::User(_, cookie)), Some(door)) = (caller, &access.door) {
                door.log_out(cookie);
            }
            let gone = format!("{COOKIE}=; Path=/; HttpOnly; SameSite=Strict; Max-Age=0");
            Ok((value(session(access, None)), Some(gone)))
        }
        Own::Users => {
            let row = |(name, role): (String, Role)| UserRow {
                name,
                role: role.into(),
            };
            let users = door(access)?.users().into_iter().map(row).collect();
            told(value(Users { users }))
        }
        Own::UserSet => {
            let name = given.named("user");
            let change = given.json()?;
            let change: UserChange =
                serde_json::from_value(change).map_err(|_| unreadable_secret())?;
            let password = change.password.map(Zeroizing::new);
            let role = change.role.map(Role::from);
            let set = door(access)?.set(&name, role, password.as_ref().map(|text| text.as_str()));
            let role = set.map_err(|e| refused(&e))?.into();
            told(value(UserRow { name, role }))
        }
        Own::UserRemove => {
            let name = given.named("user");
            let removed = door(access)?.remove(&name);
            removed.map_err(|e| refused(&e))?;
            told(serde_json::json!({ "removed": name }))
        }
        Own::Document | Own::Events | Own::UeEvents => Err(Problem::new("failed", "no such user")),
    }
}

fn value(answer: impl Serialize) -> Value {
    serde_json::to_value(answer).unwrap_or_default()
}

fn door(access: &Access) -> Result<&Arc<Door>, Problem> {
    let none = || {
        Problem::new(
            "refused",
            "there are no users: core.yaml has no api.users_file",
        )
    };
    access.door.as_ref().ok_or_else(none)
}

/// Faults of a body with a password are not repeated.
fn unreadable_secret() -> Problem {
    Problem::invalid("the body has other fields or values than /openapi.json tells")
}

fn session(access: &Access, caller: Option<&Caller>) -> Session {
    let log_in = match (&access.door, &access.token) {
        (Some(_), _) => Way::Users,
        (None, Some(_)) => Way::Token,
        (None, None) => Way::Open,
    };
    let none = Session {
        log_in,
        user: None,
        role: None,
        csrf: None,
        version: env!("CARGO_PKG_VERSION"),
    };
    match caller {
        Some(Caller::User(browser, _)) => Session {
            user: Some(browser.user.clone()),
            role: Some(browser.role.into()),
            csrf: Some(browser.csrf.clone()),
            ..none
        },
        // What a page may do without users: its changes have an Origin, and are refused.
        Some(Caller::Program) if log_in == Way::Open => Session {
            role: Some(RoleName::Viewer),
            ..none
        },
        Some(Caller::Program) => Session {
            role: Some(RoleName::Admin),
            ..none
        },
        None => none,
    }
}

fn log_in(door: &Door, access: &Access, is_by_tls: bool, given: &Given<'_>) -> Answered {
    let body = given.json()?;
    let asked: LogIn = serde_json::from_value(body).map_err(|_| unreadable_secret())?;
    let password = Zeroizing::new(asked.password);
    match door.log_in(&asked.user, &password, Instant::now()) {
        Ok(Opened { cookie, browser }) => {
            tracing::info!("management API: {} logs in", browser.user);
            let secure = if is_by_tls { "; Secure" } else { "" };
            let set = format!("{COOKIE}={cookie}; Path=/; HttpOnly; SameSite=Strict{secure}");
            let caller = Caller::User(browser, cookie);
            Ok((value(session(access, Some(&caller))), Some(set)))
        }
        Err(refused) => {
            let (reason, why) = match refused {
                Refused::Wrong => ("unauthorized", "name or password is wrong"),
                Refused::Often => (
                    "too_many",
                    "too many log-ins have failed; try again in a minute",
                ),
            };
            if lines::permits(Peer::Local, Kind::Control) {
                tracing::warn!("management API: a log-in is refused: {why}");
            }
            Err(Problem::new(reason, why))
        }
    }
}

fn refused(error: &UsersError) -> Problem {
    let reason = match error {
        UsersError::Unfit(_) => "invalid",
        UsersError::Unknown(_) => "not_found",
        UsersError::NoAdmin | UsersError::Full => "refused",
        _ => "failed",
    };
    Problem::new(reason, error.to_string())
}
