//! Namespaces and links of the demo.
//!
//! Nothing joins the UEs, the gNBs and the data network but the UPF.
//!
//! ```text
//!  ue1 .. ueN          gnb                  upf                  dn
//!  [TUN ue]  <- RAN -> [n3] --- N3 veth --- [n3]   [n6] -- N6 -- [n6] HTTP, iperf3
//!                                             [n4]
//!                      smf [n4] --- N4 veth ---'
//!                   or core
//! ```
//!
//! The core is where the SMF is in the part without it; it has N2 (SCTP) towards the gNBs, too. UEs' namespaces are
//! made by [`super::ran`].

use sluice_host::netns::{Netns, Ns};
use sluice_host::veth::{Veth, VethEnd};
use sluice_host::{HostError, netns};

use super::error::DemoError;
use super::plan;

/// The laboratory. Links come before namespaces, so that they go first.
#[derive(Debug)]
pub(super) struct Topology {
    pub(super) n3: Veth,
    pub(super) n4: Veth,
    pub(super) n6: Veth,
    pub(super) n2: Veth,
    pub(super) gnb: Netns,
    pub(super) upf: Netns,
    pub(super) dn: Netns,
    pub(super) smf: Netns,
}

impl Topology {
    pub(super) fn create() -> Result<Self, DemoError> {
        let (gnb, upf) = (Netns::create("gnb")?, Netns::create("upf")?);
        let (dn, smf) = (Netns::create("dn")?, Netns::create("smf")?);
        // A host that forwards would pass this on to the UPF's namespace.
        set(&upf, "net/ipv4/ip_forward", "0")?;
        bound_tcp_windows(&dn)?;
        Ok(Self {
            n3: n3(&gnb, &upf)?,
            n4: n4(&smf, &upf)?,
            n6: n6(&dn, &upf)?,
            n2: n2(&smf, &gnb)?,
            gnb,
            upf,
            dn,
            smf,
        })
    }

    /// Gives the data network IPv6, now that the UPF hears what its kernel says of that: else the two
    /// would disagree about the packets of N6.
    pub(super) fn start_ipv6(&self) -> Result<(), HostError> {
        let end = self.n6.a();
        end.add_ipv6_address(plan::N6_SERVER_V6, plan::LINK_PREFIX_V6)?;
        self.dn.ip_batch(&format!(
            "-6 route add {}/{} via {} dev n6 mtu {}\n",
            plan::UE_PREFIXES,
            plan::UE_PREFIXES_PREFIX,
            plan::N6_UPF_V6,
            plan::UE_MTU
        ))
    }

    /// Takes everything down that is still there and tells what could not be.
    pub(super) fn delete(mut self) -> Result<(), DemoError> {
        let links = [&mut self.n2, &mut self.n3, &mut self.n4, &mut self.n6];
        let links = links.into_iter().map(Veth::delete).collect::<Vec<_>>();
        let core = [&mut self.gnb, &mut self.upf, &mut self.dn, &mut self.smf];
        let namespaces = core.map(Netns::delete);
        links
            .into_iter()
            .chain(namespaces)
            .collect::<Result<(), _>>()?;
        Ok(())
    }
}

/// Namespaces of this process that are still there.
pub(super) fn left_over() -> Result<Vec<String>, DemoError> {
    let ours = format!("sluice-{}-", std::process::id());
    let names = netns::names()?.into_iter();
    Ok(names.filter(|name| name.starts_with(&ours)).collect())
}

/// Both gNBs are in one namespace and share the link; the UPF's end is for its port.
fn n3(gnb: &Ns, upf: &Ns) -> Result<Veth, HostError> {
    let [first, second] = plan::N3_GNBS;
    let near = VethEnd::bare(gnb, "n3").with_address(first, plan::LINK_PREFIX);
    let veth = Veth::create(&near, &VethEnd::bare(upf, "n3"), plan::LINK_MTU)?;
    veth.a().add_address(second, plan::LINK_PREFIX)?;
    Ok(veth)
}

/// The core is where the SMF is in the part without it, and both gNBs share the link.
fn n2(smf: &Ns, gnb: &Ns) -> Result<Veth, HostError> {
    let near = VethEnd::bare(smf, "n2").with_address(plan::N2_AMF, plan::LINK_PREFIX);
    let [first, second] = plan::N2_GNBS;
    let far = VethEnd::bare(gnb, "n2").with_address(first, plan::LINK_PREFIX);
    let veth = Veth::create(&near, &far, plan::LINK_MTU)?;
    veth.b().add_address(second, plan::LINK_PREFIX)?;
    Ok(veth)
}

fn n4(smf: &Ns, upf: &Ns) -> Result<Veth, HostError> {
    let near = VethEnd::bare(smf, "n4").with_address(plan::N4_SMF, plan::LINK_PREFIX);
    let far = VethEnd::bare(upf, "n4").with_address(plan::N4_UPF, plan::LINK_PREFIX);
    Veth::create(&near, &far, plan::LINK_MTU)
}

/// The data network knows how large a packet to a UE may be.
fn n6(dn: &Ns, upf: &Ns) -> Result<Veth, HostError> {
    let near = VethEnd::bare(dn, "n6").with_address(plan::N6_SERVER, plan::LINK_PREFIX);
    let veth = Veth::create(&near, &VethEnd::bare(upf, "n6"), plan::LINK_MTU)?;
    dn.ip_batch(&format!(
        "route add {}/{} via {} dev n6 mtu {}\n",
        plan::UE_POOL,
        plan::UE_POOL_PREFIX,
        plan::N6_UPF,
        plan::UE_MTU
    ))?;
    Ok(veth)
}

/// Keeps TCP of an end system so small that all rings have room for it.
pub(super) fn bound_tcp_windows(ns: &Ns) -> Result<(), DemoError> {
    let window = plan::TCP_WINDOW_BYTES;
    for key in ["net/ipv4/tcp_rmem", "net/ipv4/tcp_wmem"] {
        set(ns, key, &format!("4096 131072 {window}"))?;
    }
    Ok(())
}

/// Sets a kernel parameter of the namespace.
fn set(ns: &Ns, key: &str, value: &str) -> Result<(), DemoError> {
    let path = format!("/proc/sys/{key}");
    let written = ns.run(|| std::fs::write(&path, value))?;
    written.map_err(DemoError::io(format!("set {key} in {}", ns.describe())))
}

#[cfg(test)]
mod tests {
    use super::*;
    use sluice_host::env_check;

    #[test]
    fn the_laboratory_comes_and_goes() {
        if !env_check::is_network_admin() {
            println!("skipped: needs root");
            return;
        }
        let topology = Topology::create().expect("topology");
        let window = topology
            .dn
            .run(|| std::fs::read_to_string("/proc/sys/net/ipv4/tcp_rmem"));
        assert!(window.expect("enter").expect("read").contains("262144"));
        assert_eq!(left_over().expect("names").len(), 4);
        topology.delete().expect("delete");
        assert_eq!(left_over().expect("names"), Vec::<String>::new());
    }
}
