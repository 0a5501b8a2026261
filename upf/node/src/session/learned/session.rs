//! The forms of sessions' records, each kept once.

use super::domain::{Domain, FormId, Mark};
use super::recipe::{Source, VALUES};
use core::ops::Range;
use std::collections::HashMap;
use std::sync::Arc;

/// The most forms.
pub const FORMS_MAX: usize = 4096;

/// A value's place in a record.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Place {
    /// Its first octet, counted from the start of the record.
    pub at: u16,
    /// It has four octets, not two.
    pub wide: bool,
}

impl Place {
    /// That of a mark.
    pub fn of(mark: &Mark) -> Self {
        Self {
            at: mark.at,
            wide: mark.octets == 4,
        }
    }

    /// The value there.
    #[inline]
    pub fn read(self, record: &[u8]) -> Option<u32> {
        let octets = record.get(usize::from(self.at)..)?;
        match self.wide {
            true => octets.first_chunk().map(|o| u32::from_le_bytes(*o)),
            false => octets
                .first_chunk()
                .map(|o| u32::from(u16::from_le_bytes(*o))),
        }
    }

    /// Puts a value there.
    #[inline]
    pub fn write(self, record: &mut [u8], value: u32) {
        let place = record.get_mut(usize::from(self.at)..).unwrap_or_default();
        match self.wide {
            true => put(place, value.to_le_bytes()),
            false => put(place, (value as u16).to_le_bytes()),
        }
    }
}

#[inline]
fn put<const LEN: usize>(place: &mut [u8], octets: [u8; LEN]) {
    if let Some(place) = place.first_chunk_mut() {
        *place = octets;
    }
}

/// What all sessions of a form have in common, as far as it is looked at.
#[derive(Debug)]
pub struct SessionForm {
    /// What stands behind the usage, number of the form, values and user being 0.
    pub octets: Box<[u8]>,
    /// Where the values stand.
    pub marks: Box<[Mark]>,
    /// Where the user stands.
    pub user: Range<usize>,
    /// Identifiers of rules have four octets.
    pub wide: bool,
}

/// A record as it was written, taken apart.
#[derive(Debug, Default)]
pub struct Written {
    /// What stands behind the usage.
    pub octets: Vec<u8>,
    /// Where the values stand, counted from the start of the record.
    pub marks: Vec<Mark>,
    /// Where the user stands.
    pub user: Range<usize>,
}

impl Written {
    /// The values.
    pub fn values(&self, usage_len: usize) -> impl Iterator<Item = (Domain, u32)> {
        self.marks.iter().filter_map(move |mark| {
            let mut place = Place::of(mark);
            place.at -= usage_len as u16;
            Some((mark.domain, place.read(&self.octets)?))
        })
    }

    /// The octets without values and user.
    pub fn bare(&self, usage_len: usize) -> Vec<u8> {
        let mut bare = self.octets.clone();
        let values = self.marks.iter().map(|m| {
            let at = usize::from(m.at);
            at..at + usize::from(m.octets)
        });
        for range in values.chain([self.user.clone()]) {
            let place = bare.get_mut(range.start - usage_len..range.end - usage_len);
            place.unwrap_or_default().fill(0);
        }
        bare
    }
}

/// The forms.
#[derive(Debug, Default)]
pub struct SessionForms {
    /// By what is the same in all sessions of the form.
    ids: HashMap<Box<[u8]>, FormId>,
    forms: Vec<Arc<SessionForm>>,
}

impl SessionForms {
    /// The form of a record, kept from now on; unknown if there are too many.
    pub fn keep(&mut self, written: &Written, usage_len: usize) -> FormId {
        // Too many for a recipe.
        if written.marks.len() > VALUES {
            return FormId::UNKNOWN;
        }
        let octets = written.bare(usage_len);
        let mut key = octets.clone();
        let mut marks = written.marks.iter();
        let wide = marks.any(|m| m.domain.is_rule() && m.octets == 4);
        let values: Vec<_> = written.values(usage_len).collect();
        key.extend((0..values.len()).map(|at| first_same(&values, at)));
        if let Some(id) = self.ids.get(&key[..]) {
            return *id;
        }
        if self.forms.len() >= FORMS_MAX {
            return FormId::UNKNOWN;
        }
        self.forms.push(Arc::new(SessionForm {
            octets: octets.into(),
            marks: written.marks.clone().into(),
            user: written.user.clone(),
            wide,
        }));
        // The first two numbers have a meaning of their own.
        let id = FormId(self.forms.len() as u16 + 1);
        self.ids.insert(key.into(), id);
        id
    }

    /// A form that was kept.
    pub fn get(&self, id: FormId) -> Option<&Arc<SessionForm>> {
        self.forms.get(usize::from(id.0).checked_sub(2)?)
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.forms.len()
    }
}

/// The first of the values that is the same as that at `at`.
pub fn first_same(values: &[(Domain, u32)], at: usize) -> Source {
    let this = values.get(at);
    let first = values.iter().position(|other| Some(other) == this);
    first.unwrap_or(at) as Source
}
