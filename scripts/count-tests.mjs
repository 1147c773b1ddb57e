// Prints the failed tests and one line of counts from vitest's JSON reports: `node scripts/count-tests.mjs EXIT_CODE REPORT…`.
import { readFileSync } from "node:fs";
import { relative } from "node:path";
import process from "node:process";
import { ROOT } from "./root.mjs";

const [exitCode = "0", ...files] = process.argv.slice(2);
const counts = files.map(countTests);
const passed = counts.reduce((sum, count) => sum + count.passed, 0);
const failed = counts.reduce((sum, count) => sum + count.failed, 0);
// A run that failed without a failed test (it never started, or an error came from outside a test) is one failure.
process.stdout.write(`${passed} passed, ${failed === 0 && exitCode !== "0" ? 1 : failed} failed\n`);

function countTests(path) {
  let report;
  try {
    report = JSON.parse(readFileSync(path, "utf8"));
  } catch {
    return { passed: 0, failed: 0 };
  }
  // A file that breaks while it is loaded has no tests to count.
  const broken = report.testResults.filter(
    ({ status, assertionResults }) => status === "failed" && assertionResults.length === 0,
  );
  for (const { name, assertionResults } of report.testResults) {
    for (const { fullName, failureMessages = [] } of assertionResults.filter(({ status }) => status === "failed")) {
      const [why = ""] = String(failureMessages[0] ?? "").split("\n");
      process.stdout.write(`failed: ${relative(ROOT, name)}: ${fullName}: ${why.slice(0, 300)}\n`);
    }
  }
  return { passed: report.numPassedTests, failed: report.numFailedTests + broken.length };
}
