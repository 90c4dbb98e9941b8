//! The types a setting can have: how each is read from TOML or from text, and how it is shown.
//!
//! Flags and variables are text. TOML has numbers and lists of its own; a string there is read like a flag, so that
//! sizes and durations may use the units of [`units`] in the file too.

use std::ffi::OsStr;
use std::ops::RangeInclusive;
use std::path::PathBuf;
use std::time::Duration;

use serde_json::{Value, json};
use toml::de::DeValue;
use tracing_subscriber::EnvFilter;
use trl_core::case::check::valid_id;
use trl_proto::sandbox::Mode;

use super::units;
use super::{HttpAddr, LogFilter, LogFormat};

/// A value before it has a type.
#[derive(Debug)]
pub(super) enum Raw<'a> {
    Toml(&'a DeValue<'a>),
    Text(&'a OsStr),
}

impl Raw<'_> {
    fn text(&self) -> Option<&str> {
        match self {
            Self::Toml(value) => value.as_str(),
            Self::Text(text) => text.to_str(),
        }
    }
}

/// A type that settings have.
pub(super) trait Field: Sized {
    /// The value, or what it must be (to follow the key's name in a sentence).
    fn read(raw: &Raw<'_>) -> Result<Self, String>;

    /// What a range applies to.
    fn magnitude(&self) -> Option<u64> {
        None
    }

    fn show(&self) -> Value;
}

/// Reads `raw` into `place` if it is of the right type and within `range`.
pub(super) fn assign<T: Field>(
    place: &mut T,
    raw: &Raw<'_>,
    range: &RangeInclusive<u64>,
) -> Result<(), String> {
    let value = T::read(raw)?;
    if value.magnitude().is_some_and(|m| !range.contains(&m)) {
        return Err(match *range.end() {
            u64::MAX => format!("must be {} or more", range.start()),
            end => format!("must be between {} and {end}", range.start()),
        });
    }
    *place = value;
    Ok(())
}

impl Field for u64 {
    fn read(raw: &Raw<'_>) -> Result<Self, String> {
        let number = match raw {
            Raw::Toml(DeValue::Integer(n)) => Self::from_str_radix(n.as_str(), n.radix()).ok(),
            _ => raw.text().and_then(units::whole),
        };
        number.ok_or_else(|| "must be a whole number, 0 or more".into())
    }

    fn magnitude(&self) -> Option<u64> {
        Some(*self)
    }

    fn show(&self) -> Value {
        json!(self)
    }
}

/// 0 is none.
impl Field for Option<u64> {
    fn read(raw: &Raw<'_>) -> Result<Self, String> {
        u64::read(raw).map(|number| Some(number).filter(|n| *n != 0))
    }

    fn magnitude(&self) -> Option<u64> {
        *self
    }

    fn show(&self) -> Value {
        json!(self)
    }
}

/// 0 is none; durations have units.
impl Field for Option<f64> {
    fn read(raw: &Raw<'_>) -> Result<Self, String> {
        let number = Duration::read(raw).map_err(|_| "must be a number, 0 or more")?.as_secs_f64();
        Ok(Some(number).filter(|n| *n != 0.0))
    }

    fn show(&self) -> Value {
        json!(self)
    }
}

impl Field for bool {
    fn read(raw: &Raw<'_>) -> Result<Self, String> {
        match (raw, raw.text()) {
            (Raw::Toml(DeValue::Boolean(value)), _) => Ok(*value),
            (_, Some("true")) => Ok(true),
            (_, Some("false")) => Ok(false),
            _ => Err("must be true or false".into()),
        }
    }

    fn show(&self) -> Value {
        json!(self)
    }
}

impl Field for Option<HttpAddr> {
    fn read(raw: &Raw<'_>) -> Result<Self, String> {
        match raw.text() {
            Some("off") => Ok(None),
            Some(text) => text.parse().map(Some),
            None => Err("must be an address in quotes".into()),
        }
    }

    fn show(&self) -> Value {
        json!(self.as_ref().map_or_else(|| "off".into(), ToString::to_string))
    }
}

impl Field for usize {
    fn read(raw: &Raw<'_>) -> Result<Self, String> {
        Self::try_from(u64::read(raw)?).map_err(|_| "is too large for this machine".into())
    }

    fn magnitude(&self) -> Option<u64> {
        u64::try_from(*self).ok()
    }

    fn show(&self) -> Value {
        json!(self)
    }
}

impl Field for Duration {
    fn read(raw: &Raw<'_>) -> Result<Self, String> {
        let text = match raw {
            Raw::Toml(DeValue::Integer(n)) if n.radix() == 10 => Some(n.as_str()),
            Raw::Toml(DeValue::Float(n)) => Some(n.as_str()),
            _ => raw.text(),
        };
        let text = text.ok_or("must be a number of seconds")?;
        units::duration(text).map_err(|why| format!("must be a number of seconds: {why}"))
    }

    fn magnitude(&self) -> Option<u64> {
        Some(self.as_secs())
    }

    fn show(&self) -> Value {
        if self.subsec_nanos() == 0 { json!(self.as_secs()) } else { json!(self.as_secs_f64()) }
    }
}

impl Field for PathBuf {
    fn read(raw: &Raw<'_>) -> Result<Self, String> {
        match raw {
            Raw::Toml(value) => {
                let path = Self::from(value.as_str().ok_or("must be a path in quotes")?);
                // Relative to what? The daemon's directory is not the one the file was written in.
                path.is_absolute().then_some(path).ok_or_else(|| "must be an absolute path".into())
            }
            Raw::Text(text) => std::path::absolute(text).map_err(|e| format!("must be a path: {e}")),
        }
    }

    fn show(&self) -> Value {
        json!(self.to_string_lossy())
    }
}

impl Field for Option<PathBuf> {
    fn read(raw: &Raw<'_>) -> Result<Self, String> {
        PathBuf::read(raw).map(Some)
    }

    fn show(&self) -> Value {
        self.as_ref().map_or(Value::Null, Field::show)
    }
}

/// The id of a case; empty is none.
impl Field for String {
    fn read(raw: &Raw<'_>) -> Result<Self, String> {
        let text = raw.text().filter(|text| !text.is_empty());
        text.map(Self::from).ok_or_else(|| "must be a name in quotes".into())
    }

    fn show(&self) -> Value {
        json!(self)
    }
}

impl Field for Option<String> {
    fn read(raw: &Raw<'_>) -> Result<Self, String> {
        match raw.text() {
            Some("") => Ok(None),
            Some(id) if valid_id(id) => Ok(Some(id.into())),
            _ => Err("must be the id of a case in quotes".into()),
        }
    }

    fn show(&self) -> Value {
        json!(self)
    }
}

impl Field for Vec<String> {
    fn read(raw: &Raw<'_>) -> Result<Self, String> {
        const EXPECTED: &str = "must be a list of names";
        match raw {
            Raw::Toml(DeValue::Array(items)) => items
                .iter()
                .map(|item| item.get_ref().as_str().map(String::from).ok_or_else(|| EXPECTED.into()))
                .collect(),
            Raw::Toml(_) => Err(format!("{EXPECTED}, such as [\"EDITOR\"]")),
            Raw::Text(_) => {
                let text = raw.text().ok_or(EXPECTED)?;
                Ok(text.split(',').map(str::trim).filter(|s| !s.is_empty()).map(String::from).collect())
            }
        }
    }

    fn show(&self) -> Value {
        json!(self)
    }
}

impl Field for LogFilter {
    fn read(raw: &Raw<'_>) -> Result<Self, String> {
        let text = raw.text().ok_or("must be a level or a filter in quotes")?;
        EnvFilter::try_new(text)
            .map(|_| Self(text.to_string()))
            .map_err(|e| format!("must be a level (error, warn, info, debug, trace) or a filter: {e}"))
    }

    fn show(&self) -> Value {
        json!(self.0)
    }
}

impl Field for Mode {
    fn read(raw: &Raw<'_>) -> Result<Self, String> {
        let mode = raw.text().and_then(|name| trl_proto::by_name(name).ok());
        mode.filter(|mode| *mode != Self::Custom)
            .ok_or_else(|| "must be \"off\", \"read-only\" or \"workspace-write\"".into())
    }

    fn show(&self) -> Value {
        json!(self)
    }
}

impl Field for LogFormat {
    fn read(raw: &Raw<'_>) -> Result<Self, String> {
        match raw.text() {
            Some("text") => Ok(Self::Text),
            Some("json") => Ok(Self::Json),
            _ => Err("must be \"text\" or \"json\"".into()),
        }
    }

    fn show(&self) -> Value {
        json!(match self {
            Self::Text => "text",
            Self::Json => "json",
        })
    }
}
