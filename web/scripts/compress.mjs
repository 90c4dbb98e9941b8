// In place of each file of dist that gains by it, the same compressed: whoever takes no such thing has it unpacked by the
// daemon. And how much a browser loads for the first page.
import { readdir, readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { gzipSync } from "node:zlib";

const place = (path) => new URL(path, import.meta.url).pathname;
const dist = place("../dist/");

/** Which file needs which others; only for this. */
const manifest = JSON.parse(await readFile(join(dist, ".vite/manifest.json"), "utf8"));
await rm(join(dist, ".vite"), { recursive: true });

/** With all that they need, and of a page also what it fetches a moment later. */
function needed(keys, files = new Set(), seen = new Set()) {
  for (const key of keys) {
    if (seen.has(key)) continue;
    seen.add(key);
    const { file, css = [], imports = [], dynamicImports = [], isEntry = false } = manifest[key];
    for (const name of [file, ...css]) files.add(name);
    needed([...imports, ...(isEntry ? [] : dynamicImports)], files, seen);
  }
  return files;
}
const frame = needed(["index.html"]);
const first = needed(["index.html", "src/workspace/WorkspacePage.tsx"]);

const sums = { all: 0, first: 0, frame: 0 };
for (const name of await readdir(join(dist, "assets"))) {
  if (!/\.(js|css|svg)$/.test(name)) continue;
  const file = `assets/${name}`;
  const packed = gzipSync(await readFile(join(dist, file)), { level: 9 });
  await writeFile(join(dist, `${file}.gz`), packed);
  await rm(join(dist, file));
  sums.all += packed.length;
  if (first.has(file)) sums.first += packed.length;
  if (frame.has(file)) sums.frame += packed.length;
}
// `cargo xtask test` holds it to its bar.
await writeFile(place("../node_modules/.trl-first-load"), String(sums.first));
const kb = (bytes) => `${(bytes / 1000).toFixed(1)} kB`;
console.log(
  `compressed: ${kb(sums.first)} for the first page with terminals, ${kb(sums.frame)} of them for any; ${kb(sums.all)} in all`,
);
