//! Plans: those of the house, and what is wrong in others.

use super::{PLAN, anything, made};
use crate::experiments::expect::judge;
use crate::experiments::plan::{
    Experiment, Wrong, embedded, embedded_files, from_folder, from_text,
};
use crate::experiments::point::Measured;
use crate::experiments::run::{Course, Job, Problem, Runner};
use crate::experiments::store::{Made, Store};
use std::time::Duration;

#[test]
fn all_plans_of_the_house_are_read_and_cover_the_papers() {
    let all = embedded(&anything).unwrap();
    for (file, one) in embedded_files().iter().map(|(file, _)| *file).zip(&all) {
        assert_eq!(file, format!("{}.yaml", one.name));
        assert!(
            !one.theirs.is_empty(),
            "{}: no figure of the paper",
            one.name
        );
        if !one.runs() {
            continue;
        }
        assert!(
            !one.expectations.is_empty() && !one.plots.is_empty(),
            "{}",
            one.name
        );
        assert!(
            !one.how.is_empty(),
            "{}: what is measured really?",
            one.name
        );
        let (full, quick) = (one.points(false), one.points(true));
        assert!(quick.len() <= full.len() && quick.iter().all(|at| full.contains(at)));
        // With --quick every selection finds something.
        let (mut toy, folder) = (Anything(one.clone()), tempfile::tempdir().unwrap());
        let store = Store::new(folder.path());
        let mut course = Course {
            store: &store,
            made: Made {
                quick: true,
                ..made()
            },
            stop: &|| false,
            progress: &mut |_| (),
            again_disturbed: false,
            left: 0,
            done: (0, Duration::ZERO),
        };
        let ran = course.run(one, &mut toy).unwrap();
        for verdict in judge(one, &ran.points, &[]) {
            assert!(
                verdict.ours.is_some(),
                "{}/{}: {}",
                one.name,
                verdict.name,
                verdict.note
            );
        }
    }
    let promised = "a-remove a-add a-placement a-translation b-payload b-sessions b-cores b-skew \
                    b-scaling c-steering c-scaleout c-heavy-hitters c-pfcp d-profiles";
    for name in promised.split_whitespace() {
        assert!(all.iter().any(|one| one.name == name), "{name}");
    }
}
/// Says 2 to everything.
struct Anything(Experiment);

impl Runner for Anything {
    fn measure(&mut self, _: &Job<'_>) -> Result<Measured, Problem> {
        let mut measured = Measured::default();
        self.0
            .series
            .iter()
            .for_each(|series| measured.add(&series.name, [2.0]));
        Ok(measured)
    }
}
#[test]
fn what_is_wrong_in_a_plan_is_told_with_its_line() {
    let slips: Vec<[String; 4]> = serde_saphyr::from_str(include_str!("slips.yaml")).unwrap();
    for [old, new, near, what] in slips {
        assert!(PLAN.contains(&old), "{old}");
        let text = PLAN.replacen(&old, &new, 1);
        let bad = from_text("toy.yaml", &text, &anything)
            .unwrap_err()
            .to_string();
        let line = text.lines().position(|line| line.contains(&near)).unwrap() + 1;
        let start = format!("toy.yaml:{line}: ");
        assert!(
            bad.starts_with(&start) && bad.contains(&what),
            "{new}: {bad}"
        );
    }
    assert!(from_text("toy.yaml", "axes: [", &anything).is_err());
}

#[test]
fn a_folder_has_each_experiment_once() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("one.yaml"), PLAN).unwrap();
    assert_eq!(from_folder(folder.path(), &anything).unwrap().len(), 1);
    std::fs::write(folder.path().join("two.yaml"), PLAN).unwrap();
    let bad = from_folder(folder.path(), &anything)
        .unwrap_err()
        .to_string();
    assert!(
        bad.contains("two.yaml: there is another experiment named 'toy'"),
        "{bad}"
    );
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
