// Judges restored terminals against uninterrupted ones: `node judge.mjs JOB.json` prints one JSON object per cut.
//
// A job is a stream with resizes and cuts. For every cut a fresh terminal gets the snapshot, and must equal the
// uninterrupted one at once and again after the bytes that follow. Everything is compared: every cell with its
// attributes, wrapping, history, cursor, modes, scroll region, tab stops, saved cursor, character sets, pen.

import { readFileSync } from 'node:fs';
import { terminal } from './client.mjs';

const job = JSON.parse(readFileSync(process.argv[2], 'utf8'));
const bytes = Buffer.from(job.bytes, 'base64');

const CM_MASK = 0x3000000;
const CM_RGB = 0x3000000;
const HAS_EXTENDED = 0x10000000;

const FORGOTTEN = '(forgotten)';

// The bits of a palette colour beyond its index mean nothing.
function word(value) {
  return (value & CM_MASK) === CM_RGB ? value >>> 0 : (value & ~0xffff00) >>> 0;
}

function describeCell(core, line, i) {
  const content = line._data[i * 3];
  const [fg, bg] = [line._data[i * 3 + 1], line._data[i * 3 + 2]];
  const extended = bg & HAS_EXTENDED ? line._extendedAttrs[i] : undefined;
  // A link is forgotten with the last of the rows it was noted for, though cells still refer to it.
  const link = extended?.urlId ? core._oscLinkService.getLinkData(extended.urlId)?.uri ?? FORGOTTEN : '';
  const underline = extended ? word(extended._ext & 0x1fffffff) : 0;
  return [line.getString(i), content >>> 22, word(fg), word(bg), underline, link].join('\u0001');
}

const BLANK = ['', 1, 0, 0, 0, ''].join('\u0001');

function describeLine(core, line, cols) {
  const cells = [];
  for (let i = 0; i < Math.min(cols, line.length); i++) cells.push(describeCell(core, line, i));
  while (cells.length && cells[cells.length - 1] === BLANK) cells.pop();
  return (line.isWrapped ? 'wrapped ' : '') + cells.join('\u0002');
}

function describeBuffer(core, buffer, cols, rows) {
  const lines = [];
  for (let i = 0; i < buffer.lines.length; i++) lines.push(describeLine(core, buffer.lines.get(i), cols));
  const clamp = (value, most) => Math.max(0, Math.min(value, most));
  const saved = buffer.savedCurAttrData;
  return {
    lines,
    cursor: [buffer.x, buffer.y],
    history: buffer.ybase,
    region: [buffer.scrollTop, buffer.scrollBottom],
    tabs: Object.keys(buffer.tabs).filter(tab => tab < cols && buffer.tabs[tab]).join(),
    saved: [clamp(buffer.savedX, cols - 1), clamp(buffer.savedY - buffer.ybase, rows - 1), word(saved.fg), word(saved.bg)],
    savedCharset: JSON.stringify(buffer.savedCharset),
  };
}

// The normal screen with its history as text, for the model itself.
function text(buffer) {
  const lines = [];
  for (let i = 0; i < buffer.lines.length; i++) {
    const line = buffer.lines.get(i);
    lines.push((line.isWrapped ? '>' : ' ') + line.translateToString(false).trimEnd());
  }
  return lines;
}

function describe(term) {
  const core = term._core;
  const { cols, rows, buffers } = core._bufferService;
  const alt = buffers.active === buffers.alt;
  const pen = core._inputHandler._curAttrData;
  const normal = describeBuffer(core, buffers.normal, cols, rows);
  const mouse = core.coreMouseService;
  // The normal screen's cursor is overwritten when it is shown again.
  if (alt) normal.cursor = 'stale';
  return {
    size: [cols, rows],
    buffer: alt ? 'alternate' : 'normal',
    normal,
    alternate: alt ? describeBuffer(core, buffers.alt, cols, rows) : undefined,
    modes: {
      ...core.coreService.modes, ...core.coreService.decPrivateModes,
      hidden: core.coreService.isCursorHidden, blink: core.optionsService.rawOptions.cursorBlink,
      newline: core.optionsService.rawOptions.convertEol, mouse: mouse.activeProtocol, encoding: mouse.activeEncoding,
    },
    pen: [word(pen.fg), word(pen.bg), pen.bg & HAS_EXTENDED ? word(pen.extended._ext & 0x1fffffff) : 0],
    charsets: [core._charsetService.glevel, JSON.stringify(core._charsetService.charset)],
    parser: core._inputHandler._parser.currentState,
    text: text(buffers.normal),
  };
}

// Which rows a link was noted for depends on the way here; where one side forgot it, only that there was one counts.
function equalButForLinks(expected, found) {
  if (typeof expected !== 'string' || typeof found !== 'string') return false;
  const [a, b] = [expected.split('\u0002'), found.split('\u0002')];
  const bare = cell => cell.slice(0, cell.lastIndexOf('\u0001'));
  return a.length === b.length && a.every((cell, i) => cell === b[i]
    || (bare(cell) === bare(b[i]) && (cell.endsWith(FORGOTTEN) || b[i].endsWith(FORGOTTEN))));
}

// Paths of the values that differ, the first few.
function differences(expected, found, path = '', list = []) {
  if (list.length >= 4) return list;
  if (typeof expected === 'object' && typeof found === 'object' && expected && found) {
    for (const key of new Set([...Object.keys(expected), ...Object.keys(found)])) {
      differences(expected[key], found[key], `${path}.${key}`, list);
    }
  } else if (expected !== found && !equalButForLinks(expected, found)) {
    const [a, b] = [String(expected), String(found)];
    let i = 0;
    while (i < a.length && a[i] === b[i]) i++;
    const from = a.lastIndexOf('\u0002', i) + 1;
    const column = a.slice(0, from).split('\u0002').length - 1;
    const show = text => JSON.stringify(text.slice(from, from + 60));
    list.push(`${path} column ${column}: expected ${show(a)}, found ${show(b)}`);
  }
  return list;
}

const write = (term, data) => new Promise(done => term.write(data, done));

// Feeds bytes and resizes from one position to another.
async function advance(term, from, to) {
  for (const [offset, cols, rows] of job.resizes) {
    if (offset < from || offset >= to) continue;
    await write(term, bytes.subarray(from, offset));
    term.resize(cols, rows);
    from = offset;
  }
  await write(term, bytes.subarray(from, to));
}

const wanted = new Map();
for (const cut of job.cuts) {
  wanted.set(cut.offset, undefined);
  wanted.set(cut.end, undefined);
}
const whole = terminal(job.cols, job.rows);
let position = 0;
for (const offset of [...wanted.keys()].sort((a, b) => a - b)) {
  await advance(whole, position, offset);
  position = offset;
  wanted.set(offset, describe(whole));
}

for (const cut of job.cuts) {
  const restored = terminal(cut.cols, cut.rows);
  const said = [];
  restored.onData(data => said.push(JSON.stringify(data)));
  restored.onBell(() => said.push('bell'));
  await write(restored, Buffer.from(cut.snapshot, 'base64'));
  const expected = wanted.get(cut.offset);
  const at = differences(expected, describe(restored)).concat(said.map(it => `the snapshot made it say ${it}`));
  const model = differences(expected.text, cut.text, 'model');
  await advance(restored, cut.offset, cut.end);
  const after = differences(wanted.get(cut.end), describe(restored));
  console.log(JSON.stringify({ offset: cut.offset, at, after, model }));
  restored.dispose();
}
