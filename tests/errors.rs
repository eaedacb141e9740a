//! `docs/errors.md` lists every message with its cause and its cure.
//!
//! Messages are found in two ways: in the expected texts under `tests/ui`, and as string literals in the sources that word
//! them. In the page, each is a heading; `..` stands for what differs from case to case.

use std::fs;
use std::path::{Path, PathBuf};

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// A message as the page writes it.
struct Entry {
    pattern: String,
    text: String,
}

fn entries() -> Vec<Entry> {
    let page = fs::read_to_string(root().join("docs/errors.md")).unwrap();
    let sections = page.split("\n### ").skip(1);
    sections
        .map(|section| {
            let (heading, rest) = section.split_once('\n').unwrap_or((section, ""));
            let text = rest.split("\n## ").next().unwrap_or_default();
            Entry {
                pattern: heading.trim().to_string(),
                text: text.split_whitespace().collect::<Vec<_>>().join(" "),
            }
        })
        .collect()
}

/// Whether a text is the pattern with something in place of each `..`.
fn matches(pattern: &str, text: &str) -> bool {
    let mut parts = pattern.split("..");
    let Some(mut rest) = text.strip_prefix(parts.next().unwrap_or_default()) else { return false };
    let parts: Vec<_> = parts.collect();
    let Some((last, middle)) = parts.split_last() else { return rest.is_empty() };
    for part in middle {
        let Some(at) = rest.find(part) else { return false };
        rest = &rest[at + part.len()..];
    }
    rest.ends_with(last)
}

fn files(folder: &Path, extension: &str) -> Vec<PathBuf> {
    let mut found = vec![];
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            found.extend(files(&path, extension));
        } else if path.extension().is_some_and(|e| e == extension) {
            found.push(path);
        }
    }
    found.sort();
    found
}

/// The messages in an expected text, without what follows in further lines.
fn pinned(stderr: &str) -> impl Iterator<Item = &str> {
    stderr.lines().filter_map(|line| {
        let rest = line.strip_prefix("error")?;
        let rest = if rest.starts_with('[') { rest.split_once(']')?.1 } else { rest };
        rest.strip_prefix(": ")
    })
}

#[test]
fn every_pinned_message_has_an_entry() {
    let entries = entries();
    let mut missing = vec![];
    let texts = files(&root().join("tests/ui"), "stderr");
    assert!(texts.len() >= 60, "only {} messages are pinned", texts.len());
    for file in texts {
        let text = fs::read_to_string(&file).unwrap();
        for message in pinned(&text) {
            // Headings may leave out the operation.
            let bare = message
                .split_once(": ")
                .filter(|(op, _)| !op.contains(' '))
                .map_or(message, |(_, rest)| rest);
            let known = |entry: &Entry| matches(&entry.pattern, message) || matches(&entry.pattern, bare);
            if !entries.iter().any(known) {
                missing.push(format!("{}: {message}", file.file_name().unwrap().display()));
            }
        }
    }
    assert!(missing.is_empty(), "docs/errors.md has no entry for\n{}", missing.join("\n"));
}

/// String literals of a Rust source, each with the code in front of it. Comments and tests at the end are left out.
fn literals(source: &str) -> Vec<(String, String)> {
    let source = source.split("#[cfg(test)]\nmod tests {").next().unwrap_or_default();
    let mut found = vec![];
    let mut code = String::new();
    let mut chars = source.chars().peekable();
    while let Some(c) = chars.next() {
        match c {
            '/' if chars.peek() == Some(&'/') => while chars.next_if(|c| *c != '\n').is_some() {},
            '\'' => {
                // A character, or the start of a lifetime.
                let mut ahead = chars.clone();
                let first = ahead.next();
                let length = if first == Some('\\') { 2 } else { 1 };
                if chars.clone().nth(length) == Some('\'') {
                    chars.nth(length);
                }
            }
            '"' => {
                let mut text = String::new();
                while let Some(c) = chars.next() {
                    match c {
                        '"' => break,
                        '\\' => match chars.next() {
                            // The line goes on in the next one.
                            Some('\n') => while chars.next_if(|c| c.is_whitespace()).is_some() {},
                            Some('n') => text.push('\n'),
                            Some(c) => text.push(c),
                            None => break,
                        },
                        c => text.push(c),
                    }
                }
                let start = code.len().saturating_sub(120);
                found.push((code[start..].to_string(), text));
            }
            c if c.is_ascii() => code.push(c),
            _ => {}
        }
    }
    found
}

/// A format string as a pattern: what is inserted becomes `..`.
fn pattern(format: &str) -> String {
    let mut text = String::new();
    let mut chars = format.lines().next().unwrap_or_default().chars().peekable();
    while let Some(c) = chars.next() {
        match c {
            '{' if chars.peek() == Some(&'{') => text.push(chars.next().unwrap_or_default()),
            '}' if chars.peek() == Some(&'}') => text.push(chars.next().unwrap_or_default()),
            '{' => {
                while chars.next_if(|c| *c != '}').is_some() {}
                chars.next();
                text.push_str("..");
            }
            c => text.push(c),
        }
    }
    while text.contains("....") {
        text = text.replace("....", "..");
    }
    text
}

/// True for literals that words a message: what panics on misuse by a caller in this repository, or completes the text of
/// rustc beside the message, is none.
fn is_message(code: &str, text: &str) -> bool {
    const OTHERS: &[&str] = &[
        "panic!(",
        "expect(",
        "unreachable!(",
        "assert!(",
        "label =",
        "note =",
        "reason =",
        "alias =",
        "concat!(",
    ];
    // The second argument of an assertion is its message.
    let asserts = code.rsplit(';').next().is_some_and(|statement| statement.contains("assert"));
    let other = asserts || OTHERS.iter().any(|other| code.trim_end().ends_with(other));
    let example =
        text.ends_with('\n') || text.contains("traced") || text.contains("Tensor<") || text.starts_with(");");
    // A sentence that ends with a point is documentation.
    let example = example || text.ends_with('.') || text.contains("= weights(");
    text.split_whitespace().count() >= 5 && !other && !example
}

#[test]
fn every_message_of_the_sources_has_an_entry() {
    let entries = entries();
    let folder = root().join("luminal-core/src/tensor");
    let mut sources = files(&folder, "rs");
    sources.retain(|file| !file.starts_with(folder.join("tests")));
    sources.push(root().join("luminal-macros/src/messages.rs"));
    let mut missing = vec![];
    let mut count = 0;
    for file in sources {
        for (code, text) in literals(&fs::read_to_string(&file).unwrap()) {
            if !is_message(&code, &text) {
                continue;
            }
            count += 1;
            let pattern = pattern(&text);
            // A rule that has its own literal may follow.
            let pattern = pattern.trim_end_matches("..").trim_start_matches("..");
            // A part of a message may be named in the text of an entry.
            let known = |entry: &Entry| entry.pattern.contains(pattern) || entry.text.contains(pattern);
            if !entries.iter().any(known) {
                missing.push(format!("{}: {pattern}", file.file_name().unwrap().display()));
            }
        }
    }
    assert!(count >= 60, "only {count} messages were found in the sources");
    assert!(missing.is_empty(), "docs/errors.md has no entry for\n{}", missing.join("\n"));
}

#[test]
fn every_entry_tells_cause_and_cure() {
    for entry in entries() {
        let Entry { pattern, text } = entry;
        assert!(text.contains("Cure:"), "the entry `{pattern}` has no cure");
        assert!(text.trim().split("Cure:").next().unwrap().len() > 20, "the entry `{pattern}` has no cause");
    }
}
