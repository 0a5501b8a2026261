//! Which recipe a message takes, and the values at hand.

use super::domain::FormId;
use super::message::MessageForm;
use super::recipe::{Recipe, Source, Take};
use super::values::Values;
use super::{Learned, Procedure};
use crate::session::establishment::read_user;
use crate::session::rules::Origin;
use crate::session::store::User;
use sluice_path::layout::{InstanceId, Layout};
use sluice_wire::pfcp::element::Element;
use sluice_wire::pfcp::value::{FSeid, UserId};

impl Recipe {
    /// Begins `values` with those of a session's record that are of use.
    pub fn read_record(&self, record: &[u8], values: &mut Values) -> Option<()> {
        values.begin(self.of_session);
        for (place, source) in &self.reads {
            values.set(*source, place.read(record)?);
        }
        Some(())
    }

    /// One of the values of a session's record that are of use.
    pub fn value_in(&self, record: &[u8], source: Source) -> Option<u32> {
        // They stand in order.
        let at = self
            .reads
            .binary_search_by_key(&source, |(_, source)| *source);
        let (place, _) = self.reads.get(at.ok()?)?;
        place.read(record)
    }

    /// True if the values are the same, and not, where they were when it was learned, and UE
    /// addresses lie in pools where they did.
    pub fn agrees(&self, values: &Values, layout: &Layout) -> bool {
        let checks = self.checks.iter().all(|check| {
            let same = values.of(check.one) == values.of(check.other);
            same == check.same
        });
        let is_narrow = |at: &Source| values.of(*at) <= u32::from(u16::MAX);
        let is_placed = |take: &Take| match *take {
            Take::UeLine {
                instance,
                address,
                origin,
            } => {
                let line = layout.pool_line(InstanceId(instance), values.of(address));
                line.is_some() == (origin == Origin::Pool)
            }
            _ => true,
        };
        checks && self.narrow.iter().all(is_narrow) && self.takes.iter().all(is_placed)
    }
}

impl MessageForm {
    /// Puts the values of a message behind others; false if one of them would be refused.
    fn read_values(&self, body: &[u8], values: &mut Values) -> bool {
        let places = values.add(self.readings.len());
        places.is_some_and(|places| self.readings.read(body, places))
    }

    /// The CP F-SEID, if the message has one.
    pub fn cp_f_seid(&self, body: &[u8]) -> Option<FSeid> {
        let value = body.get(self.cp_seid_at?.checked_sub(1)?..)?;
        FSeid::decode(value).ok()
    }

    /// The user; `None` if it cannot be read.
    pub fn user(&self, body: &[u8]) -> Option<User> {
        let Some(range) = self.user.clone() else {
            return Some(User::default());
        };
        let user = UserId::decode(body.get(range)?).ok()?;
        Some(read_user(&user))
    }
}

impl Learned {
    /// The recipe for a message to a session with such a record, and the values of both.
    pub fn choose(
        &self,
        (procedure, body): (Procedure, &[u8]),
        (before, record): (FormId, &[u8]),
        layout: &Layout,
        values: &mut Values,
    ) -> Option<(&MessageForm, &Recipe)> {
        let lesson = self.lessons.get(self.find(procedure, body)?)?;
        let mut recipes = lesson.recipes.iter().filter(|r| r.before == before);
        recipes
            .find(|recipe| {
                recipe.read_record(record, values).is_some()
                    && lesson.form.read_values(body, values)
                    && recipe.agrees(values, layout)
            })
            .map(|recipe| (&lesson.form, recipe))
    }
}
