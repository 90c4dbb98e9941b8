//! Parameters of a control sequence, with their sub-parameters, at most 32 of each.

const MOST: usize = 32;

/// Numbers between the introducer and the final byte. An empty parameter is 0, an empty sub-parameter -1.
#[derive(Debug, Clone)]
pub(crate) struct Params {
    values: [i32; MOST],
    len: u8,
    subs: [i32; MOST],
    subs_len: u8,
    /// Where the sub-parameters of each parameter end.
    ends: [u8; MOST],
    /// A parameter too many came: further digits belong to nobody.
    over: bool,
    subs_over: bool,
    in_sub: bool,
}

impl Default for Params {
    fn default() -> Self {
        let (values, subs, ends) = ([0; MOST], [0; MOST], [0; MOST]);
        Self { values, len: 1, subs, subs_len: 0, ends, over: false, subs_over: false, in_sub: false }
    }
}

impl Params {
    pub(crate) fn clear(&mut self) {
        (self.values[0], self.ends[0]) = (0, 0);
        (self.len, self.subs_len) = (1, 0);
        (self.over, self.subs_over, self.in_sub) = (false, false, false);
    }

    /// A digit, `;` or `:`.
    pub(crate) fn push(&mut self, byte: u8) {
        match byte {
            b';' => self.next(),
            b':' => self.next_sub(),
            _ => self.digit(i32::from(byte - b'0')),
        }
    }

    fn next(&mut self) {
        self.in_sub = false;
        if usize::from(self.len) == MOST {
            self.over = true;
            return;
        }
        let at = usize::from(self.len);
        (self.values[at], self.ends[at]) = (0, self.subs_len);
        self.len += 1;
    }

    fn next_sub(&mut self) {
        self.in_sub = true;
        if self.over || usize::from(self.subs_len) == MOST {
            self.subs_over = true;
            return;
        }
        self.subs[usize::from(self.subs_len)] = -1;
        self.subs_len += 1;
        self.ends[usize::from(self.len) - 1] = self.subs_len;
    }

    fn digit(&mut self, digit: i32) {
        if self.over || (self.in_sub && (self.subs_over || self.subs_len == 0)) {
            return;
        }
        let value = if self.in_sub {
            &mut self.subs[usize::from(self.subs_len) - 1]
        } else {
            &mut self.values[usize::from(self.len) - 1]
        };
        *value = if *value < 0 { digit } else { value.saturating_mul(10).saturating_add(digit) };
    }

    pub(crate) fn len(&self) -> usize {
        usize::from(self.len)
    }

    /// 0 beyond the last one.
    pub(crate) fn get(&self, at: usize) -> i32 {
        if at < self.len() { self.values[at] } else { 0 }
    }

    /// A count: at least 1.
    pub(crate) fn count(&self) -> usize {
        self.get(0).max(1) as usize
    }

    pub(crate) fn values(&self) -> &[i32] {
        &self.values[..self.len()]
    }

    pub(crate) fn subs(&self, at: usize) -> &[i32] {
        if at >= self.len() {
            return &[];
        }
        let start = if at == 0 { 0 } else { self.ends[at - 1] };
        &self.subs[usize::from(start)..usize::from(self.ends[at])]
    }

    /// Text that leads to the same parameters, and to the same effect of whatever follows it.
    pub(crate) fn replay(&self, out: &mut Vec<u8>) {
        for at in 0..self.len() {
            if at > 0 {
                out.push(b';');
            }
            out.extend(self.values[at].to_string().bytes());
            for &sub in self.subs(at) {
                out.push(b':');
                if sub >= 0 {
                    out.extend(sub.to_string().bytes());
                }
            }
        }
        if self.over {
            out.push(b';');
        }
        if self.subs_over && self.in_sub {
            out.push(b':');
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn parse(text: &[u8]) -> Params {
        let mut params = Params::default();
        text.iter().for_each(|&byte| params.push(byte));
        params
    }

    #[test]
    fn sub_parameters_belong_to_theirs() {
        let params = parse(b"38:2::1:2:3;4:3;99999999999");
        assert_eq!((params.len(), params.get(0), params.get(1)), (3, 38, 4));
        assert_eq!((params.subs(0), params.subs(1)), (&[2, -1, 1, 2, 3][..], &[3][..]));
        assert_eq!(params.get(2), i32::MAX);
        assert_eq!(parse(b"").values(), &[0]);
    }

    proptest! {
        #[test]
        fn a_replay_continues_alike(text in "[0-9;:]{0,120}", more in "[0-9;:]{0,20}") {
            let mut replayed = Vec::new();
            parse(text.as_bytes()).replay(&mut replayed);
            let (whole, replayed) = ([text.as_bytes(), more.as_bytes()].concat(), [&replayed, more.as_bytes()].concat());
            let (a, b) = (parse(&whole), parse(&replayed));
            prop_assert_eq!(a.values(), b.values());
            for at in 0..a.len() {
                prop_assert_eq!(a.subs(at), b.subs(at));
            }
        }
    }
}
