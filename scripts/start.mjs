// npm start -- [OPTIONS OF haft serve]: installs and builds what is missing, and serves a folder. Like ensure-installed.mjs,
// it must parse on a Node that is too old.
import { statSync } from "node:fs";
import { resolve } from "node:path";
import process from "node:process";
import { fileURLToPath } from "node:url";
import { ensureInstalled } from "./ensure-installed.mjs";

const root = fileURLToPath(new URL("..", import.meta.url)).replace(/[\\/]$/, "");
const main = fileURLToPath(new URL("../dist/cli/main.js", import.meta.url));
const words = process.argv.slice(2);

refuseMissingFolder(words);
ensureInstalled(root, "start");
const { build } = await import("./build.mjs");
const code = await build({ say: true });
if (code !== 0) process.exit(code);
process.argv = [process.execPath, main, "serve", ...words];
await import(new URL("../dist/cli/main.js", import.meta.url).href);

/**
 * Before the installation, which takes a minute. `haft serve` checks a folder behind options itself.
 * @param {string[]} words
 */
function refuseMissingFolder(words) {
  const [folder, ...others] = words;
  if (folder === undefined || folder.startsWith("-") || others.includes("--sample")) return;
  const path = resolve(folder);
  if (statSync(path, { throwIfNoEntry: false })?.isDirectory()) return;
  process.stderr.write(`There is no folder ${path}. Create it first, or use another one.\n`);
  process.exit(2);
}
