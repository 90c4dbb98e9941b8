//! Runs the `console` blocks of the documents with the real binary, and compares the output with what the pages show.
//!
//! 1. [`page`] reads a page: its `console` blocks, their commands, and the output that the page shows.
//! 2. [`machine`] is the machine of one reader: an empty home, `trl` on the `PATH`, and a running daemon.
//! 3. [`shell`] types the commands of a page into one interactive bash on a terminal.
//! 4. [`masks`] replaces what no two runs share, in the shown and in the actual text.
//! 5. [`run`] runs a page, compares, and checks that the page has left nothing behind.
//!
//! Each page is a test named by its path. The test `marks` is about the blocks that are not run; `check_of_...` are about
//! this program.
//!
//! How a page is written:
//! - A command begins with `$ ` and goes on over as many lines as bash asks for: after a backslash, in an open quote, in a
//!   here-document. These further lines stand as they are typed.
//! - The output is all lines from there to the next `$ ` line. Blank lines at its end are layout. Nothing is a wildcard.
//! - All commands of a page run in order, in one shell that begins in the home directory. A command has 60 s.
//! - `trl serve --http 127.0.0.1:7870` runs already, unless a command of the page has `trl serve` in it.
//! - A page leaves no session, terminal, runtime, token, request or file in `~/.config`; README.md leaves no file at all.
//! - A block that cannot be run has `<!-- not run: REASON -->` above its fence, with at most blank lines between.
//!
//! One page: `cargo nextest run -p trl --test documents -E 'test(=docs/guide.md)'`. With `UPDATE_DOCS=1` a page whose
//! output differs is written anew with the output of this run: read the difference before you keep it.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)] // a test fails by panicking

mod machine;
mod masks;
mod page;
mod run;
mod shell;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use libtest_mimic::{Arguments, Failed, Trial};

use page::{Block, Page};

/// The most blocks of all pages together that may be marked as not run.
const MOST_MARKS: usize = 10;

fn main() -> ExitCode {
    let mut arguments = Arguments::from_args();
    // Every process below this one belongs to the page that runs.
    arguments.test_threads = Some(1);
    let mut trials = vec![
        Trial::test("marks", marks),
        Trial::test("check_of_masks", || {
            masks::check();
            Ok(())
        }),
        Trial::test("check_of_pages", || {
            page::check();
            Ok(())
        }),
    ];
    for name in names() {
        let page = Page::read(&root(), &name);
        if page.as_ref().is_ok_and(|page| page.commands().next().is_none()) {
            continue;
        }
        trials.push(Trial::test(name, move || run::run(&page?).map_err(Failed::from)));
    }
    libtest_mimic::run(&arguments, trials).exit_code()
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// The paths of all pages below [`root`], sorted.
fn names() -> Vec<String> {
    let entries = |dir: &str| {
        let found = fs::read_dir(root().join(dir)).expect("a directory of the repository");
        found
            .map(|entry| entry.expect("an entry").file_name().into_string().expect("UTF-8"))
            .collect::<Vec<_>>()
    };
    let docs =
        entries("docs").into_iter().filter(|name| name.ends_with(".md")).map(|name| format!("docs/{name}"));
    let clients = entries("clients").into_iter().map(|name| format!("clients/{name}/README.md"));
    let mut all: Vec<String> = std::iter::once("README.md".to_string()).chain(docs).chain(clients).collect();
    all.retain(|name| root().join(name).is_file());
    all.sort();
    all
}

/// Prints the blocks that are not run, and fails when there are too many.
fn marks() -> Result<(), Failed> {
    let mut count = 0;
    for name in names() {
        // A page that cannot be read fails as its own test.
        let Ok(Page { blocks, .. }) = Page::read(&root(), &name) else { continue };
        for Block { line, mark, .. } in blocks {
            let Some(reason) = mark else { continue };
            println!("not run: {name}:{line}: {reason}");
            count += 1;
        }
    }
    if count > MOST_MARKS {
        return Err(format!("{count} blocks are marked as not run, and at most {MOST_MARKS} may be").into());
    }
    Ok(())
}
