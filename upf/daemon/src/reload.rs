//! `sluice ctl reload`: upf.yaml is read again, and what may change does, without touching a session.

use super::ctl::error;
use crate::config::{Machine, OpenedPort, UpfConfig};
use serde_json::{Value, json};
use sluice_control::core::{Env, UpfControl};
use sluice_n4::Instant;
use std::collections::HashMap;
use std::path::PathBuf;

/// The configuration that is in force, and its file.
pub struct Reload {
    file: PathBuf,
    running: UpfConfig,
    ports: HashMap<String, OpenedPort>,
}

impl Reload {
    /// Of a UPF that was started with this configuration at these ports.
    pub fn new(file: PathBuf, running: UpfConfig, ports: HashMap<String, OpenedPort>) -> Self {
        Self {
            file,
            running,
            ports,
        }
    }

    /// Takes the file as it is now, or says why nothing was changed.
    pub fn answer<S: Env>(
        &mut self,
        now: Instant,
        core: &mut UpfControl<S::Packet>,
        around: &mut S,
    ) -> Value {
        match self.take(now, core, around) {
            Ok(warnings) => {
                tracing::info!("{} was read again", self.file.display());
                json!({ "reloaded": self.file, "warnings": warnings })
            }
            Err(why) => {
                tracing::warn!("{} was not taken: {why}", self.file.display());
                error(&format!("nothing was changed: {why}"))
            }
        }
    }

    fn take<S: Env>(
        &mut self,
        now: Instant,
        core: &mut UpfControl<S::Packet>,
        around: &mut S,
    ) -> Result<Vec<String>, String> {
        let loaded = UpfConfig::load(&self.file, &Machine::this()).map_err(|e| e.to_string())?;
        let others = self.running.needs_restart(&loaded.config);
        if !others.is_empty() {
            return Err(format!(
                "{}: changes there need a restart",
                others.join(", ")
            ));
        }
        let config = loaded.config.control(&self.ports);
        let config = config.map_err(|e| e.to_string())?;
        // Each part says no before another has changed.
        let changeable = self.running.changeable(&loaded.config);
        core.up.may_reload(&changeable).map_err(|e| e.to_string())?;
        core.control.reload(config).map_err(|e| e.to_string())?;
        let (up, _, mut sink) = core.up_with_sink(around);
        up.reload(now, &changeable, &mut sink)
            .map_err(|e| e.to_string())?;
        self.running = loaded.config;
        let warnings = loaded
            .warnings
            .iter()
            .map(|w| w.in_file(&self.file).to_string());
        Ok(warnings.collect())
    }
}
