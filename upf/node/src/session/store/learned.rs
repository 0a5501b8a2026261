//! Records as those see them who write them by a learned form: octets.

use super::head::Head;
use super::record::{self, USAGE_LEN};
use super::runs::lines_for;
use super::{NewSession, SessionRef, Store, User};
use crate::session::learned::domain::{FormId, Mark};
use crate::session::rules::Rules;
use core::ops::Range;

impl Store {
    /// The octets of a session's record, usage first; none if there is no such session.
    pub fn octets(&self, name: SessionRef) -> &[u8] {
        self.record(name)
    }

    /// The form of a session's record.
    pub fn form(&self, name: SessionRef) -> FormId {
        record::form(self.record(name))
    }

    /// Says what form a session's record has.
    pub fn set_form(&mut self, name: SessionRef, form: FormId) {
        if let Some(run) = self.head_of(name).map(Head::record) {
            record::set_form(self.records.octets_mut(run), form);
        }
    }

    /// Writes a record for rules into `out`, as it would stand behind the usage; `marks` tells where
    /// what differs between sessions of one form was put, and the result where the user stands, both
    /// counted from the start of the record.
    pub fn write_marked(
        &mut self,
        user: &User,
        rules: &Rules,
        marks: &mut Vec<Mark>,
        out: &mut Vec<u8>,
    ) -> Range<usize> {
        let len = record::write_marked(&mut self.scratch[..], user, rules, marks);
        let written = self.scratch.get(..len).unwrap_or_default();
        out.clear();
        out.extend_from_slice(written.get(USAGE_LEN..).unwrap_or_default());
        record::user_range(written)
    }

    /// True if a session's record can be of `len` octets, or if a new session with such a record
    /// can be had.
    pub fn has_room_for(&mut self, session: Option<SessionRef>, len: usize) -> bool {
        let lines = lines_for(len);
        match session {
            Some(name) => {
                let head = self.head_of(name).map(|head| head.record().len());
                head == Some(lines) || head.is_some() && self.records.has_room(lines)
            }
            None => self.heads.has_room() && self.records.has_room(lines),
        }
    }

    /// A new session whose record of `len` octets is still to be written, if there [is
    /// room](Self::has_room_for). Usage is 0.
    pub fn insert_blank(&mut self, new: &NewSession, len: usize) -> Option<SessionRef> {
        let at = self.heads.insert(Head::of(new)?)?;
        let name = SessionRef {
            at,
            check: new.check,
        };
        let record = self.resize(name, len);
        if let Some(record) = record {
            record::set_usage(record, Default::default());
        }
        self.call(at, (new.association, new.cp));
        self.link(at);
        Some(name)
    }

    /// The record of a session, to be written anew with `len` octets; usage stands, and of the rest
    /// nothing that could be relied on if its lines become more or fewer.
    pub fn resize(&mut self, name: SessionRef, len: usize) -> Option<&mut [u8]> {
        let Self { heads, records, .. } = self;
        let head = heads.get_mut(name.at)?;
        let old = head.record();
        if old.len() != lines_for(len)
            && let Some(run) = records.take(lines_for(len))
        {
            let usage = record::usage(records.octets(old));
            record::set_usage(records.octets_mut(run), usage);
            records.give(head.replace_record(run));
        }
        records.octets_mut(head.record()).get_mut(..len)
    }
}
