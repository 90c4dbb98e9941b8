// Beside each file of dist that gains by it, the same compressed; and the size of what a browser loads first.
import { readdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { gzipSync } from "node:zlib";

const dist = new URL("../dist/", import.meta.url).pathname;
const assets = join(dist, "assets");
const index = await readFile(join(dist, "index.html"), "utf8");

let all = 0;
let first = 0;
for (const name of await readdir(assets)) {
  if (!/\.(js|css|svg)$/.test(name)) continue;
  const packed = gzipSync(await readFile(join(assets, name)), { level: 9 });
  await writeFile(join(assets, `${name}.gz`), packed);
  all += packed.length;
  if (index.includes(name)) first += packed.length;
}
const kb = (bytes) => `${(bytes / 1000).toFixed(1)} kB`;
console.log(`compressed: ${kb(all)} in all, ${kb(first)} before the first page`);
