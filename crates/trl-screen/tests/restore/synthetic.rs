//! Streams that try one feature each, hard, and one that tries all of them at once.

use crate::random::Random;
use crate::{COLS, ROWS, Stream};

const LENGTH: usize = 24 * 1024;

pub(crate) type Kind = fn(&mut Random) -> String;

const KINDS: &[(&str, &[Kind])] = &[
    ("styles", &[style, style, words, line]),
    ("wide", &[wide, wide, style, line, place, words]),
    ("wraps", &[long, words, line, wide, style, place]),
    ("regions", &[region, scroll, line, words, place, style, line]),
    ("editing", &[edit, edit, words, place, style, line, wide]),
    ("erasing", &[erase, erase, words, style, place, line, wide]),
    ("tabs", &[tab, tab, words, line, place]),
    ("alternate", &[alternate, words, line, style, place, region, saved]),
    ("origin", &[origin, region, words, line, place, scroll]),
    ("saved", &[saved, saved, words, line, place, style, charset]),
    ("charsets", &[charset, charset, words, line, saved]),
    ("modes", &[mode, mode, words, line, place, string]),
    ("strings", &[string, string, words, line, style]),
    ("everything", ALL),
];

const ALL: &[Kind] = &[
    style,
    style,
    words,
    words,
    words,
    wide,
    long,
    line,
    line,
    line,
    region,
    scroll,
    edit,
    erase,
    tab,
    alternate_plain,
    origin,
    saved_plain,
    charset,
    mode,
    string,
    place,
];

/// Not the alternate screen: when it shrinks, the client keeps what is beyond the edge, out of everybody's reach, and shows
/// it again when it grows. Programs there draw anew; the recorded ones do. Tab stops beyond the edge come back likewise.
const RESIZED: &[Kind] = &[
    style,
    style,
    words,
    words,
    words,
    wide_alone,
    long,
    line,
    line,
    line,
    region,
    scroll,
    erase,
    origin,
    saved_plain,
    charset,
    mode,
    string,
    place,
];

pub(crate) fn streams(seed: u64) -> Vec<Stream> {
    let mut streams = Vec::new();
    for (at, (name, kinds)) in KINDS.iter().enumerate() {
        let mut random = Random::seeded(seed.wrapping_add(at as u64 * 7919));
        let bytes = mixed(kinds, &mut random);
        streams.push(Stream { name: (*name).into(), bytes: bytes.clone(), resizes: Vec::new() });
    }
    // Resizes among text that wraps and scrolls, and among nearly everything.
    for (at, (name, kinds)) in [
        ("resizes", &[long as Kind, words, line, wide_alone, style, erase] as &[Kind]),
        ("resizes all", RESIZED),
    ]
    .iter()
    .enumerate()
    {
        let mut random = Random::seeded(seed.wrapping_add(at as u64 * 104_729 + 1));
        let bytes = mixed(kinds, &mut random);
        let mut resizes: Vec<(usize, u16, u16)> = (0..12)
            .map(|_| {
                let offset = crate::boundary(&bytes, random.below(bytes.len()));
                (offset, 60 + random.below(100) as u16, 15 + random.below(40) as u16)
            })
            .collect();
        resizes.sort_unstable();
        streams.push(Stream { name: (*name).replace(' ', "-"), bytes, resizes });
    }
    streams
}

/// Pieces of these kinds, one after the other.
pub(crate) fn mixed(kinds: &[Kind], random: &mut Random) -> Vec<u8> {
    let mut text = String::new();
    while text.len() < LENGTH {
        text += &kinds[random.below(kinds.len())](random);
    }
    text.into_bytes()
}

pub(crate) fn words(random: &mut Random) -> String {
    let n = 1 + random.below(12);
    (0..n)
        .map(|_| {
            random.pick(&["alpha ", "beta", " ", "gamma-delta ", "(x)", "0123456789 ", "~", "   ", "é", "→"])
        })
        .collect()
}

pub(crate) fn line(random: &mut Random) -> String {
    random.pick(&["\r\n", "\r\n", "\r\n", "\n", "\r", "\x1bE", "\x1bD", "\x1bM", "\x0b"]).to_string()
}

fn long(random: &mut Random) -> String {
    let n = COLS as usize - 3 + random.below(200);
    (0..n).map(|i| char::from(b'a' + (i % 26) as u8)).collect()
}

fn wide(random: &mut Random) -> String {
    let n = 1 + random.below(8);
    let list = [
        "漢",
        "字",
        "한",
        "Ａ",
        "e\u{301}",
        "a\u{308}\u{301}",
        "😀",
        "👩\u{200d}💻",
        "\u{3000}",
        "ｱ",
        "x",
        "☃\u{fe0f}",
        "क\u{94d}",
    ];
    (0..n).map(|_| list[random.below(list.len())]).collect()
}

/// Without clusters: laying lines out anew, the client mixes them up by what else was ever in their rows.
fn wide_alone(random: &mut Random) -> String {
    let n = 1 + random.below(8);
    (0..n).map(|_| random.pick(&["漢", "字", "한", "Ａ", "\u{3000}", "ｱ", "x", "é"])).collect()
}

pub(crate) fn style(random: &mut Random) -> String {
    let number = |random: &mut Random| match random.below(12) {
        0 => format!("38;5;{}", random.below(256)),
        1 => format!("48;5;{}", random.below(256)),
        2 => format!("38;2;{};{};{}", random.below(256), random.below(256), random.below(256)),
        3 => format!("48:2::{}:{}:{}", random.below(256), random.below(256), random.below(256)),
        4 => format!("4:{}", random.below(6)),
        5 => format!("58:5:{}", random.below(256)),
        6 => format!("58;2;{};{};9", random.below(256), random.below(256)),
        7 => (30 + random.below(8)).to_string(),
        8 => (40 + random.below(8)).to_string(),
        9 => (90 + random.below(18)).to_string(),
        10 => "0".to_string(),
        _ => random
            .pick(&[
                "1", "2", "3", "4", "5", "7", "8", "9", "21", "22", "23", "24", "25", "27", "28", "29", "39",
                "49", "53", "55", "59",
            ])
            .to_string(),
    };
    let list: Vec<String> = (0..1 + random.below(3)).map(|_| number(random)).collect();
    format!("\x1b[{}m", list.join(";"))
}

pub(crate) fn place(random: &mut Random) -> String {
    let (x, y, n) =
        (1 + random.below(COLS as usize + 4), 1 + random.below(ROWS as usize + 2), random.below(9));
    match random.below(8) {
        0 => format!("\x1b[{n}A"),
        1 => format!("\x1b[{n}B"),
        2 => format!("\x1b[{n}C"),
        3 => format!("\x1b[{n}D"),
        4 => format!("\x1b[{x}G"),
        5 => format!("\x1b[{y}d"),
        6 => "\x08".to_string(),
        _ => format!("\x1b[{y};{x}H"),
    }
}

fn region(random: &mut Random) -> String {
    let top = 1 + random.below(ROWS as usize - 2);
    let bottom = top + 1 + random.below(ROWS as usize - top);
    match random.below(4) {
        0 => "\x1b[r".to_string(),
        1 => format!("\x1b[1;{bottom}r"),
        _ => format!("\x1b[{top};{bottom}r"),
    }
}

fn scroll(random: &mut Random) -> String {
    let n = 1 + random.below(4);
    format!("\x1b[{n}{}", random.pick(&["S", "T", "L", "M"]))
}

pub(crate) fn edit(random: &mut Random) -> String {
    let n = 1 + random.below(10);
    match random.below(10) {
        0 => "\x1b[4h".to_string(),
        1 | 2 => "\x1b[4l".to_string(),
        3 => format!("\x1b[{n} @"),
        4 => format!("\x1b[{n} A"),
        5 => format!("\x1b[{n}'}}"),
        6 => format!("\x1b[{n}'~"),
        7 => format!("ab\x1b[{n}b"),
        _ => format!("\x1b[{n}{}", random.pick(&["@", "P", "L", "M", "X"])),
    }
}

pub(crate) fn erase(random: &mut Random) -> String {
    let choice = [
        "\x1b[K",
        "\x1b[1K",
        "\x1b[2K",
        "\x1b[J",
        "\x1b[5G\x1b[1J",
        "\x1b[2J",
        "\x1b[3J",
        "\x1b[4X",
        "\x1b[?K",
        "\x1b[?J",
        "\x1b[1\"q",
        "\x1b[0\"q",
    ];
    let at = random.below(choice.len());
    // Clearing everything is rare, or nothing would ever be there.
    if (5..7).contains(&at) && !random.one_in(6) { "\x1b[K".to_string() } else { choice[at].to_string() }
}

fn tab(random: &mut Random) -> String {
    let n = 1 + random.below(3);
    match random.below(9) {
        0 | 1 => "\x1bH".to_string(),
        2 => "\x1b[g".to_string(),
        3 if random.one_in(3) => "\x1b[3g".to_string(),
        4 => format!("\x1b[{n}I"),
        5 => format!("\x1b[{n}Z"),
        _ => "\t".to_string(),
    }
}

fn alternate(random: &mut Random) -> String {
    if !random.one_in(3) {
        return words(random);
    }
    random
        .pick(&[
            "\x1b[?1049h",
            "\x1b[?1049l",
            "\x1b[?47h",
            "\x1b[?47l",
            "\x1b[?1047h",
            "\x1b[?1047l",
            "\x1b[?1048h",
            "\x1b[?1048l",
        ])
        .to_string()
}

fn origin(random: &mut Random) -> String {
    random.pick(&["\x1b[?6h", "\x1b[?6l"]).to_string()
}

fn saved(random: &mut Random) -> String {
    random.pick(&["\x1b7", "\x1b8", "\x1b[s", "\x1b[u"]).to_string()
}

/// Never saves an underline: restored, the client has the flag but no style for it, and once such a pen crosses to the
/// other screen nothing can make it again. "saved" and "alternate" do it where it can be done.
fn saved_plain(random: &mut Random) -> String {
    format!("\x1b[24m{}", saved(random))
}

fn alternate_plain(random: &mut Random) -> String {
    format!("\x1b[24m{}", alternate(random))
}

fn charset(random: &mut Random) -> String {
    let list = [
        "\x1b(0",
        "\x1b(B",
        "\x1b)0",
        "\x1b)B",
        "\x0e",
        "\x0f",
        "lqqk",
        "x  x",
        "\x1b*A",
        "\x1bn",
        "\x1b(K[]{}",
        "\x1b+4",
        "\x1bo",
    ];
    random.pick(&list).to_string()
}

fn mode(random: &mut Random) -> String {
    let modes = [1, 7, 12, 25, 45, 66, 9, 1000, 1002, 1003, 1004, 1006, 1016, 2004, 2026];
    let mode = modes[random.below(modes.len())];
    match random.below(8) {
        0 => random.pick(&["\x1b=", "\x1b>", "\x1b[20h", "\x1b[20l", "\x1b[!p"]).to_string(),
        1 => format!("\x1b[{} q", random.below(7)),
        _ => format!("\x1b[?{mode}{}", random.pick(&["h", "l"])),
    }
}

fn string(random: &mut Random) -> String {
    random
        .pick(&[
            "\x1b]0;title\x07",
            "\x1b]2;ünïcödé\x1b\\",
            "\x1b]8;id=a;http://example.com/a\x1b\\linked\x1b]8;;\x1b\\",
            "\x1b]8;;http://example.com/b\x07",
            "\x1b]8;;\x07",
            "\x1bP$q\"p\x1b\\",
            "\x1b_ignored\x1b\\",
            "\x1b]52;c;aGVsbG8=\x07",
            "\x1b[c\x1b[6n",
            "\x1b]133;A\x07$ \x1b]133;B\x07",
        ])
        .to_string()
}
