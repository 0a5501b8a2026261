//! Outputs: reports, files, plots that can be read.

use super::{Scene, anything, toy_plan};
use crate::experiments::expect::judge;
use crate::experiments::plan::{Kind, TheirCurve, embedded};
use crate::experiments::plot::{Blot, Figure, figure, png, svg, tree};
use crate::experiments::point::{At, Mark};
use crate::experiments::report::{ReportInput, Run, State, csv, html, json};
use crate::experiments::run::Ran;
use resvg::tiny_skia::Pixmap;
use resvg::usvg::{Group, Node};
use std::collections::HashSet;

#[test]
fn what_cannot_be_run_yet_never_passes_and_failures_are_told() {
    let all = embedded(&anything).unwrap();
    let not_yet = all.iter().find(|one| one.name == "c-cpoffload");
    let told = ReportInput::of(not_yet.unwrap(), None);
    let counts = (told.state, told.passed(), told.failing().len());
    assert_eq!(counts, (State::NotYet, 0, 0));
    let failed = Ran {
        failed: vec![(At::new(), "it burnt".to_owned())],
        ..Ran::default()
    };
    let partly = ReportInput::of(&toy_plan(), Some(&failed));
    assert_eq!((partly.state, partly.failing().len()), (State::Partly, 2));
    let both = [told, partly];
    let all = json(&Run::default(), &both);
    assert_eq!(all["experiments"][0]["state"], "not_yet");
    assert_eq!(all["experiments"][1]["expectations_failed"], 2);
    assert_eq!(all["expectations_failed"], 2);
    let page = html(&Run::default(), &both);
    let escaped = "A toy &amp; its &lt;parts&gt;";
    for words in ["not yet", "it burnt", escaped, "FAILED"] {
        assert!(page.contains(words), "{words}");
    }
    let page = page.replace("http://www.w3.org/2000/svg", "");
    for outside in ["http://", "https://", "<script", "<img", "src="] {
        assert!(!page.contains(outside), "{outside}");
    }
}

#[test]
fn the_report_says_how_the_run_is_repeated_and_what_nobody_judged() {
    let experiment = toy_plan();
    let cut = Ran {
        missing: experiment.points(false),
        interrupted: true,
        ..Ran::default()
    };
    let told = [ReportInput::of(&experiment, Some(&cut))];
    let mut run = Run {
        options: Some(" --plans 'my plans' --quick --out /tmp/x".to_owned()),
        command: "sluice lab run all".to_owned(),
        ..Run::default()
    };
    let all = json(&run, &told);
    assert_eq!(all["expectations_not_judged"], 2);
    assert_eq!(all["expectations_failed"], 0);
    let first = &all["experiments"][0]["expectations"][0];
    assert_eq!(first["outcome"], "not_judged");
    let page = html(&run, &told);
    let again = "Again: <code>sluice lab run toy --plans 'my plans' --quick --out /tmp/x</code>";
    assert!(page.contains(again) && page.contains("2 not judged"));
    assert!(!page.contains("FAILED"));
    // As older runs are: what was typed then.
    run.options = None;
    assert!(html(&run, &told).contains("Again: <code>sluice lab run all</code>"));
}

#[test]
fn results_are_kept_for_scripts_and_people() {
    let mut scene = Scene::new(1.4);
    let ran = scene.run();
    let (experiment, store) = (&scene.experiment, &scene.store);
    let told = ReportInput::of(experiment, Some(&ran));
    let blot = told.keep(store).unwrap();
    let text = csv(experiment, &ran.points);
    assert_eq!(text.lines().count(), 7);
    assert!(text.starts_with("size,model,series,unit,how,min,median,max,repeats,disturbed\r\n"));
    assert!(text.contains("64,rtc,mpps,Mpps,measured,12.5"), "{text}");
    // What the plan does not ask for has the unit that the runner says.
    let mut other = experiment.clone();
    (other.gives, other.series) = (other.series.clone(), vec![]);
    assert_eq!(csv(&other, &ran.points), text);
    let exists = |file: &str| store.folder("toy").join(file).exists();
    let files = "result.json result.csv plan.json rate.svg bars.svg";
    assert!(files.split(' ').all(exists));
    assert_eq!(exists("rate.png"), blot.is_none());
    assert_eq!(&store.plan("toy").unwrap(), experiment);
    assert_eq!(store.points(experiment, false), ran.points);
    let page = html(&Run::default(), &[told]);
    assert!(page.contains("<svg") && page.contains("1.3 to 1.4"));
    let ratio = judge(experiment, &ran.points, &[])[0].ours.unwrap();
    let percent = format!("({:+.0} %)", 100.0 * ratio - 100.0);
    assert!(page.contains(&percent), "{percent}");
}

/// Every kind of plot, with long names, many curves, marks close together, one point, and none.
fn figures() -> Vec<Figure> {
    let mut scene = Scene::new(1.4);
    let mut points = scene.run().points;
    let experiment = &scene.experiment;
    let plots = experiment.plots.iter();
    let mut all: Vec<Figure> = plots
        .filter_map(|p| figure(experiment, p, &points))
        .collect();
    assert_eq!(all.len(), 2);
    let steps = [0.0, 1.0, 1.1, 2.0, 3.0].map(|at| (at, "load 21 %", true));
    let moments = [1.0, 1.01].map(|at| (at, "sessions begin to move to the second worker", false));
    let marks = steps.into_iter().chain(moments);
    let marks = marks.map(|(at, says, is_step)| Mark {
        at,
        says: says.to_owned(),
        is_step,
    });
    points[0].measured.marks = marks.collect();
    let curve = (0..400).map(|n| [f64::from(n) / 100.0, f64::from(n % 37)]);
    let curves = &mut points[0].measured.curves;
    curves.insert("rate".to_owned(), curve.collect());
    let mut timeline = experiment.plots[0].clone();
    timeline.kind = Kind::Timeline;
    timeline.y = vec!["rate".to_owned(); 2];
    timeline.y_says = vec!["rate (Mpps)".to_owned(); 2];
    (timeline.x, timeline.log_x) = ("time (s)".to_owned(), false);
    all.extend(figure(experiment, &timeline, &points[..1]));
    let mut long = experiment.plots[0].clone();
    long.log_y = true;
    let title = "Behaviour under a load that is raised in steps, with a title that is long";
    title.clone_into(&mut long.title);
    all.extend(figure(experiment, &long, &points[..1]));
    all.extend(figure(experiment, &long, &points));
    assert!(figure(experiment, &long, &[]).is_none());
    assert_eq!(all.len(), 5);
    all
}

#[test]
fn published_curves_stand_beside_ours() {
    let mut scene = Scene::new(1.4);
    let points = scene.run().points;
    let mut plot = scene.experiment.plots[0].clone();
    let ours = figure(&scene.experiment, &plot, &points).unwrap();
    plot.theirs.push(TheirCurve {
        name: "paper".to_owned(),
        y: plot.y[0].clone(),
        places: vec![[64.0, 7.0]],
    });
    let beside = figure(&scene.experiment, &plot, &points).unwrap();
    let (curves, last) = (ours.panels[0].curves.len(), ours.legend.len());
    assert_eq!(beside.legend[last], "paper");
    let theirs = &beside.panels[0].curves[curves];
    assert_eq!((theirs.of, theirs.places[0].y.median), (last, 7.0));
}

#[test]
fn plots_can_be_read() {
    for figure in figures() {
        let title = &figure.title;
        let drawn = svg(&figure);
        let tree = match tree(&drawn) {
            Err(Blot::NoFont) => {
                println!("skipped: no font to measure text with");
                return;
            }
            tree => tree.unwrap(),
        };
        let boxes = text_boxes(tree.root());
        assert!(boxes.len() >= 7, "{title}: {} texts", boxes.len());
        let (width, height) = (tree.size().width(), tree.size().height());
        for (n, (words, [left, top, right, bottom])) in boxes.iter().enumerate() {
            let inside = *left >= 0.0 && *top >= 0.0 && *right <= width && *bottom <= height;
            assert!(inside, "{title}: {words} leaves the picture");
            for (other, [l, t, r, b]) in &boxes[n + 1..] {
                let over = left < r && l < right && top < b && t < bottom;
                assert!(!over, "{title}: {words} over {other}");
            }
        }
        let decoded = Pixmap::decode_png(&png(&drawn).unwrap()).unwrap();
        let pixels = decoded.pixels().iter();
        let colours: HashSet<_> = pixels.map(|p| (p.red(), p.green(), p.blue())).collect();
        assert!(decoded.width() > 1000 && colours.len() > 5, "{title}");
    }
}

fn text_boxes(group: &Group) -> Vec<(String, [f32; 4])> {
    let boxes = group.children().iter().flat_map(|node| match node {
        Node::Group(group) => text_boxes(group),
        Node::Text(text) => {
            let b = text.abs_bounding_box();
            let words = text.chunks().iter().map(|chunk| chunk.text()).collect();
            vec![(words, [b.left(), b.top(), b.right(), b.bottom()])]
        }
        _ => vec![],
    });
    boxes.collect()
}
