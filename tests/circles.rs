//! Circles between files: which files of a crate need each other, found by their paths.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use syn::visit::Visit;
use syn::{Attribute, Item, UseTree};

/// A module by the names that lead to it; the crate's root has none.
type Module = Vec<String>;

/// For each module that has a file those that its code, tests left out, names by `crate::` or `super::`.
type Graph = BTreeMap<Module, BTreeSet<Module>>;

/// The circles of a crate that have more than so many files, each in order.
pub fn longer_than(most: usize, src: &Path) -> Vec<Vec<String>> {
    let graph = graph(src);
    let reach: BTreeMap<&Module, BTreeSet<&Module>> = graph
        .keys()
        .map(|from| (from, reached(&graph, from)))
        .collect();
    let together = |a: &Module, b: &Module| reach[a].contains(b) && reach[b].contains(a);
    let mut seen = BTreeSet::new();
    let mut circles = Vec::new();
    for module in graph.keys() {
        let circle: Vec<&Module> = graph.keys().filter(|m| together(module, m)).collect();
        if circle.len() > most && seen.insert(circle.clone()) {
            circles.push(circle.iter().map(|m| m.join("::")).collect());
        }
    }
    circles
}

fn reached<'g>(graph: &'g Graph, from: &Module) -> BTreeSet<&'g Module> {
    let mut reached = BTreeSet::new();
    let mut next: Vec<&Module> = graph[from].iter().collect();
    while let Some(module) = next.pop() {
        if reached.insert(module) {
            next.extend(&graph[module]);
        }
    }
    reached
}

fn graph(src: &Path) -> Graph {
    let files: BTreeMap<Module, PathBuf> = files(src)
        .into_iter()
        .filter_map(|path| Some((module(path.strip_prefix(src).ok()?)?, path)))
        .collect();
    let needs = |(module, path): (&Module, &PathBuf)| {
        let text = fs::read_to_string(path).expect("a source file is read");
        let parsed = syn::parse_file(&text).expect("a source file is Rust");
        let mut paths = Paths::default();
        paths.visit_file(&parsed);
        let named = paths.0.iter().filter_map(|path| resolve(module, path));
        let with_file = named.filter_map(|full| longest_prefix(&files, full));
        let others = with_file.filter(|other| other != module && !other.is_empty());
        (module.clone(), others.collect())
    };
    files.iter().map(needs).collect()
}

/// The files below a folder that are not tests.
fn files(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).expect("a source folder is read");
    let paths = entries.map(|entry| entry.expect("an entry is read").path());
    paths
        .flat_map(|path| match path.is_dir() {
            true => files(&path),
            false => vec![path],
        })
        .filter(|path| path.extension().is_some_and(|e| e == "rs"))
        .collect()
}

/// The module of a file; none for those that are compiled for tests alone.
fn module(file: &Path) -> Option<Module> {
    let mut names: Module = file
        .with_extension("")
        .iter()
        .map(|name| name.to_string_lossy().into_owned())
        .collect();
    if names
        .iter()
        .any(|name| ["tests", "testing", "model"].contains(&name.as_str()))
    {
        return None;
    }
    if names
        .last()
        .is_some_and(|name| ["mod", "lib"].contains(&name.as_str()))
    {
        names.pop();
    }
    Some(names)
}

/// A path from the crate's root, if it begins with `crate` or `super`.
fn resolve(from: &Module, path: &[String]) -> Option<Module> {
    let mut base = from.clone();
    let mut rest = path;
    match path.first()?.as_str() {
        "crate" => {
            base.clear();
            rest = &rest[1..];
        }
        "super" => {
            while let Some(("super", more)) = rest.split_first().map(|(f, m)| (f.as_str(), m)) {
                base.pop();
                rest = more;
            }
        }
        _ => return None,
    }
    base.extend_from_slice(rest);
    Some(base)
}

fn longest_prefix(files: &BTreeMap<Module, PathBuf>, mut full: Module) -> Option<Module> {
    while !files.contains_key(&full) {
        full.pop()?;
    }
    Some(full)
}

/// The paths of a file's code.
#[derive(Default)]
struct Paths(Vec<Vec<String>>);

impl Paths {
    fn trees(&mut self, mut before: Vec<String>, tree: &UseTree) {
        match tree {
            UseTree::Path(path) => {
                before.push(path.ident.to_string());
                self.trees(before, &path.tree);
            }
            UseTree::Group(group) => {
                for tree in &group.items {
                    self.trees(before.clone(), tree);
                }
            }
            UseTree::Name(name) => {
                before.push(name.ident.to_string());
                self.0.push(before);
            }
            UseTree::Rename(name) => {
                before.push(name.ident.to_string());
                self.0.push(before);
            }
            UseTree::Glob(_) => self.0.push(before),
        }
    }
}

impl<'ast> Visit<'ast> for Paths {
    fn visit_item(&mut self, item: &'ast Item) {
        if attributes(item).is_some_and(|all| all.iter().any(is_for_tests)) {
            return;
        }
        if let Item::Use(used) = item {
            self.trees(Vec::new(), &used.tree);
        }
        syn::visit::visit_item(self, item);
    }

    fn visit_path(&mut self, path: &'ast syn::Path) {
        let names = path.segments.iter().map(|s| s.ident.to_string());
        self.0.push(names.collect());
        syn::visit::visit_path(self, path);
    }
}

fn attributes(item: &Item) -> Option<&[Attribute]> {
    Some(match item {
        Item::Use(item) => &item.attrs,
        Item::Mod(item) => &item.attrs,
        Item::Fn(item) => &item.attrs,
        Item::Impl(item) => &item.attrs,
        Item::Struct(item) => &item.attrs,
        Item::Const(item) => &item.attrs,
        _ => return None,
    })
}

fn is_for_tests(attribute: &Attribute) -> bool {
    let is_cfg = attribute.path().is_ident("cfg");
    is_cfg
        && attribute
            .parse_args::<syn::Path>()
            .is_ok_and(|path| path.is_ident("test"))
}
