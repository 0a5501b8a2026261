//! Settings of a program, as its core tells them: identities, keys of the home network, drains, the end.

use super::Program;
use crate::config::CoreConfig;
use crate::nf::drain::Drain;
use crate::nf::functions;
use crate::parts::news::{Settings, UdmSettings};
use crate::parts::services;
use sluice_core_runtime::system;
use sluice_ids::Supi;
use sluice_program::logging;
use sluice_sbi::{NfInstance, Place};
use sluice_udm::Udm;
use sluice_wiring::{Mobility, Repository, Sessions};
use std::collections::BTreeSet;
use std::io;
use std::time::Duration;

impl Program {
    pub(super) fn take_settings(&mut self, settings: Settings) -> io::Result<()> {
        if let Some(udm) = &settings.udm {
            self.set_udm(udm);
        }
        let before = self.settings.as_ref();
        let is_new = |of: fn(&Settings) -> u64| before.is_some_and(|one| of(one) != of(&settings));
        let (reloads, registers) = (is_new(|one| one.reloads), is_new(|one| one.registrations));
        let follows = before.map(|one| &one.followed) != Some(&settings.followed);
        let ends = settings
            .ends
            .filter(|_| before.is_none_or(|one| one.ends.is_none()));
        if before.is_none() {
            self.identify(&settings);
        }
        if self.may_begin(&settings) && !self.has_begun {
            self.begin()?;
        }
        let withdrawn = settings.withdrawn.iter();
        for supi in withdrawn.filter_map(|imsi| Supi::from_imsi(imsi)) {
            Mobility::from(&mut self.host).deregister(system::now(), &supi, false);
        }
        if reloads {
            self.reload();
        }
        if registers {
            self.host.register_again(system::now());
        }
        if follows {
            let followed = (&settings.followed).into();
            Mobility::from(&mut self.host).follow_ues(followed);
            Sessions::from(&mut self.host).follow_ues(followed);
        }
        if let Some(releases) = ends {
            self.end(releases);
        }
        self.drain(&settings);
        self.settings = Some(settings);
        Ok(())
    }

    /// Instances of functions that operators have taken out are asked nothing more.
    fn drain(&mut self, settings: &Settings) {
        let draining: BTreeSet<Place> = settings.draining().collect();
        let drains = self.places.iter().any(|place| draining.contains(place));
        self.host.drain(draining);
        match (drains, &self.drains) {
            (true, None) => {
                self.drains = Some(Drain::begin(std::time::Instant::now()));
                for place in &self.places {
                    self.host.leave(place.nf);
                }
            }
            (false, Some(_)) => {
                self.drains = None;
                self.host.register_again(system::now());
            }
            (true, Some(_)) | (false, None) => {}
        }
    }

    /// gNBs are told first, so that UEs are taken to another AMF (TS 23.501, 5.21.2.2.2).
    fn end(&mut self, releases_sessions: bool) {
        Mobility::from(&mut self.host).end(system::now());
        if let Some(upfs) = &mut self.upfs
            && releases_sessions
        {
            upfs.end(&mut self.host, self.end_within);
        }
    }

    /// Takes messages of gNBs and UPFs from now on; earlier ones have waited in their sockets.
    fn begin(&mut self) -> io::Result<()> {
        self.has_begun = true;
        if let Some(upfs) = &self.upfs {
            self.poller.add(&upfs.n4, 1)?;
        }
        if let Some(gnbs) = &self.gnbs {
            self.poller.add(&gnbs.n2, 3)?;
        }
        tracing::info!("ready");
        Ok(())
    }

    fn identify(&mut self, settings: &Settings) {
        for place in self.places.clone() {
            let name = place.to_string();
            let mut told = settings.instances.iter();
            let told = told.find(|(one, _)| *one == name);
            let instance = told.and_then(|(_, octets)| NfInstance::from_octets(*octets));
            if let Some(instance) = instance {
                self.host.instances.insert(place, instance);
            }
        }
        if let Some(services) = &self.services {
            services::identify(services, self.host.instances.iter());
        }
        // Sessions that were taken up may have had it begin.
        self.host.register_again(system::now());
    }

    fn set_udm(&mut self, settings: &UdmSettings) {
        let (home_keys, null_scheme) = (settings.keys(), settings.null_scheme);
        match &mut self.host.functions.udm {
            Some(udm) => {
                udm.set_home_keys(home_keys);
                udm.allow_null_scheme(null_scheme);
            }
            None if self.has_udm => {
                let config = sluice_udm::Config {
                    home_keys,
                    null_scheme,
                };
                let udm = Udm::new(config, Box::new(system::random));
                self.host.functions.udm = Some(udm);
            }
            None => {}
        }
    }

    /// The core has read its file again, and found it sound.
    fn reload(&mut self) {
        let config = match CoreConfig::load(&self.file) {
            Ok(loaded) => loaded.config,
            Err(refused) => return tracing::error!("the file was not taken: {refused}"),
        };
        logging::change(&config.log);
        self.end_within = Duration::from_secs(config.end.within_s.into());
        self.report.has_new_nrf |= functions::reconfigure(&mut self.host, &config);
        if let Some(gnbs) = &mut self.gnbs {
            gnbs.reload(&mut self.host, &config);
        }
        if let Some(upfs) = &mut self.upfs {
            upfs.reload(&mut self.host, &config);
        }
        if let Some(subscribers) = &mut self.subscribers {
            let mut repository = Repository::from(&mut self.host);
            subscribers
                .sync
                .reload(&mut repository, &config.subscribers);
        }
    }
}
