//! Plans: those of the house, and what is wrong in others.

use super::{PLAN, Scene, anything};
use crate::experiments::plan::{Wrong, embedded, embedded_files, from_folder, from_text};
use crate::experiments::point::Measured;
use crate::experiments::run::{Course, Job, Problem, Runner};
use std::time::Duration;

/// Says 2 to everything.
struct Two;

impl Runner for Two {
    fn measure(&mut self, job: &Job<'_>) -> Result<Measured, Problem> {
        let mut measured = Measured::default();
        let series = job.experiment.series.iter();
        series.for_each(|series| measured.add(&series.name, [2.0]));
        Ok(measured)
    }
}

#[test]
fn all_plans_of_the_house_are_read_and_cover_the_papers() {
    let all = embedded(&anything).unwrap();
    for ((file, _), one) in embedded_files().iter().zip(&all) {
        let name = &one.name;
        assert_eq!(*file, format!("{name}.yaml"));
        assert!(!one.theirs.is_empty(), "{name}: no figure of the paper");
        if !one.runs() {
            continue;
        }
        assert!(!one.expectations.is_empty() && !one.plots.is_empty());
        assert!(!one.how.is_empty(), "{name}: what is measured really?");
        let (full, quick) = (one.points(false), one.points(true));
        assert!(quick.len() <= full.len() && quick.iter().all(|at| full.contains(at)));
        // With --quick every selection finds something.
        let mut scene = Scene::new(1.0);
        scene.experiment = one.clone();
        scene.made.quick = true;
        let mut course = Course {
            store: &scene.store,
            made: scene.made.clone(),
            stop: &|| false,
            progress: &mut |_| (),
            again_disturbed: false,
            left: 0,
            done: (0, Duration::ZERO),
        };
        let ran = course.run(one, &mut Two).unwrap();
        for verdict in scene.judge(&ran) {
            let (of, note) = (&verdict.name, &verdict.note);
            assert!(verdict.ours.is_some(), "{name}/{of}: {note}");
        }
    }
    let promised = "a-remove a-add a-placement a-translation b-payload b-sessions b-cores b-skew \
                    b-scaling c-steering c-scaleout c-heavy-hitters c-pfcp d-profiles";
    for name in promised.split_whitespace() {
        assert!(all.iter().any(|one| one.name == name), "{name}");
    }
}

#[test]
fn what_is_wrong_in_a_plan_is_told_with_its_line() {
    let slips: Vec<[String; 4]> = serde_saphyr::from_str(include_str!("slips.yaml")).unwrap();
    for [old, new, near, what] in slips {
        assert!(PLAN.contains(&old), "{old}");
        let text = PLAN.replacen(&old, &new, 1);
        let bad = from_text("toy.yaml", &text, &anything);
        let bad = bad.unwrap_err().to_string();
        let line = text.lines().position(|line| line.contains(&near));
        let start = format!("toy.yaml:{}: ", line.unwrap() + 1);
        assert!(bad.starts_with(&start) && bad.contains(&what), "{bad}");
    }
    assert!(from_text("toy.yaml", "axes: [", &anything).is_err());
}

#[test]
fn a_folder_has_each_experiment_once() {
    let folder = tempfile::tempdir().unwrap();
    let read = || from_folder(folder.path(), &anything);
    std::fs::write(folder.path().join("one.yaml"), PLAN).unwrap();
    assert_eq!(read().unwrap().len(), 1);
    std::fs::write(folder.path().join("two.yaml"), PLAN).unwrap();
    let bad = read().unwrap_err().to_string();
    let twice = "two.yaml: there is another experiment named 'toy'";
    assert!(bad.contains(twice), "{bad}");
    let missing = from_folder(&folder.path().join("nowhere"), &anything).unwrap_err();
    assert!(missing.to_string().contains("cannot be read"), "{missing}");
}

#[test]
fn the_line_of_a_value_is_found_behind_its_section_and_key() {
    let text = "# held: above\nname: x\naxes:\n  - name: model\n    values: [rtc]\n  - name: mode\n    \
                values: [1, 40]\nheld:\n  step_seconds: 1\n  seconds: 2\nheld_quick: {seconds: 3}\n";
    for (near, line) in [
        (&["held:", "seconds:"][..], Some(10)),
        (&["held_quick:", "seconds:"], Some(11)),
        (&["axes:", "name: mode", "values:", "40"], Some(7)),
        (&["axes:", "name: mode", "values:", "4"], Some(7)),
        (&["held:", "nothing:"], Some(8)),
        (&["plots:"], None),
    ] {
        let wrong = Wrong::at(near, String::new());
        assert_eq!(wrong.line_of(text), line, "{near:?}");
    }
}
