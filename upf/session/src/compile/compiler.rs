//! Compiler of session rules: the operations that take the packet path from one set of rules to another.
//!
//! What the path has is not kept: it is rendered again from the rules, and compared.

use crate::compile::diff::{Delta, TooMany, Wanted};
use crate::compile::far_update::FarUpdate;
use crate::compile::image::Image;
use crate::compile::render::TooLarge;
use crate::config::{MbrZero, ShapedRates};
use crate::rules::{Endpoint, Rules};
use sluice_datapath::limits::TXN_OPS;

/// Two renderings, kept for the next session so that none is allocated for a message.
pub struct Compiler {
    before: Box<Image>,
    after: Box<Image>,
}

/// The session needs more than one transaction holds.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct TooComplex;

impl From<TooLarge> for TooComplex {
    fn from(_: TooLarge) -> Self {
        Self
    }
}

impl From<TooMany> for TooComplex {
    fn from(_: TooMany) -> Self {
        Self
    }
}

impl Compiler {
    /// With room for one session.
    pub fn new(mbr_zero: MbrZero, shaped_rates: ShapedRates) -> Self {
        let image = || Box::new(Image::new(mbr_zero, shaped_rates));
        Self {
            before: image(),
            after: image(),
        }
    }

    /// From `old` to `new` rules; usage that is `wanted` is taken even where nothing changes.
    ///
    /// # Errors
    /// If `new` could not be removed by one transaction, or the change does not fit one.
    pub fn change(
        &mut self,
        (old, new): (&Rules, &Rules),
        wanted: Wanted<'_>,
        into: &mut Delta<'_>,
    ) -> Result<(), TooComplex> {
        self.before.render(old)?;
        self.after.render(new)?;
        if self.after.len() > TXN_OPS {
            return Err(TooComplex);
        }
        Ok(into.write(&self.before, &self.after, wanted)?)
    }

    /// [`change`](Self::change) where only FARs differ and no usage is asked for: entries whose packets
    /// take another FAR are rendered, nothing else.
    ///
    /// # Errors
    /// As there.
    pub fn change_fars(
        &mut self,
        (old, new): (&Rules, &Rules),
        into: &mut Delta<'_>,
    ) -> Result<(), TooComplex> {
        let update = FarUpdate { old, new };
        let changed = |endpoint: &Endpoint| update.differ_behind(endpoint);
        self.before.render_entries(old, changed)?;
        self.after.render_entries(new, changed)?;
        Ok(into.write(&self.before, &self.after, Wanted::None)?)
    }

    /// Removes all that the rules have on the path, with its usage.
    ///
    /// # Errors
    /// None for rules that were admitted.
    pub fn remove(&mut self, rules: &Rules, into: &mut Delta<'_>) -> Result<(), TooComplex> {
        self.before.render_to_clear(rules)?;
        self.after.clear();
        Ok(into.write(&self.before, &self.after, Wanted::None)?)
    }

    /// Takes all usage and changes nothing.
    ///
    /// # Errors
    /// None for rules that were admitted.
    pub fn query(&mut self, rules: &Rules, into: &mut Delta<'_>) -> Result<(), TooComplex> {
        self.before.render(rules)?;
        // One rendering against itself.
        Ok(into.write(&self.before, &self.before, Wanted::All)?)
    }
}
