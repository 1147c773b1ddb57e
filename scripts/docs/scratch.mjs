// Where documents run: folders with the packed package and the packages that their examples import.
import {
  chmodSync,
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  realpathSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { basename, delimiter, join } from "node:path";
import process from "node:process";
import { fileURLToPath } from "node:url";
import { linkPackage } from "../install-archive.mjs";
import { ROOT } from "../root.mjs";

/**
 * A folder whose `node_modules` holds the unpacked `archive` and beside it, as after `npm install`, every package that the
 * repository uses.
 */
export function openWorkshop(archive) {
  const folder = realpathSync(mkdtempSync(join(tmpdir(), "haft-docs-")));
  const modules = join(folder, "node_modules");
  mkdirSync(join(modules, ".bin"), { recursive: true });
  // A copy: packages that Haft loads on demand must be beside it, and the archive is shared with other tests.
  cpSync(archive, join(modules, "haft"), { recursive: true });
  for (const name of packagesOfRepository())
    if (existsSync(join(ROOT, "node_modules", name))) linkPackage(modules, name);
  for (const name of ["haft", ...packagesOfRepository()]) linkCommands(modules, name);
  const hooks = fileURLToPath(new URL("typescript-hooks.mjs", import.meta.url));
  writeCommand(modules, "tsx", `exec '${process.execPath}' --import 'file://${hooks}' "$@"`);
  return {
    folder,
    haft: join(modules, "haft"),
    hooks,
    close: () => rmSync(folder, { recursive: true, force: true, maxRetries: 3 }),
  };
}

function packagesOfRepository() {
  const names = ["package.json", "test/dependencies/package.json"].flatMap((file) => {
    const { dependencies, optionalDependencies, devDependencies } = readJson(join(ROOT, file));
    return Object.keys({ ...dependencies, ...optionalDependencies, ...devDependencies });
  });
  return [...new Set(names)];
}

/** What `npx` finds. */
function linkCommands(modules, name) {
  const file = join(modules, name, "package.json");
  if (!existsSync(file)) return;
  const { bin = {} } = readJson(file);
  const commands = typeof bin === "string" ? { [basename(name)]: bin } : bin;
  for (const [command, script] of Object.entries(commands)) {
    writeCommand(modules, command, `exec '${process.execPath}' '${join(modules, name, script)}' "$@"`);
  }
}

function writeCommand(modules, name, line) {
  const file = join(modules, ".bin", name);
  writeFileSync(file, `#!/bin/sh\n${line}\n`);
  chmodSync(file, 0o755);
}

/**
 * For one document: a folder `project`, empty or with the document's example, and an environment that shares nothing with that
 * of the developer.
 */
export async function openScratch(workshop, document, variables = {}) {
  const root = mkdtempSync(join(workshop.folder, "document-"));
  const project = join(root, "project");
  const folders = Object.fromEntries(
    ["home", "state", "scripts", "config", "tmp"].map((name) => [name, join(root, name)]),
  );
  for (const folder of [project, ...Object.values(folders)]) mkdirSync(folder);
  // The document of an example runs where a reader has it: in a folder that has the example.
  const [, example] = /^(examples\/[^/]+)\//.exec(document.file) ?? [];
  if (example) cpSync(join(ROOT, example), join(project, example), { recursive: true });
  const ports = await choosePorts(document);
  const env = {
    PATH: [join(workshop.folder, "node_modules", ".bin"), process.env["PATH"]].join(delimiter),
    HOME: folders["home"],
    TMPDIR: folders["tmp"],
    TZ: "UTC",
    LANG: process.env["LANG"] ?? "C.UTF-8",
    XDG_CONFIG_HOME: folders["config"],
    XDG_CACHE_HOME: join(workshop.folder, "cache"),
    HAFT_STATE_DIR: folders["state"],
    // No terminal has a width here.
    npm_config_offline: "true",
    npm_config_update_notifier: "false",
    GIT_AUTHOR_NAME: "Ann",
    GIT_AUTHOR_EMAIL: "ann@example.com",
    GIT_COMMITTER_NAME: "Ann",
    GIT_COMMITTER_EMAIL: "ann@example.com",
    ...variables,
  };
  for (const name of ["USER", "LOGNAME", "SHELL"]) if (process.env[name]) env[name] = process.env[name];
  if (ports.has(DEFAULT_PORT)) env["HAFT_PORT"] = ports.get(DEFAULT_PORT);
  return {
    ...folders,
    project,
    env,
    ports,
    close: () => rmSync(root, { recursive: true, force: true, maxRetries: 3 }),
  };
}

const DEFAULT_PORT = "4117";

/** Documents run at the same time as other programs, so each port that one names stands for a free one. */
async function choosePorts({ blocks }) {
  const text = blocks.map(({ code }) => code).join("\n");
  const named = Array.from(
    text.matchAll(/(?:127\.0\.0\.1:|localhost:|--port[ =]|\bport: )(\d{4,5})\b/gi),
    ([, port]) => port,
  );
  if (/\bhaft serve\b/.test(text)) named.push(DEFAULT_PORT);
  const ports = new Map();
  for (const port of new Set(named)) ports.set(port, String(await freePort()));
  return ports;
}

async function freePort() {
  const server = createServer();
  await new Promise((resolve) => server.listen(0, "127.0.0.1", () => resolve(undefined)));
  const { port } = /** @type {import("node:net").AddressInfo} */ (server.address());
  await new Promise((resolve) => server.close(resolve));
  return port;
}

function readJson(file) {
  return JSON.parse(readFileSync(file, "utf8"));
}
