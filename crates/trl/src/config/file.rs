//! The TOML layer: one level of sections, every name checked, every complaint with its line.

use std::ops::Range;
use std::path::Path;

use toml::de::{DeTable, DeValue};
use trl_proto::nearest::nearest;

use super::Config;
use super::field::Raw;
use super::keys::{KEYS, Key};
use super::origin::{ConfigError, Origin};
use super::runtimes;

/// Reads the file at `path` over `config`.
pub(super) fn apply(config: &mut Config, path: &Path) -> Result<(), ConfigError> {
    let text = std::fs::read_to_string(path)
        .map_err(|source| ConfigError::Unreadable { path: path.into(), source })?;
    let source = Source { path, text: &text };
    let table = DeTable::parse(&text).map_err(|e| ConfigError::Syntax {
        path: path.into(),
        line: e.span().map_or(1, |span| source.line(&span)),
        message: e.message().into(),
    })?;
    for (name, value) in table.get_ref() {
        let origin = source.origin(&name.span());
        match (Key::find(name.get_ref()), value.get_ref()) {
            (Some(key), value) => key.apply(config, &Raw::Toml(value), origin)?,
            (None, DeValue::Table(settings)) if is_section(name.get_ref()) => {
                apply_section(config, name.get_ref(), settings, &source)?;
            }
            (None, _) if is_section(name.get_ref()) => {
                let reason = format!("is a section: write [{}] and its settings below", name.get_ref());
                return Err(ConfigError::BadValue { origin, key: name.get_ref().to_string(), reason });
            }
            (None, _) => return Err(unknown(origin, name.get_ref())),
        }
    }
    Ok(())
}

fn apply_section(
    config: &mut Config,
    section: &str,
    settings: &DeTable<'_>,
    source: &Source<'_>,
) -> Result<(), ConfigError> {
    for (leaf, value) in settings {
        let name = format!("{section}.{}", leaf.get_ref());
        let origin = source.origin(&leaf.span());
        if let (runtimes::SECTION, DeValue::Table(table)) = (section, value.get_ref()) {
            let spec = runtimes::read(table).map_err(|reason| ConfigError::BadValue {
                origin,
                key: name,
                reason,
            })?;
            config.settings.runtimes.known.insert(leaf.get_ref().to_string(), spec);
            continue;
        }
        let key = Key::find(&name).ok_or_else(|| unknown(origin.clone(), &name))?;
        key.apply(config, &Raw::Toml(value.get_ref()), origin)?;
    }
    Ok(())
}

fn is_section(name: &str) -> bool {
    KEYS.iter().any(|key| key.section() == name)
}

/// The refusal of a name in an assignment: there is no section to stand in, so the whole name of a setting is meant, even
/// where only its last part was given.
pub(super) fn unknown_whole(origin: Origin, name: &str) -> ConfigError {
    let leaf = name.rsplit_once('.').map_or(name, |(_, leaf)| leaf);
    let by_leaf = || {
        let like = nearest(leaf, KEYS.iter().filter_map(leaf_of))?;
        KEYS.iter().find(|key| leaf_of(key) == Some(like)).map(|key| key.name)
    };
    let near = nearest(name, KEYS.iter().map(|key| key.name)).or_else(by_leaf).map(String::from);
    ConfigError::UnknownKey { origin, key: name.into(), near }
}

/// The refusal of a name that is not in the table, with the one it is most like.
///
/// A setting is compared within its own section first: `sessions.maks` is nearer to `sessions.max` than its length
/// lets on.
pub(super) fn unknown(origin: Origin, name: &str) -> ConfigError {
    let near = match name.split_once('.') {
        Some((section, leaf)) if is_section(section) => {
            let leaves = KEYS.iter().filter(|key| key.section() == section).filter_map(|key| leaf_of(key));
            nearest(leaf, leaves).map(|leaf| format!("{section}.{leaf}"))
        }
        Some(_) => nearest(name, KEYS.iter().map(|key| key.name)).map(String::from),
        None => {
            let sections = KEYS.iter().map(|key| key.section()).filter(|s| !s.is_empty());
            let top = KEYS.iter().map(|key| key.name).filter(|name| !name.contains('.'));
            nearest(name, top.chain(sections)).map(String::from)
        }
    };
    ConfigError::UnknownKey { origin, key: name.into(), near }
}

fn leaf_of(key: &Key) -> Option<&'static str> {
    key.name.split_once('.').map(|(_, leaf)| leaf)
}

/// The file, to turn byte positions into lines.
struct Source<'a> {
    path: &'a Path,
    text: &'a str,
}

impl Source<'_> {
    fn line(&self, span: &Range<usize>) -> usize {
        self.text.bytes().take(span.start).filter(|b| *b == b'\n').count() + 1
    }

    fn origin(&self, span: &Range<usize>) -> Origin {
        Origin::File { path: self.path.into(), line: self.line(span) }
    }
}
