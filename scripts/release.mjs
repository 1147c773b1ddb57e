// Prepares and checks a release: `npm run release -- 0.3.0` sets the version everywhere and dates the changelog. The release
// workflow runs `check v0.3.0` and `notes v0.3.0`.
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import process from "node:process";
import { parser } from "keep-a-changelog";
import { runNpm } from "./ensure-installed.mjs";
import { ROOT } from "./root.mjs";

const UNRELEASED = "## Unreleased\n";
const SECTIONS = new Set(["added", "changed", "deprecated", "removed", "fixed", "security"]);

/** The releases of a changelog, newest first. Throws if it does not follow Keep a Changelog. */
export function readReleases(text) {
  for (const [, heading] of text.matchAll(/^### (.*)$/gm)) {
    if (!SECTIONS.has(heading.toLowerCase())) throw new Error(`CHANGELOG.md has an unknown section: ${heading}.`);
  }
  const { releases } = parser(text);
  const seen = new Set();
  for (const release of releases) {
    const name = release.version ?? "Unreleased";
    if (seen.has(name)) throw new Error(`CHANGELOG.md has ${name} twice.`);
    seen.add(name);
    if (release.version !== undefined && release.isEmpty()) throw new Error(`${name} has no entries.`);
  }
  return releases;
}

/** The text of one release without its heading, in Markdown. */
export function notesOf(text, version) {
  const release = readReleases(text).find((one) => one.version === version);
  if (release === undefined) throw new Error(`CHANGELOG.md has no section for ${version}.`);
  return `${release.toString().split("\n").slice(1).join("\n").trim()}\n`;
}

/** The changelog with the Unreleased section as this release, and an empty Unreleased section above. */
export function dateChangelog(text, version, date) {
  const [unreleased] = readReleases(text);
  if (unreleased === undefined || unreleased.version !== undefined || unreleased.isEmpty())
    throw new Error("The Unreleased section has no entries.");
  return text.replace(UNRELEASED, `${UNRELEASED}\n## ${version} - ${date}\n`);
}

const read = (path) => readFileSync(join(ROOT, path), "utf8");

function checkTag(tag) {
  const { version } = JSON.parse(read("package.json"));
  refusePrerelease(version);
  if (tag !== `v${version}`) throw new Error(`The tag is ${tag}, but package.json has version ${version}.`);
  notesOf(read("CHANGELOG.md"), version);
  process.stdout.write(`${tag}: package.json and CHANGELOG.md agree.\n`);
}

/** `npm publish` would make it the version that everyone installs. */
function refusePrerelease(version) {
  if (version.includes("-")) throw new Error(`${version} is a prerelease. Release a version such as 0.3.0.`);
}

function prepare(version) {
  refusePrerelease(version);
  const changelog = dateChangelog(read("CHANGELOG.md"), version, new Date().toISOString().slice(0, 10));
  const { status, stderr } = runNpm(["version", version, "--no-git-tag-version", "--workspaces=false"], ROOT);
  if (status !== 0) throw new Error(`npm version failed:\n${stderr}`);
  const file = "src/core/telemetry/version.ts";
  writeFileSync(join(ROOT, file), read(file).replace(/"[^"]+"/, JSON.stringify(version)));
  writeFileSync(join(ROOT, "CHANGELOG.md"), changelog);
  process.stdout.write(`Version ${version} is set. Commit, tag the commit v${version} and push the tag.\n`);
}

function run([command = "", tag = ""]) {
  if (command === "check") return checkTag(tag);
  if (command === "notes") return void process.stdout.write(notesOf(read("CHANGELOG.md"), tag.replace(/^v/, "")));
  if (/^\d+\.\d+\.\d+(-[\w.-]+)?$/.test(command)) return prepare(command);
  throw new Error(
    "Usage: npm run release -- VERSION (for example 0.3.0), or: node scripts/release.mjs check|notes TAG",
  );
}

if (process.argv[1] === join(ROOT, "scripts", "release.mjs")) {
  try {
    run(process.argv.slice(2));
  } catch (error) {
    process.stderr.write(`${error.message}\n`);
    process.exitCode = 1;
  }
}
