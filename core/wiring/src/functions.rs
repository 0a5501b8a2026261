//! Functions of a core, each of which may be another host's.

use sluice_amf::Amf;
use sluice_ausf::Ausf;
use sluice_core_host as host;
use sluice_nrf::Nrf;
use sluice_nssf::Nssf;
use sluice_pcf::Pcf;
use sluice_sbi::{NetworkFunction, Nf, Place};
use sluice_smf::Smf;
use sluice_udm::Udm;
use sluice_udr::Udr;

fn some<T: NetworkFunction>(one: &Option<T>) -> Option<&dyn NetworkFunction> {
    one.as_ref().map(|one| one as &dyn NetworkFunction)
}

/// Functions of a host; none of those that this one does not have.
#[derive(Debug, Default)]
pub struct Apart {
    /// Access and mobility management.
    pub amf: Option<Amf>,
    /// Authentication server.
    pub ausf: Option<Ausf>,
    /// Unified data management.
    pub udm: Option<Udm>,
    /// Repository of subscribers.
    pub udr: Option<Udr>,
    /// Repository of functions.
    pub nrf: Option<Nrf>,
    /// Slice selection.
    pub nssf: Option<Nssf>,
    /// Session management. Nobody has it where UEs have no sessions.
    pub smf: Option<Smf>,
    /// Policy control. Nobody has it where sessions have their default flows alone.
    pub pcf: Option<Pcf>,
}

impl Apart {
    /// All that may be another host's.
    pub const ALL: [Nf; 8] = [
        Nf::Amf,
        Nf::Ausf,
        Nf::Udm,
        Nf::Udr,
        Nf::Nrf,
        Nf::Nssf,
        Nf::Smf,
        Nf::Pcf,
    ];
}

impl host::Functions for Apart {
    fn at(&mut self, place: Place) -> Option<&mut dyn NetworkFunction> {
        Some(match place.nf {
            Nf::Amf => self.amf.as_mut()?,
            Nf::Ausf => self.ausf.as_mut()?,
            Nf::Udm => self.udm.as_mut()?,
            Nf::Nrf => self.nrf.as_mut()?,
            Nf::Nssf => self.nssf.as_mut()?,
            Nf::Smf => self.smf.as_mut()?,
            Nf::Pcf => self.pcf.as_mut()?,
            Nf::Udr => self.udr.as_mut()?,
        })
    }

    fn each(&self, tell: &mut dyn FnMut(Nf, &dyn NetworkFunction)) {
        let all = [
            (Nf::Amf, some(&self.amf)),
            (Nf::Ausf, some(&self.ausf)),
            (Nf::Udm, some(&self.udm)),
            (Nf::Nrf, some(&self.nrf)),
            (Nf::Nssf, some(&self.nssf)),
            (Nf::Smf, some(&self.smf)),
            (Nf::Pcf, some(&self.pcf)),
            (Nf::Udr, some(&self.udr)),
        ];
        for (nf, one) in all {
            if let Some(one) = one {
                tell(nf, one);
            }
        }
    }
}

impl AsRef<Apart> for Apart {
    fn as_ref(&self) -> &Apart {
        self
    }
}

impl AsMut<Apart> for Apart {
    fn as_mut(&mut self) -> &mut Apart {
        self
    }
}
