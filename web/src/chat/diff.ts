/** Two texts, line by line: what went, what came, and a little of what is around it. Pure. */

export interface Line {
  kind: "same" | "gone" | "new";
  text: string;
}

export type Shown = Line | { kind: "skipped"; lines: number };

/** More pairs of lines than this are not compared: all of the old goes, all of the new comes. */
const MOST_PAIRS = 1_000_000;
/** Lines around a change. */
const AROUND = 3;

function linesOf(text: string): string[] {
  if (text === "") return [];
  return text.replace(/\n$/, "").split("\n");
}

export function diff(before: string, after: string): Line[] {
  const [old, now] = [linesOf(before), linesOf(after)];
  let head = 0;
  while (head < old.length && head < now.length && old[head] === now[head]) head++;
  let tail = 0;
  while (
    tail < old.length - head &&
    tail < now.length - head &&
    old[old.length - 1 - tail] === now[now.length - 1 - tail]
  )
    tail++;
  const same = (lines: string[]) => lines.map((text): Line => ({ kind: "same", text }));
  return [
    ...same(old.slice(0, head)),
    ...middle(old.slice(head, old.length - tail), now.slice(head, now.length - tail)),
    ...same(old.slice(old.length - tail)),
  ];
}

/** By the longest common subsequence. */
function middle(old: readonly string[], now: readonly string[]): Line[] {
  const gone = (text: string): Line => ({ kind: "gone", text });
  const come = (text: string): Line => ({ kind: "new", text });
  if (old.length * now.length > MOST_PAIRS) return [...old.map(gone), ...now.map(come)];
  const width = now.length + 1;
  // At i * width + j: how many lines the rests from i and from j have in common.
  const common = new Uint32Array((old.length + 1) * width);
  const at = (i: number, j: number) => common[i * width + j] ?? 0;
  for (let i = old.length - 1; i >= 0; i--)
    for (let j = now.length - 1; j >= 0; j--)
      common[i * width + j] = old[i] === now[j] ? at(i + 1, j + 1) + 1 : Math.max(at(i + 1, j), at(i, j + 1));
  const lines: Line[] = [];
  let [i, j] = [0, 0];
  while (i < old.length || j < now.length) {
    const [one, other] = [old[i], now[j]];
    if (one !== undefined && one === other) {
      lines.push({ kind: "same", text: one });
      i++;
      j++;
    } else if (one !== undefined && (other === undefined || at(i + 1, j) >= at(i, j + 1))) {
      lines.push(gone(one));
      i++;
    } else {
      lines.push(come(other ?? ""));
      j++;
    }
  }
  return lines;
}

/** Long runs of what stayed are counted, and of a very long change only so many lines are shown. */
export function folded(lines: readonly Line[], most = 400): Shown[] {
  const near = new Set<number>();
  lines.forEach(({ kind }, at) => {
    if (kind !== "same") for (let i = at - AROUND; i <= at + AROUND; i++) near.add(i);
  });
  const shown: Shown[] = [];
  let skipped = 0;
  const skip = () => {
    if (skipped > 0) shown.push({ kind: "skipped", lines: skipped });
    skipped = 0;
  };
  lines.forEach((line, at) => {
    if (!near.has(at) || shown.length >= most) {
      skipped++;
      return;
    }
    skip();
    shown.push(line);
  });
  skip();
  return shown;
}

export function counts(lines: readonly Line[]): { come: number; gone: number } {
  const of = (kind: Line["kind"]) => lines.filter((line) => line.kind === kind).length;
  return { come: of("new"), gone: of("gone") };
}
