//! The crate as a whole: the plans that come with it, runs that are interrupted, expectations that
//! fail, plots that can be read.

use crate::expect::judge;
use crate::plan::{Experiment, Kind, embedded, embedded_files, from_folder, from_text};
use crate::plot::{Blot, Figure, figure, png, svg};
use crate::point::{At, Mark, Measured, Scalar};
use crate::report::{Run, State, Told, csv, html, json};
use crate::run::{Course, Job, Problem, Progress, Ran, Runner};
use crate::store::{Made, Store};
use std::cell::Cell;
use std::time::Duration;

const PLAN: &str = "\
name: toy
title: A toy & its <parts>
paper: {system: T, reference: Nobody 2026, figure: Fig. 1}
status: runs
runner: toy
axes:
  - {name: size, says: size, unit: B, values: [64, 128, 256]}
  - {name: model, says: model, values: [rtc, pipeline]}
series:
  - {name: mpps, says: rate, unit: Mpps, how: measured}
theirs:
  - {says: rtc by pipeline, value: '1.3', stands: page 1}
expectations:
  - name: rtc-faster
    says: rtc is faster
    left: {series: mpps, where: {model: rtc}}
    right: {series: mpps, where: {model: pipeline}}
    for_each: [size]
    at_least: 1.2
    theirs: 1.3 to 1.4
  - name: flat
    says: size does not matter
    left: {series: mpps, where: {model: rtc}, reduce: min}
    right: {series: mpps, where: {model: rtc}, reduce: max}
    at_least: 0.5
plots:
  - {name: rate, title: The rate by size, kind: curves, x: size, log_x: true, y: [mpps], by: [model]}
  - {name: bars, title: The rate by model, kind: bars, x: model, y: [mpps], by: [size]}
";

/// Measures by a rule, counts, and asks for the end after so many points.
struct Toy {
    measured: usize,
    rtc: f64,
    end_after: usize,
    stop: std::rc::Rc<Cell<bool>>,
}

impl Toy {
    fn new(rtc: f64) -> Self {
        Self {
            measured: 0,
            rtc,
            end_after: usize::MAX,
            stop: Default::default(),
        }
    }
}

impl Runner for Toy {
    fn knows(&self, runner: &str) -> bool {
        runner == "toy"
    }

    fn measure(&mut self, job: &Job<'_>) -> Result<Measured, Problem> {
        if self.measured == self.end_after {
            self.stop.set(true);
            return Err(Problem::Interrupted);
        }
        self.measured += 1;
        let faster = if job.text("model")? == "rtc" {
            self.rtc
        } else {
            1.0
        };
        let size = job.number("size")?;
        let mut measured = Measured::default();
        measured.add(
            "mpps",
            [10.0, 9.0, 12.0].map(|base| base * faster - size / 1000.0),
        );
        Ok(measured)
    }
}

#[derive(Default)]
struct Said(Vec<String>);

impl Progress for Said {
    fn say(&mut self, line: &str) {
        self.0.push(line.to_owned());
    }
}

fn made() -> Made {
    Made {
        experiment: String::new(),
        machine: "a machine".to_owned(),
        binary: "a program".to_owned(),
        quick: false,
    }
}

fn run(store: &Store, experiment: &Experiment, toy: &mut Toy, made: Made) -> (Ran, Vec<String>) {
    let stop = toy.stop.clone();
    stop.set(false);
    let stop = move || stop.get();
    let mut said = Said::default();
    let mut course = Course {
        store,
        made,
        stop: &stop,
        progress: &mut said,
        left: 0,
        done: (0, Duration::ZERO),
    };
    course.left = course.missing(experiment);
    let ran = course.run(experiment, toy).unwrap();
    (ran, said.0)
}

fn toy_plan() -> Experiment {
    from_text("toy.yaml", PLAN).unwrap()
}

#[test]
fn all_plans_of_the_house_are_read_and_cover_the_papers() {
    let all = embedded().unwrap();
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
        let (mut said, store) = (Said::default(), Store::new(folder.path()));
        let mut course = Course {
            store: &store,
            made: Made {
                quick: true,
                ..made()
            },
            stop: &|| false,
            progress: &mut said,
            left: 0,
            done: (0, Duration::ZERO),
        };
        let ran = course.run(one, &mut toy).unwrap();
        for verdict in judge(one, &ran.points) {
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
    fn knows(&self, _: &str) -> bool {
        true
    }

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
    // What is changed into what; words of the line that is named; what is said of it.
    let cases = [
        ("title: A toy", "titel: A toy", "titel", "titel"),
        ("how: measured", "how: guessed", "guessed", "guessed"),
        (
            "status: runs",
            "status: not_yet",
            "status",
            "needs a line under `cannot`",
        ),
        ("runner: toy\n", "", "status", "needs a `runner`"),
        (
            "name: toy",
            "name: A Toy",
            "A Toy",
            "expected lower-case letters",
        ),
        (
            "for_each: [size]",
            "for_each: [sizes]",
            "rtc-faster",
            "no axis 'sizes'",
        ),
        (
            "{series: mpps, where",
            "{series: mps, where",
            "rtc-faster",
            "no series 'mps'; expected one of mpps",
        ),
        (
            "where: {model: rtc}}",
            "where: {model: rct}}",
            "rtc-faster",
            "no value rct",
        ),
        (
            "    at_least: 1.2\n",
            "",
            "rtc-faster",
            "needs `at_least` or `at_most`",
        ),
        (
            "x: size, log_x",
            "x: length, log_x",
            "name: rate",
            "no axis 'length'",
        ),
        (
            "[64, 128, 256]",
            "[64, big]",
            "[64, big]",
            "expected numbers or names, not both",
        ),
    ];
    for (old, new, near, what) in cases {
        assert!(PLAN.contains(old), "{old}");
        let text = PLAN.replacen(old, new, 1);
        let bad = from_text("toy.yaml", &text).unwrap_err().to_string();
        let line = text.lines().position(|line| line.contains(near)).unwrap() + 1;
        let start = format!("toy.yaml:{line}: ");
        assert!(
            bad.starts_with(&start) && bad.contains(what),
            "{new}: {bad}"
        );
    }
    assert!(from_text("toy.yaml", "axes: [").is_err());
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("one.yaml"), PLAN).unwrap();
    assert_eq!(from_folder(folder.path()).unwrap().len(), 1);
    std::fs::write(folder.path().join("two.yaml"), PLAN).unwrap();
    let bad = from_folder(folder.path()).unwrap_err().to_string();
    assert!(
        bad.contains("two.yaml: there is another experiment named 'toy'"),
        "{bad}"
    );
    let missing = from_folder(&folder.path().join("nowhere")).unwrap_err();
    assert!(missing.to_string().contains("cannot be read"), "{missing}");
}

#[test]
fn an_interrupted_run_goes_on_from_every_point() {
    let experiment = toy_plan();
    let all = experiment.points(false).len();
    assert_eq!(all, 6);
    for end_after in 0..all {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::new(folder.path());
        let mut first = Toy {
            end_after,
            ..Toy::new(1.4)
        };
        let (ran, _) = run(&store, &experiment, &mut first, made());
        assert!(ran.interrupted && ran.points.len() == end_after);
        // Half a file, as a machine that lost power leaves it, is no point.
        let torn = store.folder("toy").join("points/model=rtc,size=256.json");
        std::fs::create_dir_all(torn.parent().unwrap()).unwrap();
        std::fs::write(&torn, "{\"at\":").unwrap();
        let mut second = Toy::new(1.4);
        let (ran, said) = run(&store, &experiment, &mut second, made());
        assert!(!ran.interrupted && ran.points.len() == all);
        assert_eq!((ran.kept, second.measured), (end_after, all - end_after));
        let told = said.iter().any(|line| line.contains("were there already"));
        assert_eq!(told, end_after > 0, "{said:?}");
        let order: Vec<&At> = ran.points.iter().map(|point| &point.at).collect();
        assert_eq!(order, experiment.points(false).iter().collect::<Vec<_>>());
    }
}

#[test]
fn what_another_program_machine_or_plan_measured_is_measured_again() {
    let experiment = toy_plan();
    let mut changed = experiment.clone();
    changed
        .held
        .insert("seconds".to_owned(), Scalar::Number(2.0));
    let others = [
        (
            experiment.clone(),
            Made {
                binary: "another".to_owned(),
                ..made()
            },
            "another program",
        ),
        (
            experiment.clone(),
            Made {
                machine: "another".to_owned(),
                ..made()
            },
            "another machine",
        ),
        (
            experiment.clone(),
            Made {
                quick: true,
                ..made()
            },
            "--quick",
        ),
        (changed, made(), "the experiment changed"),
    ];
    for (plan, other, why) in others {
        let (folder, mut toy) = (tempfile::tempdir().unwrap(), Toy::new(1.4));
        let store = Store::new(folder.path());
        run(&store, &experiment, &mut toy, made());
        let mut toy = Toy::new(1.4);
        let (ran, said) = run(&store, &plan, &mut toy, other);
        assert_eq!((ran.kept, toy.measured), (0, 6), "{why}");
        let told = said
            .iter()
            .filter(|line| line.contains("measured again") && line.contains(why));
        assert_eq!(told.count(), 1, "{said:?}");
    }
    let folder = tempfile::tempdir().unwrap();
    let store = Store::new(folder.path());
    // Words and limits of a plan decide nothing about its figures.
    let (last, mut toy) = (made(), Toy::new(1.4));
    let mut words = experiment.clone();
    run(&store, &words, &mut toy, last.clone());
    words.title = "Other words".to_owned();
    words.expectations[0].at_least = Some(5.0);
    let (ran, _) = run(&store, &words, &mut toy, last);
    assert_eq!((ran.kept, toy.measured), (6, 6));
}

#[test]
fn expectations_hold_and_fail_as_they_should() {
    let experiment = toy_plan();
    let judged = |rtc: f64| {
        let folder = tempfile::tempdir().unwrap();
        let (ran, _) = run(
            &Store::new(folder.path()),
            &experiment,
            &mut Toy::new(rtc),
            made(),
        );
        judge(&experiment, &ran.points)
    };
    let good = judged(1.4);
    assert!(good.iter().all(|v| v.passed), "{good:?}");
    let bad = judged(1.1);
    assert!(!bad[0].passed && bad[1].passed, "{bad:?}");
    assert!(
        bad[0].note.contains("the worst, at size=64; 0 of 3 hold"),
        "{}",
        bad[0].note
    );
    assert_eq!(bad[0].expected, ">= 1.2");
    // Nothing measured is nothing that holds.
    let nothing = judge(&experiment, &[]);
    assert!(nothing.iter().all(|v| !v.passed && v.ours.is_none()));
    // A selection of several values without a word on what becomes of them.
    let mut vague = experiment.clone();
    vague.expectations[0].for_each.clear();
    let folder = tempfile::tempdir().unwrap();
    let (ran, _) = run(
        &Store::new(folder.path()),
        &vague,
        &mut Toy::new(2.0),
        made(),
    );
    let verdict = &judge(&vague, &ran.points)[0];
    assert!(
        !verdict.passed && verdict.note.contains("say `reduce`"),
        "{verdict:?}"
    );
}

#[test]
fn what_cannot_be_run_yet_never_passes_and_failures_are_told() {
    let not_yet = embedded()
        .unwrap()
        .into_iter()
        .find(|one| one.name == "a-translation");
    let told = Told::of(&not_yet.unwrap(), None);
    assert_eq!(
        (told.state, told.passed(), told.failing().len()),
        (State::NotYet, 0, 0)
    );
    let experiment = toy_plan();
    let failed = Ran {
        points: vec![],
        kept: 0,
        failed: vec![(At::new(), "it burnt".to_owned())],
        interrupted: false,
        lacking: false,
    };
    let partly = Told::of(&experiment, Some(&failed));
    assert_eq!((partly.state, partly.failing().len()), (State::Partly, 2));
    let all = json(&Run::default(), &[told.clone(), partly.clone()]);
    assert_eq!(all["experiments"][0]["state"], "not_yet");
    assert_eq!(all["experiments"][1]["expectations_failed"], 2);
    assert_eq!(all["expectations_failed"], 2);
    let page = html(&Run::default(), &[told, partly]);
    for words in [
        "not yet",
        "it burnt",
        "A toy &amp; its &lt;parts&gt;",
        "FAILED",
    ] {
        assert!(page.contains(words), "{words}");
    }
    for outside in ["http://", "https://", "<script", "<img", "src="] {
        let page = page.replace("http://www.w3.org/2000/svg", "");
        assert!(!page.contains(outside), "{outside}");
    }
}

#[test]
fn results_are_kept_for_scripts_and_people() {
    let (experiment, folder) = (toy_plan(), tempfile::tempdir().unwrap());
    let store = Store::new(folder.path());
    let (ran, _) = run(&store, &experiment, &mut Toy::new(1.4), made());
    let told = Told::of(&experiment, Some(&ran));
    let blot = told.keep(&store).unwrap();
    let text = csv(&experiment, &ran.points);
    assert_eq!(text.lines().count(), 7);
    assert!(text.starts_with("size,model,series,unit,how,min,median,max,repeats,disturbed\r\n"));
    assert!(text.contains("64,rtc,mpps,Mpps,measured,12.5"), "{text}");
    for file in [
        "result.json",
        "result.csv",
        "plan.json",
        "rate.svg",
        "bars.svg",
    ] {
        assert!(store.folder("toy").join(file).exists(), "{file}");
    }
    assert_eq!(
        store.folder("toy").join("rate.png").exists(),
        blot.is_none()
    );
    assert_eq!(store.plan("toy").unwrap(), experiment);
    assert_eq!(store.points(&experiment, false), ran.points);
    let page = html(&Run::default(), &[told]);
    assert!(page.contains("<svg") && page.contains("1.3 to 1.4"));
}

/// Every kind of plot, with long names, many curves, marks close together, one point, and none.
fn figures() -> Vec<Figure> {
    let experiment = toy_plan();
    let folder = tempfile::tempdir().unwrap();
    let (ran, _) = run(
        &Store::new(folder.path()),
        &experiment,
        &mut Toy::new(1.4),
        made(),
    );
    let mut all: Vec<Figure> = experiment
        .plots
        .iter()
        .filter_map(|plot| figure(&experiment, plot, &ran.points))
        .collect();
    assert_eq!(all.len(), 2);
    let mut points = ran.points.clone();
    for point in &mut points {
        let curve = (0..400)
            .map(|n| [f64::from(n) / 100.0, f64::from(n % 37)])
            .collect();
        point.measured.curves.insert("rate".to_owned(), curve);
        point.measured.marks = [1.0, 1.01]
            .map(|at| Mark {
                at,
                says: "sessions begin to move to the second worker".to_owned(),
            })
            .to_vec();
    }
    let mut plot = experiment.plots[0].clone();
    (plot.kind, plot.y, plot.y_says) = (
        Kind::Timeline,
        vec!["rate".to_owned(); 2],
        vec!["rate (Mpps)".to_owned(); 2],
    );
    (plot.x, plot.log_x) = ("time (s)".to_owned(), false);
    all.extend(figure(&experiment, &plot, &points[..1]));
    let mut plot = experiment.plots[0].clone();
    plot.log_y = true;
    plot.title =
        "Behaviour under a load that is raised in steps, with a title that is long".to_owned();
    all.extend(figure(&experiment, &plot, &points[..1]));
    all.extend(figure(&experiment, &plot, &points));
    assert!(figure(&experiment, &plot, &[]).is_none());
    assert_eq!(all.len(), 5);
    all
}

#[test]
fn plots_can_be_read() {
    for figure in figures() {
        let drawn = svg(&figure).unwrap();
        let tree = match crate::plot::tree(&drawn) {
            Err(Blot::NoFont) => {
                println!("skipped: no font to measure text with");
                return;
            }
            tree => tree.unwrap(),
        };
        let boxes = text_boxes(tree.root());
        assert!(boxes.len() > 8, "{}: {} texts", figure.title, boxes.len());
        let (width, height) = (tree.size().width(), tree.size().height());
        for (n, one) in boxes.iter().enumerate() {
            let inside =
                one.1[0] >= 0.0 && one.1[1] >= 0.0 && one.1[2] <= width && one.1[3] <= height;
            assert!(inside, "{}: {one:?} leaves the picture", figure.title);
            for other in &boxes[n + 1..] {
                assert!(
                    !overlap(&one.1, &other.1),
                    "{}: {one:?} over {other:?}",
                    figure.title
                );
            }
        }
        let png = png(&drawn).unwrap();
        assert_eq!(png[..8], [0x89, b'P', b'N', b'G', 13, 10, 26, 10]);
        let decoded = resvg::tiny_skia::Pixmap::decode_png(&png).unwrap();
        let colours: std::collections::HashSet<_> = decoded
            .pixels()
            .iter()
            .map(|p| (p.red(), p.green(), p.blue()))
            .collect();
        assert!(
            decoded.width() > 1000 && colours.len() > 5,
            "{}",
            figure.title
        );
    }
}

fn text_boxes(group: &resvg::usvg::Group) -> Vec<(String, [f32; 4])> {
    let mut all = vec![];
    for node in group.children() {
        match node {
            resvg::usvg::Node::Group(group) => all.extend(text_boxes(group)),
            resvg::usvg::Node::Text(text) => {
                let b = text.abs_bounding_box();
                let words: String = text.chunks().iter().map(|chunk| chunk.text()).collect();
                all.push((words, [b.left(), b.top(), b.right(), b.bottom()]));
            }
            _ => {}
        }
    }
    all
}

fn overlap(a: &[f32; 4], b: &[f32; 4]) -> bool {
    a[0] < b[2] && b[0] < a[2] && a[1] < b[3] && b[1] < a[3]
}
