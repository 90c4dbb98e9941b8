// The terminal of the web UI without a window: xterm.js with the add-on for grapheme clusters.

// In Node, that add-on reads its table from the start of the buffer that Node shares among small ones.
const { poolSize } = Buffer;
Buffer.poolSize = 0;
const [{ default: xterm }, { default: graphemes }] = await Promise.all([
  import('@xterm/headless'),
  import('@xterm/addon-unicode-graphemes'),
]);
Buffer.poolSize = poolSize;

export function terminal(cols, rows) {
  const options = { cols, rows, scrollback: 100000, allowProposedApi: true, logLevel: 'off' };
  const terminal = new xterm.Terminal(options);
  terminal.loadAddon(new graphemes.UnicodeGraphemesAddon());
  return terminal;
}
