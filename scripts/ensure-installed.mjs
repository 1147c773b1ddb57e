// Installs what the lock file names, when node_modules does not hold it already; with `start`, only what building and
// starting need. Runs before everything else, so it may use nothing but Node itself, and must still parse on a Node that
// is too old to run Haft.
import { spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import { existsSync, mkdirSync, readFileSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import { fileURLToPath } from "node:url";

const MIN_NODE_VERSION = { major: 20, minor: 19 };
const MAX_WAIT_MS = 10 * 60_000;

/**
 * Exits with a message when this Node is too old or the installation fails. `scope`: "start" leaves out the packages of
 * `test/dependencies`.
 */
export function ensureInstalled(root, scope = "all") {
  refuseOldNode();
  if (whatIsMissing(root, scope) === undefined) return;
  const release = takeTurn(root);
  process.on("exit", release);
  // Another run may have installed everything while this one waited.
  const missing = whatIsMissing(root, scope);
  if (missing !== undefined) install(root, missing, scope);
  release();
  process.off("exit", release);
}

function refuseOldNode() {
  const [major = 0, minor = 0] = process.versions.node.split(".").map(Number);
  const oldest = MIN_NODE_VERSION;
  if (major > oldest.major || (major === oldest.major && minor >= oldest.minor)) return;
  const need = `Haft needs Node ${oldest.major}.${oldest.minor} or newer; this is ${process.version}.`;
  fail(`${need} Install a newer Node and try again.`);
}

/** The reason to install, or undefined when node_modules agrees with the lock file. */
function whatIsMissing(root, scope) {
  const locked = readPackages(join(root, "package-lock.json"));
  if (locked === undefined) fail("package-lock.json is missing or unreadable. Restore it from version control.");
  const wanted = scope === "start" ? packagesOfRoot(locked) : locked;
  const present = readPackages(join(root, "node_modules", ".package-lock.json"));
  if (present === undefined) return "nothing is installed yet";
  for (const [place, entry] of Object.entries(wanted)) {
    // A link, and what it points to, is a part of this repository.
    if (!place.startsWith("node_modules/") || entry.link) continue;
    const found = present[place];
    // npm leaves out optional packages that are made for other platforms.
    if (found === undefined && entry.optional) continue;
    if (found === undefined || !existsSync(join(root, place, "package.json"))) return `${nameOf(place)} is missing`;
    if (found.version !== entry.version || found.integrity !== entry.integrity) return `${nameOf(place)} has changed`;
  }
  for (const [place, entry] of Object.entries(present)) {
    if (locked[place] === undefined) return `${nameOf(place)} is no longer wanted`;
    if (!suits(entry.os, process.platform) || !suits(entry.cpu, process.arch)) return "this is another platform";
  }
  return undefined;
}

/** The entries that the package itself needs, without its workspaces. */
function packagesOfRoot(locked) {
  const found = {};
  const places = [""];
  for (const place of places) {
    const { dependencies, devDependencies, optionalDependencies, peerDependencies } = locked[place];
    const names = {
      ...dependencies,
      ...optionalDependencies,
      ...peerDependencies,
      ...(place === "" ? devDependencies : {}),
    };
    for (const name of Object.keys(names)) {
      const resolved = resolvePlace(locked, place, name);
      if (resolved === undefined || found[resolved] !== undefined) continue;
      // An optional peer is installed only because something else wants it.
      if (isOptionalPeer(locked[place], name)) continue;
      found[resolved] = locked[resolved];
      places.push(resolved);
    }
  }
  return found;
}

function isOptionalPeer({ dependencies = {}, devDependencies = {}, peerDependenciesMeta = {} }, name) {
  return peerDependenciesMeta[name]?.optional === true && !(name in dependencies) && !(name in devDependencies);
}

/** Where a package finds another: in its own folder, or in one above. */
function resolvePlace(locked, from, name) {
  for (let folder = from; ; folder = folder.slice(0, Math.max(0, folder.lastIndexOf("/node_modules/")))) {
    const place = folder === "" ? `node_modules/${name}` : `${folder}/node_modules/${name}`;
    if (locked[place] !== undefined) return place;
    if (folder === "") return undefined;
  }
}

function readPackages(file) {
  try {
    return JSON.parse(readFileSync(file, "utf8")).packages;
  } catch {
    return undefined;
  }
}

function nameOf(place) {
  return place.split("node_modules/").at(-1);
}

function suits(list, value) {
  if (list === undefined) return true;
  if (list.includes(`!${value}`)) return false;
  const named = list.filter((entry) => !entry.startsWith("!"));
  return named.length === 0 || named.includes("any") || named.includes(value);
}

function install(root, reason, scope) {
  const started = Date.now();
  const showProgress = process.stderr.isTTY === true;
  process.stderr.write(`Installing the packages of package-lock.json (${reason}) ...\n`);
  // Development packages are named because NODE_ENV=production would leave out what builds and tests.
  const wish = [
    "ci",
    "--include=dev",
    "--include=optional",
    "--no-audit",
    "--no-fund",
    showProgress ? "--progress" : "--no-progress",
    "--loglevel=error",
    ...(scope === "start" ? ["--workspaces=false"] : []),
  ];
  const { status, stdout, stderr, error } = runNpm(wish, root, { showProgress });
  if (status === 0) {
    process.stderr.write(`Installed in ${Math.round((Date.now() - started) / 1000)} s.\n`);
    return;
  }
  process.stderr.write(`${stdout ?? ""}${stderr ?? ""}${error ? `${error.message}\n` : ""}`);
  fail(
    "The packages could not be installed; npm's own words are above. If they speak of the network, check the connection" +
      " and run the same command again; if they say that package.json and package-lock.json differ, run `npm install`.",
  );
}

/** Runs the npm that started this script, or else the one on the PATH, and returns its captured output. */
export function runNpm(parameters, cwd, { showProgress = false } = {}) {
  const own = process.env.npm_execpath;
  /** @type {import("node:child_process").SpawnSyncOptionsWithStringEncoding} */
  const options = {
    cwd,
    encoding: "utf8",
    stdio: ["ignore", "pipe", showProgress ? "inherit" : "pipe"],
    maxBuffer: 64 * 1024 * 1024,
  };
  if (own !== undefined && /npm-cli\.[cm]?js$/.test(own))
    return spawnSync(process.execPath, [own, ...parameters], options);
  const onWindows = process.platform === "win32";
  return spawnSync(onWindows ? "npm.cmd" : "npm", parameters, { ...options, shell: onWindows });
}

/** Waits until no other process installs into this folder. `npm ci` empties node_modules, so the lock lies outside. */
function takeTurn(root) {
  const lock = join(
    tmpdir(),
    `haft-install-${createHash("sha256").update(realpathSync(root)).digest("hex").slice(0, 16)}`,
  );
  const owner = join(lock, "pid");
  const giveUpAt = Date.now() + MAX_WAIT_MS;
  let reported = false;
  for (;;) {
    try {
      mkdirSync(lock);
      writeFileSync(owner, String(process.pid));
      return () => rmSync(lock, { recursive: true, force: true });
    } catch (error) {
      if (error.code !== "EEXIST") throw error;
    }
    if (ownerIsGone(owner)) {
      rmSync(lock, { recursive: true, force: true });
      continue;
    }
    if (Date.now() > giveUpAt)
      fail(`Another installation holds ${lock} for too long. Remove that folder and try again.`);
    if (!reported) process.stderr.write("Waiting for another installation of the same folder ...\n");
    reported = true;
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 250);
  }
}

function ownerIsGone(owner) {
  // Between the making of the folder and of the file there is no pid yet: give its maker a moment.
  for (let attempt = 0; attempt < 8; attempt += 1) {
    try {
      process.kill(Number(readFileSync(owner, "utf8")), 0);
      return false;
    } catch (error) {
      if (error.code === "ESRCH") return true;
      if (error.code === "EPERM") return false;
    }
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 250);
  }
  return true;
}

function fail(message) {
  process.stderr.write(`${message}\n`);
  process.exit(1);
}

if (process.argv[1] !== undefined && realpathSync(process.argv[1]) === fileURLToPath(import.meta.url)) {
  ensureInstalled(fileURLToPath(new URL("..", import.meta.url)).replace(/[\\/]$/, ""), process.argv[2]);
}
