//! What operators do with subscribers and home network keys: one request and one answer, the same for the
//! command line, the control socket of a core, and HTTP.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use sluice_ids::Supi;

use crate::draft::{Draft, NetworkDraft, Secret, SliceDraft, Text};
use crate::json::view;
use crate::key_file::StoreKey;
use crate::problem::Problem;
use crate::store::{Error, Filter, Format, HomeKeyProfile, Store};

/// A request.
#[derive(Clone, PartialEq, Eq, Debug, Deserialize, Serialize)]
#[serde(tag = "cmd", rename_all = "snake_case", deny_unknown_fields)]
pub enum Operation {
    /// Add one.
    SubscriberAdd {
        /// Who, with keys.
        subscriber: Draft,
    },
    /// Change one.
    SubscriberChange {
        /// Who.
        imsi: String,
        /// What is to be otherwise.
        change: Edit,
    },
    /// Remove one.
    SubscriberRemove {
        /// Who.
        imsi: String,
    },
    /// Show one.
    SubscriberShow {
        /// Who.
        imsi: String,
    },
    /// A page of those that fit.
    SubscriberList {
        /// Which.
        #[serde(default)]
        filter: Filter,
        /// The last IMSI of the page before.
        after: Option<String>,
        /// Most of the page.
        limit: Option<usize>,
    },
    /// Add all of a text, or none.
    SubscriberImport {
        /// How it is written.
        format: Format,
        /// Whether those that are there become what the text says.
        #[serde(default)]
        replace: bool,
        /// The text.
        text: Secret,
    },
    /// All as a text.
    SubscriberExport {
        /// How to write it.
        format: Format,
        /// Whether with keys.
        #[serde(default)]
        with_keys: bool,
    },
    /// Make a key of the home network.
    HomeKeyNew {
        /// For which profile.
        profile: HomeKeyProfile,
        /// Its identifier.
        id: Option<u8>,
        /// Its private part, if it is not to be a new one.
        #[serde(default)]
        private: Secret,
    },
    /// All keys of the home network, public parts.
    HomeKeyList,
    /// Remove a key of the home network.
    HomeKeyRemove {
        /// Which.
        id: u8,
    },
    /// Copy the database.
    Backup {
        /// To this new file.
        to: PathBuf,
    },
    /// Replace all by a copy's.
    Restore {
        /// This one.
        from: PathBuf,
    },
}

/// What is to be otherwise of a subscriber; what is not written stays.
#[derive(Clone, PartialEq, Eq, Default, Debug, Deserialize, Serialize)]
#[serde(default, deny_unknown_fields)]
pub struct Edit {
    /// Its own fields; slices, if there are any, replace all that it has.
    #[serde(rename = "set")]
    pub own: Draft,
    /// Single slices and data networks.
    pub networks: Vec<NetworkEdit>,
}

/// What is to be otherwise of a slice or a data network; one that it does not have is added.
#[derive(Clone, PartialEq, Eq, Default, Debug, Deserialize, Serialize)]
#[serde(default, deny_unknown_fields)]
pub struct NetworkEdit {
    /// In which slice.
    pub slice: Text,
    /// Whether the slice is a default one.
    pub default: Text,
    /// Whether it goes: the data network, or without a name the slice.
    pub remove: bool,
    /// The data network; `none` takes an address away.
    pub network: NetworkDraft,
}

/// What was done.
#[derive(Debug)]
pub struct Done {
    /// What the operator is told.
    pub answer: Value,
    /// What a core that serves the database has to take over.
    pub changed: Changed,
}

/// What is otherwise than before.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct Changed {
    /// Subscribers that are new or otherwise.
    pub subscribers: Vec<Supi>,
    /// Subscribers that are gone.
    pub removed: Vec<Supi>,
    /// All of them may be otherwise.
    pub all: bool,
    /// Keys of the home network.
    pub home_keys: bool,
}

impl Operation {
    /// What requests are called.
    pub const COMMANDS: &[&str] = &[
        "subscriber_add",
        "subscriber_change",
        "subscriber_remove",
        "subscriber_show",
        "subscriber_list",
        "subscriber_import",
        "subscriber_export",
        "home_key_new",
        "home_key_list",
        "home_key_remove",
        "backup",
        "restore",
    ];

    /// Does it. `key` is the one of the database, for backups.
    ///
    /// # Errors
    /// Why it was not done; nothing has changed then.
    pub fn run(self, store: &mut Store, key: &StoreKey, unix_s: u64) -> Result<Done, Error> {
        match self {
            Self::SubscriberAdd { subscriber } => {
                let record = store.add(&subscriber, unix_s)?;
                Ok(Done::subscriber(record.supi, view(&record, false, unix_s)))
            }
            Self::SubscriberChange { imsi, change } => {
                let supi = supi(&imsi)?;
                let record = store.change(&supi, unix_s, |draft| change.apply(draft))?;
                Ok(Done::subscriber(supi, view(&record, false, unix_s)))
            }
            Self::SubscriberRemove { imsi } => {
                let supi = supi(&imsi)?;
                if !store.remove(&supi)? {
                    return Err(Error::NotFound(supi));
                }
                let mut done = Done::told(json!({ "removed": imsi }));
                done.changed.removed.push(supi);
                Ok(done)
            }
            Self::SubscriberShow { imsi } => {
                let supi = supi(&imsi)?;
                let record = store.get(&supi)?.ok_or(Error::NotFound(supi))?;
                Ok(Done::told(view(&record, false, unix_s)))
            }
            Self::SubscriberList {
                filter,
                after,
                limit,
            } => list(store, &filter, after.as_deref(), limit, unix_s),
            Self::SubscriberImport {
                format,
                replace,
                text,
            } => import(store, format, replace, &text, unix_s),
            Self::SubscriberExport { format, with_keys } => {
                let mut text = Vec::new();
                let number = store.export(format, with_keys, unix_s, &mut text)?;
                let text = String::from_utf8_lossy(&text);
                Ok(Done::told(json!({ "subscribers": number, "text": text })))
            }
            other => other.run_other(store, key, unix_s),
        }
    }

    /// What is not about single subscribers.
    fn run_other(self, store: &mut Store, key: &StoreKey, unix_s: u64) -> Result<Done, Error> {
        match self {
            Self::HomeKeyNew {
                profile,
                id,
                private,
            } => {
                let made = store.new_home_key(profile, id, private.digits())?;
                Ok(Done::home_keys(json!(made)))
            }
            Self::HomeKeyList => Ok(Done::told(json!({ "home_keys": store.home_key_views()? }))),
            Self::HomeKeyRemove { id } => {
                if !store.remove_home_key(id)? {
                    let what = format!("there is no key {id}");
                    return Err(Problem::new("id", what, "one that `hnkey list` shows").into());
                }
                Ok(Done::home_keys(json!({ "removed": id })))
            }
            Self::Backup { to } => {
                let subscribers = store.backup(&to)?;
                Ok(Done::told(
                    json!({ "subscribers": subscribers, "file": to }),
                ))
            }
            Self::Restore { from } => {
                let restored = store.restore(&from, key, unix_s)?;
                let mut done = Done::home_keys(json!({ "subscribers": restored.subscribers }));
                done.changed.all = true;
                Ok(done)
            }
            _ => Err(Problem::new("cmd", "not understood", "an operation").into()),
        }
    }
}

/// Subscribers of a page if nobody says how many.
const USUAL_PAGE: usize = 100;

fn list(
    store: &Store,
    filter: &Filter,
    after: Option<&str>,
    limit: Option<usize>,
    unix_s: u64,
) -> Result<Done, Error> {
    let page = store.list(filter, after, limit.unwrap_or(USUAL_PAGE))?;
    let records = page.records.iter();
    let views: Vec<Value> = records.map(|record| view(record, false, unix_s)).collect();
    Ok(Done::told(json!({
        "subscribers": views,
        "number": page.number,
        "next_after": page.next_after,
    })))
}

fn import(
    store: &mut Store,
    format: Format,
    replace: bool,
    text: &Secret,
    unix_s: u64,
) -> Result<Done, Error> {
    let text = text.digits().unwrap_or_default();
    let done = store.import(text.as_bytes(), format, replace, unix_s)?;
    let (added, replaced) = (done.added.len(), done.replaced.len());
    let mut told = Done::told(json!({ "added": added, "replaced": replaced }));
    told.changed.subscribers = done.added;
    told.changed.subscribers.extend(done.replaced);
    Ok(told)
}

impl Done {
    fn told(answer: Value) -> Self {
        Self {
            answer,
            changed: Changed::default(),
        }
    }

    fn subscriber(supi: Supi, answer: Value) -> Self {
        let mut done = Self::told(answer);
        done.changed.subscribers.push(supi);
        done
    }

    fn home_keys(answer: Value) -> Self {
        let mut done = Self::told(answer);
        done.changed.home_keys = true;
        done
    }
}

fn supi(imsi: &str) -> Result<Supi, Problem> {
    Supi::from_imsi(imsi).ok_or_else(|| Problem::got("imsi", imsi, "6 to 15 digits"))
}

impl Edit {
    /// A subscriber as it is to be.
    fn apply(self, mut draft: Draft) -> Result<Draft, Problem> {
        let Self { own, networks } = self;
        if !own.imsi.is_none() && own.imsi != draft.imsi {
            return Err(Problem::new(
                "imsi",
                "another one",
                "the one that is changed",
            ));
        }
        (draft.k, draft.opc, draft.op) = (own.k, own.opc, own.op);
        (draft.topc, draft.top) = (own.topc, own.top);
        for (new, old) in [
            (own.algorithm, &mut draft.algorithm),
            (own.method, &mut draft.method),
            (own.sqn, &mut draft.sqn),
            (own.barred, &mut draft.barred),
            (own.ue_ambr_down_bps, &mut draft.ue_ambr_down_bps),
            (own.ue_ambr_up_bps, &mut draft.ue_ambr_up_bps),
        ] {
            new.put_into(old);
        }
        if !own.slices.is_empty() {
            draft.slices = own.slices;
        }
        for edit in networks {
            edit.apply(&mut draft.slices)?;
        }
        if draft.slices.is_empty() {
            return Err(Problem::new("slices", "none left", "at least one"));
        }
        Ok(draft)
    }
}

impl NetworkEdit {
    fn apply(self, slices: &mut Vec<SliceDraft>) -> Result<(), Problem> {
        let Self {
            slice,
            default,
            remove,
            network,
        } = self;
        // Whoever has one slice need not name it.
        let at = match (slice.is_none(), slices.len()) {
            (true, 1) => Some(0),
            (true, _) => return Err(Problem::new("slice", "missing", "which of the slices")),
            (false, _) => slices.iter().position(|one| one.slice == slice),
        };
        let at = match at {
            Some(at) => at,
            None if remove => {
                let has: Vec<&str> = slices.iter().filter_map(|s| s.slice.0.as_deref()).collect();
                let text = slice.0.unwrap_or_default();
                return Err(Problem::got("slice", &text, has.join(" or ")));
            }
            None => {
                slices.push(SliceDraft {
                    slice,
                    default: Text::new("no"),
                    networks: Vec::new(),
                });
                slices.len() - 1
            }
        };
        if remove && network.dnn.is_none() {
            slices.remove(at);
            return Ok(());
        }
        default.put_into(&mut slices[at].default);
        network.apply(&mut slices[at].networks, remove)
    }
}

impl NetworkDraft {
    fn apply(self, networks: &mut Vec<Self>, remove: bool) -> Result<(), Problem> {
        if self == Self::default() {
            return Ok(());
        }
        let small = |text: &Text| text.0.as_deref().map(str::to_ascii_lowercase);
        let at = match (self.dnn.is_none(), networks.len()) {
            (true, 1) => Some(0),
            (true, _) => return Err(Problem::new("dnn", "missing", "which of the data networks")),
            (false, _) => networks
                .iter()
                .position(|one| small(&one.dnn) == small(&self.dnn)),
        };
        match at {
            Some(at) if remove => {
                networks.remove(at);
            }
            None if remove => {
                let text = self.dnn.0.unwrap_or_default();
                return Err(Problem::got("dnn", &text, "one that the slice has"));
            }
            Some(at) => self.put_into(&mut networks[at]),
            None => networks.push(self),
        }
        Ok(())
    }

    fn put_into(self, old: &mut Self) {
        if !self.types.is_none() {
            // The default type of before may not be one of them.
            old.default_type = Text::default();
        }
        for (new, old) in [
            (self.types, &mut old.types),
            (self.default_type, &mut old.default_type),
            (self.session_ambr_down_bps, &mut old.session_ambr_down_bps),
            (self.session_ambr_up_bps, &mut old.session_ambr_up_bps),
            (self.five_qi, &mut old.five_qi),
            (self.arp, &mut old.arp),
        ] {
            new.put_into(old);
        }
        for (new, old) in [
            (self.ipv4, &mut old.ipv4),
            (self.ipv6_prefix, &mut old.ipv6_prefix),
            (self.up_integrity, &mut old.up_integrity),
            (self.up_confidentiality, &mut old.up_confidentiality),
        ] {
            match new.0.as_deref() {
                Some("none") => *old = Text::default(),
                _ => new.put_into(old),
            }
        }
    }
}

impl Text {
    /// Takes the place of what was there, if anything was written.
    fn put_into(self, old: &mut Self) {
        if !self.is_none() {
            *old = self;
        }
    }
}
