/** What an agent writes: text, and in it what stands between fences. Never anything but text. Pure. */

export interface Passage {
  kind: "text" | "code";
  text: string;
}

const FENCE = /^ {0,3}(`{3,}|~{3,})(.*)$/;

/** A fence that is not closed yet reaches to the end: more may be on its way. */
export function passages(text: string): Passage[] {
  const found: Passage[] = [];
  let fence: string | null = null;
  let lines: string[] = [];
  const flush = (kind: Passage["kind"]) => {
    const passage = lines.join("\n");
    lines = [];
    if (kind === "code" || passage.trim() !== "")
      found.push({ kind, text: kind === "code" ? passage : trimmed(passage) });
  };
  for (const line of text.split("\n")) {
    const mark = FENCE.exec(line)?.[1];
    const rest = FENCE.exec(line)?.[2] ?? "";
    if (fence === null && mark !== undefined && !rest.includes("`")) {
      flush("text");
      fence = mark;
    } else if (fence !== null && mark?.startsWith(fence) === true && rest.trim() === "") {
      flush("code");
      fence = null;
    } else lines.push(line);
  }
  if (fence === null || lines.length > 0) flush(fence === null ? "text" : "code");
  return found;
}

function trimmed(text: string): string {
  return text.replace(/^\n+/, "").trimEnd();
}

/** So much of a long text is shown at first. */
export const MOST_SHOWN = 20_000;

export function clipped(text: string): { shown: string; left: number } {
  if (text.length <= MOST_SHOWN) return { shown: text, left: 0 };
  return { shown: text.slice(0, MOST_SHOWN), left: text.length - MOST_SHOWN };
}

/** Whatever it is, for people. */
export function written(value: unknown): string {
  return typeof value === "string" ? value : JSON.stringify(value, null, 2);
}
