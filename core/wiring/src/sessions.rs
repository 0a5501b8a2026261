//! Sessions of a host's SMF, as operators want them: configured, followed, charged, released.

use sluice_core_host::{self as host, Host};
use sluice_ids::Supi;
use sluice_sbi::{Effect, Followed, Nf, Now};
use sluice_smf::{ChargingRecord, Smf};

use crate::Apart;

/// Session management of a host, as far as it has it.
pub struct Sessions<'a, F>(pub(crate) &'a mut Host<F>);

impl<'a, F: host::Functions + AsMut<Apart>> From<&'a mut Host<F>> for Sessions<'a, F> {
    fn from(host: &'a mut Host<F>) -> Self {
        Self(host)
    }
}

impl<F: host::Functions + AsMut<Apart>> Sessions<'_, F> {
    /// Charging records since the last call.
    pub fn take_records(&mut self) -> Vec<ChargingRecord> {
        self.smf().map(Smf::take_records).unwrap_or_default()
    }

    /// Has messages of these UEs kept as octets.
    pub fn follow_ues(&mut self, followed: Followed) {
        if let Some(smf) = self.smf() {
            smf.follow(followed);
        }
        if followed == Followed::Nobody {
            self.0.log.forget_traced_messages();
        }
    }

    /// Releases a session for the operator; false if there is none, or if it is busy.
    pub fn release(&mut self, now: Now, supi: &Supi, session: u8) -> bool {
        let begun = self.do_with(now, |smf, effects| smf.release(now, supi, session, effects));
        begun.unwrap_or(false)
    }

    /// The SMF goes on with another configuration.
    ///
    /// # Errors
    /// See [`Smf::reconfigure`].
    pub fn reconfigure(&mut self, now: Now, config: sluice_smf::Config) -> Result<(), String> {
        let mut effects = Vec::new();
        if let Some(smf) = self.smf() {
            smf.reconfigure(now, config, &mut effects)?;
        }
        self.0.update_served();
        self.0.follow(now, Nf::Smf, effects);
        Ok(())
    }

    /// Sessions are deleted at their UPFs, and no new ones taken. That is done when [`Smf::sessions`] are none.
    pub fn end(&mut self, now: Now) {
        self.0.leave(Nf::Smf);
        self.do_with(now, |smf, effects| smf.end(now, effects));
    }

    /// Associations with UPFs are released. That is done when [`Smf::upfs_left`] is none.
    pub fn leave_upfs(&mut self, now: Now) {
        self.do_with(now, |smf, effects| smf.leave_upfs(now, effects));
    }

    fn smf(&mut self) -> Option<&mut Smf> {
        self.0.functions.as_mut().smf.as_mut()
    }

    pub(crate) fn do_with<T>(
        &mut self,
        now: Now,
        act: impl FnOnce(&mut Smf, &mut Vec<Effect>) -> T,
    ) -> Option<T> {
        let mut effects = Vec::new();
        let done = act(self.smf()?, &mut effects);
        self.0.follow(now, Nf::Smf, effects);
        Some(done)
    }
}
