//! What a person wants to know when something does not work: one line per fact, with what to do about it.
//!
//! - [`machine`]: the kernel, and which backends follow from it. - [`tools`]: shells and other programs.
//! - [`places`]: directories, descriptors, memory. - [`records`]: the store.
//!
//! Nothing here needs a daemon, so that it can also be said why one does not start. What only a daemon knows is added
//! by whoever has one.

pub mod machine;
pub mod places;
pub mod records;
pub mod tools;

use trl_proto::doctor::{Finding, Health};

/// A fact that is only to be known.
pub(crate) fn info(id: &str, title: &str, value: impl Into<String>) -> Finding {
    Finding::new(id, title, Health::Info, value)
}

/// A number of bytes for people.
pub fn size(bytes: u64) -> String {
    let units = [("GiB", 1u64 << 30), ("MiB", 1 << 20), ("KiB", 1 << 10)];
    match units.iter().find(|(_, scale)| bytes >= *scale) {
        Some((unit, scale)) => format!("{:.1} {unit}", bytes as f64 / *scale as f64),
        None => format!("{bytes} B"),
    }
}
