/** What to paste into a shell. Pure. */

/** Where a daemon listens when nobody says otherwise; there `trl` finds it by itself. */
const USUAL = /\/trl(?:-\d+)?\/trl\.sock$/;

/** A word of a POSIX shell. */
export function quoted(text: string): string {
  return /^[\w@%+=:,./-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`;
}

export interface Place {
  /** The address of this page. */
  origin: string;
  /** The daemon's socket, as far as it is known. */
  socket: string | null;
}

/** Said first when `trl` would look elsewhere. */
function preamble({ socket }: Place): string {
  return socket === null || USUAL.test(socket) ? "" : `export TRL_SOCKET_PATH=${quoted(socket)}\n`;
}

export function cliSnippet(place: Place): string {
  return `${preamble(place)}trl session new --name work --shell bash
trl run -s work 'cd /tmp && export WHO=me'
trl run -s work 'echo "$WHO in $PWD"'`;
}

export function terminalSnippet(place: Place): string {
  return `${preamble(place)}trl term new --name shared -- bash
trl term send shared --enter 'echo typed by an agent'
trl attach shared   # C-\\ d leaves it`;
}

export function httpSnippet(place: Place): string {
  return `${preamble(place)}TOKEN=$(trl token new my-agent --role agent)
curl -s ${quoted(`${place.origin}/rpc`)} \\
  -H "Authorization: Bearer $TOKEN" -H 'Content-Type: application/json' \\
  -d '{"id":1,"method":"exec.run","params":{"command":"echo hello"}}'`;
}

export function callSnippet(place: Place): string {
  return `${preamble(place)}trl call exec.run '{"command":"uname -a","timeout_s":10}'
trl call session.list`;
}
