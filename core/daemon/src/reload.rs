//! `sluice ctl --core reload`: core.yaml is read again, and what may change does, without losing a UE.

use crate::boot;
use crate::config::CoreConfig;
use crate::convert;
use crate::daemon::{Daemon, InForce};
use crate::needs;
use crate::operators::answers::Reloaded;
use crate::operators::request::told;
use crate::parts::ways::set_rings;
use serde_json::Value;
use sluice_core_runtime::charging::Records;
use sluice_core_runtime::system;
use sluice_program::config::problem::Problem;
use sluice_program::control::refusal;
use sluice_program::logging;
use sluice_sctp::AllowList;
use sluice_security::suci::HomeKey;
use std::collections::BTreeMap;

/// All of a new configuration that could have failed.
struct Ready {
    config: CoreConfig,
    warnings: Vec<String>,
    amf: sluice_amf::Config,
    smf: Option<sluice_smf::Config>,
    home_keys: BTreeMap<u8, HomeKey>,
    records: Option<Records>,
}

/// Takes the file as it is now, or says why nothing was changed.
pub(crate) fn answer(daemon: &mut Daemon) -> Value {
    let file = daemon.in_force.file.clone();
    match prepare(daemon) {
        Ok(ready) => {
            let warnings = ready.warnings.clone();
            let changed = apply(daemon, ready);
            tracing::info!(
                "{} was read again; changed: {}",
                file.display(),
                match changed.is_empty() {
                    true => "nothing".to_owned(),
                    false => changed.join(", "),
                }
            );
            told(Reloaded {
                reloaded: file.display().to_string(),
                changed,
                warnings,
            })
        }
        Err(why) => {
            tracing::warn!("{} was not taken: {why}", file.display());
            refusal("refused", &format!("nothing was changed: {why}"))
        }
    }
}

fn prepare(daemon: &Daemon) -> Result<Ready, String> {
    let InForce { file, running } = &daemon.in_force;
    let loaded = CoreConfig::load(file).map_err(|e| e.to_string())?;
    let config = loaded.config;
    let told = |problem: &Problem| problem.in_file(file).to_string();
    if let Some(exposed) = needs::of_file(file, &config) {
        return Err(told(&exposed));
    }
    let others = running.needs_restart(&config);
    if !others.is_empty() {
        return Err(format!(
            "{}: changes there need a restart",
            others.join("; ")
        ));
    }
    let core = daemon.runtime.core();
    let amf = convert::amf(&config).ok_or("the AMF has no identity")?;
    if let Some(own) = core.amf() {
        own.may_reconfigure(&amf)?;
    }
    let smf = match core.smf() {
        Some(smf) if config.sessions.is_some() => {
            let config = convert::smf(&config, system::now().unix_s);
            let config = config.ok_or("the SMF has no address")?;
            smf.may_reconfigure(&config)?;
            Some(config)
        }
        _ => None,
    };
    let home_keys = needs::home_keys(&config.home_keys);
    let home_keys = home_keys.map_err(|all| {
        let all: Vec<_> = all.iter().map(told).collect();
        all.join("\n")
    })?;
    // The same file is opened again, too: it may have been moved away, so that another takes its place.
    let records = boot::records(&config).map_err(|problem| told(&problem))?;
    let warnings = loaded.warnings.iter().map(told).collect();
    Ok(Ready {
        config,
        warnings,
        amf,
        smf,
        home_keys,
        records,
    })
}

/// What cannot fail any more.
fn apply(daemon: &mut Daemon, ready: Ready) -> Vec<&'static str> {
    let changed = daemon.in_force.running.changed(&ready.config);
    let is_new = |key: &str| changed.contains(&key);
    let now = system::now();
    daemon.in_force.running = ready.config;
    if is_new("log") {
        logging::change(&daemon.in_force.running.log);
    }
    let core = daemon.runtime.core_mut();
    let made = core.sessions().take_records();
    daemon.charging.take(made, core.contexts());
    daemon.charging.go_to(ready.records);
    if is_new("n2.gnbs") {
        let allowed = AllowList::new(daemon.in_force.running.n2.gnbs.clone());
        let gone = daemon.runtime.allow_gnbs(allowed);
        if gone > 0 {
            tracing::warn!("{gone} gNBs that n2.gnbs has no more were aborted");
        }
    }
    daemon
        .runtime
        .set_overload_automatic(daemon.in_force.running.overload.automatic);
    let null_scheme = daemon.in_force.running.security.null_scheme;
    let core = daemon.runtime.core_mut();
    core.allow_null_scheme(null_scheme);
    core.reconfigure_nrf(now, convert::nrf(&daemon.in_force.running));
    // Both were asked before: they refuse nothing now.
    if let Err(why) = core.reconfigure_amf(now, ready.amf) {
        tracing::error!("the AMF keeps its configuration: {why}");
    }
    if let Some(smf) = ready.smf
        && let Err(why) = core.sessions().reconfigure(now, smf)
    {
        tracing::error!("the SMF keeps its configuration: {why}");
    }
    if let Some(n4) = daemon.runtime.n4_mut() {
        set_rings(n4, &daemon.in_force.running);
    }
    let core = daemon.runtime.core_mut();
    if let Some(sessions) = &daemon.in_force.running.sessions
        && let Err(why) = core.reconfigure_pcf(convert::pcf(sessions))
    {
        tracing::error!("the PCF keeps its policies: {why}");
    }
    let core = daemon.runtime.core_mut();
    daemon.home_keys.set_of_file(core, ready.home_keys);
    if let Some(subscribers) = &mut daemon.subscribers {
        let accounts = &daemon.in_force.running.subscribers;
        subscribers.reload(&mut core.repository(), accounts);
    }
    if let Some(programs) = &mut daemon.programs {
        let wiring = &daemon.in_force.running.wiring;
        programs.reload(daemon.runtime.core_mut(), wiring);
    }
    changed
}
