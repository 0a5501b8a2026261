//! Keys of core.yaml that change while the core runs, told apart from those that need a restart.

use super::{CoreConfig, N2Section, Sessions};
use crate::convert;

impl CoreConfig {
    /// Keys in which `new` differs in something that needs a restart.
    pub fn needs_restart(&self, new: &Self) -> Vec<&'static str> {
        let n4 = |config: &Self| config.sessions.as_ref().map(|sessions| sessions.n4);
        let carrier = |n2: &N2Section| {
            let more: Vec<_> = n2.more.iter().map(|at| at.value).collect();
            (n2.listen, more, n2.sctp, n2.over, n2.port, n2.udp_port)
        };
        let keys = [
            (
                "amf.plmn, region, set and pointer",
                self.amf.guami == new.amf.guami,
            ),
            (
                "n2.listen, more_addresses, sctp, over, port and udp_port",
                carrier(&self.n2) == carrier(&new.n2),
            ),
            ("n4", n4(self) == n4(new)),
            ("subscriber_database", self.database == new.database),
            ("contexts", self.contexts == new.contexts),
            ("control_socket", self.control_socket == new.control_socket),
            ("api", self.api == new.api),
            ("wiring", self.wiring.may_become(&new.wiring)),
            ("sbi", self.sbi == new.sbi),
        ];
        let differs = keys.into_iter().filter(|(_, is_same)| !is_same);
        differs.map(|(key, _)| key).collect()
    }

    /// Keys in which `new` differs, of those that change at once.
    pub fn changed(&self, new: &Self) -> Vec<&'static str> {
        let amf = |config: &Self| (config.amf.name.clone(), config.amf.capacity);
        let upfs = |config: &Self| config.sessions.as_ref().map(|one| one.upfs.clone());
        let networks = |config: &Self| config.sessions.as_ref().map(|one| one.networks.clone());
        let pcf = |config: &Self| config.sessions.as_ref().map(convert::pcf);
        let policies = |config: &Self| pcf(config).map(|pcf| pcf.policies);
        let access = |config: &Self| pcf(config).map(|pcf| pcf.access_policies);
        let keys = [
            ("plmns", self.plmns == new.plmns),
            ("tracking_areas", self.areas == new.areas),
            (
                "equivalent_plmns",
                self.equivalent_plmns == new.equivalent_plmns,
            ),
            ("amf", amf(self) == amf(new)),
            ("security", self.security == new.security),
            ("home_network_keys", self.home_keys == new.home_keys),
            ("network_name", self.names == new.names),
            ("ims_voice", self.ims_voice == new.ims_voice),
            ("timers", self.timers == new.timers),
            ("n2.gnbs", self.n2.gnbs == new.n2.gnbs),
            ("overload", self.overload == new.overload),
            ("nrf", self.nrf == new.nrf),
            ("upfs", upfs(self) == upfs(new)),
            ("data_networks", networks(self) == networks(new)),
            ("policies", policies(self) == policies(new)),
            ("access_policies", access(self) == access(new)),
            ("charging_records", self.charging() == new.charging()),
            ("subscribers", self.subscribers == new.subscribers),
            ("end", self.end == new.end),
            ("wiring.programs", self.wiring == new.wiring),
            ("log", self.log == new.log),
        ];
        let differs = keys.into_iter().filter(|(_, is_same)| !is_same);
        differs.map(|(key, _)| key).collect()
    }

    fn charging(&self) -> Option<&super::Charging> {
        let sessions: Option<&Sessions> = self.sessions.as_ref();
        sessions.map(|sessions| &sessions.charging)
    }
}
