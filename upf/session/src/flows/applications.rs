//! Applications (TS 23.503, 6.1.2.3; TS 29.244, 6.2.5): the flows that an Application ID of a PDI means, as upf.yaml
//! has them and as PFD Management tells them.
//!
//! An application has a number as long as a PDR names it, so that a session's record has two octets for it. What is
//! told holds before what is configured. One without any flows is unknown to new PDRs, and those that have it match
//! nothing.

use crate::flows::sdf;
use crate::flows::sdf::{FlowFilterList, SdfError};
use crate::index::hash_index::Seeded;
use crate::limits::{APPLICATION_NAME, APPLICATIONS, FLOW_DESCRIPTION_TOLD};
use crate::node::uses::UseCounts;
use crate::rules::{FilterOrigin, Rules};
use core::fmt;
use sluice_datapath::session::flow_filter::FlowFilter;
use sluice_wire::pfcp::value::SdfFilter;
use std::collections::{BTreeMap, HashMap};

/// An application of the configuration.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Application {
    /// Application ID (8.2.6).
    pub name: String,
    /// Flow descriptions (TS 29.212, 5.4.2), of which a packet has to meet one.
    pub flows: Vec<String>,
}

/// Why an application cannot be had.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum ApplicationError {
    /// More than [`APPLICATIONS`].
    TooMany,
    /// Two have this name.
    Twice(String),
    /// It has no flow, or a flow description that none of ours can be.
    Flow(String, String),
    /// It has more flow filters than a PDR may have.
    TooManyFlows(String),
}

impl fmt::Display for ApplicationError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::TooMany => write!(f, "more than {APPLICATIONS} applications"),
            Self::Twice(name) => write!(f, "two applications are called {name}"),
            Self::Flow(name, text) => {
                write!(f, "application {name}: no flow description: '{text}'")
            }
            Self::TooManyFlows(name) => write!(f, "application {name} has too many flows"),
        }
    }
}

impl std::error::Error for ApplicationError {}

/// Applications of the configuration, with their flow filters.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct ConfiguredApplications(Vec<(String, Flows)>);

/// The flow filters of an application, at least one.
#[derive(Clone, PartialEq, Debug)]
pub struct Flows {
    filters: Box<[FlowFilter]>,
    /// The description, where one is all that there is and it is not too long to be told.
    only: Option<Box<[u8]>>,
}

impl Flows {
    /// Those that these descriptions mean.
    pub fn new<'a>(filters: &FlowFilterList, texts: impl IntoIterator<Item = &'a [u8]>) -> Self {
        let mut texts = texts.into_iter();
        let only = texts.next().filter(|_| texts.next().is_none());
        Self {
            filters: filters.as_slice().into(),
            only: only
                .filter(|text| text.len() <= FLOW_DESCRIPTION_TOLD)
                .map(Into::into),
        }
    }
}

impl ConfiguredApplications {
    /// Reads the flows of all.
    ///
    /// # Errors
    /// If one cannot be had; see [`ApplicationError`].
    pub fn new(applications: &[Application]) -> Result<Self, ApplicationError> {
        if applications.len() > APPLICATIONS {
            return Err(ApplicationError::TooMany);
        }
        let mut all = Vec::new();
        for Application { name, flows } in applications {
            if all.iter().any(|(other, _)| other == name) {
                return Err(ApplicationError::Twice(name.clone()));
            }
            let mut list = FlowFilterList::new();
            for text in flows {
                read_flow(text.as_bytes(), &mut list).map_err(|error| match error {
                    SdfError::Wrong => ApplicationError::Flow(name.clone(), text.clone()),
                    SdfError::TooMany => ApplicationError::TooManyFlows(name.clone()),
                })?;
            }
            if list.is_empty() {
                return Err(ApplicationError::Flow(name.clone(), String::new()));
            }
            let texts = flows.iter().map(String::as_bytes);
            all.push((name.clone(), Flows::new(&list, texts)));
        }
        Ok(Self(all))
    }
}

/// Reads a flow description of an application.
///
/// # Errors
/// If it says what none of ours says, or there are too many.
pub fn read_flow(text: &[u8], into: &mut FlowFilterList) -> Result<(), SdfError> {
    let recall = |_, _: &mut FlowFilterList| Err(SdfError::Wrong);
    sdf::read(&SdfFilter::flow(text), recall, into)
}

/// What a message tells of an application: its flows, or that it has none any more.
pub type Told = (Vec<u8>, Option<Flows>);

#[derive(Clone, Debug)]
struct Place {
    name: Box<[u8]>,
    configured: Option<Flows>,
    told: Option<Flows>,
}

impl Place {
    fn known(&self) -> Option<&Flows> {
        self.told.as_ref().or(self.configured.as_ref())
    }

    fn flows(&self) -> &[FlowFilter] {
        self.known().map_or(&[], |flows| &flows.filters)
    }

    fn is_known(&self) -> bool {
        self.known().is_some()
    }
}

/// An application as `sluice ctl applications` shows it.
#[derive(Clone, Copy, Debug)]
pub struct ApplicationFlows<'a> {
    /// Its Application ID.
    pub name: &'a [u8],
    /// Its flow filters; none, and it is unknown to new PDRs.
    pub flows: &'a [FlowFilter],
    /// They were told by PFD Management.
    pub is_told: bool,
    /// PDRs that name it.
    pub pdrs: u32,
}

/// All applications.
#[derive(Debug)]
pub struct Applications {
    places: Vec<Option<Place>>,
    by_name: HashMap<Box<[u8]>, u16, Seeded>,
}

/// Whose traffic starts or stops.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct DetectedApplication<'a> {
    /// Its Application ID.
    pub name: &'a [u8],
    /// The flow description of its traffic, where that is known and wanted.
    pub flow: Option<&'a [u8]>,
}

impl Applications {
    /// Those of the configuration.
    pub fn new(configured: &ConfiguredApplications, hash: Seeded) -> Self {
        let mut all = Self {
            places: Vec::new(),
            by_name: HashMap::with_hasher(hash),
        };
        all.configure(configured, &UseCounts::new(0));
        all
    }

    /// The configuration has these from now on. True if PDRs name one that has other flows now.
    pub fn configure(&mut self, configured: &ConfiguredApplications, pdrs: &UseCounts) -> bool {
        let of = |name: &[u8]| configured.0.iter().find(|(n, _)| n.as_bytes() == name);
        let mut is_any_used = false;
        for (number, place) in numbered(&mut self.places) {
            let flows = of(&place.name).map(|(_, flows)| flows.clone());
            is_any_used |= pdrs.of(number) > 0 && place.told.is_none() && place.configured != flows;
            place.configured = flows;
        }
        // What goes makes room for what comes.
        self.forget_unneeded(pdrs);
        for (name, flows) in &configured.0 {
            if let Some(place) = self.place_of(name.as_bytes()) {
                place.configured = Some(flows.clone());
            }
        }
        self.forget_unneeded(pdrs);
        is_any_used
    }

    /// True if there is room for those of the configuration beside those that are told or in use.
    pub fn has_room_for(&self, configured: &ConfiguredApplications, pdrs: &UseCounts) -> bool {
        let is_kept =
            |(number, place): &(u16, &Place)| pdrs.of(*number) > 0 || place.told.is_some();
        let kept = self.numbered().filter(is_kept);
        let is_new = |(_, place): &(u16, &Place)| {
            configured
                .0
                .iter()
                .all(|(n, _)| *n.as_bytes() != *place.name)
        };
        kept.filter(is_new).count() + configured.0.len() <= APPLICATIONS
    }

    /// Takes what a message tells; with `replaces_all` nothing else is told any more. True if PDRs name one that has
    /// other flows now.
    ///
    /// # Errors
    /// If there would be too many, or one has too long a name; then nothing has changed.
    pub fn tell(
        &mut self,
        told: Vec<Told>,
        replaces_all: bool,
        pdrs: &UseCounts,
    ) -> Result<bool, TooManyApplications> {
        // What is told last of an application holds.
        let told: BTreeMap<Vec<u8>, Option<Flows>> = told.into_iter().collect();
        let is_long = told.keys().any(|name| name.len() > APPLICATION_NAME);
        let stays = |(number, place): &(u16, &Place)| {
            let is_told = match told.get(&place.name[..]) {
                Some(flows) => flows.is_some(),
                None => place.told.is_some() && !replaces_all,
            };
            pdrs.of(*number) > 0 || place.configured.is_some() || is_told
        };
        let stay = self.numbered().filter(stays).count();
        let is_new = |(name, flows): &(&Vec<u8>, &Option<Flows>)| {
            flows.is_some() && !self.by_name.contains_key(&name[..])
        };
        if is_long || stay + told.iter().filter(is_new).count() > APPLICATIONS {
            return Err(TooManyApplications);
        }
        let mut is_any_used = false;
        for (number, place) in numbered(&mut self.places) {
            let new = match told.get(&place.name[..]) {
                Some(flows) => flows.clone(),
                None if replaces_all => None,
                None => continue,
            };
            let old = core::mem::replace(&mut place.told, new);
            let before = old.as_ref().or(place.configured.as_ref());
            is_any_used |=
                pdrs.of(number) > 0 && before.map_or(&[][..], |f| &f.filters) != place.flows();
        }
        // What goes makes room for what comes.
        self.forget_unneeded(pdrs);
        for (name, flows) in told.into_iter().filter(|(_, flows)| flows.is_some()) {
            if let Some(place) = self.place_of(&name) {
                place.told = flows;
            }
        }
        Ok(is_any_used)
    }

    /// True if there are none, and nobody has one.
    pub fn is_empty(&self) -> bool {
        self.by_name.is_empty()
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.by_name.len()
    }

    /// The number of an application that has flows.
    pub fn find(&self, name: &[u8]) -> Option<u16> {
        let number = *self.by_name.get(name)?;
        (!self.flows(number).is_empty()).then_some(number)
    }

    /// The flow filters of an application; none if its PDRs match nothing.
    pub fn flows(&self, number: u16) -> &[FlowFilter] {
        self.get(number).map_or(&[], Place::flows)
    }

    /// Its Application ID.
    pub fn name(&self, number: u16) -> Option<&[u8]> {
        self.get(number).map(|place| &place.name[..])
    }

    /// All of them by name, for the operator.
    pub fn all(&self, pdrs: &UseCounts) -> Vec<ApplicationFlows<'_>> {
        let all = self.numbered().map(|(number, place)| ApplicationFlows {
            name: &place.name,
            flows: place.flows(),
            is_told: place.told.is_some(),
            pdrs: pdrs.of(number),
        });
        let mut all: Vec<_> = all.collect();
        all.sort_unstable_by_key(|of| of.name);
        all
    }

    /// Report of an application's traffic that starts or stops; with `is_reduced` of the application alone.
    pub fn detected(&self, number: u16, is_reduced: bool) -> Option<DetectedApplication<'_>> {
        let place = self.get(number)?;
        let only = place.known().and_then(|flows| flows.only.as_deref());
        Some(DetectedApplication {
            name: &place.name,
            flow: only.filter(|_| !is_reduced),
        })
    }

    /// PDRs have left these: those that nobody needs any more go.
    pub fn leave(&mut self, left: impl Iterator<Item = u16>, pdrs: &UseCounts) {
        for number in left {
            self.forget_if_unneeded(number, pdrs);
        }
    }

    fn get(&self, number: u16) -> Option<&Place> {
        self.places.get(usize::from(number))?.as_ref()
    }

    fn numbered(&self) -> impl Iterator<Item = (u16, &Place)> {
        let places = (0..).zip(&self.places);
        places.filter_map(|(number, place)| Some((number, place.as_ref()?)))
    }

    /// The place of a name, a new one if it has none; `None` if there are too many.
    fn place_of(&mut self, name: &[u8]) -> Option<&mut Place> {
        if let Some(number) = self.by_name.get(name) {
            return self.places.get_mut(usize::from(*number))?.as_mut();
        }
        let at = match self.places.iter().position(Option::is_none) {
            Some(at) => at,
            None if self.places.len() >= APPLICATIONS => return None,
            None => {
                self.places.push(None);
                self.places.len() - 1
            }
        };
        self.by_name.insert(name.into(), at as u16);
        let place = Place {
            name: name.into(),
            configured: None,
            told: None,
        };
        Some(self.places.get_mut(at)?.insert(place))
    }

    fn forget_unneeded(&mut self, pdrs: &UseCounts) {
        for number in 0..self.places.len() {
            self.forget_if_unneeded(number as u16, pdrs);
        }
    }

    fn forget_if_unneeded(&mut self, number: u16, pdrs: &UseCounts) {
        let is_unneeded = |place: &mut Place| !place.is_known() && pdrs.of(number) == 0;
        let place = self.places.get_mut(usize::from(number));
        if let Some(gone) = place.and_then(|place| place.take_if(is_unneeded)) {
            self.by_name.remove(&gone.name);
        }
    }
}

fn numbered(places: &mut [Option<Place>]) -> impl Iterator<Item = (u16, &mut Place)> {
    let places = (0..).zip(places);
    places.filter_map(|(number, place)| Some((number, place.as_mut()?)))
}

/// There would be more applications, or longer names, than there is room for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct TooManyApplications;

/// True if PDRs of a URR are of several applications, or of one and of other traffic: the start of which is told?
pub fn is_ambiguous(rules: &Rules, urr: u32) -> bool {
    let of_urr = || rules.pdrs.iter().filter(|pdr| pdr.urrs.contains(urr));
    let mut origins = of_urr().map(|pdr| match pdr.filter.origin {
        FilterOrigin::Application(number) => Some(number),
        _ => None,
    });
    let Some(first) = origins.next() else {
        return false;
    };
    origins.any(|other| other != first)
}

#[cfg(test)]
mod tests {
    use super::*;

    const DNS: &str = "permit out 17 from any 53 to assigned";
    const WEB: &str = "permit out 6 from any 80 to assigned";

    fn configured(all: &[(&str, &str)]) -> ConfiguredApplications {
        let all = all.iter().map(|(name, flow)| Application {
            name: (*name).to_owned(),
            flows: vec![(*flow).to_owned()],
        });
        ConfiguredApplications::new(&all.collect::<Vec<_>>()).unwrap()
    }

    fn flows(text: &str) -> Option<Flows> {
        let mut list = FlowFilterList::new();
        read_flow(text.as_bytes(), &mut list).unwrap();
        Some(Flows::new(&list, [text.as_bytes()]))
    }

    #[test]
    fn a_description_that_is_too_long_to_be_told_is_matched_all_the_same() {
        let longest = format!("{WEB:FLOW_DESCRIPTION_TOLD$}");
        let only = |text: &str| flows(text).unwrap().only.map(|only| only.len());
        assert_eq!(only(&longest), Some(FLOW_DESCRIPTION_TOLD));
        let longer = format!("{longest} ");
        assert_eq!(only(&longer), None);
        assert_eq!(flows(&longer).unwrap().filters, flows(WEB).unwrap().filters);
    }

    fn told(name: &str, text: &str) -> Told {
        (name.as_bytes().to_vec(), flows(text))
    }

    #[test]
    fn what_is_told_holds_before_what_is_configured() {
        let pdrs = &UseCounts::new(0);
        let mut all = Applications::new(&configured(&[("a", DNS)]), Seeded(1));
        let a = all.find(b"a").unwrap();
        assert_eq!(
            all.tell(vec![told("a", WEB), told("b", WEB)], false, pdrs),
            Ok(false)
        );
        assert_eq!(all.flows(a), &flows(WEB).unwrap().filters[..]);
        assert_eq!(
            all.tell(vec![(b"a".to_vec(), None)], false, pdrs),
            Ok(false)
        );
        assert_eq!(all.flows(a), &flows(DNS).unwrap().filters[..]);
        assert_eq!(all.tell(Vec::new(), true, pdrs), Ok(false));
        assert_eq!((all.find(b"b"), all.len()), (None, 1));
        assert!(!all.configure(&configured(&[]), pdrs));
        assert!(all.is_empty());
    }

    fn used(application: u16) -> UseCounts {
        let mut pdrs = UseCounts::new(APPLICATIONS);
        pdrs.change(core::iter::empty(), core::iter::once(application));
        pdrs
    }

    #[test]
    fn one_that_pdrs_name_keeps_its_number_without_flows() {
        let mut all = Applications::new(&configured(&[("a", DNS), ("b", DNS)]), Seeded(1));
        let b = all.find(b"b").unwrap();
        let pdrs = &used(b);
        assert!(all.configure(&configured(&[("c", DNS)]), pdrs));
        assert_eq!(
            (all.find(b"b"), all.flows(b).len(), all.len()),
            (None, 0, 2)
        );
        assert_eq!(all.name(b), Some(&b"b"[..]));
        assert_eq!(all.tell(vec![told("b", WEB)], false, pdrs), Ok(true));
        assert_eq!(all.find(b"b"), Some(b));
        assert!(
            !all.configure(&configured(&[("b", DNS)]), pdrs),
            "what is told holds"
        );
    }

    #[test]
    fn there_are_no_more_than_there_is_room_for() {
        let pdrs = &UseCounts::new(0);
        let mut all = Applications::new(&configured(&[("a", DNS)]), Seeded(1));
        let names: Vec<String> = (0..APPLICATIONS).map(|i| i.to_string()).collect();
        let many: Vec<Told> = names.iter().map(|name| told(name, WEB)).collect();
        assert_eq!(
            all.tell(many.clone(), false, pdrs),
            Err(TooManyApplications)
        );
        assert_eq!(all.len(), 1);
        assert_eq!(all.tell(many[1..].to_vec(), false, pdrs), Ok(false));
        assert!(!all.has_room_for(&configured(&[("a", DNS), ("new", DNS)]), pdrs));
        assert!(all.has_room_for(&configured(&[("1", DNS)]), pdrs));
        let long = (vec![b'x'; APPLICATION_NAME + 1], flows(WEB));
        assert_eq!(all.tell(vec![long], false, pdrs), Err(TooManyApplications));
    }

    #[test]
    fn what_goes_makes_room_for_what_comes() {
        let named = |from: usize| {
            let all = (from..from + 600).map(|i| Application {
                name: i.to_string(),
                flows: vec![DNS.to_owned()],
            });
            ConfiguredApplications::new(&all.collect::<Vec<_>>()).unwrap()
        };
        let pdrs = &UseCounts::new(0);
        let mut all = Applications::new(&named(0), Seeded(1));
        assert!(all.has_room_for(&named(1_000), pdrs));
        assert!(!all.configure(&named(1_000), pdrs));
        assert_eq!(all.len(), 600);
        assert!((1_000..1_600).all(|i| all.find(i.to_string().as_bytes()).is_some()));
        // So it is where they are told: as many as are left, then others in their place.
        let told = |from: usize, flows: Option<Flows>| {
            let names = (from..from + APPLICATIONS - 600).map(|i| i.to_string().into_bytes());
            names.map(move |name| (name, flows.clone()))
        };
        let first: Vec<Told> = told(2_000, flows(WEB)).collect();
        assert_eq!(all.tell(first, false, pdrs), Ok(false));
        assert_eq!(all.len(), APPLICATIONS);
        let gone = told(2_000, None);
        let others: Vec<Told> = gone.chain(told(3_000, flows(WEB))).collect();
        assert_eq!(all.tell(others, false, pdrs), Ok(false));
        assert_eq!(all.len(), APPLICATIONS);
        assert!((3_000..3_424).all(|i| all.find(i.to_string().as_bytes()).is_some()));
        assert_eq!(
            all.tell(vec![(b"more".to_vec(), flows(WEB))], false, pdrs),
            Err(TooManyApplications)
        );
    }

    #[test]
    fn the_same_flows_again_are_no_change() {
        let mut all = Applications::new(&configured(&[("a", DNS)]), Seeded(1));
        let a = all.find(b"a").unwrap();
        let pdrs = &used(a);
        assert_eq!(all.tell(vec![told("a", DNS)], false, pdrs), Ok(false));
        assert_eq!(all.tell(vec![told("a", WEB)], false, pdrs), Ok(true));
        assert_eq!(all.tell(vec![told("a", WEB)], false, pdrs), Ok(false));
        assert_eq!(all.tell(Vec::new(), true, pdrs), Ok(true));
        assert_eq!(all.tell(Vec::new(), true, pdrs), Ok(false));
    }

    #[test]
    fn applications_that_cannot_be_are_not_had() {
        let of = |name: &str, flows: &[&str]| Application {
            name: name.to_owned(),
            flows: flows.iter().map(|flow| (*flow).to_owned()).collect(),
        };
        let why = |all: &[Application]| ConfiguredApplications::new(all).unwrap_err();
        let twice = [of("a", &[DNS]), of("a", &[WEB])];
        assert_eq!(why(&twice), ApplicationError::Twice("a".to_owned()));
        let none = ApplicationError::Flow("a".to_owned(), String::new());
        assert_eq!(why(&[of("a", &[])]), none);
        let deny = "deny out ip from any to any";
        let wrong = ApplicationError::Flow("a".to_owned(), deny.to_owned());
        assert_eq!(why(&[of("a", &[deny])]), wrong);
        let ports = "permit out 6 from any 1,2,3,4,5,6,7,8 to assigned 1,2,3,4,5,6,7,8,9";
        let many = ApplicationError::TooManyFlows("a".to_owned());
        assert_eq!(why(&[of("a", &[ports])]), many);
    }
}
