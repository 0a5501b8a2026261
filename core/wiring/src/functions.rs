//! Functions that a core has itself, and those that may be another host's.

use sluice_amf::Amf;
use sluice_ausf::Ausf;
use sluice_nrf::Nrf;
use sluice_nssf::Nssf;
use sluice_pcf::Pcf;
use sluice_sbi::{NetworkFunction, Nf, Place};
use sluice_smf::Smf;
use sluice_udm::Udm;
use sluice_udr::Udr;

pub(crate) struct Functions {
    pub amf: Amf,
    /// None of a core whose AUSF is another host's.
    pub ausf: Option<Ausf>,
    /// None of a core whose UDM is another host's.
    pub udm: Option<Udm>,
    pub udr: Udr,
    /// Serves the slices that the AMF serves.
    pub nssf: Nssf,
    pub nrf: Nrf,
    /// None of a core without sessions.
    pub smf: Option<Smf>,
    /// None of a core whose sessions have their default flows alone.
    pub pcf: Option<Pcf>,
}

fn some<T: NetworkFunction>(one: &Option<T>) -> Option<&dyn NetworkFunction> {
    one.as_ref().map(|one| one as &dyn NetworkFunction)
}

impl sluice_core_host::Functions for Functions {
    fn at(&mut self, place: Place) -> Option<&mut dyn NetworkFunction> {
        Some(match place.nf {
            Nf::Amf => &mut self.amf,
            Nf::Ausf => self.ausf.as_mut()?,
            Nf::Udm => self.udm.as_mut()?,
            Nf::Udr => &mut self.udr,
            Nf::Nssf => &mut self.nssf,
            Nf::Nrf => &mut self.nrf,
            Nf::Smf => self.smf.as_mut()?,
            Nf::Pcf => self.pcf.as_mut()?,
        })
    }

    fn each(&self, tell: &mut dyn FnMut(Nf, &dyn NetworkFunction)) {
        let all: [(Nf, Option<&dyn NetworkFunction>); 8] = [
            (Nf::Amf, Some(&self.amf)),
            (Nf::Ausf, some(&self.ausf)),
            (Nf::Udm, some(&self.udm)),
            (Nf::Udr, Some(&self.udr)),
            (Nf::Nrf, Some(&self.nrf)),
            (Nf::Nssf, Some(&self.nssf)),
            (Nf::Smf, some(&self.smf)),
            (Nf::Pcf, some(&self.pcf)),
        ];
        for (nf, one) in all {
            if let Some(one) = one {
                tell(nf, one);
            }
        }
    }
}

/// Functions that may be another host's.
#[derive(Debug, Default)]
pub struct Apart {
    /// Authentication server.
    pub ausf: Option<Ausf>,
    /// Unified data management.
    pub udm: Option<Udm>,
}

impl sluice_core_host::Functions for Apart {
    fn at(&mut self, place: Place) -> Option<&mut dyn NetworkFunction> {
        Some(match place.nf {
            Nf::Ausf => self.ausf.as_mut()?,
            Nf::Udm => self.udm.as_mut()?,
            _ => return None,
        })
    }

    fn each(&self, tell: &mut dyn FnMut(Nf, &dyn NetworkFunction)) {
        for (nf, one) in [(Nf::Ausf, some(&self.ausf)), (Nf::Udm, some(&self.udm))] {
            if let Some(one) = one {
                tell(nf, one);
            }
        }
    }
}
