// Runs the test files that failed once more, alone: `node scripts/rerun-failed.mjs REPORT`, REPORT being vitest's JSON
// report. A test that passes now is named, because it depends on time or load and must be corrected. With more than a
// few failed files, or a report that cannot be read, nothing is run and the failure stands.
import { spawnSync } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { relative } from "node:path";
import process from "node:process";
import { ROOT } from "./root.mjs";

const MAX_FILES = 4;

const [file = ""] = process.argv.slice(2);
const first = readReport(file);
const failedFiles = first?.testResults.filter(({ status }) => status === "failed") ?? [];
if (!first || failedFiles.length === 0 || failedFiles.length > MAX_FILES) process.exit(1);

const names = failedFiles.map(({ name }) => relative(ROOT, name));
process.stdout.write(`\nFailed files, run once more: ${names.join(", ")}\n`);
const secondFile = `${file}.second`;
const run = ["vitest", "run", ...names, "--reporter=default", "--reporter=json", `--outputFile.json=${secondFile}`];
const { status } = spawnSync("npx", run, { cwd: ROOT, stdio: ["ignore", "inherit", "inherit"] });
const second = readReport(secondFile);
if (status !== 0 || !second?.success) process.exit(1);

const failedTests = failedFiles.flatMap(({ assertionResults }) =>
  assertionResults.filter((each) => each.status === "failed"),
);
for (const { fullName } of failedTests) process.stdout.write(`passed only when it ran alone: ${fullName}\n`);
const passed = first.numPassedTests + failedTests.length;
writeFileSync(file, JSON.stringify({ numPassedTests: passed, numFailedTests: 0, testResults: [] }));

function readReport(path) {
  try {
    return JSON.parse(readFileSync(path, "utf8"));
  } catch {
    return undefined;
  }
}
