//! Session sets: FQ-CSIDs of CP functions that sessions belong to (TS 29.244, 8.2.46; TS 23.007, 23).
//!
//! A session's record names its sets by their places here. A set that its CP function deletes is retired: its
//! name is free at once, so that sessions which come later are in another set, and its sessions end one after
//! the other.

use crate::index::hash_index::Seeded;
use crate::limits::{SETS, SETS_OF_ALL};
use crate::node::uses::UseCounts;
use arrayvec::ArrayVec;
use sluice_n4::AssociationId;
use sluice_wire::pfcp::value::{CsidNode, FqCsid};
use std::collections::HashMap;

/// A place of [`SessionSets`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct SetId(pub u16);

/// The sets of one session.
pub type SetList = ArrayVec<SetId, SETS>;

/// What a set is called. A CP function names sets of its own sessions alone.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct SetName {
    association: AssociationId,
    node: CsidNode,
    /// See [`FqCsid::node_type`].
    node_type: Option<u8>,
    csid: u16,
}

impl SetName {
    /// All that an IE names.
    pub fn all(association: AssociationId, ie: &FqCsid<'_>) -> impl Iterator<Item = Self> {
        let FqCsid {
            node, node_type, ..
        } = *ie;
        ie.csids().map(move |csid| Self {
            association,
            node,
            node_type,
            csid,
        })
    }
}

/// Where sessions of retired sets are looked for next, and how many places are left.
#[derive(Clone, Copy, Debug)]
pub struct SetWalk {
    /// The next place.
    pub next: u32,
    /// How many are left with it.
    pub left: u32,
}

#[derive(Clone, Copy, Debug)]
struct Set {
    name: SetName,
    is_retired: bool,
}

/// The sets that sessions belong to.
#[derive(Debug)]
pub struct SessionSets {
    sets: Vec<Option<Set>>,
    free: Vec<SetId>,
    by_name: HashMap<SetName, SetId, Seeded>,
    /// Retired sets that still have sessions.
    retired: usize,
}

impl SessionSets {
    /// None yet, with room for all.
    pub fn new(hash: Seeded) -> Self {
        Self {
            sets: Vec::with_capacity(SETS_OF_ALL),
            free: Vec::with_capacity(SETS_OF_ALL),
            by_name: HashMap::with_capacity_and_hasher(2 * SETS_OF_ALL, hash),
            retired: 0,
        }
    }

    /// The set of this name, which a session is about to join; `None` if there are too many.
    pub fn find_or_add(&mut self, name: SetName) -> Option<SetId> {
        if let Some(id) = self.by_name.get(&name) {
            return Some(*id);
        }
        let set = Set {
            name,
            is_retired: false,
        };
        let id = match self.free.pop() {
            Some(id) => id,
            None if self.sets.len() >= SETS_OF_ALL => return None,
            None => {
                self.sets.push(None);
                SetId((self.sets.len() - 1) as u16)
            }
        };
        *self.sets.get_mut(usize::from(id.0))? = Some(set);
        self.by_name.insert(name, id);
        Some(id)
    }

    /// Forgets those of `sets` that no session belongs to.
    pub fn forget_empty(&mut self, sets: &SetList, sessions: &UseCounts) {
        for id in sets {
            let place = self.sets.get_mut(usize::from(id.0));
            let Some(set) = place.and_then(|place| place.take_if(|_| sessions.of(id.0) == 0))
            else {
                continue;
            };
            if set.is_retired {
                self.retired -= 1
            } else {
                self.by_name.remove(&set.name);
            }
            self.free.push(*id);
        }
    }

    /// The sessions of this set are to end; those that come later are in another set.
    pub fn retire(&mut self, name: SetName) -> Option<SetId> {
        let id = self.by_name.remove(&name)?;
        self.sets.get_mut(usize::from(id.0))?.as_mut()?.is_retired = true;
        self.retired += 1;
        Some(id)
    }

    /// Whether sessions are to end because of their sets.
    pub fn has_retired(&self) -> bool {
        self.retired > 0
    }

    /// Whether one of the sets is retired.
    pub fn is_any_retired(&self, mut sets: impl Iterator<Item = SetId>) -> bool {
        sets.any(|id| self.get(id).is_some_and(|set| set.is_retired))
    }

    /// The sets that are not of a node of this type.
    pub fn of_other_types(&self, sets: &SetList, node_type: Option<u8>) -> SetList {
        let is_other = |id: &SetId| {
            let set = self.get(*id);
            set.is_some_and(|set| set.name.node_type != node_type)
        };
        sets.iter().copied().filter(is_other).collect()
    }

    /// Sets that sessions belong to.
    pub fn len(&self) -> usize {
        self.sets.len() - self.free.len()
    }

    fn get(&self, id: SetId) -> Option<&Set> {
        self.sets.get(usize::from(id.0))?.as_ref()
    }
}
