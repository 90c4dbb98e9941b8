//! Which system calls are refused: those that open a way out which files and namespaces do not close.
//!
//! One table ([`rules`]) makes the filter and names what was refused. Everything else is allowed: a list of all that
//! programs may do would break some of them with each new C library.
//!
//! - Unix sockets: `connect` by a name is beyond Landlock's reach, so there are none but pairs, and of those none of
//!   datagrams, which can be connected anew.
//! - `clone3` and `openat2` keep what they ask for in memory where no filter sees it: they are not there, and programs fall
//!   back on `clone` and `openat`.
//! - A set-uid program that is made inside would be run outside, with the rights of whoever made it.
//! - Calls of another architecture have other numbers: they end the program.

use std::os::fd::{FromRawFd, OwnedFd};

use super::check;
use crate::sandbox::{Net, Op};

/// When a call is refused; arguments are looked at in their lower half, as the kernel does for these.
#[derive(Debug, Clone, Copy)]
enum When {
    Always,
    /// Any of these bits.
    Has {
        arg: usize,
        bits: u32,
    },
    Is {
        arg: usize,
        values: &'static [u32],
    },
    IsNot {
        arg: usize,
        values: &'static [u32],
    },
    /// Each of these arguments has any of its bits.
    HasAll(&'static [(usize, u32); 2]),
    /// Any of these arguments is not this.
    Unless(&'static [(usize, u32)]),
    /// A socket, by its family.
    Family {
        net: Net,
    },
    /// A pair of sockets other than one that stays connected.
    Pair,
}

struct Rule {
    call: libc::c_long,
    when: When,
    op: Op,
}

const NAMESPACES: u32 = 0x7e02_0000;
const TIME_NAMESPACE: u32 = 0x80;
const AF_UNIX: u32 = libc::AF_UNIX as u32;
const INET: [u32; 2] = [libc::AF_INET as u32, libc::AF_INET6 as u32];
const AF_NETLINK: u32 = libc::AF_NETLINK as u32;
/// Of a socket's type; the rest is flags.
const TYPE: u32 = 0xf;

fn rules(net: Net, private_ipc: bool) -> Vec<Rule> {
    use libc as c;
    let always = |calls: &[c::c_long], op: Op| -> Vec<Rule> {
        calls.iter().map(|call| Rule { call: *call, when: When::Always, op }).collect()
    };
    let has = |calls: &[(c::c_long, usize)], bits: u32, op: Op| -> Vec<Rule> {
        calls
            .iter()
            .map(|(call, arg)| Rule { call: *call, when: When::Has { arg: *arg, bits }, op })
            .collect()
    };
    // What is asked most often stands first.
    let mut all: Vec<Rule> =
        OPENING.iter().map(|(call, when)| Rule { call: *call, when: *when, op: Op::SetUid }).collect();
    all.extend(has(&MODES, SET_ID, Op::SetUid));
    all.extend(has(&MODES_OF_X86, SET_ID, Op::SetUid));
    all.extend([
        Rule { call: c::SYS_socket, when: When::Family { net }, op: Op::OtherSocket },
        Rule { call: c::SYS_socketpair, when: When::Pair, op: Op::UnixSocket },
        Rule { call: c::SYS_clone, when: When::Has { arg: 0, bits: NAMESPACES }, op: Op::Namespace },
        Rule {
            call: c::SYS_unshare,
            when: When::Has { arg: 0, bits: NAMESPACES | TIME_NAMESPACE },
            op: Op::Namespace,
        },
        // what a terminal's other users would take for typed input
        Rule {
            call: c::SYS_ioctl,
            when: When::Is { arg: 1, values: &[0x5412, 0x541c] },
            op: Op::TerminalInput,
        },
        // A user may limit, slow down and starve all processes of that user; Landlock knows nothing of it.
        Rule { call: c::SYS_prlimit64, when: When::Unless(&[(0, 0)]), op: Op::OthersLimits },
        Rule { call: c::SYS_setpriority, when: When::Unless(&[(0, 0), (1, 0)]), op: Op::OthersLimits },
        Rule { call: c::SYS_ioprio_set, when: When::Unless(&[(0, 1), (1, 0)]), op: Op::OthersLimits },
        Rule { call: c::SYS_sched_setaffinity, when: When::Unless(&[(0, 0)]), op: Op::OthersLimits },
        Rule { call: c::SYS_sched_setscheduler, when: When::Unless(&[(0, 0)]), op: Op::OthersLimits },
        Rule { call: c::SYS_sched_setparam, when: When::Unless(&[(0, 0)]), op: Op::OthersLimits },
        Rule { call: c::SYS_sched_setattr, when: When::Unless(&[(0, 0)]), op: Op::OthersLimits },
        // Linux as it is, without address randomisation, or just asking
        Rule {
            call: c::SYS_personality,
            when: When::IsNot { arg: 0, values: &[0, 0x0004_0000, u32::MAX] },
            op: Op::Personality,
        },
    ]);
    all.extend(always(&[c::SYS_setns], Op::Namespace));
    all.extend(always(&[c::SYS_ptrace], Op::Trace));
    let memory = [c::SYS_process_vm_readv, c::SYS_process_vm_writev, c::SYS_pidfd_getfd, c::SYS_kcmp];
    all.extend(always(&memory, Op::OthersMemory));
    let mounts = [
        c::SYS_mount,
        c::SYS_umount2,
        c::SYS_pivot_root,
        c::SYS_chroot,
        c::SYS_move_mount,
        c::SYS_open_tree,
        c::SYS_fsopen,
        c::SYS_fsconfig,
        c::SYS_fsmount,
        c::SYS_fspick,
        c::SYS_mount_setattr,
        OPEN_TREE_ATTR,
    ];
    all.extend(always(&mounts, Op::Mount));
    let rings = [c::SYS_io_uring_setup, c::SYS_io_uring_enter, c::SYS_io_uring_register];
    all.extend(always(&rings, Op::IoUring));
    all.extend(always(&[c::SYS_keyctl, c::SYS_add_key, c::SYS_request_key], Op::Keys));
    all.extend(always(&[c::SYS_bpf], Op::Bpf));
    all.extend(always(&[c::SYS_userfaultfd], Op::FaultHandling));
    all.extend(always(&[c::SYS_perf_event_open, c::SYS_fanotify_init], Op::Profiling));
    all.extend(always(&[c::SYS_open_by_handle_at], Op::FileHandle));
    all.extend(always(&MACHINE, Op::Machine));
    all.extend(always(&MACHINE_OF_X86, Op::Machine));
    if !private_ipc {
        let ipc = [c::SYS_shmget, c::SYS_shmat, c::SYS_msgget, c::SYS_msgsnd, c::SYS_msgrcv];
        all.extend(always(&ipc, Op::Ipc));
        all.extend(always(&[c::SYS_semget, c::SYS_semop, c::SYS_semtimedop, c::SYS_mq_open], Op::Ipc));
    }
    all
}

/// A program that others start and that has its owner's rights then: left in a workspace, it would be a way out for good.
const SET_ID: u32 = 0o6000;
/// Flags with which a file is made.
const MAKES: u32 = (libc::O_CREAT | libc::O_TMPFILE & !libc::O_DIRECTORY) as u32;
/// Since Linux 6.6.
const FCHMODAT2: libc::c_long = 452;
/// Calls that give a mode, and where.
const MODES: [(libc::c_long, usize); 4] =
    [(libc::SYS_fchmod, 1), (libc::SYS_fchmodat, 2), (FCHMODAT2, 2), (libc::SYS_mknodat, 2)];
#[cfg(target_arch = "x86_64")]
const MODES_OF_X86: [(libc::c_long, usize); 3] =
    [(libc::SYS_chmod, 1), (libc::SYS_creat, 1), (libc::SYS_mknod, 1)];
#[cfg(not(target_arch = "x86_64"))]
const MODES_OF_X86: [(libc::c_long, usize); 0] = [];
/// Calls whose mode counts only when they make a file.
#[cfg(target_arch = "x86_64")]
const OPENING: [(libc::c_long, When); 2] = [
    (libc::SYS_openat, When::HasAll(&[(2, MAKES), (3, SET_ID)])),
    (libc::SYS_open, When::HasAll(&[(1, MAKES), (2, SET_ID)])),
];
#[cfg(not(target_arch = "x86_64"))]
const OPENING: [(libc::c_long, When); 1] = [(libc::SYS_openat, When::HasAll(&[(2, MAKES), (3, SET_ID)]))];

/// Since Linux 6.15.
const OPEN_TREE_ATTR: libc::c_long = 467;

/// What is about the machine and not about this program.
const MACHINE: [libc::c_long; 18] = [
    libc::SYS_kexec_load,
    libc::SYS_kexec_file_load,
    libc::SYS_init_module,
    libc::SYS_finit_module,
    libc::SYS_delete_module,
    libc::SYS_reboot,
    libc::SYS_swapon,
    libc::SYS_swapoff,
    libc::SYS_acct,
    libc::SYS_quotactl,
    libc::SYS_quotactl_fd,
    libc::SYS_settimeofday,
    libc::SYS_clock_settime,
    libc::SYS_sethostname,
    libc::SYS_setdomainname,
    libc::SYS_syslog,
    libc::SYS_vhangup,
    libc::SYS_lookup_dcookie,
];

/// The same where there is more of it.
#[cfg(target_arch = "x86_64")]
const MACHINE_OF_X86: [libc::c_long; 6] = [
    libc::SYS_nfsservctl,
    libc::SYS_uselib,
    libc::SYS_iopl,
    libc::SYS_ioperm,
    libc::SYS_modify_ldt,
    libc::SYS_ustat,
];

#[cfg(not(target_arch = "x86_64"))]
const MACHINE_OF_X86: [libc::c_long; 0] = [];

/// What a call with these arguments is, if it is one that is refused.
pub(super) fn classify(call: i32, args: &[u64; 6]) -> Option<Op> {
    // As much as any filter refuses: one that was told of was refused by one of them.
    let rules = rules(Net::None, false);
    let rule = rules.iter().find(|rule| rule.call == libc::c_long::from(call))?;
    #[expect(clippy::cast_possible_truncation, reason = "the lower half is what counts")]
    let family = args[0] as u32;
    Some(match rule.when {
        When::Family { .. } if family == AF_UNIX => Op::UnixSocket,
        When::Family { .. } if INET.contains(&family) => Op::Network,
        _ => rule.op,
    })
}

// ---- the filter's program

#[cfg(target_arch = "x86_64")]
const ARCH: u32 = 0xc000_003e;
#[cfg(target_arch = "aarch64")]
const ARCH: u32 = 0xc000_00b7;
/// Calls of the x32 interface have this bit, and are other calls than their numbers say.
const X32: u32 = 0x4000_0000;

const NR: u32 = 0;
const ARCH_AT: u32 = 4;
const ARGS_AT: u32 = 16;

const ALLOW: u32 = 0x7fff_0000;
const KILL: u32 = 0x8000_0000;
const NOTIFY: u32 = 0x7fc0_0000;
const REFUSE: u32 = 0x0005_0000 | libc::EPERM as u32;
const NO_SUCH_CALL: u32 = 0x0005_0000 | libc::ENOSYS as u32;

/// Load a word, jump if equal, if at least, if any bit, and, return.
const LOAD: u16 = 0x20;
const EQUAL: u16 = 0x15;
const AT_LEAST: u16 = 0x35;
const ANY_BIT: u16 = 0x45;
const AND: u16 = 0x54;
const RETURN: u16 = 0x06;

fn op(code: u16, k: u32) -> libc::sock_filter {
    libc::sock_filter { code, jt: 0, jf: 0, k }
}

/// Skips the next `skip` if it does not hold.
fn unless(code: u16, k: u32, skip: usize) -> libc::sock_filter {
    libc::sock_filter { code, jt: 0, jf: u8::try_from(skip).unwrap_or(u8::MAX), k }
}

fn filter(net: Net, private_ipc: bool) -> Vec<libc::sock_filter> {
    let mut program = vec![
        op(LOAD, ARCH_AT),
        libc::sock_filter { code: EQUAL, jt: 1, jf: 0, k: ARCH },
        op(RETURN, KILL),
        op(LOAD, NR),
        unless(AT_LEAST, X32, 1),
        op(RETURN, NO_SUCH_CALL),
    ];
    for call in [libc::SYS_clone3, libc::SYS_openat2] {
        program.extend([unless(EQUAL, u32::try_from(call).unwrap_or(X32), 1), op(RETURN, NO_SUCH_CALL)]);
    }
    for rule in rules(net, private_ipc) {
        let body = body(rule.when);
        program.push(unless(EQUAL, u32::try_from(rule.call).unwrap_or(X32), body.len()));
        program.extend(body);
    }
    program.push(op(RETURN, ALLOW));
    program
}

/// What is done with a call once it is known to be the rule's: each way through it ends with a return.
fn body(when: When) -> Vec<libc::sock_filter> {
    let arg = |i: usize| op(LOAD, ARGS_AT + 8 * u32::try_from(i).unwrap_or(0));
    let each = |values: &[u32], verdict: u32| -> Vec<libc::sock_filter> {
        values.iter().flat_map(|v| [unless(EQUAL, *v, 1), op(RETURN, verdict)]).collect()
    };
    let (first, middle, last): (Vec<_>, Vec<_>, u32) = match when {
        When::Always => (vec![], vec![], NOTIFY),
        When::Has { arg: i, bits } => {
            (vec![arg(i)], vec![unless(ANY_BIT, bits, 1), op(RETURN, NOTIFY)], ALLOW)
        }
        When::HasAll([(i, bits), (j, more)]) => {
            let second = vec![arg(*j), unless(ANY_BIT, *more, 1), op(RETURN, NOTIFY)];
            (vec![arg(*i), unless(ANY_BIT, *bits, second.len())], second, ALLOW)
        }
        When::Is { arg: i, values } => (vec![arg(i)], each(values, NOTIFY), ALLOW),
        When::IsNot { arg: i, values } => (vec![arg(i)], each(values, ALLOW), NOTIFY),
        When::Unless(wanted) => {
            let each = wanted.iter().flat_map(|(i, value)| {
                [arg(*i), libc::sock_filter { code: EQUAL, jt: 1, jf: 0, k: *value }, op(RETURN, NOTIFY)]
            });
            (each.collect(), vec![], ALLOW)
        }
        When::Family { net } => {
            let inet = if net == Net::None { NOTIFY } else { ALLOW };
            // of netlink only the one that lists addresses and routes
            let netlink = vec![unless(EQUAL, AF_NETLINK, 3), arg(2), unless(EQUAL, 0, 1), op(RETURN, ALLOW)];
            (vec![arg(0)], [each(&INET, inet), netlink].concat(), NOTIFY)
        }
        When::Pair => {
            let (stream, packets) = (libc::SOCK_STREAM.cast_unsigned(), libc::SOCK_SEQPACKET.cast_unsigned());
            let family = vec![arg(0), libc::sock_filter { code: EQUAL, jt: 1, jf: 0, k: AF_UNIX }];
            let refuse = vec![op(RETURN, NOTIFY), arg(1), op(AND, TYPE)];
            ([family, refuse].concat(), each(&[stream, packets], ALLOW), NOTIFY)
        }
    };
    [first, middle, vec![op(RETURN, last)]].concat()
}

/// Installs the filter; returns where refused calls are heard of, and answered. A process can have one such ear: where
/// somebody else listens already, the calls are refused all the same and nobody is told.
pub(super) fn install(net: Net, private_ipc: bool) -> Result<Option<OwnedFd>, i32> {
    const NEW_LISTENER: u32 = 1 << 3;
    let mut program = filter(net, private_ipc);
    match load(&mut program, NEW_LISTENER) {
        Err(libc::EBUSY) => {}
        ear => return ear,
    }
    for step in program.iter_mut().filter(|step| step.code == RETURN && step.k == NOTIFY) {
        step.k = REFUSE;
    }
    load(&mut program, 0)
}

fn load(program: &mut [libc::sock_filter], flags: u32) -> Result<Option<OwnedFd>, i32> {
    const SET_MODE_FILTER: u32 = 1;
    let handle = libc::sock_fprog {
        len: u16::try_from(program.len()).map_err(|_| libc::E2BIG)?,
        filter: program.as_mut_ptr(),
    };
    // SAFETY: a live program of the length given, which the kernel copies; the new descriptor is nobody else's.
    unsafe {
        let fd = check(libc::syscall(libc::SYS_seccomp, SET_MODE_FILTER, flags, &raw const handle))?;
        Ok((flags != 0).then(|| OwnedFd::from_raw_fd(i32::try_from(fd).unwrap_or(-1))))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The kernel's own rules for these few instructions.
    fn run(program: &[libc::sock_filter], arch: u32, call: libc::c_long, args: [u64; 6]) -> u32 {
        let word = |at: u32| match at {
            NR => u32::try_from(call).unwrap(),
            ARCH_AT => arch,
            at => u32::try_from(args[(at as usize - 16) / 8] & 0xffff_ffff).unwrap(),
        };
        let (mut at, mut a) = (0, 0);
        loop {
            let i = &program[at];
            at += 1;
            let jump = |holds: bool| usize::from(if holds { i.jt } else { i.jf });
            match i.code {
                LOAD => a = word(i.k),
                AND => a &= i.k,
                EQUAL => at += jump(a == i.k),
                AT_LEAST => at += jump(a >= i.k),
                ANY_BIT => at += jump(a & i.k != 0),
                RETURN => return i.k,
                other => panic!("{other}"),
            }
        }
    }

    fn verdict(net: Net, call: libc::c_long, args: &[u64]) -> u32 {
        let mut all = [0; 6];
        all[..args.len()].copy_from_slice(args);
        run(&filter(net, true), ARCH, call, all)
    }

    #[test]
    fn sockets_by_family_and_kind() {
        let (unix, inet, inet6, netlink, vsock) = (1, 2, 10, 16, 40);
        for (net, family, protocol, expected) in [
            (Net::None, unix, 0, NOTIFY),
            (Net::None, inet, 0, NOTIFY),
            (Net::None, inet6, 0, NOTIFY),
            (Net::None, netlink, 0, ALLOW),
            (Net::None, netlink, 9, NOTIFY),
            (Net::Loopback, inet, 0, ALLOW),
            (Net::All, inet6, 0, ALLOW),
            (Net::All, unix, 0, NOTIFY),
            (Net::All, vsock, 0, NOTIFY),
            // the kernel looks at the lower half only
            (Net::None, 1 << 32 | inet, 0, NOTIFY),
        ] {
            assert_eq!(verdict(net, libc::SYS_socket, &[family, 1, protocol]), expected, "{net:?} {family}");
        }
        let cloexec = u64::from(libc::SOCK_CLOEXEC.cast_unsigned());
        for (family, kind, expected) in [
            (unix, 1, ALLOW),
            (unix, 1 | cloexec, ALLOW),
            (unix, 5, ALLOW),
            (unix, 2, NOTIFY),
            // what the kernel makes a datagram socket of, too
            (unix, 3, NOTIFY),
            (inet, 1, NOTIFY),
        ] {
            assert_eq!(verdict(Net::All, libc::SYS_socketpair, &[family, kind]), expected, "{family} {kind}");
        }
    }

    #[test]
    fn namespaces_are_refused_and_threads_are_not() {
        let threads = 0x003d_0f00;
        assert_eq!(verdict(Net::None, libc::SYS_clone, &[threads]), ALLOW);
        assert_eq!(verdict(Net::None, libc::SYS_clone, &[17]), ALLOW);
        for flag in
            [0x0002_0000, 0x0200_0000, 0x0400_0000, 0x0800_0000, 0x1000_0000, 0x2000_0000, 0x4000_0000]
        {
            assert_eq!(verdict(Net::None, libc::SYS_clone, &[flag | 17]), NOTIFY, "{flag:x}");
            assert_eq!(verdict(Net::None, libc::SYS_unshare, &[flag]), NOTIFY, "{flag:x}");
        }
        assert_eq!(verdict(Net::None, libc::SYS_unshare, &[0x400]), ALLOW);
        assert_eq!(verdict(Net::None, libc::SYS_clone3, &[]), NO_SUCH_CALL);
    }

    #[test]
    fn ordinary_calls_pass_and_ways_out_do_not() {
        for call in [libc::SYS_read, libc::SYS_openat, libc::SYS_execve, libc::SYS_kill, libc::SYS_futex] {
            assert_eq!(verdict(Net::None, call, &[]), ALLOW);
        }
        for call in
            [libc::SYS_ptrace, libc::SYS_mount, libc::SYS_io_uring_setup, libc::SYS_bpf, libc::SYS_keyctl]
        {
            assert_eq!(verdict(Net::All, call, &[]), NOTIFY);
        }
        assert_eq!(verdict(Net::None, libc::SYS_ioctl, &[0, 0x5412]), NOTIFY);
        assert_eq!(verdict(Net::None, libc::SYS_ioctl, &[0, 0x5401]), ALLOW);
        assert_eq!(verdict(Net::None, libc::SYS_personality, &[u64::from(u32::MAX)]), ALLOW);
        assert_eq!(verdict(Net::None, libc::SYS_personality, &[8]), NOTIFY);
        // itself, and nobody else
        assert_eq!(verdict(Net::None, libc::SYS_prlimit64, &[0, 7]), ALLOW);
        assert_eq!(verdict(Net::None, libc::SYS_prlimit64, &[4711, 7]), NOTIFY);
        assert_eq!(verdict(Net::None, libc::SYS_setpriority, &[0, 0, 5]), ALLOW);
        assert_eq!(verdict(Net::None, libc::SYS_setpriority, &[2, 0, 5]), NOTIFY);
        assert_eq!(verdict(Net::None, libc::SYS_setpriority, &[0, 4711, 5]), NOTIFY);
    }

    #[test]
    fn no_program_is_made_that_has_its_makers_rights() {
        let verdict = |call, args: &[u64]| verdict(Net::All, call, args);
        let (create, temporary) = (0o100, 0o20_200_000);
        for mode in [0o4755, 0o2755, 0o6000, 0o10_4000] {
            assert_eq!(verdict(libc::SYS_fchmod, &[3, mode]), NOTIFY);
            assert_eq!(verdict(libc::SYS_fchmodat, &[3, 0, mode]), NOTIFY);
            assert_eq!(verdict(FCHMODAT2, &[3, 0, mode]), NOTIFY);
            assert_eq!(verdict(libc::SYS_mknodat, &[3, 0, mode]), NOTIFY);
            assert_eq!(verdict(libc::SYS_openat, &[3, 0, create | 1, mode]), NOTIFY);
            assert_eq!(verdict(libc::SYS_openat, &[3, 0, temporary, mode]), NOTIFY);
            // of one that is there already no mode is set, and the argument may be anything
            assert_eq!(verdict(libc::SYS_openat, &[3, 0, 0o200_000, mode]), ALLOW);
        }
        assert_eq!(verdict(libc::SYS_fchmodat, &[3, 0, 0o1777]), ALLOW);
        assert_eq!(verdict(libc::SYS_openat, &[3, 0, create, 0o777]), ALLOW);
        assert_eq!(verdict(libc::SYS_openat2, &[]), NO_SUCH_CALL);
    }

    #[test]
    fn other_interfaces_of_the_kernel_are_closed() {
        let program = filter(Net::All, true);
        assert_eq!(run(&program, 0x4000_0003, libc::SYS_read, [0; 6]), KILL);
        assert_eq!(run(&program, ARCH, libc::c_long::from(X32) + 1, [0; 6]), NO_SUCH_CALL);
    }

    #[test]
    fn shared_memory_is_refused_where_it_would_be_everybodys() {
        let refused = |private| run(&filter(Net::None, private), ARCH, libc::SYS_shmget, [0; 6]);
        assert_eq!((refused(true), refused(false)), (ALLOW, NOTIFY));
    }

    #[test]
    fn what_was_refused_has_a_name() {
        let op =
            |call: libc::c_long, first: u64| classify(i32::try_from(call).unwrap(), &[first, 0, 0, 0, 0, 0]);
        assert_eq!(op(libc::SYS_socket, 1), Some(Op::UnixSocket));
        assert_eq!(op(libc::SYS_socket, 10), Some(Op::Network));
        assert_eq!(op(libc::SYS_socket, 40), Some(Op::OtherSocket));
        assert_eq!(op(libc::SYS_fsopen, 0), Some(Op::Mount));
        assert_eq!(op(libc::SYS_read, 0), None);
        for op in Op::ALL {
            assert_eq!(Op::from_raw(op as i32), Some(op));
        }
    }
}
