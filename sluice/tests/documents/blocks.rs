//! Blocks of Markdown, with the comment in front of each: `not checked: REASON` or `runs: NAME`.

use std::fs;
use std::path::{Path, PathBuf};

/// Languages that a block may name.
pub const LANGUAGES: &[&str] = &["sh", "yaml", "text", "json", "csv"];

/// A fenced block.
#[derive(Debug)]
pub struct Block {
    document: String,
    line: usize,
    pub language: String,
    pub text: String,
    comment: String,
}

impl Block {
    /// A file as a block.
    pub fn whole(document: &str, text: &str) -> Self {
        Self {
            document: document.to_owned(),
            line: 1,
            language: "yaml".to_owned(),
            text: text.to_owned(),
            comment: String::new(),
        }
    }

    /// Where it stands.
    pub fn place(&self) -> String {
        format!("{}:{}", self.document, self.line)
    }

    /// Why it is not checked, if it says so.
    pub fn unchecked(&self) -> Option<&str> {
        self.comment.strip_prefix("not checked:").map(str::trim)
    }
}

/// The blocks of all documents that are read by people who use or change the project.
pub fn all_blocks(root: &Path) -> Vec<Block> {
    let of = |(name, text): &(String, String)| blocks(name, text);
    documents(root).iter().flat_map(of).collect()
}

/// Whole commands of the program in backquotes, outside of blocks, each with its document.
pub fn quoted_commands(root: &Path) -> Vec<(String, String)> {
    let mut found = Vec::new();
    for (name, text) in documents(root) {
        let outside: String = text.split("```").step_by(2).collect();
        let quoted = outside.split('`').skip(1).step_by(2);
        let whole = quoted.filter(|quoted| quoted.starts_with("sluice ") && is_whole(quoted));
        found.extend(whole.map(|command| (name.clone(), command.to_owned())));
    }
    found
}

/// Whether nothing is left out, chosen or free in a command.
fn is_whole(command: &str) -> bool {
    !command.contains("...") && !command.contains(['<', '|', '[', '{', '\n'])
}

/// Names and texts.
fn documents(root: &Path) -> Vec<(String, String)> {
    let mut paths = markdown(&root.join("docs"), true);
    paths.extend(markdown(root, false));
    paths.sort();
    let read = |path: PathBuf| {
        let name = path
            .strip_prefix(root)
            .unwrap_or(&path)
            .display()
            .to_string();
        (name, fs::read_to_string(path).expect("a text"))
    };
    paths.into_iter().map(read).collect()
}

fn markdown(folder: &Path, is_deep: bool) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).expect("a folder").flatten() {
        let path = entry.path();
        if path.is_dir() && is_deep {
            found.extend(markdown(&path, true));
        } else if path.extension().is_some_and(|ending| ending == "md") {
            found.push(path);
        }
    }
    found
}

fn blocks(document: &str, text: &str) -> Vec<Block> {
    let mut found = Vec::new();
    let mut open: Option<Block> = None;
    let mut comment = String::new();
    for (number, line) in text.lines().enumerate() {
        let trimmed = line.trim();
        match (&mut open, trimmed.strip_prefix("```")) {
            (Some(_), Some(_)) => found.extend(open.take()),
            (Some(block), None) => {
                block.text.push_str(line);
                block.text.push('\n');
            }
            (None, Some(language)) => {
                open = Some(Block {
                    document: document.to_owned(),
                    line: number + 1,
                    language: language.to_owned(),
                    text: String::new(),
                    comment: std::mem::take(&mut comment),
                });
            }
            (None, None) if trimmed.is_empty() => {}
            (None, None) => comment = inner_of_comment(trimmed).unwrap_or_default(),
        }
    }
    found
}

fn inner_of_comment(line: &str) -> Option<String> {
    let inner = line.strip_prefix("<!--")?.strip_suffix("-->")?;
    Some(inner.trim().to_owned())
}
