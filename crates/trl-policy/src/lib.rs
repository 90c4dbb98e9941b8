//! Which commands run, which wait for a person, which never do. No I/O, no clock.
//!
//! The flow of a command:
//! 1. `split` (with `lex`, and `closed` for shells nobody has studied): its text to simple commands, or the word that it is
//!    opaque. What is plain here is plain in dash, bash, zsh and busybox ash; `tests/differential` holds it to that.
//! 2. `wrapper`: what `env`, `timeout`, `sh -c` and their like run. `literal`: what stands somewhere in an opaque text.
//! 3. `rules` (with `pattern`, `file`): what people wrote. `caution`: what asks whatever they wrote.
//! 4. `judge`, `decide`: the strictest of all that. `suggest`: what a yes for longer would allow.
//! 5. `digest`: everything that a person is shown, as one number.
//!
//! # What the caller has to hold
//!
//! A text is judged by what it says. That its names mean what they meant is for whoever runs it to check, just before:
//! - each of [`Judgement::names`] resolves to the same program, without an alias or a function in between;
//! - zsh has no global or suffix aliases (`alias -g`, `alias -s`), and its options are those it starts with; bash has no
//!   `set -k`, no `extglob`;
//! - the shell has no traps and no other hooks, and no code in `PS4`; no exported variable that [`steers_programs`] has another
//!   value than at the start of the session;
//! - the text is read from a file, as a script is: history expansion and prompts are another language.

mod caution;
mod closed;
mod decide;
mod digest;
mod file;
mod judge;
mod lex;
mod literal;
mod pattern;
mod plain;
mod programs;
mod rules;
mod shell;
mod split;
mod suggest;
mod wrapper;

pub use caution::steers_programs;
pub use decide::{
    Judgement, Scene, Typing, decide, doubt_variable, judge_argv, judge_file_write, judge_terminal,
};
pub use digest::Shown;
pub use file::Place;
pub use plain::{Assignment, Command, Direction, Joint, Known, Opaque, Redirection, Split, Word};
pub use rules::{Problem, RuleSet, Source, Trust};
pub use shell::ShellKind;
pub use split::{MAX_TEXT_BYTES, split};
