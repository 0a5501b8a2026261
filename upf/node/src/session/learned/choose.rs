//! Which recipe a message takes, and the values at hand.

use super::domain::FormId;
use super::message::MessageForm;
use super::recipe::{Recipe, Source, Take, VALUES};
use super::{Learned, Procedure};
use crate::session::establishment::read_user;
use crate::session::rules::Origin;
use crate::session::store::User;
use arrayvec::ArrayVec;
use sluice_path::layout::{InstanceId, Layout};
use sluice_wire::pfcp::element::Element;
use sluice_wire::pfcp::value::{FSeid, UserId};

/// The values at hand.
pub type Values = ArrayVec<u32, VALUES>;

/// One of them.
#[inline]
pub fn value(values: &[u32], source: Source) -> u32 {
    values.get(usize::from(source)).copied().unwrap_or(0)
}

impl Recipe {
    /// Puts the values of a session's record into `values`; 0 for those that are of no use.
    pub fn read_record(&self, record: &[u8], values: &mut Values) -> Option<()> {
        let none = [0; VALUES];
        let none = none.get(..self.of_session.into())?;
        values.try_extend_from_slice(none).ok()?;
        for (place, source) in &self.reads {
            *values.get_mut(usize::from(*source))? = place.read(record)?;
        }
        Some(())
    }

    /// True if the values are the same, and not, where they were when it was learned, and UE
    /// addresses lie in pools where they did.
    pub fn agrees(&self, values: &[u32], layout: &Layout) -> bool {
        let checks = self.checks.iter().all(|check| {
            let same = value(values, check.one) == value(values, check.other);
            same == check.same
        });
        let is_narrow = |at: &Source| value(values, *at) <= u32::from(u16::MAX);
        let is_placed = |take: &Take| match *take {
            Take::UeLine {
                instance,
                address,
                origin,
            } => {
                let line = layout.pool_line(InstanceId(instance), value(values, address));
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
        self.marks.iter().all(|mark| {
            let plain = mark.value(body).filter(|v| mark.domain.is_plain(*v));
            plain.is_some_and(|value| values.try_push(value).is_ok())
        })
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
                values.clear();
                recipe.read_record(record, values).is_some()
                    && lesson.form.read_values(body, values)
                    && recipe.agrees(values, layout)
            })
            .map(|recipe| (&lesson.form, recipe))
    }
}
