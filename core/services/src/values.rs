//! Values of the common data types (TS 29.571): how they are written, and read.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};
use sluice_ids::{Guami, Plmn, ServingNetworkName, Snssai, Suci, Supi, Tai, msin_octets};
use sluice_sbi::{Identity, NfInstance, Resynchronisation};

use crate::body::{member, optional};
use crate::exchange::Refusal;

/// Octets as hexadecimal digits.
pub fn hex(octets: &[u8]) -> String {
    octets.iter().map(|octet| format!("{octet:02x}")).collect()
}

/// Octets of hexadecimal digits of either case.
pub fn octets(text: &str) -> Option<Vec<u8>> {
    let digits: Option<Vec<u8>> = text
        .chars()
        .map(|c| c.to_digit(16).map(|d| d as u8))
        .collect();
    let digits = digits?;
    let pairs = digits.chunks_exact(2);
    let is_even = pairs.remainder().is_empty();
    is_even.then(|| pairs.map(|pair| pair[0] << 4 | pair[1]).collect())
}

/// Octets of a known number of hexadecimal digits.
pub fn array<const N: usize>(value: &Value) -> Option<[u8; N]> {
    octets(value.as_str()?)?.try_into().ok()
}

/// NfInstanceId: `736c7569-6365-8000-8000-00f110010101`.
pub fn instance(text: &str) -> Option<NfInstance> {
    let lengths = text.split('-').map(str::len);
    if !lengths.eq([8, 4, 4, 4, 12]) {
        return None;
    }
    let octets = octets(&text.replace('-', ""))?;
    NfInstance::from_octets(octets.try_into().ok()?)
}

/// Supi of `imsi-001010000000001`.
pub fn supi(text: &str) -> Option<Supi> {
    Supi::from_imsi(text.strip_prefix("imsi-")?)
}

/// `imsi-001010000000001`
pub fn supi_text(supi: &Supi) -> String {
    format!("imsi-{}", supi.imsi())
}

/// SupiOrSuci
pub fn identity_text(identity: &Identity) -> String {
    match identity.get() {
        Ok(supi) => supi_text(&supi),
        Err(suci) => suci.to_string(),
    }
}

/// SupiOrSuci
pub fn identity(text: &str) -> Option<Identity> {
    let of_supi = || supi(text).map(Identity::from);
    of_supi().or_else(|| suci(text).map(Identity::from))
}

/// Suci of the SUPI type IMSI: `suci-0-001-01-0-0-0-0000000001` (TS 23.003, 28.7.3).
fn suci(text: &str) -> Option<Suci> {
    let fields: Vec<&str> = text.strip_prefix("suci-0-")?.split('-').collect();
    let [mcc, mnc, routing, scheme, key_id, output] = fields.as_slice() else {
        return None;
    };
    let (scheme, key_id) = (scheme.parse().ok()?, key_id.parse().ok()?);
    let output = match scheme {
        0 if output.bytes().all(|c| c.is_ascii_digit()) => msin_octets(output),
        _ => octets(output)?,
    };
    let mut suci = Suci::new(Plmn::new(mcc, mnc)?, scheme, key_id, &output)?;
    suci.routing = routing_octets(routing)?;
    Some(suci)
}

/// Routing Indicator as on the wire: one to four digits, ones behind them.
fn routing_octets(digits: &str) -> Option<[u8; 2]> {
    if !(1..=4).contains(&digits.len()) || !digits.bytes().all(|c| c.is_ascii_digit()) {
        return None;
    }
    let mut halves = [0xf; 4];
    for (half, digit) in halves.iter_mut().zip(digits.bytes()) {
        *half = digit - b'0';
    }
    Some([halves[1] << 4 | halves[0], halves[3] << 4 | halves[2]])
}

/// ServingNetworkName
pub fn network_text(network: &ServingNetworkName) -> String {
    String::from_utf8_lossy(network.octets()).into_owned()
}

/// ServingNetworkName of a PLMN: `5G:mnc001.mcc001.3gppnetwork.org`; of no SNPN.
pub fn network(text: &str) -> Option<ServingNetworkName> {
    let (mnc, mcc) = text
        .strip_prefix("5G:mnc")?
        .strip_suffix(".3gppnetwork.org")?
        .split_once(".mcc")?;
    // Two digits have a zero in front (TS 24.501, 9.12.1): the name is the same.
    Some(Plmn::new(mcc, mnc)?.serving_network_name())
}

/// ResynchronizationInfo of a body; nothing is wanted where there is none.
pub fn resynchronisation(body: &Value) -> Result<Resynchronisation, Refusal> {
    let info = "/resynchronizationInfo";
    let is_there = optional(body, info, "an object", |value| Some(value.is_object()))?;
    if is_there != Some(true) {
        return Ok(Resynchronisation::default());
    }
    Ok(Resynchronisation {
        wanted: true,
        rand: member(
            body,
            &format!("{info}/rand"),
            "32 hexadecimal digits",
            array,
        )?,
        auts: member(
            body,
            &format!("{info}/auts"),
            "28 hexadecimal digits",
            array,
        )?,
    })
}

/// ResynchronizationInfo, if any is wanted.
pub fn resynchronisation_json(resynchronisation: &Resynchronisation) -> Option<Value> {
    let Resynchronisation { rand, auts, .. } = resynchronisation;
    let info = || json!({ "rand": hex(rand), "auts": hex(auts) });
    resynchronisation.wanted.then(info)
}

/// Bytes
pub fn base64_text(octets: &[u8]) -> String {
    STANDARD.encode(octets)
}

/// Bytes
pub fn base64_octets(text: &str) -> Option<Vec<u8>> {
    STANDARD.decode(text).ok()
}

/// NfInstanceId
pub fn nf_instance(value: &Value) -> Option<NfInstance> {
    let text = value.as_str()?;
    let parts: Vec<&str> = text.split('-').collect();
    let lengths: Vec<usize> = parts.iter().map(|part| part.len()).collect();
    let octets = octets(&parts.concat()).filter(|_| lengths == [8, 4, 4, 4, 12])?;
    NfInstance::from_octets(octets.try_into().ok()?)
}

/// DateTime (RFC 3339) of seconds since 1970: `2026-11-27T23:52:44Z`.
pub fn date_time_text(unix_s: u64) -> String {
    let (days, second) = (unix_s / 86_400, unix_s % 86_400);
    // Years begin in March, so that a leap day is the last one; eras have 400 of them.
    let days = days + 719_468;
    let (era, day_of_era) = (days / 146_097, days % 146_097);
    let leaps = day_of_era / 1_460 + day_of_era / 146_096 - day_of_era / 36_524;
    let year_of_era = (day_of_era - leaps) / 365;
    let before = 365 * year_of_era + year_of_era / 4 - year_of_era / 100;
    let day_of_year = day_of_era - before;
    let from_march = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * from_march + 2) / 5 + 1;
    let month = (from_march + 2) % 12 + 1;
    let year = era * 400 + year_of_era + u64::from(month <= 2);
    let (hour, minute, second) = (second / 3_600, second / 60 % 60, second % 60);
    format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}Z")
}

/// DateTime: seconds since 1970, of any offset; parts of a second are cut off.
pub fn date_time(text: &str) -> Option<u64> {
    let number = |from: usize, to: usize| -> Option<i64> {
        let digits = text.get(from..to)?;
        let are_digits = digits.bytes().all(|c| c.is_ascii_digit());
        digits.parse().ok().filter(|_| are_digits)
    };
    let (year, month, day) = (number(0, 4)?, number(5, 7)?, number(8, 10)?);
    let (hour, minute, second) = (number(11, 13)?, number(14, 16)?, number(17, 19)?);
    let is_there = (1..=12).contains(&month) && (1..=31).contains(&day);
    let is_of_day = hour < 24 && minute < 60 && second <= 60;
    let marks = [4, 7, 10, 13, 16].map(|at| text.as_bytes().get(at).copied());
    let are_marks = matches!(
        marks,
        [
            Some(b'-'),
            Some(b'-'),
            Some(b'T' | b't' | b' '),
            Some(b':'),
            Some(b':')
        ]
    );
    if !is_there || !is_of_day || !are_marks {
        return None;
    }
    let rest = text.get(19..)?;
    let offset = rest.trim_start_matches(|c: char| c == '.' || c.is_ascii_digit());
    let offset_s = match offset.as_bytes() {
        [b'Z' | b'z'] => 0,
        [sign @ (b'+' | b'-'), rest @ ..] => {
            let (hours, minutes) = std::str::from_utf8(rest).ok()?.split_once(':')?;
            let ahead_s: u16 = hours.parse::<u8>().ok()?.into();
            let ahead_s = i64::from(ahead_s) * 3_600 + i64::from(minutes.parse::<u8>().ok()?) * 60;
            if *sign == b'+' { ahead_s } else { -ahead_s }
        }
        _ => return None,
    };
    let from_march = (month + 9) % 12;
    let year = year - i64::from(month <= 2);
    let days_before = 365 * year + year / 4 - year / 100 + year / 400;
    let days = days_before + (153 * from_march + 2) / 5 + day - 1 - 719_468;
    let unix_s = days * 86_400 + hour * 3_600 + minute * 60 + second - offset_s;
    u64::try_from(unix_s).ok()
}

/// PlmnId
pub fn plmn_json(plmn: Plmn) -> Value {
    let text = plmn.to_string();
    let (mcc, mnc) = text.split_once('-').unwrap_or_default();
    json!({ "mcc": mcc, "mnc": mnc })
}

/// PlmnId
pub fn plmn(value: &Value) -> Option<Plmn> {
    Plmn::new(value.get("mcc")?.as_str()?, value.get("mnc")?.as_str()?)
}

/// Snssai
pub fn slice_json(slice: Snssai) -> Value {
    match slice.sd() {
        Some(sd) => json!({ "sst": slice.sst, "sd": hex(&sd) }),
        None => json!({ "sst": slice.sst }),
    }
}

/// Snssai; an empty differentiator is none.
pub fn slice(value: &Value) -> Option<Snssai> {
    let sst = value.get("sst")?.as_u64()?.try_into().ok()?;
    let sd = match value.get("sd") {
        None | Some(Value::Null) => None,
        Some(sd) if sd == "" => None,
        Some(sd) => Some(array(sd)?),
    };
    Some(Snssai::new(sst, sd))
}

/// Tai
pub fn tai_json(tai: Tai) -> Value {
    json!({ "plmnId": plmn_json(tai.plmn), "tac": hex(&tai.tac.0) })
}

/// Tai
pub fn tai(value: &Value) -> Option<Tai> {
    let plmn = plmn(value.get("plmnId")?)?;
    let tac = value.get("tac")?.as_str()?;
    let mut octets = octets(tac)?;
    // Two octets are those of 4G (TS 29.571, 5.4.2).
    if octets.len() == 2 {
        octets.insert(0, 0);
    }
    let tac = sluice_ids::Tac(octets.try_into().ok()?);
    Some(Tai { plmn, tac })
}

/// Guami
pub fn guami_json(guami: Guami) -> Value {
    json!({ "plmnId": plmn_json(guami.plmn), "amfId": hex(&guami.amf.octets()) })
}

/// Guami
pub fn guami(value: &Value) -> Option<Guami> {
    let plmn = plmn(value.get("plmnId")?)?;
    let amf = sluice_ids::AmfId::from_octets(array(value.get("amfId")?)?);
    Some(Guami { plmn, amf })
}

/// BitRate, in the largest unit of which it is a whole number.
pub fn rate_text(rate_bps: u64) -> String {
    let units = [
        (1_000_000_000_000, "Tbps"),
        (1_000_000_000, "Gbps"),
        (1_000_000, "Mbps"),
        (1_000, "Kbps"),
    ];
    let mut whole = units.into_iter();
    match whole.find(|(unit, _)| rate_bps > 0 && rate_bps.is_multiple_of(*unit)) {
        Some((unit, name)) => format!("{} {name}", rate_bps / unit),
        None => format!("{rate_bps} bps"),
    }
}

/// BitRate: `1 Gbps`, `2.5 Mbps`, `300 bps`.
pub fn rate_bps(text: &str) -> Option<u64> {
    let (number, unit) = text.trim().split_once(' ')?;
    let unit: u64 = match unit {
        "bps" => 1,
        "Kbps" => 1_000,
        "Mbps" => 1_000_000,
        "Gbps" => 1_000_000_000,
        "Tbps" => 1_000_000_000_000,
        _ => return None,
    };
    let (whole, part) = number.split_once('.').unwrap_or((number, ""));
    let whole = whole.parse::<u64>().ok()?.checked_mul(unit)?;
    let part_digits = part.get(..part.len().min(12))?;
    let part = match part_digits {
        "" => 0,
        digits => {
            digits.parse::<u64>().ok()? as u128 * u128::from(unit)
                / 10_u128.pow(digits.len() as u32)
        }
    };
    whole.checked_add(u64::try_from(part).ok()?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_read_as_they_are_written() {
        let plmn_id = Plmn::new("208", "093").expect("a PLMN");
        assert_eq!(plmn(&plmn_json(plmn_id)), Some(plmn_id));
        for one in [Snssai::new(1, None), Snssai::new(2, Some([1, 2, 3]))] {
            assert_eq!(slice(&slice_json(one)), Some(one));
        }
        assert_eq!(
            slice(&json!({ "sst": 1, "sd": "" })),
            Some(Snssai::new(1, None))
        );
        let area = Tai {
            plmn: plmn_id,
            tac: sluice_ids::Tac([0, 0, 7]),
        };
        assert_eq!(tai(&tai_json(area)), Some(area));
        assert_eq!(
            supi("imsi-001010000000001")
                .map(|one| supi_text(&one))
                .as_deref(),
            Some("imsi-001010000000001")
        );
        assert_eq!(octets("0aFf"), Some(vec![10, 255]));
        assert_eq!(octets("0aF"), None);
    }

    #[test]
    fn times_are_read_as_they_are_written() {
        for (unix_s, text) in [
            (0, "1970-01-01T00:00:00Z"),
            (951_782_400, "2000-02-29T00:00:00Z"),
            (951_868_799, "2000-02-29T23:59:59Z"),
            (1_795_823_564, "2026-11-27T23:52:44Z"),
            (4_107_542_400, "2100-03-01T00:00:00Z"),
        ] {
            assert_eq!(date_time_text(unix_s), text);
            assert_eq!(date_time(text), Some(unix_s));
        }
        for other in [
            "2026-11-27T23:52:44.194919088Z",
            "2026-11-27T23:52:44.019655+00:00",
            "2026-11-28T01:22:44+01:30",
        ] {
            assert_eq!(date_time(other), Some(1_795_823_564), "{other}");
        }
        for wrong in [
            "",
            "2026-11-27",
            "2026-13-27T23:52:44Z",
            "2026-11-27T23:52:44",
            "x",
        ] {
            assert_eq!(date_time(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn an_instance_is_a_uuid() {
        let text = "736c7569-6365-8000-8000-00f110010101";
        let instance = nf_instance(&text.into()).expect("a UUID");
        assert_eq!(instance.to_string(), text);
        for wrong in [
            "736c756963658000800000f110010101",
            "x",
            "736c7569-6365-8000-0000-00f110010101",
        ] {
            assert_eq!(nf_instance(&wrong.into()), None, "{wrong}");
        }
    }

    #[test]
    fn rates_have_units() {
        for (rate, text) in [
            (0, "0 bps"),
            (1_000_000_000, "1 Gbps"),
            (1_500_000, "1500 Kbps"),
            (7, "7 bps"),
        ] {
            assert_eq!(rate_text(rate), text);
            assert_eq!(rate_bps(text), Some(rate));
        }
        assert_eq!(rate_bps("2.5 Mbps"), Some(2_500_000));
        assert_eq!(rate_bps("1000000 Kbps"), Some(1_000_000_000));
        for wrong in [
            "",
            "1",
            "1 mbps",
            "-1 bps",
            "99999999999999999999 bps",
            "99999999999 Tbps",
        ] {
            assert_eq!(rate_bps(wrong), None, "{wrong}");
        }
    }
}
