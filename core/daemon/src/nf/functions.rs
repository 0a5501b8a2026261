//! Functions of a program as core.yaml has them, at its start and when it was read again.

use crate::config::CoreConfig;
use crate::convert;
use crate::parts::tokens;
use sluice_amf::Amf;
use sluice_ausf::Ausf;
use sluice_core_host::{Home, Host};
use sluice_core_runtime::system;
use sluice_ids::Snssai;
use sluice_nrf::Nrf;
use sluice_nssf::Nssf;
use sluice_pcf::Pcf;
use sluice_sbi::Nf;
use sluice_smf::Smf;
use sluice_wiring::{Apart, Mobility, Sessions, slices_of};
use std::collections::BTreeSet;
use std::io;

/// Functions of this program, of the instance of this number; for UPFs its SMF has begun at `begun_unix_s`. A UDM has to hear
/// of its keys first, and the UDR comes with its subscribers.
pub(super) fn new(
    config: &CoreConfig,
    functions: &[Nf],
    instance: u8,
    begun_unix_s: u64,
) -> io::Result<Apart> {
    let has = |nf| functions.contains(&nf);
    let slices = convert::amf(config).map(|amf| slices_of(&amf.plmns));
    let sessions = config.sessions.as_ref();
    let pcf = sessions.filter(|_| has(Nf::Pcf));
    let pcf = pcf.map(|sessions| Pcf::new(convert::pcf(sessions)));
    let smf = sessions
        .filter(|_| has(Nf::Smf))
        .and_then(|_| convert::smf(config, begun_unix_s));
    let amf = has(Nf::Amf).then(|| convert::amf(config)).flatten();
    let amf = amf.map(|amf| Amf::new(amf, Box::new(system::random)));
    Ok(Apart {
        amf: amf.transpose().map_err(io::Error::other)?,
        ausf: has(Nf::Ausf).then(|| Ausf::new(instance)),
        udm: None,
        udr: None,
        nrf: has(Nf::Nrf).then(|| nrf(config)).transpose()?,
        nssf: slices.filter(|_| has(Nf::Nssf)).map(Nssf::new),
        smf: smf.map(Smf::new).transpose().map_err(io::Error::other)?,
        pcf: pcf.transpose().map_err(io::Error::other)?,
    })
}

/// An NRF with its keys of tokens.
fn nrf(config: &CoreConfig) -> io::Result<Nrf> {
    let mut nrf = Nrf::new(convert::nrf(config));
    nrf.sign_with(tokens::signer(config).map_err(io::Error::other)?);
    nrf.require_tokens(tokens::are_required(config));
    Ok(nrf)
}

/// Part that profiles of all functions of the core have in common.
pub(super) fn home(config: &CoreConfig) -> Option<Home> {
    let plmns = config.plmns.iter();
    let slices: BTreeSet<Snssai> = plmns
        .flat_map(|one| one.slices.iter().map(|at| at.value))
        .collect();
    Some(Home {
        guami: config.amf.guami?,
        plmns: config.plmns.iter().map(|one| one.plmn.value).collect(),
        slices: slices.into_iter().collect(),
    })
}

/// Whether functions could go on with another configuration.
///
/// # Errors
/// Why they could not.
pub(super) fn may_reconfigure(functions: &Apart, config: &CoreConfig) -> Result<(), String> {
    if let Some(amf) = &functions.amf {
        let config = convert::amf(config);
        amf.may_reconfigure(&config.ok_or("the AMF has no identity")?)?;
    }
    if let Some(smf) = &functions.smf {
        let config = convert::smf(config, system::now().unix_s);
        smf.may_reconfigure(&config.ok_or("the SMF has no address")?)?;
    }
    Ok(())
}

/// Functions go on with another configuration, as far as they can; whether the NRF's is another one.
pub(super) fn reconfigure(host: &mut Host<Apart>, config: &CoreConfig) -> bool {
    let functions = &mut host.functions;
    let mut has_new_nrf = false;
    if let Some(nrf) = &mut functions.nrf {
        let config = convert::nrf(config);
        has_new_nrf = config != nrf.config();
        nrf.reconfigure(config);
    }
    if let Some(nssf) = &mut functions.nssf
        && let Some(amf) = convert::amf(config)
    {
        nssf.reconfigure(slices_of(&amf.plmns));
    }
    if let Some(pcf) = &mut functions.pcf
        && let Some(sessions) = &config.sessions
        && let Err(why) = pcf.reconfigure(convert::pcf(sessions))
    {
        tracing::error!("the PCF keeps its policies: {why}");
    }
    let now = system::now();
    if functions.smf.is_some()
        && let Some(smf) = convert::smf(config, now.unix_s)
        && let Err(why) = Sessions::from(&mut *host).reconfigure(now, smf)
    {
        tracing::error!("the SMF keeps its configuration: {why}");
    }
    if let Some(home) = home(config) {
        host.update_registrations(home);
    }
    if let Some(amf) = convert::amf(config)
        && let Err(why) = Mobility::from(&mut *host).reconfigure(now, amf)
    {
        tracing::error!("the AMF keeps its configuration: {why}");
    }
    has_new_nrf
}
