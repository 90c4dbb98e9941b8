//! Records that have been through a redactor.

use std::ops::Deref;

use super::Redactor;

/// A record with text of other people's making.
pub trait Redact {
    /// Takes the secrets out of every text in it.
    fn redact(&mut self, with: &Redactor);
}

/// Made by [`Redactor::clean`] only: what has this type may be kept.
#[derive(Debug, Clone, PartialEq)]
pub struct Clean<T>(T);

impl<T> Clean<T> {
    pub(super) fn new(record: T) -> Self {
        Self(record)
    }

    pub fn into_inner(self) -> T {
        self.0
    }
}

impl<T> Deref for Clean<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.0
    }
}
