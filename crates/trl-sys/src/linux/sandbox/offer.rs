//! What of a boundary this kernel gives, before anybody asks for one: the same conditions as where it is made.

use super::landlock::{WITH_SCOPES, WITH_TRUNCATE, abi};
use super::{Layer, Layers};
use crate::kernel::{self, Presence};

/// What a sandbox would lack here.
pub fn missing() -> Layers {
    let namespaces = kernel::mount_namespaces() == Presence::Present;
    missing_with(abi(), kernel::seccomp_actions().is_some(), namespaces)
}

fn missing_with(abi: i32, seccomp: bool, namespaces: bool) -> Layers {
    let mut missing = Layers::default();
    let mut without = |layers: &[Layer]| layers.iter().for_each(|layer| missing.add(*layer));
    if abi < 1 || abi < WITH_TRUNCATE && !namespaces {
        without(&[Layer::Files]);
    }
    if abi < WITH_SCOPES {
        without(&[Layer::Signals]);
    }
    if !namespaces {
        without(&[Layer::Metadata, Layer::Protected]);
    }
    if !seccomp {
        without(&[Layer::Network, Layer::UnixSockets, Layer::Ipc, Layer::Syscalls]);
    }
    missing
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_part_of_the_kernel_has_its_layers() {
        let names = |abi, seccomp, namespaces| {
            missing_with(abi, seccomp, namespaces).iter().map(Layer::name).collect::<Vec<_>>().join(" ")
        };
        assert_eq!(names(6, true, true), "");
        assert_eq!(names(5, true, true), "signals");
        assert_eq!(names(2, true, true), "signals", "a read-only mount cannot be truncated either");
        assert_eq!(names(2, true, false), "files metadata protected signals");
        assert_eq!(names(0, true, true), "files signals");
        assert_eq!(names(6, false, true), "network unix-sockets ipc syscalls");
    }
}
