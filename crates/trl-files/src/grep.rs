//! Lines by a regular expression.

use std::io;
use std::path::{Path, PathBuf};
use std::time::Instant;

use grep_regex::{RegexMatcher, RegexMatcherBuilder};
use grep_searcher::{
    BinaryDetection, Searcher, SearcherBuilder, Sink, SinkContext, SinkContextKind, SinkMatch,
};
use rustix::fs::OFlags;

use crate::Files;
use crate::error::{Error, Result};
use crate::glob::{DEEPEST, Hidden, pattern};
use crate::list::Found;
use crate::meta::Kind;
use crate::path::Rel;
use crate::root::Last;
use crate::walk::{Reach, Walk};

/// What is looked for.
#[derive(Debug, Clone, Default)]
pub struct Query {
    pub pattern: String,
    pub syntax: Syntax,
    pub case: Case,
    /// Only files whose path matches.
    pub glob: Option<String>,
    /// Lines before and after.
    pub context: usize,
    pub hidden: Hidden,
    pub limit: usize,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Syntax {
    #[default]
    Regex,
    /// The text itself.
    Literal,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Case {
    #[default]
    Matters,
    Ignored,
}

/// A line that matches, and those around it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Hit {
    pub place: PathBuf,
    /// From 1.
    pub line: u64,
    /// Of the line, in the file.
    pub offset: u64,
    /// Without its end, and cut where it is very long.
    pub text: Vec<u8>,
    pub before: Vec<Vec<u8>>,
    pub after: Vec<Vec<u8>>,
}

/// A line longer than this is no line for people.
const LONGEST: usize = 1000;
/// Memory for one line, and for what the expression needs.
const HEAP: usize = 4 << 20;

impl Files {
    /// Binary files are left out: the first NUL ends them.
    pub fn grep(&self, path: &Rel, query: &Query) -> Result<Found<Hit>> {
        let matcher = matcher(query)?;
        let only = query.glob.as_deref().map(pattern).transpose()?;
        let top = self.root.find(path, Last::Follow)?;
        self.may_read(&top.place)?;
        let mut search = Search {
            searcher: searcher(query.context),
            matcher,
            hits: Vec::new(),
            limit: query.limit,
            more: false,
            until: Instant::now() + self.limits.patience,
        };
        if top.meta.kind == Kind::File {
            search.file(self, &top.place);
            return Ok(search.found(true));
        }
        top.expect_dir()?;
        let reach = Reach::Readable { depth: DEEPEST };
        let mut walk = Walk::through(self, &top.place, reach, query.hidden.ignoring());
        for entry in &mut walk {
            let below = entry.place.strip_prefix(&top.place).unwrap_or(&entry.place);
            if entry.kind != Kind::File || only.as_ref().is_some_and(|only| !only.is_match(below)) {
                continue;
            }
            search.file(self, &entry.place);
            if search.more {
                break;
            }
        }
        let complete = walk.is_complete();
        Ok(search.found(complete))
    }
}

fn matcher(query: &Query) -> Result<RegexMatcher> {
    let built = RegexMatcherBuilder::new()
        .case_insensitive(query.case == Case::Ignored)
        .fixed_strings(query.syntax == Syntax::Literal)
        .multi_line(true)
        .line_terminator(Some(b'\n'))
        .size_limit(HEAP)
        .dfa_size_limit(HEAP)
        .build(&query.pattern);
    built.map_err(|e| Error::invalid(Path::new(&query.pattern), format!("is no expression: {e}")))
}

fn searcher(context: usize) -> Searcher {
    SearcherBuilder::new()
        .line_number(true)
        .before_context(context)
        .after_context(context)
        .heap_limit(Some(HEAP))
        .binary_detection(BinaryDetection::quit(0))
        .build()
}

struct Search {
    searcher: Searcher,
    matcher: RegexMatcher,
    hits: Vec<Hit>,
    limit: usize,
    more: bool,
    until: Instant,
}

impl Search {
    /// One that cannot be read, or whose lines are too long, is passed over.
    fn file(&mut self, files: &Files, place: &Path) {
        let opened = files.root.at(place).and_then(|found| found.open_file(OFlags::RDONLY));
        let Ok(file) = opened else { return };
        let mut sink = Lines {
            place,
            hits: &mut self.hits,
            before: Vec::new(),
            limit: self.limit,
            more: &mut self.more,
            until: self.until,
        };
        let _ = self.searcher.search_reader(&self.matcher, file, &mut sink);
    }

    fn found(self, complete: bool) -> Found<Hit> {
        Found { items: self.hits, truncated: self.more || !complete }
    }
}

struct Lines<'a> {
    place: &'a Path,
    hits: &'a mut Vec<Hit>,
    /// Lines that came before the next hit.
    before: Vec<Vec<u8>>,
    limit: usize,
    more: &'a mut bool,
    until: Instant,
}

impl Sink for Lines<'_> {
    type Error = io::Error;

    fn matched(&mut self, _searcher: &Searcher, found: &SinkMatch<'_>) -> io::Result<bool> {
        if self.hits.len() >= self.limit || Instant::now() >= self.until {
            *self.more = true;
            return Ok(false);
        }
        self.hits.push(Hit {
            place: self.place.into(),
            line: found.line_number().unwrap_or(0),
            offset: found.absolute_byte_offset(),
            text: cut(found.bytes()),
            before: std::mem::take(&mut self.before),
            after: Vec::new(),
        });
        Ok(true)
    }

    fn context(&mut self, _searcher: &Searcher, line: &SinkContext<'_>) -> io::Result<bool> {
        match (line.kind(), self.hits.last_mut()) {
            (SinkContextKind::After, Some(hit)) => hit.after.push(cut(line.bytes())),
            (SinkContextKind::Before, _) => self.before.push(cut(line.bytes())),
            _ => {}
        }
        Ok(true)
    }
}

fn cut(line: &[u8]) -> Vec<u8> {
    let line = line.strip_suffix(b"\n").unwrap_or(line);
    let line = line.strip_suffix(b"\r").unwrap_or(line);
    line[..line.len().min(LONGEST)].to_vec()
}
