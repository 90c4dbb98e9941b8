//! Enumerations and records as columns: the word, or the JSON, that the wire has for them.

use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::error::{Result, StoreError};

/// The word of a variant without fields.
pub(crate) fn to_word<T: Serialize>(value: &T) -> Result<String> {
    match serde_json::to_value(value)? {
        serde_json::Value::String(word) => Ok(word),
        other => Err(StoreError::Internal(format!("{other} is not a word"))),
    }
}

pub(crate) fn from_word<T: DeserializeOwned>(word: String) -> Result<T> {
    Ok(serde_json::from_value(serde_json::Value::String(word))?)
}

/// An id as the store has it, checked again: a file can be edited.
pub(crate) fn id<T: std::str::FromStr<Err = String>>(text: &str) -> Result<T> {
    text.parse().map_err(StoreError::Internal)
}

pub(crate) fn optional_id<T: std::str::FromStr<Err = String>>(text: Option<String>) -> Result<Option<T>> {
    text.as_deref().map(id).transpose()
}
