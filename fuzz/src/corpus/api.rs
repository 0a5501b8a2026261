//! Requests of the core's management API: the number of the operation, its parameter, query, media type, Host and
//! Authorization, each on a line, and the body.

use super::Entry;
use sluice_core_daemon::api::routes::ROUTES;

const K: &str = "465b5ce8b199b49faa5f0a2ee238a6bc";
const OPC: &str = "e8ed289deba952e4283b54e88e6183ca";
const JSON: &str = "application/json";

/// One of each kind of request.
pub(super) fn requests() -> Vec<Entry> {
    let subscriber = format!(
        "{{\"imsi\": \"001010000000007\", \"k\": \"{K}\", \"opc\": \"{OPC}\", \"slices\": [{{\"slice\": \"1\", \
         \"networks\": [{{\"dnn\": \"internet\", \"types\": [\"ipv4\", \"ipv6\"], \"ipv4\": \"10.46.0.7\"}}]}}]}}"
    );
    let change = "{\"set\": {\"barred\": true, \"ue_ambr_down_bps\": \"5M\"}, \
                  \"networks\": [{\"slice\": \"1\", \"network\": {\"dnn\": \"ims\", \"arp\": 1}}]}";
    let key = format!("{{\"profile\": \"b\", \"id\": 7, \"private\": \"{K}{OPC}\"}}");
    let flow = "{\"name\": \"call\", \"precedence\": 9, \"five_qi\": 1, \"guaranteed_down_bps\": 64000, \
                \"filters\": [\"permit inout udp from 203.0.113.9 4000 to assigned\"]}";
    let application = "{\"ascReqData\": {\"supi\": \"imsi-001010000000001\", \"medComponents\": {\"1\": \
                       {\"medCompN\": 1, \"medType\": \"AUDIO\", \"marBwDl\": \"64 Kbps\"}}}}";
    let imsi = "001010000000001";
    vec![
        request("status", "", "", ""),
        request("ues", "", "from=001010000000001&count=10", ""),
        request("deregister", imsi, "registers_again=true", ""),
        request("qosStart", imsi, "session=5", flow),
        request("qosStop", imsi, "session=5", ""),
        request("appSessionCreate", "", "", application),
        request("appSessionUpdate", "7", "", application),
        request(
            "overloadStart",
            "",
            "",
            "{\"action\": \"reject_data\", \"percent\": 30}",
        ),
        request(
            "subscriberList",
            "",
            "imsi_prefix=00101&barred=false&limit=2",
            "",
        ),
        request("subscriberAdd", "", "", &subscriber),
        request("subscriberChange", imsi, "", change),
        request(
            "subscriberImport",
            "",
            "replace=true",
            &format!("[{subscriber}]"),
        ),
        request("subscriberExport", "", "format=json", ""),
        request("homeKeyNew", "", "", &key),
        request("homeKeyRemove", "7", "", ""),
    ]
}

fn request(operation: &str, parameter: &str, query: &str, body: &str) -> Entry {
    let number = ROUTES.iter().position(|route| route.operation == operation);
    let number = number.unwrap_or_default();
    let head = format!(
        "{number}\n{parameter}\n{query}\n{JSON}\n127.0.0.1:9471\nBearer 0123456789abcdef\n"
    );
    Entry {
        name: operation.to_owned(),
        bytes: [head.as_bytes(), body.as_bytes()].concat(),
    }
}
