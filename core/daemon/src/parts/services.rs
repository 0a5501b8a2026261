//! Services by HTTP of a program: its server, its directory, and requests for its NRF.

use crate::config::CoreConfig;
use crate::needs::{StartError, problem};
use crate::parts::refusals::Kept;
use crate::parts::tokens;
use sluice_bus_http2::{Directory, Scp, Services, SharedServices};
use sluice_core_runtime::system;
use sluice_sbi::{Nf, NfInstance, Place};
use sluice_sbi_http2::{Config, Http, Limits, StartError as HttpError, TlsFiles};
use sluice_services::{Memory, Own};
use sluice_wiring::{Apart, Registry};
use std::collections::BTreeMap;
use std::net::SocketAddr;

/// Opens the server of a program with these functions, at this address.
pub(crate) fn open(
    config: &CoreConfig,
    address: SocketAddr,
    own: &[Place],
) -> Result<SharedServices, StartError> {
    let lack = |what: String, expected: &str| StartError::from(problem(0, "sbi", what, expected));
    let Some(guami) = config.amf.guami else {
        return Err(lack("the core has no identity".to_owned(), "amf"));
    };
    let tls = config.sbi.tls.as_ref().map(|tls| TlsFiles {
        certificate: tls.certificate.value.clone(),
        key: tls.key.value.clone(),
        authorities: tls.authority.value.clone(),
    });
    let names: Vec<String> = own.iter().map(|place| place.nf.to_string()).collect();
    let http = Http::start(Config {
        listen: address,
        agent: names.first().cloned().unwrap_or_default(),
        limits: Limits::default(),
        tls,
    });
    let http = http.map_err(|e| {
        let expected = match &e {
            HttpError::Tls(_) => "certificates and a key (PEM) that this user alone can read",
            _ => "an address of this machine whose port no other program has",
        };
        lack(e.to_string(), expected)
    })?;
    let wanted = consumers(config, own);
    let now = std::time::Instant::now();
    let mut directory = Directory::new(&nrf_root(config), &wanted, now);
    if let Some(root) = &config.sbi.scp {
        let scp = Scp {
            root: root.value.clone(),
            discovers: config.sbi.scp_discovers,
        };
        directory = directory.through(scp, now);
    }
    let mut slices = config.plmns.iter().flat_map(|plmn| &plmn.slices);
    let slice = slices.next().map(|at| at.value);
    let memory = Memory::new(Own {
        root: config.sbi.root(address),
        guami,
        plmn: guami.plmn,
        slice,
        areas: match config.wiring.is_other(Nf::Nrf) {
            true => config.areas.iter().map(|at| at.value).collect(),
            false => Vec::new(),
        },
        needs_tokens: tokens::are_required(config),
        instances: BTreeMap::new(),
    });
    let services = Services::new(http, memory, directory, own.to_vec());
    let services = services.map_err(|e| lack(e.to_string(), "a kernel with epoll"))?;
    let (guard, wallet) = tokens::open(config).map_err(|e| tokens::lack(&e))?;
    Ok(services.with_tokens(guard, wallet).into())
}

/// Functions that those of a program ask, each with the one that asks it.
fn consumers(config: &CoreConfig, own: &[Place]) -> BTreeMap<Nf, Nf> {
    let has = |nf: Nf| own.iter().any(|place| place.nf == nf);
    // A core without sessions has neither, unless they are of another one.
    let has_sessions = |nf: Nf| config.sessions.is_some() || config.wiring.is_other(nf);
    let is_wanted = |nf: Nf| has_sessions(nf) || !matches!(nf, Nf::Smf | Nf::Pcf);
    let asked = own.iter().flat_map(|place| {
        let asks = asks(place.nf).iter();
        asks.map(|target| (*target, place.nf))
    });
    asked
        .filter(|(nf, _)| !has(*nf) && is_wanted(*nf))
        .collect()
}

/// Functions that one of a kind asks, or tells of something (TS 23.501, 6.2 and 7.2).
fn asks(nf: Nf) -> &'static [Nf] {
    match nf {
        Nf::Amf => &[Nf::Nrf, Nf::Ausf, Nf::Udm, Nf::Smf, Nf::Nssf, Nf::Pcf],
        Nf::Ausf => &[Nf::Nrf, Nf::Udm],
        Nf::Udm => &[Nf::Nrf, Nf::Udr, Nf::Amf, Nf::Smf],
        Nf::Udr => &[Nf::Nrf, Nf::Udm],
        Nf::Smf => &[Nf::Nrf, Nf::Udm, Nf::Amf, Nf::Pcf],
        Nf::Pcf => &[Nf::Nrf, Nf::Smf],
        Nf::Nssf => &[Nf::Nrf],
        Nf::Nrf => &[],
    }
}

/// API root of the NRF: that of another core, else of the program that has it.
fn nrf_root(config: &CoreConfig) -> String {
    if let Some(nrf) = &config.sbi.nrf {
        return nrf.value.clone();
    }
    let mut programs = config.wiring.programs.iter();
    let program = programs.find(|one| one.places().any(|place| place.nf == Nf::Nrf));
    let address = program.map_or(config.sbi.listen.value, |one| config.sbi_address(one));
    config.sbi.root(address)
}

/// Functions of the core have these identities; those of the program of this number tell theirs, and of others the first.
pub(crate) fn identify(
    services: &SharedServices,
    number: u8,
    instances: impl Iterator<Item = (Place, NfInstance)>,
) {
    let all: Vec<(Place, NfInstance)> = instances.collect();
    services.with(|services| {
        let of = |wanted: u8| {
            all.iter()
                .filter(move |(place, _)| place.instance() == wanted)
        };
        let told = of(0).chain(of(number));
        services.memory_mut().own.instances = told.map(|(place, id)| (place.nf, *id)).collect();
        let places = all.iter().map(|(place, id)| (id.to_string(), *place));
        services.set_own(places.collect());
    });
}

/// Refusals of strangers, and of tokens, since the last call.
pub(crate) fn take_refused(services: &SharedServices) -> Vec<Kept> {
    let refused = services.with(sluice_bus_http2::Services::take_refused);
    refused.into_iter().map(Kept::from).collect()
}

/// Has the NRF of this program answer what others ask it, and tell what they are to hear.
pub(crate) fn serve_nrf(services: &SharedServices, mut nrf: Registry<'_, Apart>) {
    let now = system::now();
    let root = services.with(|services| services.memory_mut().own.root.clone());
    nrf.reached_at(&root);
    while let Some(asked) = services.with(|services| services.take_nrf_request()) {
        if let Some(response) = nrf.serve(now, &asked.request) {
            services.with(|services| services.answer(asked.exchange, response));
        }
    }
    for notification in nrf.take_notifications() {
        let (uri, request) = (notification.uri, notification.request);
        if !services.with(|services| services.notify(&uri, request)) {
            tracing::warn!("{uri} is no URI: whoever subscribed with it hears nothing");
        }
    }
}
