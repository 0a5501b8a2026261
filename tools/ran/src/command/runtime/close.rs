//! Clean-up: session deletion and association release.

use super::Runtime;
use super::mobility::TOGETHER;

impl Runtime {
    /// Detaches all UEs and releases the association. What fails is counted; devices and
    /// namespaces go in any case, with the value.
    pub fn close(&mut self) {
        let all: Vec<_> = (0..self.ues.len()).collect();
        for some in all.chunks(TOGETHER) {
            self.detach(some);
        }
        self.settle_echoes();
        let Some(core) = &self.core else { return };
        if core.is_up()
            && let Err(error) = core.smf().release()
        {
            self.fail(format!("release of the association: {error}"));
        }
    }
}
