//! Control groups, by direct reads and writes of their files.
//!
//! - [`layout`]: which hierarchies there are, where this process stands in them, what may be made below.

pub mod layout;

pub use layout::{Hierarchy, Layout, Standing, Version};
