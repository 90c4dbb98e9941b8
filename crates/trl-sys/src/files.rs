//! Files by ways that must not lead elsewhere, and what is open by another name.
//!
//! The flags and errors are those of `open`: whoever calls this opens files at large beside.

pub use crate::os::files::{
    LOOK, bits_of, change_mode, give_name, mode_of, name_of, nameless, open_again, open_beneath,
    owner_in_memory, sync_around, unlinked,
};

/// Where the way to a file may lead. Out of the directory it begins in: never.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Way {
    /// Through links that stay inside, on one file system.
    Inside,
    /// Through no link, on one file system.
    Straight,
    /// Through no link.
    AcrossMounts,
}

/// Whose a file is, and who may do what with it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Owner {
    pub uid: u32,
    pub gid: u32,
    pub mode: u16,
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::io::Read;
    use std::os::unix::fs::symlink;
    use std::path::Path;

    use rustix::fs::{CWD, Mode, OFlags};
    use rustix::io::Errno;

    use super::*;

    #[test]
    fn a_way_leads_through_what_it_may_and_never_out() {
        let dir = tempfile::tempdir().unwrap();
        fs::create_dir(dir.path().join("w")).unwrap();
        fs::write(dir.path().join("w/file"), "x").unwrap();
        fs::write(dir.path().join("secret"), "x").unwrap();
        symlink("file", dir.path().join("w/in")).unwrap();
        symlink("../secret", dir.path().join("w/out")).unwrap();
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let top = rustix::fs::open(dir.path().join("w"), flags, Mode::empty()).unwrap();
        let open = |path: &str, way| open_beneath(&top, Path::new(path), LOOK | OFlags::CLOEXEC, way).err();
        for way in [Way::Inside, Way::Straight, Way::AcrossMounts] {
            assert_eq!(open("file", way), None);
            assert_eq!(open("../secret", way), Some(Errno::XDEV), "{way:?}");
        }
        assert_eq!(open("in", Way::Inside), None);
        assert_eq!(open("in", Way::Straight), Some(Errno::LOOP));
        assert_eq!(open("out", Way::Inside), Some(Errno::XDEV));
    }

    #[test]
    fn what_is_looked_at_is_named_and_opened_again() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("f");
        fs::write(&path, "text").unwrap();
        let seen = rustix::fs::openat(CWD, &path, LOOK | OFlags::CLOEXEC, Mode::empty()).unwrap();
        assert_eq!(name_of(&seen).unwrap(), path);
        let again = open_again(&seen, OFlags::RDONLY | OFlags::CLOEXEC).unwrap();
        let mut text = String::new();
        fs::File::from(again).read_to_string(&mut text).unwrap();
        assert_eq!(text, "text");
        let owner = owner_in_memory(&path).unwrap();
        assert_eq!((owner.uid, owner.mode & 0o600), (crate::machine::effective_uid(), 0o600));
        assert!(unlinked(dir.path(), Mode::RUSR | Mode::WUSR).is_ok());
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 1, "it has no name");
    }
}
