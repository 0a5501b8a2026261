//! Shell commands of the documents: known programs, and arguments that they take.

use std::cell::Cell;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::sluice;

/// Programs that are not ours, on Debian 12 or where a page says that one needs them.
const OTHERS: &[&str] = &[
    "apt",
    "cargo",
    "chmod",
    "cpupower",
    "createdb",
    "cmake",
    "curl",
    "dpdk-devbind.py",
    "ethtool",
    "git",
    "go",
    "grep",
    "install",
    "iperf3",
    "openssl",
    "ping",
    "python3",
    "redis-cli",
    "sed",
    "sleep",
    "sysctl",
    "systemctl",
    "traceroute",
    "tshark",
    "xargs",
    "cat",
    "cp",
    "mkdir",
    "true",
    "ip",
];

/// What the shell does itself.
const BUILTINS: &[&str] = &[
    "cd", "echo", "export", "kill", "set", "source", "umask", "wait", "exec", "[",
];

/// Words in front of a command that are none.
const KEYWORDS: &[&str] = &[
    "do", "then", "else", "if", "while", "until", "!", "{", "(", "sudo", "time",
];

/// Words after which nothing is a command.
const CLOSING: &[&str] = &["done", "fi", "}", ")"];

/// The checker: targets of make, and how many commands it has seen.
pub struct Shell {
    root: PathBuf,
    targets: Vec<String>,
    seen: Cell<usize>,
}

impl Shell {
    /// Knows the Makefile of the house.
    pub fn new(root: &Path) -> Self {
        let makefile = fs::read_to_string(root.join("Makefile")).expect("a Makefile");
        let target = |line: &str| line.split_once(": ##").map(|(name, _)| name.to_owned());
        Self {
            root: root.to_owned(),
            targets: makefile.lines().filter_map(target).collect(),
            seen: Cell::new(0),
        }
    }

    /// Commands that it has looked at.
    pub fn commands_seen(&self) -> usize {
        self.seen.get()
    }

    /// What is wrong with a script.
    pub fn complaints(&self, script: &str) -> Vec<String> {
        let parsed = Command::new("bash").args(["-n", "-c", script]).output();
        let parsed = parsed.expect("bash");
        if !parsed.status.success() {
            return vec![String::from_utf8_lossy(&parsed.stderr).into_owned()];
        }
        let commands = commands(script);
        let functions: Vec<String> = commands
            .iter()
            .filter_map(|words| words.first()?.strip_suffix("()").map(str::to_owned))
            .collect();
        let complaint = |words: &Vec<String>| self.complaint(words, &functions);
        commands.iter().filter_map(complaint).collect()
    }

    fn complaint(&self, words: &[String], functions: &[String]) -> Option<String> {
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        let words = behind_prefixes(&words);
        let (program, rest) = words.split_first()?;
        self.seen.set(self.seen.get() + 1);
        if *program == "for" || CLOSING.contains(program) || functions.iter().any(|f| f == program)
        {
            return None;
        }
        let why = match *program {
            "sluice" => not_taken(rest),
            "make" => self.no_target(rest),
            path if path.ends_with(".sh") => self.no_script(path),
            known if OTHERS.contains(&known) || BUILTINS.contains(&known) => None,
            _ => Some("a program that nobody knows".to_owned()),
        };
        why.map(|why| format!("{}: {why}", words.join(" ")))
    }

    fn no_target(&self, rest: &[&str]) -> Option<String> {
        let is_target = |word: &&&str| !word.contains('=') && !word.starts_with('-');
        let mut wanted = rest.iter().filter(is_target);
        let lost = wanted.find(|word| !self.targets.iter().any(|target| target == *word));
        lost.map(|word| format!("make has no target {word}"))
    }

    fn no_script(&self, path: &str) -> Option<String> {
        let here = path.trim_start_matches("./");
        let places = [
            self.root.join(here),
            self.root.join("docs/examples").join(here),
        ];
        let is_there = places.iter().any(|place| place.is_file());
        (!is_there).then(|| "no such script".to_owned())
    }
}

/// Without assignments, keywords, and programs that run the rest of the line.
fn behind_prefixes<'a>(words: &'a [&'a str]) -> &'a [&'a str] {
    let mut rest = words;
    loop {
        let skipped = match rest {
            ["ip", "netns", "exec", _, ..] => 4,
            ["nsenter", "-t", _, "-m", ..] => 4,
            [name, _, ..] if name.ends_with("()") => 1,
            [word, ..] if KEYWORDS.contains(word) || is_assignment(word) => 1,
            _ => return rest,
        };
        rest = &rest[skipped..];
    }
}

fn is_assignment(word: &str) -> bool {
    let name = word.split_once('=').map(|(name, _)| name);
    name.is_some_and(|name| {
        !name.is_empty() && name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_')
    })
}

/// Why the program does not take these arguments: its help is shown only when all before it was right.
fn not_taken(arguments: &[&str]) -> Option<String> {
    let output = sluice(&[arguments, &["--help"]].concat());
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    // `cargo test --workspace` builds all programs; without one of them its arguments stay unread.
    if said.contains("which is not there") {
        println!(
            "not checked, as it is not built: sluice {}",
            arguments.join(" ")
        );
        return None;
    }
    (!output.status.success()).then_some(said)
}

/// The simple commands of a script, each as words; what a substitution runs comes behind.
fn commands(script: &str) -> Vec<Vec<String>> {
    let mut lexer = Lexer::default();
    let mut rest = script.chars().peekable();
    while let Some(one) = rest.next() {
        match (lexer.quote, one) {
            (None, '\\') if rest.peek() == Some(&'\n') => drop(rest.next()),
            (None, '#') if lexer.word.is_empty() && !lexer.is_word => {
                while rest.next_if(|next| *next != '\n').is_some() {}
            }
            (None, '\'' | '"') => {
                lexer.quote = Some(one);
                lexer.is_word = true;
            }
            (Some(quote), _) if quote == one => lexer.quote = None,
            (None | Some('"'), '$') if rest.next_if_eq(&'(').is_some() => {
                let inner: String =
                    std::iter::from_fn(|| rest.next_if(|next| *next != ')')).collect();
                rest.next();
                lexer.inner.extend(commands(&inner));
                lexer.word.push('1');
            }
            (None, '<' | '>') => lexer.redirect(&mut rest),
            (None, '&') if lexer.word.is_empty() && rest.next_if_eq(&'>').is_some() => {
                lexer.redirect(&mut rest);
            }
            (None, ';' | '|' | '&' | '\n') => lexer.end_command(),
            (None, one) if one.is_whitespace() => lexer.end_word(),
            (_, one) => lexer.word.push(one),
        }
    }
    lexer.end_command();
    lexer.found.append(&mut lexer.inner);
    lexer.found
}

#[derive(Default)]
struct Lexer {
    quote: Option<char>,
    word: String,
    /// Whether the word is one although it is empty: `''`.
    is_word: bool,
    words: Vec<String>,
    found: Vec<Vec<String>>,
    inner: Vec<Vec<String>>,
}

impl Lexer {
    fn end_word(&mut self) {
        if !self.word.is_empty() || self.is_word {
            self.words.push(std::mem::take(&mut self.word));
        }
        self.is_word = false;
    }

    fn end_command(&mut self) {
        self.end_word();
        if !self.words.is_empty() {
            self.found.push(std::mem::take(&mut self.words));
        }
    }

    /// A file, or another descriptor, behind `<` or `>`: no argument.
    fn redirect(&mut self, rest: &mut std::iter::Peekable<std::str::Chars<'_>>) {
        if self.word.bytes().all(|byte| byte.is_ascii_digit()) {
            self.word.clear();
        }
        self.end_word();
        while rest
            .next_if(|next| matches!(*next, '>' | '&' | ' '))
            .is_some()
        {}
        while rest
            .next_if(|next| !next.is_whitespace() && !matches!(*next, ';' | '|' | '&'))
            .is_some()
        {}
    }
}
