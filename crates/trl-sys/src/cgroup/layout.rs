//! Which hierarchies of control groups a machine has, and where this process stands in them.
//!
//! 1. `/proc/self/mountinfo` says where hierarchies are mounted, `/proc/self/cgroup` where we are in each.
//! 2. [`Layout::here`] puts them together; [`Layout::standing`] says whether groups can be made below us, or why not.

use std::fs;
use std::path::{Path, PathBuf};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Version {
    V1,
    V2,
}

/// One mounted hierarchy.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Hierarchy {
    pub version: Version,
    /// Those we know and it has: of v2, those that our own group may hand on.
    pub controllers: Vec<String>,
    /// The directory of our own group.
    pub own: PathBuf,
    /// Our own group is the hierarchy's first, where the rule that inner groups have no processes does not hold.
    pub at_root: bool,
}

/// All hierarchies with controllers we know.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Layout {
    pub hierarchies: Vec<Hierarchy>,
    /// A v2 hierarchy is mounted, whether it has controllers or not.
    pub has_v2: bool,
}

/// What can be done below our own group.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Standing {
    /// Groups can be made there, with these controllers.
    Usable(Version, Vec<String>),
    /// Why not.
    Unusable(String),
}

/// What limits are made of. The others are left alone.
const KNOWN: [&str; 7] = ["memory", "pids", "cpu", "cpuacct", "freezer", "io", "blkio"];
/// Without any of these there is nothing to limit.
const LIMITING: [&str; 3] = ["memory", "pids", "cpu"];

impl Layout {
    /// As the kernel shows it to this process.
    pub fn here() -> Self {
        let read = |path: &str| fs::read_to_string(path).unwrap_or_default();
        let available = |own: &Path| {
            let text = fs::read_to_string(own.join("cgroup.controllers")).unwrap_or_default();
            text.split_whitespace().map(String::from).collect()
        };
        Self::of(&read("/proc/self/mountinfo"), &read("/proc/self/cgroup"), &available)
    }

    fn of(mounts: &str, memberships: &str, available: &dyn Fn(&Path) -> Vec<String>) -> Self {
        let mut layout = Self::default();
        for mount in mounts.lines().filter_map(Mount::parse) {
            let Some(path) = membership(memberships, &mount) else { continue };
            let own = mount.dir_of(&path);
            layout.has_v2 |= mount.version == Version::V2;
            let offered = match mount.version {
                Version::V1 => mount.options,
                Version::V2 => available(&own),
            };
            let controllers: Vec<String> =
                KNOWN.iter().filter(|k| offered.iter().any(|o| o == *k)).map(|k| k.to_string()).collect();
            let taken = layout.hierarchies.iter().any(|h| h.own == own);
            if !controllers.is_empty() && !taken {
                let at_root = path == "/" && mount.root == "/";
                layout.hierarchies.push(Hierarchy { version: mount.version, controllers, own, at_root });
            }
        }
        layout
    }

    /// In a word: `v2`, `v1`, `hybrid` or `none`.
    pub fn name(&self) -> &'static str {
        let has = |version| self.hierarchies.iter().any(|h| h.version == version);
        match (has(Version::V1), has(Version::V2) || self.has_v2) {
            (false, true) => "v2",
            (true, false) => "v1",
            (true, true) => "hybrid",
            (false, false) => "none",
        }
    }

    /// Every controller there is, whether it can be used or not.
    pub fn controllers(&self) -> Vec<&str> {
        self.hierarchies.iter().flat_map(|h| h.controllers.iter().map(String::as_str)).collect()
    }

    /// The hierarchies below which we may make groups, each once: one may be mounted in many places.
    pub fn usable(&self) -> Vec<&Hierarchy> {
        self.usable_of(Hierarchy::is_ours)
    }

    fn usable_of(&self, is_ours: impl Fn(&Hierarchy) -> bool) -> Vec<&Hierarchy> {
        let mut usable: Vec<&Hierarchy> = Vec::new();
        for hierarchy in &self.hierarchies {
            let known = usable.iter().any(|known| known.is_also(hierarchy));
            if !known && is_ours(hierarchy) {
                usable.push(hierarchy);
            }
        }
        usable
    }

    /// Whether limits can be held to by control groups here.
    pub fn standing(&self) -> Standing {
        let limiting = |h: &&&Hierarchy| h.controllers.iter().any(|c| LIMITING.contains(&c.as_str()));
        let usable = self.usable();
        let version = match usable.iter().find(limiting) {
            Some(first) => first.version,
            None => return Standing::Unusable(self.fault()),
        };
        let controllers = usable.iter().filter(|h| h.version == version).flat_map(|h| h.controllers.clone());
        Standing::Usable(version, controllers.collect())
    }

    fn fault(&self) -> String {
        match self.hierarchies.first() {
            None if self.has_v2 => "our own control group has no controllers to hand on".into(),
            None => "no hierarchy with controllers is mounted".into(),
            Some(first) if !may_write(&first.own) => {
                format!("{} is not ours to write in", first.own.display())
            }
            Some(first) => format!("other processes are in {} with us", first.own.display()),
        }
    }
}

impl Hierarchy {
    /// May we make groups below our own, and give them controllers?
    fn is_ours(&self) -> bool {
        match self.version {
            Version::V1 => self.has_us() && may_write(&self.own),
            Version::V2 => {
                self.has_us()
                    && may_write(&self.own)
                    && may_write(&self.own.join("cgroup.subtree_control"))
                    && may_write(&self.own.join("cgroup.procs"))
                    && (self.at_root || self.only_ours_inside())
            }
        }
    }

    /// The same one at another place: no controller is in two.
    fn is_also(&self, other: &Self) -> bool {
        self.version == other.version && self.controllers.iter().any(|c| other.controllers.contains(c))
    }

    /// A mount that another one covers names a directory that is not what it says.
    fn has_us(&self) -> bool {
        self.members().contains(&own_pid())
    }

    /// A group that hands controllers on has no processes of its own, so all that are in ours must be ours to move.
    fn only_ours_inside(&self) -> bool {
        self.members().into_iter().all(|pid| crate::lineage::is_within(pid, own_pid()))
    }

    fn members(&self) -> Vec<i32> {
        let inside = fs::read_to_string(self.own.join("cgroup.procs")).unwrap_or_default();
        inside.split_whitespace().filter_map(|pid| pid.parse().ok()).collect()
    }
}

fn own_pid() -> i32 {
    i32::try_from(std::process::id()).unwrap_or(0)
}

fn may_write(path: &Path) -> bool {
    rustix::fs::access(path, rustix::fs::Access::WRITE_OK).is_ok()
}

/// A line of mountinfo that mounts a hierarchy.
struct Mount {
    version: Version,
    /// The part of the hierarchy that is mounted.
    root: String,
    point: PathBuf,
    options: Vec<String>,
}

impl Mount {
    fn parse(line: &str) -> Option<Self> {
        let (before, after) = line.split_once(" - ")?;
        let mut before = before.split(' ').skip(3);
        let (root, point) = (unescape(before.next()?), unescape(before.next()?));
        let mut after = after.split(' ');
        let version = match after.next()? {
            "cgroup" => Version::V1,
            "cgroup2" => Version::V2,
            _ => return None,
        };
        let options = after.nth(1)?.split(',').map(String::from).collect();
        Some(Self { version, root, point: point.into(), options })
    }

    /// The directory of the group with this path.
    fn dir_of(&self, path: &str) -> PathBuf {
        let inside = match self.root.as_str() {
            "/" => path,
            root => path.strip_prefix(root).unwrap_or(""),
        };
        self.point.join(inside.trim_start_matches('/'))
    }
}

/// Our own path in the hierarchy of this mount: `4:memory:/a/b`, or `0::/a/b` for v2.
fn membership(memberships: &str, mount: &Mount) -> Option<String> {
    memberships.lines().find_map(|line| {
        let mut fields = line.splitn(3, ':').skip(1);
        let (controllers, path) = (fields.next()?, fields.next()?);
        let its_own = match mount.version {
            Version::V2 => controllers.is_empty(),
            Version::V1 => controllers.split(',').any(|c| mount.options.iter().any(|o| o == c)),
        };
        its_own.then(|| path.to_string())
    })
}

/// Spaces and backslashes stand in mountinfo as octal numbers.
fn unescape(text: &str) -> String {
    let octal = [("\\040", " "), ("\\011", "\t"), ("\\012", "\n"), ("\\134", "\\")];
    octal.iter().fold(text.to_string(), |text, (from, to)| text.replace(from, to))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all(_: &Path) -> Vec<String> {
        ["cpuset", "cpu", "io", "memory", "pids"].map(String::from).to_vec()
    }

    #[test]
    fn a_service_of_a_user_is_found_in_v2() {
        let layout = Layout::of(
            "30 23 0:26 / /sys/fs/cgroup rw,nosuid shared:4 - cgroup2 cgroup2 rw,nsdelegate",
            "0::/user.slice/user-7.slice/user@7.service/app.slice/trl.service",
            &all,
        );
        let own = "/sys/fs/cgroup/user.slice/user-7.slice/user@7.service/app.slice/trl.service";
        assert_eq!(layout.name(), "v2");
        assert_eq!(layout.hierarchies[0].own, Path::new(own));
        assert_eq!(layout.hierarchies[0].controllers, ["memory", "pids", "cpu", "io"]);
        assert!(!layout.hierarchies[0].at_root);
        assert!(matches!(layout.standing(), Standing::Unusable(why) if why.contains("not ours")));
    }

    #[test]
    fn hybrid_machines_have_their_controllers_in_v1() {
        let mounts = "\
40 36 0:34 / /sys/fs/cgroup/cpu,cpuacct rw - cgroup cgroup rw,cpu,cpuacct
43 36 0:37 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory
44 36 0:38 / /sys/fs/cgroup/devices rw - cgroup cgroup rw,devices
46 36 0:40 / /sys/fs/cgroup/systemd rw - cgroup cgroup rw,name=systemd
47 36 0:41 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw";
        let memberships = "\
5:devices:/
4:memory:/jobs/7
2:cpu,cpuacct:/
1:name=systemd:/
0::/";
        let layout = Layout::of(mounts, memberships, &|_| Vec::new());
        assert_eq!(layout.name(), "hybrid");
        assert_eq!(layout.controllers(), ["cpu", "cpuacct", "memory"]);
        assert_eq!(layout.hierarchies[1].own, Path::new("/sys/fs/cgroup/memory/jobs/7"));
        assert!(layout.hierarchies[0].at_root && !layout.hierarchies[1].at_root);
    }

    #[test]
    fn a_container_sees_a_part_and_odd_names_are_read() {
        let mounts = "43 36 0:37 /docker/x /sys/fs/my\\040groups rw - cgroup cgroup rw,memory";
        let layout = Layout::of(mounts, "4:memory:/docker/x/inner", &|_| Vec::new());
        assert_eq!(layout.hierarchies[0].own, Path::new("/sys/fs/my groups/inner"));
        assert_eq!(layout.name(), "v1");
    }

    #[test]
    fn a_hierarchy_that_is_mounted_twice_is_used_once() {
        let mounts = "\
43 36 0:37 /docker/x /sys/fs/cgroup/memory ro - cgroup cgroup rw,memory
53 36 0:37 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory
63 36 0:37 / /host/memory rw - cgroup cgroup rw,memory
64 36 0:38 / /host/pids rw - cgroup cgroup rw,pids";
        let layout = Layout::of(mounts, "4:memory:/docker/x\n5:pids:/docker/x", &|_| Vec::new());
        // The first is below the second, so what it names is not our group.
        let usable = layout.usable_of(|hierarchy| hierarchy.own.ends_with("docker/x"));
        let places: Vec<&Path> = usable.iter().map(|hierarchy| hierarchy.own.as_path()).collect();
        assert_eq!(places, [Path::new("/sys/fs/cgroup/memory/docker/x"), Path::new("/host/pids/docker/x")]);
    }

    #[test]
    fn nothing_mounted_is_no_place_to_be() {
        let layout = Layout::of("22 1 0:21 / /proc rw - proc proc rw", "0::/", &all);
        assert_eq!((layout.name(), layout.controllers().len()), ("none", 0));
        assert!(matches!(layout.standing(), Standing::Unusable(_)));
        let _ = Layout::here().standing();
    }
}
