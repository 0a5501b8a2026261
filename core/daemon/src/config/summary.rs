//! Summary of a configuration, for `sluice core --check`; without keys.

use super::{Charging, CoreConfig, Over};
use serde_json::{Value, json};
use std::fmt::Write;

impl CoreConfig {
    /// The summary as text, one thing a line, each line with its end.
    pub fn summary(&self) -> String {
        let mut text = String::new();
        let summary = self.summary_json();
        // Writing to a string cannot fail.
        for (key, value) in summary.as_object().into_iter().flatten() {
            let value = match value {
                Value::String(text) => text.clone(),
                Value::Array(list) => {
                    let items = list.iter().map(|item| item.as_str().unwrap_or_default());
                    items.collect::<Vec<_>>().join(", ")
                }
                value => value.to_string(),
            };
            let _ = writeln!(text, "  {key}: {value}");
        }
        text
    }

    /// The summary as an object.
    pub fn summary_json(&self) -> Value {
        let plmns = self.plmns.iter().map(|one| {
            let slices: Vec<_> = one.slices.iter().map(|at| at.value.to_string()).collect();
            format!("{} with slices {}", one.plmn.value, slices.join(" "))
        });
        let areas = self.areas.iter().map(|at| at.value.to_string());
        let listen = self.n2.listen.map(|at| at.value.to_string());
        let listen = listen.unwrap_or_default();
        let n2 = match self.n2.over {
            Over::Ip => format!("SCTP over IP at {listen}, port {}", self.n2.port),
            Over::Udp => format!(
                "SCTP over UDP at {listen}:{}, port {}",
                self.n2.udp_port, self.n2.port
            ),
        };
        let keys = self
            .home_keys
            .iter()
            .map(|key| format!("{} (profile {})", key.id.value, key.profile.name()));
        let mut summary = json!({
            "amf": self.amf.name,
            "plmns": plmns.collect::<Vec<_>>(),
            "tracking_areas": areas.collect::<Vec<_>>(),
            "home_network_keys": keys.collect::<Vec<_>>(),
            "n2": n2,
            "gnbs": self.n2.gnbs.iter().map(ToString::to_string).collect::<Vec<_>>(),
            "unauthenticated_ues": format!(
                "{} of a gNB, {} in all",
                self.overload.unauthenticated.of_gnb, self.overload.unauthenticated.in_all
            ),
            "subscriber_database": self.database.as_ref().map_or("none".to_owned(), |one| {
                one.location.value.to_string()
            }),
            "subscribers": self.subscribers.len(),
            "contexts": self.contexts.as_ref().map_or("none".to_owned(), ToString::to_string),
            "control_socket": self.control_socket.display().to_string(),
            "api": self.api.listen.value.map_or("none".to_owned(), |at| at.to_string()),
        });
        if let (Some(sessions), Value::Object(summary)) = (&self.sessions, &mut summary) {
            let upfs = sessions.upfs.iter().map(|upf| upf.n4.value.to_string());
            let networks = sessions
                .networks
                .iter()
                .map(|one| one.dnn.value.to_string());
            let records = match &sessions.charging {
                Charging::None => "none".to_owned(),
                Charging::Stdout => "standard output".to_owned(),
                Charging::File(path) => path.display().to_string(),
            };
            summary.insert(
                "n4".into(),
                json!(sessions.n4.map(|at| at.value.to_string())),
            );
            summary.insert("upfs".into(), json!(upfs.collect::<Vec<_>>()));
            summary.insert("data_networks".into(), json!(networks.collect::<Vec<_>>()));
            let policies = sessions.policies.iter().map(|one| one.name.value.clone());
            summary.insert("policies".into(), json!(policies.collect::<Vec<_>>()));
            summary.insert("charging_records".into(), json!(records));
        }
        summary
    }
}
