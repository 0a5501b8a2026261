//! List `applications`: flows by the Application ID that SMFs name in a PDI (TS 29.244, 8.2.6).

use super::fields::{At, Fields};
use super::predefined::{flow, octets};
use sluice_session::{APPLICATIONS_MAX, Application, ApplicationError, ConfiguredApplications};

/// An application, with the line of its name.
#[derive(Clone, PartialEq, Debug)]
pub struct NamedApplication {
    /// Its name.
    pub name: At<String>,
    /// All of it.
    pub application: Application,
}

impl NamedApplication {
    pub(super) fn read(fields: &mut Fields<'_, '_>) -> Option<Self> {
        let name = fields.required("name", &octets());
        let flows = fields.list("flows", &flow());
        let path = fields.key("flows");
        let are_read = fields.report().is_clean(&path);
        let name = name?;
        let application = Application {
            name: name.value.clone(),
            flows: flows.into_iter().map(|at| at.value).collect(),
        };
        let of_one = ConfiguredApplications::new(core::slice::from_ref(&application));
        let wrong = match of_one {
            Err(ApplicationError::TooManyFlows(_)) => Some((
                "too many flows and ports",
                "63 pairs of port ranges at the most",
            )),
            Err(ApplicationError::Flow(..)) if are_read => {
                Some(("missing", "a list of flow descriptions"))
            }
            _ => None,
        };
        if let Some((what, expected)) = wrong {
            let line = fields.line();
            fields.report().problem(line, path, what, expected);
        }
        Some(Self { name, application })
    }

    /// No name is there twice, and there are no more than there is room for.
    pub(super) fn apart(all: &[Self], fields: &mut Fields<'_, '_>) {
        for (at, of) in all.iter().enumerate() {
            let (name, line) = (&of.name.value, of.name.line);
            let mut before = all.iter().take(at);
            if let Some(first) = before.find(|o| o.name.value == *name) {
                let what = format!("'{name}' is also in line {}", first.name.line);
                let key = format!("applications[{at}].name");
                fields.report().problem(line, key, what, "each name once");
            }
        }
        if let Some(one_more) = all.get(APPLICATIONS_MAX) {
            let what = format!("{} applications", all.len());
            let expected = format!("{APPLICATIONS_MAX} at the most");
            let line = one_more.name.line;
            fields
                .report()
                .problem(line, "applications", what, expected);
        }
    }
}
