// Prints src/grapheme/table.rs: what the web terminal knows of every character from U+00A0 on.

import { terminal } from './client.mjs';

const unicode = terminal(80, 24)._core.unicodeService;
const HANGUL_SYLLABLES = [0xac00, 0xd7a4];

// The kind of a character in the low four bits, and 16 where it takes two columns.
function bits(code) {
  const properties = unicode.charProperties(code, 0);
  return ((properties >> 3) & 15) | (((properties >> 1) & 3) === 2 ? 16 : 0);
}

const entries = [];
let last;
for (let code = 0xa0; code <= 0x10ffff; code++) {
  if (code >= HANGUL_SYLLABLES[0] && code < HANGUL_SYLLABLES[1]) continue;
  const now = bits(code);
  if (now !== last) entries.push(`0x${(code * 256 + now).toString(16).padStart(8, '0')}`);
  last = now;
}

console.log(`//! Made by \`tests/judge/table.mjs\`.

/// Characters in order: the first of each range, shifted by eight bits, and the kind and width of all in that range.
#[rustfmt::skip]
pub(super) const TABLE: &[u32] = &[`);
for (let at = 0; at < entries.length; at += 10) console.log(`    ${entries.slice(at, at + 10).join(', ')},`);
console.log('];');
