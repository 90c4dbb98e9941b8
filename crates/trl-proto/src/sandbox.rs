//! `sandbox`: what boundary is asked for, what boundary there is, and what it refused.

use serde::de::value::MapAccessDeserializer;
use serde::de::{MapAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize};

/// How much a program may do.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Mode {
    /// Everything its user may.
    #[default]
    Off,
    /// Read the workspace and the system; write nothing.
    ReadOnly,
    /// The same, and write the workspace and a private TMPDIR.
    WorkspaceWrite,
    /// Read the system and what is listed; write what is listed and a private TMPDIR.
    Custom,
}

impl Mode {
    pub fn name(self) -> &'static str {
        match self {
            Self::Off => "off",
            Self::ReadOnly => "read-only",
            Self::WorkspaceWrite => "workspace-write",
            Self::Custom => "custom",
        }
    }
}

/// Which network a program has.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Net {
    #[default]
    None,
    /// One of its own that reaches nobody else.
    Loopback,
    All,
}

/// The boundary that is asked for: a mode's name, or an object.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct SandboxParams {
    pub mode: Mode,
    /// Of `custom`: absolute paths.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub read: Option<Vec<String>>,
    /// Of `custom`: absolute paths.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub write: Option<Vec<String>>,
    /// Absolute paths that are neither read nor written, wherever they are.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub deny: Option<Vec<String>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub net: Option<Net>,
    /// Run with what this kernel gives instead of not at all.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub best_effort: Option<bool>,
}

impl From<Mode> for SandboxParams {
    fn from(mode: Mode) -> Self {
        Self { mode, ..Self::default() }
    }
}

/// The object as it is read.
#[derive(Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
struct Object {
    mode: Mode,
    #[serde(default)]
    read: Option<Vec<String>>,
    #[serde(default)]
    write: Option<Vec<String>>,
    #[serde(default)]
    deny: Option<Vec<String>>,
    #[serde(default)]
    net: Option<Net>,
    #[serde(default)]
    best_effort: Option<bool>,
}

/// By hand, since an untagged enum could not say which field is wrong.
impl<'de> Deserialize<'de> for SandboxParams {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Either;
        impl<'de> Visitor<'de> for Either {
            type Value = SandboxParams;

            fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str("a mode or an object")
            }

            fn visit_str<E: serde::de::Error>(self, name: &str) -> Result<SandboxParams, E> {
                Mode::deserialize(serde::de::value::StrDeserializer::new(name)).map(SandboxParams::from)
            }

            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<SandboxParams, A::Error> {
                let Object { mode, read, write, deny, net, best_effort } =
                    Object::deserialize(MapAccessDeserializer::new(map))?;
                Ok(SandboxParams { mode, read, write, deny, net, best_effort })
            }
        }
        deserializer.deserialize_any(Either)
    }
}

#[cfg(feature = "schema")]
impl schemars::JsonSchema for SandboxParams {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "SandboxParams".into()
    }

    fn json_schema(generator: &mut schemars::SchemaGenerator) -> schemars::Schema {
        let (mode, object) = (generator.subschema_for::<Mode>(), generator.subschema_for::<Object>());
        schemars::json_schema!({
            "description": "The boundary that is asked for: a mode's name, or an object.",
            "anyOf": [mode, object]
        })
    }
}

/// The boundary there is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct SandboxReport {
    pub mode: Mode,
    /// What enforces it: `landlock+seccomp+namespaces` at best, `none` without a sandbox.
    pub backend: String,
    /// The kernel's version of Landlock.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub abi: Option<i32>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub net: Option<Net>,
    /// The directory it is around, without links: a name may have led elsewhere since it was last used.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub workspace: Option<String>,
    pub enforced: Vec<String>,
    pub not_enforced: Vec<String>,
}

impl Default for SandboxReport {
    fn default() -> Self {
        Self::off()
    }
}

impl SandboxReport {
    pub fn off() -> Self {
        Self {
            mode: Mode::Off,
            backend: "none".into(),
            abi: None,
            workspace: None,
            net: None,
            enforced: Vec::new(),
            not_enforced: Vec::new(),
        }
    }
}

/// How sure it is that the sandbox refused something.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Confidence {
    /// The kernel said so.
    Proven,
    /// The command's words, and a look at what it names, say so.
    Likely,
}

/// Something a sandbox refused.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Denied {
    pub confidence: Confidence,
    /// `unix-socket`, `network`, `mount`, `ptrace`, ... or `read`, `write`, `open` of a file.
    pub op: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
    pub message: String,
}

/// What a denial means to whoever asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum OnDenied {
    /// The result says so.
    #[default]
    Report,
    /// There is no result but the error `SANDBOX_DENIED`, which has it.
    Fail,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(json: &str) -> Result<SandboxParams, String> {
        serde_json::from_str(json).map_err(|e| e.to_string())
    }

    #[test]
    fn a_name_or_an_object() {
        assert_eq!(read(r#""read-only""#).unwrap(), SandboxParams::from(Mode::ReadOnly));
        let full = read(
            r#"{"mode":"custom","read":["/a"],"write":[],"deny":["/a/b"],"net":"loopback","best_effort":true}"#,
        );
        let full = full.unwrap();
        assert_eq!((full.mode, full.net, full.best_effort), (Mode::Custom, Some(Net::Loopback), Some(true)));
        assert_eq!(read(&serde_json::to_string(&full).unwrap()).unwrap(), full);
    }

    #[test]
    fn a_mode_has_one_name() {
        for mode in [Mode::Off, Mode::ReadOnly, Mode::WorkspaceWrite, Mode::Custom] {
            assert_eq!(serde_json::to_value(mode).unwrap(), mode.name());
        }
    }

    #[test]
    fn what_is_wrong_is_named() {
        assert!(read(r#""readonly""#).unwrap_err().contains("unknown variant `readonly`"));
        assert!(read(r#"{"mode":"off","nett":"all"}"#).unwrap_err().contains("unknown field `nett`"));
        assert!(read(r#"{"net":"all"}"#).unwrap_err().contains("missing field `mode`"));
        assert!(read("3").unwrap_err().contains("expected a mode or an object"));
    }
}
