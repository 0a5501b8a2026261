//! What Redis executes as one: Lua scripts that look at owner and version before they change anything.
//!
//! | key | type | what it has |
//! |---|---|---|
//! | `sluice:{INSTANCE}:lease` | string that expires | token of the core that owns the contexts now |
//! | `sluice:{INSTANCE}:state` | hash | `owner`: token of the last owner; `epoch`: number of owners; `version`: number of puts; `put`: number of the owner's last one |
//! | `sluice:{INSTANCE}:contexts` | hash | contexts, see `record.rs` |

use core::fmt;
use redis::{Cmd, RedisResult, Value};

/// The keys of an instance. The braces have a cluster put them on one node.
#[derive(Clone, Debug)]
pub(crate) struct Keys {
    pub(crate) lease: String,
    pub(crate) state: String,
    pub(crate) contexts: String,
}

impl Keys {
    pub(crate) fn new(instance: &str) -> Self {
        let key = |name: &str| format!("sluice:{{{instance}}}:{name}");
        Self {
            lease: key("lease"),
            state: key("state"),
            contexts: key("contexts"),
        }
    }
}

/// Takes a lease that nobody has. Arguments: token, lease in ms.
const TAKE: &str = r"
local holder = redis.call('GET', KEYS[1])
if holder and holder ~= ARGV[1] then
    return {'busy', redis.call('PTTL', KEYS[1]), 0}
end
local epoch = redis.call('HINCRBY', KEYS[2], 'epoch', 1)
redis.call('HSET', KEYS[2], 'owner', ARGV[1], 'put', '0')
redis.call('SET', KEYS[1], ARGV[1], 'PX', ARGV[2])
return {'taken', epoch, tonumber(redis.call('HGET', KEYS[2], 'version') or '0')}
";

/// What all scripts of an owner begin with. Arguments: token, epoch, lease in ms. A lease that has expired is
/// taken again as long as nobody else was owner since; an epoch that is too small is of a server that has lost
/// what it was told last.
const OWNER: &str = r"
local state = redis.call('HMGET', KEYS[2], 'owner', 'epoch', 'version', 'put')
local holder = redis.call('GET', KEYS[1])
local version = tonumber(state[3] or '0')
if holder and holder ~= ARGV[1] then return {'lost', version, 0} end
if state[1] ~= ARGV[1] and tonumber(state[2] or '0') >= tonumber(ARGV[2]) then return {'lost', version, 0} end
";

/// Renews the lease.
const RENEW: &str = r"
redis.call('SET', KEYS[1], ARGV[1], 'PX', ARGV[3])
return {'done', version, 0}
";

/// Stores changes. Further arguments: version that they follow, number of the put, whether all that is there goes
/// before ('1'), how many fields are set; these with their values; fields that go. What is written first is refused
/// where memory is short; nothing after it is.
const PUT: &str = r"
if version ~= tonumber(ARGV[4]) then
    local put = '0'
    if state[1] == ARGV[1] then put = state[4] or '0' end
    return {'version', version, tonumber(put)}
end
redis.call('HSET', KEYS[2], 'owner', ARGV[1], 'epoch', ARGV[2], 'version', version + 1, 'put', ARGV[5])
redis.call('SET', KEYS[1], ARGV[1], 'PX', ARGV[3])
if ARGV[6] == '1' then redis.call('DEL', KEYS[3]) end
local at = 8
for _ = 1, tonumber(ARGV[7]) do
    redis.call('HSET', KEYS[3], ARGV[at], ARGV[at + 1])
    at = at + 2
end
while at <= #ARGV do
    redis.call('HDEL', KEYS[3], ARGV[at])
    at = at + 1
end
return {'done', version + 1, 0}
";

/// Gives the lease up. Argument: token.
const GIVE_UP: &str = r"
if redis.call('GET', KEYS[1]) == ARGV[1] then redis.call('DEL', KEYS[1]) end
return {'done', 0, 0}
";

/// What a script has answered.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Answer {
    /// Another core has the lease, for so many milliseconds unless it renews it.
    Busy { left_ms: i64 },
    /// The lease is ours; as the how-manieth owner, and after how many puts.
    Taken { epoch: u64, version: u64 },
    /// It is done, and the version is now this.
    Done { version: u64 },
    /// Nothing was done: the version is this, by the put of this number of ours; 0 is none of ours.
    Version { version: u64, put: u64 },
    /// Nothing was done: the contexts are another core's.
    Lost,
}

impl fmt::Display for Answer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Busy { left_ms } => write!(f, "busy for {left_ms} ms"),
            Self::Taken { epoch, version } => write!(f, "taken as {epoch}, version {version}"),
            Self::Done { version } => write!(f, "done, version {version}"),
            Self::Version { version, put } => write!(f, "version {version} by put {put}"),
            Self::Lost => f.write_str("lost"),
        }
    }
}

impl redis::FromRedisValue for Answer {
    fn from_redis_value(value: Value) -> Result<Self, redis::ParsingError> {
        let (word, one, two): (String, i64, i64) = redis::from_redis_value(value)?;
        let (first, second) = (one.unsigned_abs(), two.unsigned_abs());
        Ok(match word.as_str() {
            "busy" => Self::Busy { left_ms: one },
            "taken" => Self::Taken {
                epoch: first,
                version: second,
            },
            "done" => Self::Done { version: first },
            "version" => Self::Version {
                version: first,
                put: second,
            },
            "lost" => Self::Lost,
            _ => return Err("an answer of no script".into()),
        })
    }
}

/// Who we are to a script.
#[derive(Clone, Debug)]
pub(crate) struct Owner {
    /// Random; no two owners have the same.
    pub(crate) token: String,
    pub(crate) epoch: u64,
    pub(crate) lease_ms: u64,
}

/// What is stored in one.
#[derive(Clone, Debug, Default)]
pub(crate) struct Put {
    pub(crate) after_version: u64,
    pub(crate) number: u64,
    pub(crate) wipes: bool,
    pub(crate) set: Vec<(Vec<u8>, Vec<u8>)>,
    pub(crate) gone: Vec<Vec<u8>>,
}

fn eval(script: &str, keys: &Keys) -> Cmd {
    let mut cmd = redis::cmd("EVAL");
    cmd.arg(script).arg(3);
    cmd.arg(&keys.lease).arg(&keys.state).arg(&keys.contexts);
    cmd
}

fn of_owner(script: &str, keys: &Keys, owner: &Owner) -> Cmd {
    let mut cmd = eval(&format!("{OWNER}{script}"), keys);
    cmd.arg(&owner.token).arg(owner.epoch).arg(owner.lease_ms);
    cmd
}

pub(crate) fn take(keys: &Keys, owner: &Owner) -> Cmd {
    let mut cmd = eval(TAKE, keys);
    cmd.arg(&owner.token).arg(owner.lease_ms);
    cmd
}

pub(crate) fn renew(keys: &Keys, owner: &Owner) -> Cmd {
    of_owner(RENEW, keys, owner)
}

pub(crate) fn put(keys: &Keys, owner: &Owner, put: &Put) -> Cmd {
    let mut cmd = of_owner(PUT, keys, owner);
    cmd.arg(put.after_version).arg(put.number);
    cmd.arg(i32::from(put.wipes)).arg(put.set.len());
    for (field, value) in &put.set {
        cmd.arg(field.as_slice()).arg(value.as_slice());
    }
    for field in &put.gone {
        cmd.arg(field.as_slice());
    }
    cmd
}

pub(crate) fn give_up(keys: &Keys, owner: &Owner) -> Cmd {
    let mut cmd = eval(GIVE_UP, keys);
    cmd.arg(&owner.token);
    cmd
}

/// A field of the contexts: its name and its sealed value.
pub(crate) type Field = (Vec<u8>, Vec<u8>);

/// Some of the contexts, from a cursor on: the next cursor, 0 at the end, and names and values of fields.
pub(crate) fn scan(
    connection: &mut redis::Connection,
    keys: &Keys,
    cursor: u64,
) -> RedisResult<(u64, Vec<Field>)> {
    let mut cmd = redis::cmd("HSCAN");
    cmd.arg(&keys.contexts).arg(cursor).arg("COUNT").arg(512);
    cmd.query(connection)
}
