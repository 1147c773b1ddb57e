// Changes the sources that decide about permission, ownership and scope, one place at a time, and runs the tests near them:
// `npm run test:full -- mutants [GROUP…]`. A change that no test notices is a mutant that survived. What was found is kept in
// `.mutants/`, so a run that was stopped continues, and later runs try only what has changed.
import { join } from "node:path";
import process from "node:process";
import { Stryker } from "@stryker-mutator/core";
import { ROOT } from "./root.mjs";

/** The share of all mutants of a run that tests must notice. */
const MIN_PERCENT = 85;

/** Small groups of sources, each with the tests beside them: fast enough to run hundreds of times. */
const GROUPS = {
  verdicts: {
    mutate: ["src/gate/permit/verdict.ts"],
    tests: ["src/gate/permit/judge.test.ts"],
  },
  paths: {
    mutate: ["src/io/files/path-policy.ts"],
    tests: ["src/io/files/{path-policy,sensitive-path,deny-rules}.test.ts"],
  },
  secrets: {
    mutate: ["src/io/files/secret-paths.ts"],
    tests: ["src/io/files/{secret-paths,deny-rules}.test.ts"],
  },
  tokens: {
    mutate: ["src/store/tokens.ts"],
    tests: ["src/store/tokens.test.ts"],
  },
  scopes: {
    mutate: ["src/contracts/identity.ts", "src/server/authentication.ts", "src/api/check-request.ts"],
    tests: ["src/{api/check-request,server/authentication,contracts/identity}.test.ts"],
  },
  transitions: {
    mutate: ["src/calls/stored-call.ts"],
    tests: ["src/calls/stored-call.test.ts", "test/calls/model/agreement.test.ts"],
  },
  approvals: {
    mutate: ["src/calls/approval.ts"],
    tests: ["src/calls/{approval,calls}.test.ts"],
  },
  owners: {
    mutate: ["src/core/gate.ts"],
    tests: ["src/core/gate.test.ts"],
  },
};

const names = process.argv.slice(2);
const unknown = names.filter((name) => !Object.hasOwn(GROUPS, name));
if (unknown.length > 0) {
  process.stderr.write(`No group is named ${unknown.join(", ")}. There are: ${Object.keys(GROUPS).join(", ")}.\n`);
  process.exit(2);
}
process.chdir(ROOT);
const rows = [];
for (const name of names.length > 0 ? names : Object.keys(GROUPS)) rows.push(countOf(name, await run(name)));
const all = rows.reduce(add);
process.stdout.write(`\n${"group".padEnd(12)} noticed survived    %\n`);
for (const row of rows.length > 1 ? [...rows, { ...all, name: "all" }] : rows) {
  const cells = [
    String(row.noticed).padStart(7),
    String(row.survived).padStart(8),
    String(Math.floor(percentOf(row))).padStart(4),
  ];
  process.stdout.write(`${row.name.padEnd(12)} ${cells.join(" ")}\n`);
}
if (percentOf(all) < MIN_PERCENT) {
  process.stderr.write(
    `Tests notice less than ${MIN_PERCENT} % of the mutants. Those that survived are listed above.\n`,
  );
  process.exitCode = 1;
}

/** @param {string} name */
function run(name) {
  const { mutate, tests } = GROUPS[name];
  process.env["HAFT_TESTS"] = tests.join(" ");
  return new Stryker({
    mutate,
    testRunner: "vitest",
    vitest: { configFile: "test/mutants.config.ts", related: false },
    plugins: ["@stryker-mutator/vitest-runner"],
    incremental: true,
    incrementalFile: join(".mutants", `${name}.json`),
    tempDirName: join(".mutants", "sources"),
    reporters: ["clear-text", "progress-append-only"],
    clearTextReporter: { allowColor: false, reportTests: false },
    // Most texts are messages.
    mutator: { excludedMutations: ["StringLiteral"] },
    concurrency: 2,
    // A busy machine must not count as a test that noticed something.
    timeoutMS: 20_000,
    disableTypeChecks: false,
    // The compiler does not run, and Stryker reads this file with an interface that TypeScript 7 does not have.
    tsconfigFile: "none",
    ignorePatterns: ["/dist"],
    allowConsoleColors: false,
  }).runMutationTest();
}

function countOf(name, mutants) {
  const count = (...states) => mutants.filter(({ status }) => states.includes(status)).length;
  return { name, noticed: count("Killed", "Timeout"), survived: count("Survived", "NoCoverage") };
}

function add(one, other) {
  return { noticed: one.noticed + other.noticed, survived: one.survived + other.survived };
}

function percentOf({ noticed, survived }) {
  return (100 * noticed) / (noticed + survived);
}
