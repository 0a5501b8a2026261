//! Text report.

use super::report::{Outcome, to_json};
use serde_json::Value;

/// As tables.
pub fn to_table(outcome: &Outcome) -> String {
    let object = to_json(outcome);
    let all = object["results"].as_array().cloned().unwrap_or_default();
    let named = |name: &str| -> Vec<&Value> {
        let is = |r: &&Value| r["name"].as_str().is_some_and(|n| n.starts_with(name));
        all.iter().filter(is).collect()
    };
    let mut text = moves(&object["results"][0]);
    text += &format!(
        "\n{:<18}{:>8}{:>9}{:>9}{:>9}{:>9}{:>28}\n",
        "two workers",
        "Mpps",
        "to RTC",
        "sources",
        "engine",
        "to RTC",
        "latency us p50, p99, p99.9"
    );
    for model in ["elastic/rtc", "elastic/pipeline", "elastic/mixed"] {
        named(model)
            .into_iter()
            .for_each(|r| text += &model_line(r));
    }
    text += &format!(
        "\n{:<24}{:>9}{:>24}{:>10}{:>6}{:>22}\n",
        "a worker's UEs heavy",
        "bursts",
        "levelled ms min-med-max",
        "in 10 ms",
        "not",
        "throughput to before"
    );
    for name in ["elastic/heavy", "elastic/heavy_full"] {
        let is = |r: &&Value| r["name"] == name;
        all.iter().filter(is).for_each(|r| text += &heavy_line(r));
    }
    text += "\nIn virtual time, by what turns of the real workers cost:\n";
    text += &format!(
        "{:<10}{:>10}{:>9}{:>9}{:>28}\n",
        "workers", "model", "Mpps", "to RTC", "latency us p50, p99, p99.9"
    );
    for model in ["rtc", "pipeline", "mixed"] {
        let lines = named(&format!("elastic/virtual/{model}"));
        lines
            .into_iter()
            .for_each(|r| text += &virtual_line(model, r));
    }
    for r in named("elastic/virtual/heavy") {
        text += &format!(
            "{:<10}{:>16} levelled in {} ms, {} of {} not; {} moves; {} lost without\n",
            show(&r["workers"]),
            r["name"]
                .as_str()
                .and_then(|n| n.rsplit('/').next())
                .unwrap_or_default(),
            range(r, "levelled_ms"),
            r["not_levelled"],
            r["bursts"],
            r["moves_median"],
            r["lost_without_scaling"],
        );
    }
    text
}

fn moves(moves: &Value) -> String {
    let mut text = format!(
        "{} moves at {} Mpps: {} lost, {} reordered\n{:<34}{:>9}{:>9}{:>9}\n",
        moves["moves"],
        moves["rate_mpps"],
        moves["lost"],
        moves["reordered"],
        "microseconds",
        "p50",
        "p99",
        "p99.9"
    );
    let rows = [
        ("pause of an undisturbed move", "pause_us"),
        ("pause, the disturbed included", "pause_all_us"),
        ("from the order to the last token", "move_took_us"),
    ];
    for (title, key) in rows {
        let [p50, p99, p999] = shares(moves, key);
        text += &format!("{title:<34}{p50:>9}{p99:>9}{p999:>9}\n");
    }
    text + &format!(
        "{} moves met a gap of more than 50 us and are left out of the first and last line\n",
        moves["moves_disturbed"]
    )
}

fn model_line(model: &Value) -> String {
    format!(
        "{:<18}{:>8}{:>9}{:>9}{:>9}{:>9}{:>28}\n",
        model["name"].as_str().unwrap_or_default(),
        show(&model["mpps_median"]),
        show(&model["ratio_to_rtc"]),
        show(&model["source_limit_mpps"]),
        show(&model["engine_mpps"]),
        show(&model["engine_ratio_to_rtc"]),
        shares(model, "latency_us").join(", "),
    )
}

fn heavy_line(bursts: &Value) -> String {
    format!(
        "{:<24}{:>9}{:>24}{:>10}{:>6}{:>22}\n",
        bursts["name"].as_str().unwrap_or_default(),
        format!("{}-{}", bursts["bursts"], bursts["bursts_disturbed"]),
        range(bursts, "levelled_ms"),
        show(&bursts["levelled_in_time"]),
        show(&bursts["not_levelled"]),
        range(bursts, "throughput_to_before"),
    )
}

fn virtual_line(model: &str, result: &Value) -> String {
    format!(
        "{:<10}{:>10}{:>9}{:>9}{:>28}\n",
        show(&result["workers"]),
        model,
        show(&result["mpps"]),
        show(&result["ratio_to_rtc"]),
        shares(result, "latency_us").join(", "),
    )
}

fn shares(value: &Value, key: &str) -> [String; 3] {
    ["p50", "p99", "p999"].map(|share| show(&value[format!("{key}_{share}")]))
}

fn range(value: &Value, key: &str) -> String {
    let [min, median, max] = ["min", "median", "max"].map(|e| show(&value[format!("{key}_{e}")]));
    format!("{min} {median} {max}")
}

/// Nothing where nothing was measured.
fn show(value: &Value) -> String {
    match value {
        Value::Null => "-".to_owned(),
        value => value.to_string(),
    }
}
