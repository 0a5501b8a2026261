//! Contexts of UEs and sessions in Redis, which outlive the machine of the core that stored them.
//!
//! One core at a time owns the contexts of an instance: it has a lease, which it renews, and which ends by itself
//! when the core was killed. All changes of a turn of the core are one script, which looks at the owner and at a
//! version before it changes anything; so a core that was paused for longer than its lease changes nothing, and a
//! put whose answer was lost is recognised by what the next one finds. Values are sealed, see `record.rs`.
//!
//! | module | what it gives |
//! |---|---|
//! | [`address`] | where a server is |
//! | `link` | the connection, bounded in time |
//! | `record` | a context as Redis has it |
//! | `recent` | the last puts, for a server that has lost them |
//! | `script` | what Redis executes as one, and the keys of an instance |
#![forbid(unsafe_code)]

pub mod address;
mod link;
mod recent;
mod record;
mod script;

use std::collections::HashSet;
use std::time::{Duration, Instant};

use link::{Link, Trouble};
use recent::Recent;
use record::Records;
use script::{Answer, Keys, Owner, Put};
use sluice_sbi::context_store::{Changes, Contexts, StoreFailure, Stored, fingerprint};
use sluice_seal::{StoreKey, hex, key_file};

pub use address::{ADDRESS, RedisAddress};

/// How often a lease that another core has is looked at.
const LOOK: Duration = Duration::from_millis(100);
/// How long a put waits for copies while there were too few a moment ago.
const SHORT_WAIT_MS: u64 = 1;
/// How often it waits for them as long as it may meanwhile.
const COPIES_AGAIN: Duration = Duration::from_secs(2);

/// Why contexts cannot be opened.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// The server is away, or does not do it.
    #[error("{0}")]
    Server(String),
    /// The server knows no such user or password, or the user may not do what it has to.
    #[error("{0}")]
    Refused(String),
    /// Another core has the lease and renews it.
    #[error(
        "the contexts of instance {instance} at {address} are another core's, which renews its lease"
    )]
    Busy {
        /// The server.
        address: Box<RedisAddress>,
        /// The instance.
        instance: String,
    },
    /// The server is a replica.
    #[error("{0} is a replica, which is written by its primary alone")]
    Replica(Box<RedisAddress>),
    /// There are no random numbers.
    #[error("no random numbers: {0}")]
    Random(std::io::Error),
    /// The caller does not want them any more.
    #[error("the core ends")]
    Given,
}

impl From<Trouble> for OpenError {
    fn from(trouble: Trouble) -> Self {
        match trouble.is_refused() {
            true => Self::Refused(trouble.why()),
            false => Self::Server(trouble.why()),
        }
    }
}

/// How contexts are opened.
#[derive(Clone, Debug)]
pub struct Opening {
    /// The server.
    pub address: RedisAddress,
    /// The key that contexts are sealed with.
    pub key: StoreKey,
    /// Whose contexts they are; at most 64 octets.
    pub instance: String,
    /// How long a core owns them without a sign of life.
    pub lease: Duration,
    /// How many replicas have to have a put before it is done.
    pub replicas: u32,
    /// The longest wait for a connection, and for an answer.
    pub timeout: Duration,
}

/// Contexts of one instance, which this core owns.
#[derive(Debug)]
pub struct ContextRedis {
    link: Link,
    keys: Keys,
    records: Records,
    owner: Owner,
    instance: String,
    replicas: u32,
    timeout: Duration,
    version: u64,
    /// The number of the last put.
    number: u64,
    /// A put whose answer was not seen.
    pending: Option<(u64, Changes)>,
    recent: Recent,
    /// Fingerprints of the keys that it has.
    there: HashSet<u64>,
    /// What a server has lost, and has not got again yet.
    owed: Changes,
    /// What the server has is older than it should be, and nobody knows which of it.
    owes_all: bool,
    renewed: Instant,
    /// Why this core owns them no longer.
    lost: Option<String>,
    /// There were too few copies; when they are waited for again.
    few_copies_until: Option<Instant>,
    /// Fields that could not be read.
    unreadable: u64,
}

/// Whether a server can be used.
///
/// # Errors
/// [`OpenError::Server`] and [`OpenError::Replica`].
pub fn check(address: &RedisAddress, timeout: Duration) -> Result<(), OpenError> {
    let mut link = Link::new(address.clone(), timeout);
    link.with(|c| redis::cmd("PING").query::<String>(c))
        .map_err(OpenError::from)?;
    // Who may not ask learns it with the first put.
    let role = link.with(|c| redis::cmd("ROLE").query::<Vec<redis::Value>>(c));
    let is_replica = role.is_ok_and(|role| {
        let first = role.into_iter().next();
        first
            .is_some_and(|word| redis::from_redis_value::<String>(word).is_ok_and(|w| w == "slave"))
    });
    match is_replica {
        true => Err(OpenError::Replica(Box::new(address.clone()))),
        false => Ok(()),
    }
}

impl ContextRedis {
    /// Becomes the owner. It waits for the lease of a core that was killed, at most that long; `is_given`
    /// says whether the caller has given it up.
    ///
    /// # Errors
    /// [`OpenError::Busy`] as soon as another core renews its lease, and what the server says.
    pub fn open(opening: &Opening, is_given: &dyn Fn() -> bool) -> Result<Self, OpenError> {
        let mut token = [0; 16];
        key_file::random(&mut token).map_err(OpenError::Random)?;
        let mut owner = Owner {
            token: hex::write(&token),
            epoch: 0,
            lease_ms: millis(opening.lease),
        };
        let keys = Keys::new(&opening.instance);
        let mut link = Link::new(opening.address.clone(), opening.timeout);
        check(&opening.address, opening.timeout)?;
        let (epoch, version) = take(&mut link, &keys, &owner, opening, is_given)?;
        owner.epoch = epoch;
        Ok(Self {
            link,
            keys,
            records: Records::new(&opening.key, &opening.instance),
            owner,
            instance: opening.instance.clone(),
            replicas: opening.replicas,
            timeout: opening.timeout,
            version,
            number: 0,
            pending: None,
            recent: Recent::default(),
            there: HashSet::new(),
            owed: Changes::new(),
            owes_all: false,
            renewed: Instant::now(),
            lost: None,
            few_copies_until: None,
            unreadable: 0,
        })
    }

    /// Whether an instance has contexts, whoever owns them.
    ///
    /// # Errors
    /// [`OpenError::Server`] and [`OpenError::Refused`].
    pub fn has_some(opening: &Opening) -> Result<bool, OpenError> {
        let mut link = Link::new(opening.address.clone(), opening.timeout);
        let keys = Keys::new(&opening.instance);
        let (next, fields) = link.with(|c| script::scan(c, &keys, 0))?;
        Ok(next != 0 || !fields.is_empty())
    }

    /// The how-manieth owner this core is.
    pub fn epoch(&self) -> u64 {
        self.owner.epoch
    }

    /// How many contexts of [`all`](Self::all) could not be read: they are damaged, or of another key.
    pub fn unreadable(&self) -> u64 {
        self.unreadable
    }

    /// All that is stored. What cannot be read is as if it had never been stored.
    ///
    /// # Errors
    /// What the server says.
    pub fn all(&mut self) -> Result<Stored, OpenError> {
        let mut stored = Stored::new();
        self.there.clear();
        self.unreadable = 0;
        let mut cursor = 0;
        loop {
            let keys = &self.keys;
            let scanned = self.link.with(|c| script::scan(c, keys, cursor));
            let (next, fields) = scanned.map_err(OpenError::from)?;
            for (field, value) in fields {
                match self.records.open(&field, &value) {
                    Some((key, value)) => {
                        self.there.insert(fingerprint(&key));
                        stored.insert(key, value);
                    }
                    None => self.unreadable += 1,
                }
            }
            if next == 0 {
                return Ok(stored);
            }
            cursor = next;
            self.tend()
                .map_err(|failure| OpenError::Server(failure.why().to_owned()))?;
        }
    }

    /// Settles what is unknown, and gives a server again what it has lost.
    fn try_put(&mut self, changes: &Changes) -> Result<Done, Trouble> {
        let settled = self.settle()?;
        let mut left = changes.clone();
        if let Some(settled) = settled {
            left.retain(|key, value| settled.applied.get(key) != Some(value));
            if left.is_empty() {
                let copies = settled.copies;
                return Ok(Done {
                    copies,
                    ..Done::default()
                });
            }
        }
        let mut is_first = true;
        loop {
            let mut batch = self.owed.clone();
            batch.extend(left.clone());
            let after = self.version;
            match self.send(&batch, after, self.owes_all)? {
                (Answer::Done { version }, copies) => {
                    let done = Done {
                        copies,
                        was_behind: !self.owed.is_empty(),
                        wiped: self.owes_all,
                    };
                    self.stored(version, batch);
                    return Ok(done);
                }
                (Answer::Version { version, .. }, _) if version < after && is_first => {
                    is_first = false;
                    match self.recent.since(version) {
                        Some(again) => {
                            let later = std::mem::replace(&mut self.owed, again);
                            self.owed.extend(later);
                        }
                        None => self.owes_all = true,
                    }
                    self.recent.clear();
                    self.version = version;
                }
                (answer, _) => return Err(self.unexpected(answer)),
            }
        }
    }

    /// The server has this, and with it all that it was owed.
    fn stored(&mut self, version: u64, batch: Changes) {
        self.version = version;
        if self.owes_all {
            self.there.clear();
        }
        for (key, value) in &batch {
            match value {
                Some(_) => self.there.insert(fingerprint(key)),
                None => self.there.remove(&fingerprint(key)),
            };
        }
        self.recent.add(version, batch);
        self.owed.clear();
        self.owes_all = false;
    }

    /// Finds out what became of a put whose answer was not seen, by an empty one that cannot come before it.
    fn settle(&mut self) -> Result<Option<Settled>, Trouble> {
        let Some((number, applied)) = self.pending.take() else {
            return Ok(None);
        };
        let after = self.version;
        let answered = self.send(&Changes::new(), after, false);
        let (answer, copies) = match answered {
            Ok(answered) => answered,
            Err(trouble) => {
                self.pending = Some((number, applied));
                return Err(trouble);
            }
        };
        match answer {
            Answer::Version { version, put } if version == after + 1 && put == number => {
                self.stored(version, applied.clone());
                Ok(Some(Settled { applied, copies }))
            }
            // By this empty one, or by one before it.
            Answer::Done { version } => {
                self.version = version;
                self.recent.add(version, Changes::new());
                Ok(None)
            }
            Answer::Version { version, put } if version == after + 1 && put != 0 => {
                self.version = version;
                self.recent.add(version, Changes::new());
                Ok(None)
            }
            Answer::Version { version, .. } if version < after => Ok(None),
            answer => Err(self.unexpected(answer)),
        }
    }

    /// Sends a put. What became of it if it is not answered is found out by the next one.
    fn send(
        &mut self,
        changes: &Changes,
        after: u64,
        wipes: bool,
    ) -> Result<(Answer, u64), Trouble> {
        self.number += 1;
        let put = self.sealed(changes, after, wipes)?;
        let sent = self.exec(&script::put(&self.keys, &self.owner, &put));
        // An empty one is told by its number from one that is not.
        if matches!(sent, Err(Trouble::Unknown { .. })) && !changes.is_empty() {
            self.pending = Some((self.number, changes.clone()));
        }
        sent
    }

    fn sealed(&self, changes: &Changes, after: u64, wipes: bool) -> Result<Put, Trouble> {
        let mut put = Put {
            after_version: after,
            number: self.number,
            wipes,
            ..Put::default()
        };
        for (key, value) in changes {
            let field = self.records.field(key).to_vec();
            match value {
                Some(value) => {
                    let sealed = self.records.seal(key, value);
                    let sealed = sealed.map_err(|error| Trouble::Unreachable {
                        why: error.to_string(),
                        is_refused: false,
                    })?;
                    put.set.push((field, sealed));
                }
                None => put.gone.push(field),
            }
        }
        Ok(put)
    }

    /// Executes a script of the owner, and waits for copies; how many there are.
    fn exec(&mut self, script: &redis::Cmd) -> Result<(Answer, u64), Trouble> {
        let replicas = self.replicas;
        // Within the time for an answer. Without copies a moment ago, UEs do not wait for them each time.
        let is_short = self
            .few_copies_until
            .is_some_and(|until| Instant::now() < until);
        let wait_ms = match is_short {
            true => SHORT_WAIT_MS,
            false => (millis(self.timeout) * 3 / 4).max(SHORT_WAIT_MS),
        };
        let executed = self.link.with(|connection| {
            let mut pipe = redis::pipe();
            pipe.add_command(script.clone());
            if replicas == 0 {
                let (answer,) = pipe.query::<(Answer,)>(connection)?;
                return Ok((answer, 0));
            }
            pipe.cmd("WAIT").arg(replicas).arg(wait_ms);
            pipe.query::<(Answer, u64)>(connection)
        });
        let (answer, copies) = executed?;
        if matches!(answer, Answer::Done { .. }) {
            self.renewed = Instant::now();
        }
        match copies >= replicas.into() {
            true => self.few_copies_until = None,
            false if !is_short => self.few_copies_until = Some(Instant::now() + COPIES_AGAIN),
            false => {}
        }
        Ok((answer, copies))
    }

    /// What no script answers to an owner.
    fn unexpected(&mut self, answer: Answer) -> Trouble {
        let why = match answer {
            Answer::Lost => "another core has taken them".to_owned(),
            Answer::Version { version, .. } => {
                let ours = self.version;
                format!("they have version {version}, and this core has stored {ours}")
            }
            other => format!("the server's answer is: {other}"),
        };
        let (instance, address) = (&self.instance, self.link.address());
        let why = format!(
            "the contexts of instance {instance} at {address} are this core's no longer: {why}"
        );
        self.lost = Some(why.clone());
        Trouble::Lost(why)
    }

    fn still_ours(&self) -> Result<(), StoreFailure> {
        match &self.lost {
            Some(why) => Err(StoreFailure::NoLongerOurs(why.clone())),
            None => Ok(()),
        }
    }

    /// Whether what was done is as safe as it should be.
    fn judged(&self, done: &Done) -> Result<(), StoreFailure> {
        let address = self.link.address();
        let weakly = |why: String| Err(StoreFailure::StoredWeakly(why));
        if done.wiped {
            return weakly(format!(
                "{address} had lost what was stored: UEs whose contexts do not change until the core ends register again"
            ));
        }
        if done.was_behind {
            return weakly(format!(
                "{address} had lost the last puts, which it was given again"
            ));
        }
        if done.copies < self.replicas.into() {
            let (copies, replicas) = (done.copies, self.replicas);
            return weakly(format!(
                "stored at the primary alone: {copies} of {replicas} replicas of {address} have it"
            ));
        }
        Ok(())
    }
}

/// What a put has come to.
#[derive(Default)]
struct Done {
    /// Replicas that have it.
    copies: u64,
    /// The server had lost puts.
    was_behind: bool,
    /// More than were remembered, so that all went.
    wiped: bool,
}

/// A put whose answer was not seen, and that was done.
struct Settled {
    applied: Changes,
    copies: u64,
}

impl Contexts for ContextRedis {
    fn put(&mut self, changes: &Changes) -> Result<(), StoreFailure> {
        self.still_ours()?;
        // However much waits, nothing is done with it until the server is tried again.
        if let Some(why) = self.link.paused() {
            return Err(StoreFailure::NotStored(why.to_owned()));
        }
        let mut done = self.try_put(changes);
        // The server has restarted, or somebody between has closed the connection: another may be had at once.
        if let Err(Trouble::Unknown {
            is_closed: true, ..
        }) = done
        {
            self.link.try_at_once();
            done = self.try_put(changes);
        }
        match done {
            Ok(done) => self.judged(&done),
            Err(trouble) => Err(trouble.failure()),
        }
    }

    fn may_have(&self, key: &[u8]) -> bool {
        let is_pending = |(_, changes): &(u64, Changes)| changes.contains_key(key);
        self.there.contains(&fingerprint(key)) || self.pending.as_ref().is_some_and(is_pending)
    }

    fn is_paused(&self) -> bool {
        self.link.is_paused()
    }

    /// Renews the lease when a third of it is over.
    fn tend(&mut self) -> Result<(), StoreFailure> {
        self.still_ours()?;
        let third = Duration::from_millis(self.owner.lease_ms / 3);
        if self.renewed.elapsed() < third || self.link.is_paused() {
            return Ok(());
        }
        let renew = script::renew(&self.keys, &self.owner);
        match self.exec(&renew) {
            Ok((Answer::Done { .. }, copies)) => self.judged(&Done {
                copies,
                ..Done::default()
            }),
            Ok((answer, _)) => Err(self.unexpected(answer).failure()),
            Err(trouble) => Err(trouble.failure()),
        }
    }
}

impl Drop for ContextRedis {
    /// Gives the lease up, so that the next core need not wait for its end.
    fn drop(&mut self) {
        if self.lost.is_none() {
            let give_up = script::give_up(&self.keys, &self.owner);
            // If the server is away, the lease ends by itself.
            let _ = self.link.with(|c| give_up.query::<Answer>(c));
        }
    }
}

/// Takes the lease, or waits until it has ended; epoch and version.
fn take(
    link: &mut Link,
    keys: &Keys,
    owner: &Owner,
    opening: &Opening,
    is_given: &dyn Fn() -> bool,
) -> Result<(u64, u64), OpenError> {
    let mut before: Option<i64> = None;
    let busy = || OpenError::Busy {
        address: Box::new(opening.address.clone()),
        instance: opening.instance.clone(),
    };
    loop {
        let taken = link.with(|c| script::take(keys, owner).query::<Answer>(c));
        let left_ms = match taken.map_err(OpenError::from)? {
            Answer::Taken { epoch, version } => return Ok((epoch, version)),
            Answer::Busy { left_ms } => left_ms,
            other => {
                let why = format!("{}: its answer is: {other}", opening.address);
                return Err(OpenError::Server(why));
            }
        };
        // One that grows is renewed, by a core that lives.
        let is_renewed = before.is_some_and(|before| left_ms > before);
        if is_renewed || left_ms < 0 {
            return Err(busy());
        }
        before = Some(left_ms);
        if is_given() {
            return Err(OpenError::Given);
        }
        std::thread::sleep(LOOK);
    }
}

fn millis(time: Duration) -> u64 {
    time.as_millis().try_into().unwrap_or(u64::MAX)
}
