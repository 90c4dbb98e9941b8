//! The ways a value may be written: as it is, and as programs print it.

/// A shorter piece of an encoded value would be found where it is not.
const SHORTEST_PIECE: usize = 4;
/// A line of a value of many lines that is looked for on its own.
const SHORTEST_LINE: usize = 8;
/// Where `base64` breaks its lines.
const BASE64_LINE: usize = 76;

pub(super) fn of(secret: &str) -> Vec<Vec<u8>> {
    let bytes = secret.as_bytes();
    let mut forms = vec![bytes.to_vec(), escaped(secret), escaped_ascii(secret)];
    for stays in URL_LETTERS {
        forms.extend([percent(bytes, UPPER, stays), percent(bytes, LOWER, stays)]);
    }
    forms.push(
        String::from_utf8_lossy(&percent(bytes, UPPER, URL_LETTERS[0])).replace("%20", "+").into_bytes(),
    );
    forms.extend([hex(bytes, UPPER), hex(bytes, LOWER)]);
    forms.push(secret.replace('\'', r"'\''").into_bytes());
    forms.push(double_quoted(secret));
    forms.push(backslashed(secret));
    forms.extend(base64(bytes));
    let lines = secret.lines().map(str::trim).filter(|line| line.len() >= SHORTEST_LINE);
    forms.extend(lines.map(|line| line.as_bytes().to_vec()));
    forms
}

/// What the standard leaves, what JavaScript does, what the most careful do.
const URL_LETTERS: [&str; 4] = ["-_.~", "-_.!~*'()", "-_.", ""];

const UPPER: &[u8; 16] = b"0123456789ABCDEF";
const LOWER: &[u8; 16] = b"0123456789abcdef";

fn hex(bytes: &[u8], digits: &[u8; 16]) -> Vec<u8> {
    bytes.iter().flat_map(|byte| [digits[usize::from(byte >> 4)], digits[usize::from(byte & 15)]]).collect()
}

/// As in a URL; `stays` is what beside letters and digits is left as it is.
fn percent(bytes: &[u8], digits: &[u8; 16], stays: &str) -> Vec<u8> {
    let mut text = Vec::with_capacity(bytes.len() * 3);
    for byte in bytes {
        if byte.is_ascii_alphanumeric() || stays.as_bytes().contains(byte) {
            text.push(*byte);
        } else {
            text.push(b'%');
            text.extend(hex(&[*byte], digits));
        }
    }
    text
}

/// As in JSON.
fn escaped(secret: &str) -> Vec<u8> {
    let quoted = serde_json::Value::from(secret).to_string();
    quoted.get(1..quoted.len().saturating_sub(1)).unwrap_or_default().as_bytes().to_vec()
}

/// As in JSON that keeps to ASCII.
fn escaped_ascii(secret: &str) -> Vec<u8> {
    let mut text = String::new();
    for letter in String::from_utf8_lossy(&escaped(secret)).chars() {
        if letter.is_ascii() {
            text.push(letter);
        } else {
            let mut units = [0; 2];
            for unit in letter.encode_utf16(&mut units) {
                text.push_str(&format!("\\u{unit:04x}"));
            }
        }
    }
    text.into_bytes()
}

/// As a shell's `export -p` has it.
fn double_quoted(secret: &str) -> Vec<u8> {
    let mut text = String::with_capacity(secret.len());
    for letter in secret.chars() {
        if matches!(letter, '"' | '\\' | '$' | '`') {
            text.push('\\');
        }
        text.push(letter);
    }
    text.into_bytes()
}

/// As a shell's `printf %q` has it.
fn backslashed(secret: &str) -> Vec<u8> {
    let mut text = String::with_capacity(secret.len());
    for letter in secret.chars() {
        if letter.is_ascii() && !letter.is_ascii_alphanumeric() && !"_-./:=@%+,".contains(letter) {
            text.push('\\');
        }
        text.push(letter);
    }
    text.into_bytes()
}

/// What of the value's base64 is the same whatever stands before and after it: three ways to fall on its groups of three.
fn base64(secret: &[u8]) -> Vec<Vec<u8>> {
    let mut forms = Vec::new();
    for before in 0..3 {
        let padded: Vec<u8> = std::iter::repeat_n(0, before).chain(secret.iter().copied()).collect();
        let (from, to) = ((8 * before).div_ceil(6), 8 * padded.len() / 6);
        let whole = base64_simd::STANDARD.encode_to_string(&padded);
        let Some(core) = whole.as_bytes().get(from..to).filter(|core| core.len() >= SHORTEST_PIECE) else {
            continue;
        };
        let url: Vec<u8> = core
            .iter()
            .map(|c| {
                if *c == b'+' {
                    b'-'
                } else if *c == b'/' {
                    b'_'
                } else {
                    *c
                }
            })
            .collect();
        if before == 0 && core.len() > BASE64_LINE {
            let lines = core.chunks(BASE64_LINE).filter(|line| line.len() >= 2 * SHORTEST_LINE);
            forms.extend(lines.map(<[u8]>::to_vec));
        }
        forms.push(core.to_vec());
        forms.push(url);
    }
    forms
}
