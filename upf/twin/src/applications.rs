//! Applications (TS 29.244, 6.2.5): the flows that an Application ID stands for at the time.

use crate::config::TwinConfig;
use crate::flow_description;
use crate::ip::Packet;
use crate::sdf::SdfFilter;
use sluice_wire::pfcp::Cause;
use sluice_wire::pfcp::message::PfdManagementRequest;
use sluice_wire::pfcp::value::PfdContents;
use std::collections::{BTreeMap, BTreeSet};

/// The application that a PDI names, with its flows as they are.
#[derive(Clone, PartialEq, Debug)]
pub struct OfApplication {
    pub name: &'static str,
    pub flows: Flows,
}

/// Flows of an application.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Flows {
    pub filters: Vec<SdfFilter>,
    /// Of each the description.
    texts: Vec<&'static str>,
}

impl Flows {
    /// The description that is all that there is.
    pub fn only_text(&self) -> Option<&'static str> {
        match self.texts[..] {
            [only] => Some(only),
            _ => None,
        }
    }

    fn push(&mut self, config: &TwinConfig, text: &[u8], filter: SdfFilter) {
        let mut all = config.flow_texts.iter().copied();
        let known = all.find(|known| known.as_bytes() == text);
        self.texts.push(known.expect("the world knows all flows"));
        self.filters.push(filter);
    }
}

impl OfApplication {
    pub fn is_for_version(&self, is_ipv6: bool) -> bool {
        let mut filters = self.flows.filters.iter();
        filters.any(|f| f.is_for_version(is_ipv6))
    }

    pub fn is_met_by(&self, packet: &Packet<'_>, is_uplink: bool) -> bool {
        let mut filters = self.flows.filters.iter();
        filters.any(|f| f.is_met_by(packet, is_uplink))
    }
}

/// What messages told of applications.
#[derive(Clone, Debug, Default)]
pub struct Told(BTreeMap<&'static str, Flows>);

impl Told {
    /// What a PDI means by a name; none if nobody knows flows of it.
    pub fn find(&self, config: &TwinConfig, name: &[u8]) -> Option<OfApplication> {
        let name = known(config, name)?;
        let flows = self.flows(config, name);
        (!flows.filters.is_empty()).then_some(OfApplication { name, flows })
    }

    /// The flows of an application by now.
    pub fn flows(&self, config: &TwinConfig, name: &'static str) -> Flows {
        if let Some(told) = self.0.get(name) {
            return told.clone();
        }
        let of_file = config.applications.iter().filter(|(of, _)| *of == name);
        let mut flows = Flows::default();
        for text in of_file.flat_map(|(_, flows)| flows) {
            if let Some(filter) = flow(text.as_bytes()) {
                flows.push(config, text.as_bytes(), filter);
            }
        }
        flows
    }

    /// Takes a message, and gives the names of which it says something; or why it says of PFD Contents what cannot
    /// be had, and then nothing changes.
    pub fn take(
        &mut self,
        config: &TwinConfig,
        request: &PfdManagementRequest<'_>,
    ) -> Result<BTreeSet<&'static str>, (Cause, &'static str)> {
        let mut told = Vec::new();
        for ie in &request.application_ids_pfds {
            let mut flows = Flows::default();
            for contents in ie.pfd_context.iter().flat_map(|pfd| &pfd.pfd_contents) {
                for (text, filter) in contents_flows(contents)? {
                    flows.push(config, text, filter);
                }
            }
            told.extend(known(config, ie.application_id.0).map(|name| (name, flows)));
        }
        if request.application_ids_pfds.is_empty() {
            return Ok(std::mem::take(&mut self.0).into_keys().collect());
        }
        let names = told.iter().map(|(name, _)| *name).collect();
        for (name, flows) in told {
            match flows.filters.is_empty() {
                true => self.0.remove(name),
                false => self.0.insert(name, flows),
            };
        }
        Ok(names)
    }
}

/// A name that applications may have.
fn known(config: &TwinConfig, name: &[u8]) -> Option<&'static str> {
    let mut all = config.application_names.iter().copied();
    all.find(|known| known.as_bytes() == name)
}

fn flow(text: &[u8]) -> Option<SdfFilter> {
    let flow = flow_description::read(text).ok()?;
    Some(SdfFilter {
        flow: Some(flow),
        ..SdfFilter::default()
    })
}

/// A flow description, and what it says.
type TextAndFilter<'a> = (&'a [u8], SdfFilter);

fn contents_flows<'a>(
    contents: &PfdContents<'a>,
) -> Result<Vec<TextAndFilter<'a>>, (Cause, &'static str)> {
    if contents.asks_for_names() {
        return Err((Cause::SERVICE_NOT_SUPPORTED, "names of servers"));
    }
    let read = |text: Option<&'a [u8]>| {
        let text = text.ok_or((Cause::INVALID_LENGTH, "a flow description is cut short"))?;
        let filter = flow(text).ok_or((Cause::MANDATORY_IE_INCORRECT, "no flow description"))?;
        Ok((text, filter))
    };
    let flows: Vec<_> = contents
        .flow_descriptions()
        .map(read)
        .collect::<Result<_, _>>()?;
    match flows.is_empty() {
        true => Err((Cause::MANDATORY_IE_INCORRECT, "no flow")),
        false => Ok(flows),
    }
}
