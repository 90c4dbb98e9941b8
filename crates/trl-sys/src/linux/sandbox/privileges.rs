//! Giving up every privilege for good.

use super::check;

/// Bits a kernel may know; those it does not know end the loop.
const MOST_CAPABILITIES: libc::c_ulong = 64;

/// No program that is started from here on has more rights than this process, whatever its file says.
pub(super) fn gain_no_more() -> Result<(), i32> {
    // SAFETY: integers only.
    check(libc::c_long::from(unsafe { libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) })).map(drop)
}

/// Every capability, and every way to one: what root has beyond an ordinary user, too.
pub(super) fn drop_all() -> Result<(), i32> {
    /// As the kernel's `__user_cap_header_struct`, version 3, about this process; then two empty sets.
    const HEADER: [u32; 2] = [0x2008_0522, 0];
    const NONE: [u32; 6] = [0; 6];
    // SAFETY: integers, then pointers to constants of the sizes that version 3 has; the kernel only reads them.
    unsafe {
        for capability in 0..MOST_CAPABILITIES {
            // An ordinary user may not drop these, and has none to drop.
            if libc::prctl(libc::PR_CAPBSET_DROP, capability, 0, 0, 0) != 0 {
                break;
            }
        }
        libc::prctl(libc::PR_CAP_AMBIENT, libc::PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0);
        let mut header = HEADER;
        check(libc::syscall(libc::SYS_capset, header.as_mut_ptr(), NONE.as_ptr())).map(drop)
    }
}
