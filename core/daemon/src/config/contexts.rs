//! `contexts` of core.yaml: where UE and session contexts are stored, so that they outlive the core.

use super::kinds;
use sluice_contexts_redis::{ADDRESS, RedisAddress};
use sluice_program::config::fields::{At, Fields};
use sluice_program::config::kind::{Kind, boolean, number};
use std::fmt;
use std::path::PathBuf;

/// Where contexts of UEs and sessions are stored.
#[derive(Clone, PartialEq, Debug)]
pub enum ContextsSection {
    /// In memory of this machine.
    Folder(ContextsFolder),
    /// At a Redis server.
    Redis(ContextsRedis),
}

/// A folder for contexts.
#[derive(Clone, PartialEq, Debug)]
pub struct ContextsFolder {
    /// The folder.
    pub folder: At<PathBuf>,
    /// The most that they may take, in units of 1,048,576 octets.
    pub most_mib: u32,
    /// Whether the folder may be on a disk.
    pub on_disk: bool,
}

/// Contexts at a Redis server.
#[derive(Clone, PartialEq, Debug)]
pub struct ContextsRedis {
    /// The server.
    pub url: At<RedisAddress>,
    /// The key that they are sealed with.
    pub key_file: At<PathBuf>,
    /// Whose they are: one core at a time.
    pub instance: At<String>,
    /// How long the core owns them without a sign of life.
    pub lease_s: u32,
    /// How many replicas have to have them before what follows from them leaves.
    pub replicas: u32,
    /// The longest wait for a connection, and for an answer.
    pub timeout_ms: u32,
}

impl ContextsSection {
    pub(super) fn read(fields: &mut Fields<'_, '_>) -> Option<Self> {
        if !fields.has("redis") {
            return ContextsFolder::read(fields).map(Self::Folder);
        }
        for key in ["folder", "most_mib", "on_disk"] {
            if fields.has(key) {
                let (line, path) = (fields.line(), fields.key(key));
                let what = "stands beside redis";
                let expected = "contexts in a folder or at a Redis server";
                fields.report().problem(line, path, what, expected);
            }
        }
        // They are known, whatever they say.
        let any = Kind::new("a value", |text| Some(text.to_owned()));
        for key in ["folder", "most_mib", "on_disk"] {
            fields.optional(key, &any);
        }
        fields
            .optional_section("redis", ContextsRedis::read)
            .map(Self::Redis)
    }

    /// Whether core.yaml has a password in it.
    pub fn has_password(&self) -> bool {
        matches!(self, Self::Redis(redis) if redis.url.value.has_password())
    }
}

impl fmt::Display for ContextsSection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Folder(one) => one.folder.value.display().fmt(f),
            Self::Redis(one) => {
                let (instance, url) = (&one.instance.value, &one.url.value);
                write!(f, "instance {instance} at {url}")
            }
        }
    }
}

impl ContextsFolder {
    fn read(fields: &mut Fields<'_, '_>) -> Option<Self> {
        let folder = fields.required("folder", &kinds::file());
        let most = number(16, 65_536, "MiB");
        let most_mib = fields.or("most_mib", "1024", &most).value;
        let on_disk = fields.or("on_disk", "false", &boolean()).value;
        Some(Self {
            folder: folder?,
            most_mib,
            on_disk,
        })
    }
}

impl ContextsRedis {
    fn read(fields: &mut Fields<'_, '_>) -> Option<Self> {
        let url = Self::url(fields);
        let key_file = fields.required("key_file", &kinds::file());
        let instance = fields.or("instance", "core", &instance());
        let lease_s = fields.or("lease_s", "6", &number(2, 60, "s")).value;
        let replicas = fields.or("replicas", "0", &number(0, 5, "")).value;
        let timeout_ms = fields
            .or("timeout_ms", "200", &number(10, 1000, "ms"))
            .value;
        Some(Self {
            url: url?,
            key_file: key_file?,
            instance,
            lease_s,
            replicas,
            timeout_ms,
        })
    }

    /// No complaint repeats it, for it may have a password.
    fn url(fields: &mut Fields<'_, '_>) -> Option<At<RedisAddress>> {
        let any = Kind::new(ADDRESS, |text| Some(text.to_owned()));
        let text = fields.required("url", &any)?;
        match RedisAddress::read(&text.value) {
            Ok(address) => Some(text.map(|_| address)),
            Err(what) => {
                let key = fields.key("url");
                fields.report().problem(text.line, key, what, ADDRESS);
                None
            }
        }
    }
}

/// A name that is part of keys at the server.
fn instance() -> Kind<String> {
    let is_part = |c: u8| c.is_ascii_alphanumeric() || matches!(c, b'.' | b'_' | b'-');
    Kind::new("1 to 64 letters, digits, '.', '_' and '-'", move |text| {
        let is_name = (1..=64).contains(&text.len()) && text.bytes().all(is_part);
        is_name.then(|| text.to_owned())
    })
}
