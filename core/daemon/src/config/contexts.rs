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
    Redis(Box<ContextsRedis>),
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
                // It is known, whatever it says.
                fields.optional(key, &Kind::new("a value", |text| Some(text.to_owned())));
            }
        }
        fields
            .optional_section("redis", ContextsRedis::read)
            .map(|redis| Self::Redis(Box::new(redis)))
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
        let lease_s = fields.or("lease_s", "6", &number(2, 60, "seconds")).value;
        let replicas = fields.or("replicas", "0", &number(0, 5, "replicas")).value;
        let timeout_ms = fields
            .or("timeout_ms", "200", &number(10, 1000, "milliseconds"))
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

#[cfg(test)]
pub(super) mod tests {
    use super::super::CoreConfig;
    use super::*;
    use sluice_program::config::problem::KnownKey;
    use std::path::Path;

    /// All keys of the example, whose folder and server for contexts exclude each other.
    pub fn known_keys(text: &str) -> Vec<KnownKey> {
        let of_folder = |line: &&str| {
            let keys = ["    folder:", "    most_mib:", "    on_disk:"];
            keys.iter().any(|key| line.starts_with(key))
        };
        let without_folder: Vec<_> = text.lines().filter(|line| !of_folder(line)).collect();
        let (before, rest) = text.split_once("    redis:\n").expect("a server");
        let is_of_server = |line: &&str| line.starts_with("        ");
        let after: Vec<_> = rest.lines().skip_while(is_of_server).collect();
        let without_server = format!("{before}{}", after.join("\n"));
        let known = |text: &str| {
            let loaded = CoreConfig::from_text(Path::new("core.yaml"), text);
            loaded
                .unwrap_or_else(|refused| panic!("refused:\n{refused}"))
                .known_keys
        };
        let mut all = known(&without_folder.join("\n"));
        all.extend(known(&without_server));
        all
    }

    fn read(section: &str) -> Result<ContextsSection, String> {
        let text = format!(
            "plmns: {{plmn: 001-01, slices: 1}}\ntracking_areas: {{tac: 1}}\n\
             n2: {{listen: 192.0.2.20, gnbs: 192.0.2.0/24}}\ncontexts: {section}\n"
        );
        let loaded = CoreConfig::from_text(Path::new("core.yaml"), &text);
        let loaded = loaded.map_err(|refused| refused.to_string())?;
        Ok(loaded.config.contexts.expect("contexts"))
    }

    #[test]
    fn contexts_are_in_a_folder_or_at_a_server() {
        let section =
            read("{redis: {url: 'unix:///run/redis', key_file: /key}}").expect("a server");
        assert_eq!(
            section.to_string(),
            "instance core at unix:///run/redis?db=0"
        );
        let ContextsSection::Redis(redis) = section else {
            panic!("{section:?}");
        };
        assert_eq!(
            (redis.lease_s, redis.replicas, redis.timeout_ms),
            (6, 0, 200)
        );
        for (section, told) in [
            (
                "{folder: /run/c, redis: {url: 'unix:///r', key_file: /key}}",
                "core.yaml:4: contexts.folder: stands beside redis",
            ),
            ("{most_mib: 64}", "contexts.folder"),
            ("{redis: {key_file: /key}}", "contexts.redis.url"),
            ("{redis: {url: 'unix:///r'}}", "contexts.redis.key_file"),
            (
                "{redis: {url: 'redis://:secret@db.example', key_file: /key}}",
                "core.yaml:4: contexts.redis.url: a host by name",
            ),
            (
                "{redis: {url: 'unix:///r', key_file: /key, lease_s: 1}}",
                "contexts.redis.lease_s: got '1'; expected a whole number of seconds from 2 to 60",
            ),
            (
                "{redis: {url: 'unix:///r', key_file: /key, instance: 'a b'}}",
                "contexts.redis.instance",
            ),
        ] {
            let refused = read(section).expect_err(section);
            assert!(refused.contains(told), "{section}: {refused}");
            assert!(!refused.contains("secret"), "{refused}");
        }
    }
}
