//! DPDK ports of the configuration, with their kernel interfaces.

use crate::boot_error::BootError;
use crate::config::{Port as Given, UpfConfig};
use sluice_host::HostError;
use sluice_host::link::Link;
use sluice_host::netns::Ns;
use sluice_port::PortId;
use sluice_port_dpdk::{MbufPool, Port, PortConfig, PortError, PortStep};
use sluice_wire::eth::MacAddr;

/// Opens all ports, in the order of the file.
pub fn open(config: &UpfConfig, pool: &MbufPool) -> Result<Vec<Port>, BootError> {
    let mut ports = Vec::new();
    for (i, (wanted, given)) in config
        .port_configs()
        .into_iter()
        .zip(&config.ports)
        .enumerate()
    {
        let opening = Opening {
            given,
            place: format!("ports[{i}]"),
            mtu_by_default: config.mtu_by_default(),
        };
        let port = opening.open(pool, wanted)?;
        let info = port.info(PortId(0));
        tracing::info!(
            "port {}: {} {}, {} receive and {} transmit queues, MTU {}",
            info.name,
            port.driver(),
            MacAddr(info.mac),
            info.rx_queues,
            info.tx_queues,
            info.mtu_bytes
        );
        ports.push(port);
    }
    Ok(ports)
}

/// One port on its way.
struct Opening<'a> {
    given: &'a Given,
    /// Its place in the file.
    place: String,
    mtu_by_default: u16,
}

impl Opening<'_> {
    fn open(&self, pool: &MbufPool, mut wanted: PortConfig) -> Result<Port, BootError> {
        if let Some(name) = self.given.kernel_interface() {
            wanted.link_mtu_bytes = Some(self.fit(&self.link(name)?)?);
            wanted.mtu_bytes = None;
        } else if self.given.has_free_mtu() {
            wanted.link_mtu_bytes = wanted.mtu_bytes.take();
        }
        let made = self.given.made_interface().zip(wanted.mtu_bytes);
        if let Some((_, mtu)) = made {
            wanted.link_mtu_bytes = Some(mtu);
            wanted.mtu_bytes = None;
        }
        let opened = Port::open(pool, &wanted);
        let port = opened.map_err(|e| self.refused(e.to_string(), expected_of_device(&e)))?;
        if let Some((name, _)) = made {
            // Before, it was not there.
            self.fit(&self.link(name)?)?;
        }
        Ok(port)
    }

    /// The interface, which must be there: DPDK would only say that something is not permitted.
    fn link(&self, name: &str) -> Result<Link, BootError> {
        let found = Ns::current().and_then(|ns| {
            let link = Link::new(&ns, name)?;
            Ok((link.exists()?, link))
        });
        match found {
            Ok((true, link)) => Ok(link),
            Ok((false, _)) => {
                let what = format!("this machine has no network interface '{name}'");
                Err(self.refused(what, "one that `ip link` shows"))
            }
            Err(e) => Err(self.refused(e.to_string(), "an interface that can be looked at")),
        }
    }

    /// Gives the interface the MTU of the file; without one, takes what it has as far as there is
    /// room for it.
    fn fit(&self, link: &Link) -> Result<u16, BootError> {
        if let Some(mtu) = self.given.mtu {
            let refused = |e: HostError| {
                let expected = "an MTU that the interface can have";
                BootError::line(
                    mtu.line,
                    format!("{}.mtu", self.place),
                    e.to_string(),
                    expected,
                )
            };
            link.set_mtu(mtu.value).map_err(refused)?;
            return Ok(mtu.value);
        }
        let has = link.mtu();
        let has = has.map_err(|e| self.refused(e.to_string(), "an interface with an MTU"))?;
        if has > self.mtu_by_default.into() {
            tracing::warn!(
                "{} has an MTU of {has} bytes, but packets of more than {} are not taken: \
                 {}.mtu would make room for them",
                link.name(),
                self.mtu_by_default,
                self.place
            );
        }
        Ok(u16::try_from(has)
            .unwrap_or(u16::MAX)
            .min(self.mtu_by_default))
    }

    fn refused(&self, what: String, expected: &str) -> BootError {
        let key = format!("{}.device", self.place);
        BootError::line(self.given.device.line, key, what, expected)
    }
}

fn expected_of_device(error: &PortError) -> &'static str {
    match error {
        PortError::Refused {
            step: PortStep::Probe,
            ..
        } => {
            "a device that is there, with arguments that its driver knows; DPDK's own words are above"
        }
        PortError::Refused { .. } => "a device that can do this; DPDK's own words are above",
        _ => "a device of its own for each port",
    }
}
