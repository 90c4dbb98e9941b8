/** All that is left of a command's output, as a file. */
import { call } from "../api/http";
import { bytesOf } from "../api/text";
import { saveBytes } from "../ui/save";
import type { StreamName } from "./execution";

/** More than this does not become a file in a browser. */
const MOST_BYTES = 512 * 1024 * 1024;

const encoder = new TextEncoder();

/** What the daemon has not kept is marked where it is missing. */
export async function saveOutput(execution_id: string, stream: StreamName): Promise<void> {
  const pieces: Uint8Array<ArrayBuffer>[] = [];
  let since = 0;
  for (;;) {
    const slice = await call("exec.output", { execution_id, stream, since });
    if (slice.gap) pieces.push(encoder.encode(`\n[${slice.gap.to - slice.gap.from} bytes are gone here]\n`));
    pieces.push(bytesOf(slice.data, slice.encoding));
    if (slice.done || slice.next === since || slice.next > MOST_BYTES) break;
    since = slice.next;
  }
  saveBytes(new Blob(pieces, { type: "application/octet-stream" }), `${execution_id}.${stream}.txt`);
}
