// Writes src/api/schema.gen.ts: the types of the wire, from the description that the daemon's own types make.
import { readFile, writeFile } from "node:fs/promises";
import openapiTS, { astToString } from "openapi-typescript";

const source = new URL("../../docs/openapi.json", import.meta.url);
const target = new URL("../src/api/schema.gen.ts", import.meta.url);

const document = JSON.parse(await readFile(source, "utf8"));
const named = (schema) => `components["schemas"]["${schema.$ref.split("/").at(-1)}"]`;
const row = ([method, { params, result }]) =>
  `  "${method}": { params: ${named(params)}; result: ${named(result)} };`;
const text = [
  "// Made by scripts/api-types.mjs from docs/openapi.json.",
  astToString(await openapiTS(document)),
  "/** What the daemon can do. */\nexport interface Methods {",
  ...Object.entries(document["x-trl-methods"]).map(row),
  "}\n",
].join("\n");

const before = await readFile(target, "utf8").catch(() => "");
if (before !== text) await writeFile(target, text);
