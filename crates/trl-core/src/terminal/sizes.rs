//! Who is attached to a terminal: whose window decides its size, and who looks at it. Pure.

use std::collections::BTreeMap;

use trl_proto::terminal::SizePolicy;
use trl_sys::pty::Size;

/// A window smaller than this is being built or torn down, not looked at.
const LEAST: Size = Size { cols: 10, rows: 2 };

/// One attached client.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Client {
    pub name: String,
    /// May type, and so has a say in the size.
    pub drives: bool,
    pub window: Option<Size>,
    /// Its window has the focus, as far as it said.
    pub focused: bool,
}

/// Who is attached, and whose window counts.
#[derive(Debug)]
pub struct Clients {
    policy: SizePolicy,
    all: BTreeMap<u64, Client>,
    driver: Option<u64>,
    next: u64,
}

impl Clients {
    pub fn new(policy: SizePolicy) -> Self {
        Self { policy, all: BTreeMap::new(), driver: None, next: 1 }
    }

    pub fn join(&mut self, client: Client) -> u64 {
        let id = self.next;
        self.next += 1;
        self.all.insert(id, client);
        id
    }

    /// A driver that leaves keeps the size it gave: the next one that types or claims takes over. True when the focus went
    /// with it.
    pub fn leave(&mut self, id: u64) -> bool {
        let had_focus = self.all.remove(&id).is_some_and(|c| c.focused);
        self.driver = self.driver.filter(|d| *d != id);
        had_focus && !self.is_looked_at()
    }

    /// It typed, or claimed to drive. True when that made it the driver.
    pub fn drive(&mut self, id: u64) -> bool {
        let may = self.all.get(&id).is_some_and(|c| c.drives);
        let new = may && self.driver != Some(id);
        if new {
            self.driver = Some(id);
        }
        new
    }

    pub fn release(&mut self, id: u64) -> bool {
        let was = self.driver == Some(id);
        self.driver = self.driver.filter(|d| *d != id);
        was
    }

    /// Its window got the focus or lost it. True when the program is to hear so: that all of them lost it, or one has it.
    pub fn focus(&mut self, id: u64, focused: bool) -> bool {
        let Some(client) = self.all.get_mut(&id).filter(|c| c.drives) else { return false };
        client.focused = focused;
        focused || !self.is_looked_at()
    }

    /// Has any of them the focus?
    pub fn is_looked_at(&self) -> bool {
        self.all.values().any(|c| c.focused)
    }

    /// Its window has this size now. The first one to say so drives if nobody does.
    pub fn show(&mut self, id: u64, window: Size) {
        let Some(client) = self.all.get_mut(&id) else { return };
        if window.cols < LEAST.cols || window.rows < LEAST.rows {
            return;
        }
        client.window = Some(window);
        if self.driver.is_none() && client.drives {
            self.driver = Some(id);
        }
    }

    /// The size the terminal should have by now; none when nobody has a say.
    pub fn wanted(&self) -> Option<Size> {
        let windows = || self.all.values().filter(|c| c.drives).filter_map(|c| c.window);
        match self.policy {
            SizePolicy::Pinned => None,
            SizePolicy::Driver => self.all.get(&self.driver?)?.window,
            SizePolicy::Smallest => {
                let cols = windows().map(|w| w.cols).min()?;
                Some(Size { cols, rows: windows().map(|w| w.rows).min()? })
            }
        }
    }

    pub fn driver(&self) -> Option<u64> {
        self.driver
    }

    pub fn all(&self) -> impl Iterator<Item = (u64, &Client)> {
        self.all.iter().map(|(id, client)| (*id, client))
    }

    pub fn len(&self) -> usize {
        self.all.len()
    }

    pub fn is_empty(&self) -> bool {
        self.all.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn size(cols: u16, rows: u16) -> Size {
        Size { cols, rows }
    }

    fn join(clients: &mut Clients, drives: bool) -> u64 {
        clients.join(Client { name: "x".into(), drives, window: None, focused: false })
    }

    #[test]
    fn the_focus_is_lost_when_nobody_has_it() {
        let mut clients = Clients::new(SizePolicy::Driver);
        let (desk, phone) = (join(&mut clients, true), join(&mut clients, true));
        let viewer = join(&mut clients, false);
        assert!(clients.focus(desk, true));
        assert!(!clients.focus(phone, false), "a second window in the background says nothing new");
        assert!(clients.focus(phone, true), "the first has not noticed yet");
        assert!(!clients.focus(desk, false), "the second has it");
        assert!(!clients.focus(viewer, true) && !clients.focus(viewer, false));
        assert_eq!(clients.driver(), None, "to look is not to drive");
        assert!(!clients.leave(desk));
        assert!(clients.leave(phone), "it leaves with the focus");
        assert!(!clients.leave(viewer));
    }

    #[test]
    fn the_last_typist_decides_and_stays_until_another_types() {
        let mut clients = Clients::new(SizePolicy::Driver);
        let (desk, phone) = (join(&mut clients, true), join(&mut clients, true));
        clients.show(desk, size(120, 40));
        clients.show(phone, size(40, 60));
        assert_eq!(clients.wanted(), Some(size(120, 40)), "to connect is not to resize");
        assert!(clients.drive(phone));
        assert!(!clients.drive(phone), "it drives already");
        assert_eq!(clients.wanted(), Some(size(40, 60)));
        clients.leave(phone);
        assert_eq!(clients.wanted(), None, "nobody has a say: it stays as it is");
    }

    #[test]
    fn viewers_never_count() {
        for policy in [SizePolicy::Driver, SizePolicy::Smallest] {
            let mut clients = Clients::new(policy);
            let viewer = join(&mut clients, false);
            clients.show(viewer, size(20, 10));
            assert!(!clients.drive(viewer));
            assert_eq!(clients.wanted(), None);
        }
    }

    #[test]
    fn the_smallest_of_those_who_may_type() {
        let mut clients = Clients::new(SizePolicy::Smallest);
        let (a, b) = (join(&mut clients, true), join(&mut clients, true));
        clients.show(a, size(120, 20));
        clients.show(b, size(80, 40));
        assert_eq!(clients.wanted(), Some(size(80, 20)));
        clients.leave(b);
        assert_eq!(clients.wanted(), Some(size(120, 20)));
    }

    #[test]
    fn a_ghost_of_two_by_one_is_not_a_window() {
        let mut clients = Clients::new(SizePolicy::Driver);
        let ghost = join(&mut clients, true);
        clients.show(ghost, size(2, 1));
        assert_eq!(clients.wanted(), None);
    }

    #[test]
    fn a_pinned_terminal_is_nobodys() {
        let mut clients = Clients::new(SizePolicy::Pinned);
        let one = join(&mut clients, true);
        clients.show(one, size(120, 20));
        clients.drive(one);
        assert_eq!(clients.wanted(), None);
    }
}
