//! The kernel's settings and facts, by name.

use std::ffi::CStr;

/// The bytes of a value.
fn value(name: &CStr) -> Option<Vec<u8>> {
    let mut len = 0;
    // SAFETY: a terminated name; with a null buffer the kernel only writes the length.
    let asked =
        unsafe { libc::sysctlbyname(name.as_ptr(), std::ptr::null_mut(), &mut len, std::ptr::null_mut(), 0) };
    if asked != 0 {
        return None;
    }
    let mut bytes = vec![0u8; len];
    // SAFETY: a live buffer of the length given; the kernel writes how much of it was used.
    let got = unsafe {
        libc::sysctlbyname(name.as_ptr(), bytes.as_mut_ptr().cast(), &mut len, std::ptr::null_mut(), 0)
    };
    bytes.truncate(len);
    (got == 0).then_some(bytes)
}

/// A number, of whichever size.
pub(super) fn number(name: &CStr) -> Option<u64> {
    let bytes = value(name)?;
    match bytes.len() {
        4 => Some(u32::from_ne_bytes(bytes.try_into().ok()?).into()),
        8 => Some(u64::from_ne_bytes(bytes.try_into().ok()?)),
        _ => None,
    }
}

pub(super) fn text(name: &CStr) -> Option<String> {
    let bytes = value(name)?;
    let end = bytes.iter().position(|b| *b == 0).unwrap_or(bytes.len());
    Some(String::from_utf8_lossy(&bytes[..end]).into_owned())
}

/// The memory in which a process has its arguments: how many there are, the program's path, then they and the environment.
pub(super) fn arguments(pid: i32) -> Option<Vec<u8>> {
    let mut name = [libc::CTL_KERN, libc::KERN_PROCARGS2, pid];
    let mut len = usize::try_from(number(c"kern.argmax")?).ok()?;
    let mut bytes = vec![0u8; len];
    // SAFETY: a name of the length given, and a live buffer of the length given.
    let got = unsafe {
        let count = name.len() as libc::c_uint;
        libc::sysctl(name.as_mut_ptr(), count, bytes.as_mut_ptr().cast(), &mut len, std::ptr::null_mut(), 0)
    };
    bytes.truncate(len);
    (got == 0).then_some(bytes)
}
