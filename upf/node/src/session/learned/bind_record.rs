//! A session's record before and after: which of its values are of use, and what is written of it.

use super::bind::Done;
use super::domain::FormId;
use super::recipe::{Octets, Record, Source};
use super::session::{Place, Written};

/// A record of which more octets change is written whole.
const CHANGED_MAX: usize = 64;

impl Done<'_> {
    /// Values of the session's record that are of use.
    pub fn reads(&self) -> Box<[(Place, Source)]> {
        let marks = self.was.iter().flat_map(|form| &form.marks);
        let used = self.used.borrow();
        let read = marks.zip(0..).zip(&*used).filter(|(_, used)| **used);
        read.map(|((mark, at), _)| (Place::of(mark), at)).collect()
    }

    /// What is written of the record.
    pub fn record(&self, written: &Written, form: FormId) -> Option<Record> {
        let mut octets = written.bare(self.usage_len);
        if let Some(place) = octets.first_chunk_mut::<2>() {
            *place = form.0.to_le_bytes();
        }
        let (len, changed) = (octets.len(), self.changed(written, &octets));
        let places = written.marks.iter().map(Place::of);
        let values = written.values(self.usage_len).enumerate();
        // Where little changes, values that stand there already are left alone.
        let stays = |(at, value): &(usize, _)| {
            changed.is_some()
                && self.values.get(*at).filter(|_| *at < self.of_session) == Some(value)
        };
        let bound = places.zip(values).filter(|(_, value)| !stays(value));
        let bound = bound.map(|(place, (_, (kind, value)))| Some((place, self.find(kind, value)?)));
        Some(Record {
            len,
            values: bound.collect::<Option<_>>()?,
            octets: changed.map_or_else(|| Octets::Whole(octets.into()), Octets::Some),
        })
    }

    /// The octets that a record has to be given where it is as long as before and its values stand at
    /// the same places.
    fn changed(&self, written: &Written, octets: &[u8]) -> Option<Box<[(u16, u8)]>> {
        let was = self.was.as_ref().filter(|was| {
            let same = (was.octets.len(), &*was.marks) == (octets.len(), &*written.marks);
            same && was.user == written.user
        })?;
        let places = self.usage_len as u16..;
        let both = places.zip(octets).zip(&was.octets).enumerate();
        // The form's number stands in front, and not in what was kept.
        let changed = both.filter(|(at, ((_, now), was))| *at < 2 || now != was);
        let changed: Vec<(u16, u8)> = changed.map(|(_, ((at, now), _))| (at, *now)).collect();
        (changed.len() <= CHANGED_MAX).then(|| changed.into())
    }
}
