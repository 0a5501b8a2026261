//! Algorithms of NAS security and what a UE says it can do (TS 33.501, 5.11; TS 24.501, 9.11.3.54).

/// An algorithm that ciphers, NEA0 to NEA3.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Ciphering {
    /// None.
    Nea0 = 0,
    /// SNOW 3G.
    Nea1 = 1,
    /// AES in counter mode.
    Nea2 = 2,
    /// ZUC.
    Nea3 = 3,
}

/// An algorithm that protects integrity, NIA1 to NIA3. NIA0 is for emergency calls alone, which we
/// do not offer, so there is no such value.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Integrity {
    /// SNOW 3G.
    Nia1 = 1,
    /// AES-CMAC.
    Nia2 = 2,
    /// ZUC.
    Nia3 = 3,
}

impl Ciphering {
    /// Of its number.
    pub fn from_number(number: u8) -> Option<Self> {
        [Self::Nea0, Self::Nea1, Self::Nea2, Self::Nea3]
            .get(usize::from(number))
            .copied()
    }
}

impl Integrity {
    /// Of its number; none for NIA0.
    pub fn from_number(number: u8) -> Option<Self> {
        match number {
            1 => Some(Self::Nia1),
            2 => Some(Self::Nia2),
            3 => Some(Self::Nia3),
            _ => None,
        }
    }
}

/// UE security capability: the bits of 5G-EA and 5G-IA, then those of EPS if there are any.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct SecurityCapability {
    octets: [u8; 8],
    length: u8,
}

impl SecurityCapability {
    /// Of the value of the IE, two to eight octets.
    pub fn from_octets(value: &[u8]) -> Option<Self> {
        if !(2..=8).contains(&value.len()) {
            return None;
        }
        let mut octets = [0; 8];
        octets[..value.len()].copy_from_slice(value);
        Some(Self {
            octets,
            length: value.len() as u8,
        })
    }

    /// The value of the IE as it was received: what Security Mode Command replays.
    pub fn octets(&self) -> &[u8] {
        &self.octets[..usize::from(self.length)]
    }

    /// 5G-EA0 to 5G-EA7, from the highest bit.
    pub fn ea(&self) -> u8 {
        self.octets[0]
    }

    /// 5G-IA0 to 5G-IA7, from the highest bit.
    pub fn ia(&self) -> u8 {
        self.octets[1]
    }

    /// EEA0 to EEA7; zero if none was given.
    pub fn eea(&self) -> u8 {
        self.octets[2]
    }

    /// EIA0 to EIA7; zero if none was given.
    pub fn eia(&self) -> u8 {
        self.octets[3]
    }
}

/// Which algorithms an operator wants, best first.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Preference {
    /// May contain NEA0, which is chosen only where it stands.
    pub ciphering: Vec<Ciphering>,
    /// Integrity algorithms in order of preference; a UE without any of them is refused.
    pub integrity: Vec<Integrity>,
    /// Which of the algorithms that each UE has to have are asked for.
    pub mandatory: Mandatory,
}

/// Which of the mandatory algorithms a UE must have (TS 24.501, 5.5.1.2.8; TS 33.501, 5.2.2 and 5.2.3): NEA0, 128-NEA1
/// and 128-NEA2; 128-NIA1 and 128-NIA2.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Mandatory {
    /// One of each kind: there are devices and testers with no more.
    #[default]
    One,
    /// All of them.
    All,
}

/// Bits of the mandatory ones in a UE's capability.
const MANDATORY_EA: u8 = 0xe0;
const MANDATORY_IA: u8 = 0x60;

impl Mandatory {
    /// Whether a UE has them.
    pub fn are_there(self, capability: &SecurityCapability) -> bool {
        let (ea, ia) = (
            capability.ea() & MANDATORY_EA,
            capability.ia() & MANDATORY_IA,
        );
        match self {
            Self::One => ea != 0 && ia != 0,
            Self::All => (ea, ia) == (MANDATORY_EA, MANDATORY_IA),
        }
    }
}

impl Default for Preference {
    fn default() -> Self {
        Self {
            ciphering: vec![Ciphering::Nea2, Ciphering::Nea1, Ciphering::Nea3],
            integrity: vec![Integrity::Nia2, Integrity::Nia1, Integrity::Nia3],
            mandatory: Mandatory::default(),
        }
    }
}

impl Preference {
    /// The first of each that the UE has; none if there is none of one kind, or if it lacks mandatory ones.
    pub fn choose(&self, capability: &SecurityCapability) -> Option<(Ciphering, Integrity)> {
        self.mandatory.are_there(capability).then_some(())?;
        let has = |bits: u8, number: u8| bits & 0x80 >> number != 0;
        let ciphering = self
            .ciphering
            .iter()
            .find(|a| has(capability.ea(), **a as u8))?;
        let integrity = self
            .integrity
            .iter()
            .find(|a| has(capability.ia(), **a as u8))?;
        Some((*ciphering, *integrity))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn capability(ea: u8, ia: u8) -> SecurityCapability {
        SecurityCapability::from_octets(&[ea, ia]).expect("two octets")
    }

    #[test]
    fn the_operators_order_decides() {
        let chosen = Preference::default().choose(&capability(0xf0, 0x70));
        assert_eq!(chosen, Some((Ciphering::Nea2, Integrity::Nia2)));
        let third = Preference {
            ciphering: vec![Ciphering::Nea3, Ciphering::Nea2],
            integrity: vec![Integrity::Nia3, Integrity::Nia2],
            ..Preference::default()
        };
        let chosen = third.choose(&capability(0x30, 0x30));
        assert_eq!(chosen, Some((Ciphering::Nea3, Integrity::Nia3)));
        let chosen = third.choose(&capability(0x20, 0x20));
        assert_eq!(chosen, Some((Ciphering::Nea2, Integrity::Nia2)));
    }

    /// TS 24.501, 5.5.1.2.8: mandatory algorithms that are not supported.
    #[test]
    fn a_ue_without_mandatory_algorithms_gets_none() {
        let all = Preference {
            mandatory: Mandatory::All,
            ..Preference::default()
        };
        let one = Preference::default();
        for (ea, ia, of_one, of_all) in [
            (0xf0, 0x70, true, true),
            (0xe0, 0x60, true, true),
            // NEA3, or NIA3, is none of them.
            (0x10, 0x70, false, false),
            (0xf0, 0x10, false, false),
            (0x20, 0x20, true, false),
            (0x60, 0x70, true, false),
        ] {
            let of = |preference: &Preference| preference.choose(&capability(ea, ia)).is_some();
            assert_eq!((of(&one), of(&all)), (of_one, of_all), "{ea:#x} {ia:#x}");
        }
    }

    #[test]
    fn null_algorithms_are_not_chosen_unless_ciphering_by_policy() {
        // A UE with EA0 and IA0 alone.
        let null_only = capability(0x80, 0x80);
        assert_eq!(Preference::default().choose(&null_only), None);
        assert_eq!(Integrity::from_number(0), None);
        let mut preference = Preference::default();
        preference.ciphering.push(Ciphering::Nea0);
        assert_eq!(preference.choose(&null_only), None);
        let chosen = preference.choose(&capability(0x80, 0x20));
        assert_eq!(chosen, Some((Ciphering::Nea0, Integrity::Nia2)));
    }

    #[test]
    fn capabilities_are_replayed_as_they_came() {
        let octets = [0xf0, 0x70, 0xf0, 0x70];
        let capability = SecurityCapability::from_octets(&octets).unwrap();
        assert_eq!(capability.octets(), octets);
        assert_eq!((capability.eea(), capability.eia()), (0xf0, 0x70));
        assert_eq!(SecurityCapability::from_octets(&[1]), None);
        assert_eq!(SecurityCapability::from_octets(&[1; 9]), None);
    }
}
