//! From what is asked for and what the settings say to the limits that hold.

use trl_proto::limits::{Limit, Limits};
use trl_proto::{Error, ErrorCode};

/// May this caller have more than the settings give?
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Widening {
    Allowed,
    Refused,
}

/// What a shell cannot start below, by experience; 0 is "no limit" and not less.
const LEAST: [(Limit, f64); 6] = [
    (Limit::MemoryBytes, (1u64 << 20) as f64),
    (Limit::Cpu, 0.01),
    (Limit::CpuTimeS, 0.01),
    (Limit::WallS, 0.01),
    (Limit::Pids, 1.0),
    (Limit::OpenFiles, 16.0),
];

/// The settings, narrowed by the request; widened only by those who may.
pub fn resolve(asked: Limits, defaults: &Limits, widening: Widening) -> Result<Limits, Error> {
    check(&asked)?;
    let wanted = asked.over(defaults);
    match wanted.wider_than(defaults) {
        Some(limit) if widening == Widening::Refused => {
            let most = defaults.get(limit).unwrap_or_default();
            let name = limit.name();
            Err(Error::new(ErrorCode::Forbidden, format!("`limits.{name}` may be at most {most}"))
                .hint("only the operator may ask for more than the settings give")
                .detail("limit", name))
        }
        _ => Ok(wanted.without_zeros()),
    }
}

/// Does each make sense by itself?
pub fn check(asked: &Limits) -> Result<(), Error> {
    let longest = trl_proto::LONGEST.as_secs_f64();
    for limit in asked.set() {
        if limit == Limit::DiskBytes {
            return Err(no_quota());
        }
        let (name, value) = (limit.name(), asked.get(limit).unwrap_or_default());
        let least = LEAST.iter().find(|(of, _)| *of == limit).map_or(1.0, |(_, least)| *least);
        let most = match limit {
            Limit::CpuTimeS | Limit::WallS => longest,
            Limit::Cpu => 65536.0,
            _ => u64::MAX as f64,
        };
        if !(least..=most).contains(&value) {
            return Err(Error::invalid(format!(
                "`limits.{name}` is {value}; it must be 0 (none) or from {least} to {most}"
            ))
            .detail("limit", name));
        }
    }
    Ok(())
}

/// A quota is the file system's: it must have been made and mounted for it, and only root may set one. To count files
/// now and then would be a limit that nobody is held to.
fn no_quota() -> Error {
    Error::invalid("`limits.disk_bytes` cannot be enforced: there is no quota on a workspace's disk space")
        .hint("`file_size_bytes` limits each file; a workspace on a file system of its own limits them together")
        .detail("limit", Limit::DiskBytes.name())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pids(pids: u64) -> Limits {
        Limits { pids: Some(pids), ..Limits::default() }
    }

    #[test]
    fn agents_narrow_and_operators_widen() {
        let defaults = Limits { pids: Some(100), wall_s: Some(5.0), ..Limits::default() };
        let agent = |asked| resolve(asked, &defaults, Widening::Refused);
        assert_eq!(agent(pids(10)).unwrap().pids, Some(10));
        assert_eq!(agent(pids(10)).unwrap().wall_s, Some(5.0), "what is not asked for stays");
        for wide in [pids(101), pids(0)] {
            assert_eq!(agent(wide).unwrap_err().code, ErrorCode::Forbidden);
            let operator = resolve(wide, &defaults, Widening::Allowed).unwrap();
            assert_eq!(operator.pids, wide.pids.filter(|n| *n > 0));
        }
        assert_eq!(resolve(Limits::default(), &defaults, Widening::Refused).unwrap(), defaults);
        assert_eq!(resolve(pids(7), &Limits::default(), Widening::Refused).unwrap(), pids(7));
    }

    #[test]
    fn nonsense_is_refused() {
        let refused = |asked| resolve(asked, &Limits::default(), Widening::Allowed).unwrap_err().code;
        for asked in [
            Limits { memory_bytes: Some(1000), ..Limits::default() },
            Limits { cpu: Some(-1.0), ..Limits::default() },
            Limits { cpu: Some(f64::NAN), ..Limits::default() },
            Limits { wall_s: Some(f64::INFINITY), ..Limits::default() },
            Limits { open_files: Some(3), ..Limits::default() },
            Limits { disk_bytes: Some(1 << 30), ..Limits::default() },
        ] {
            assert_eq!(refused(asked), ErrorCode::InvalidParams, "{asked:?}");
        }
        let none = Limits { disk_bytes: Some(0), ..Limits::default() };
        assert_eq!(resolve(none, &Limits::default(), Widening::Refused).unwrap(), Limits::default());
    }
}
