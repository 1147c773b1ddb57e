// npm run test:full -- --long adoption, or `node test/adoption/run.mjs [FRAMEWORK…]`: runs the adapters and adopted tools against
// the frameworks themselves, on the Node that `npm run test:node24` brings, and prints what each framework passed.
// A framework that cannot be installed only marks its own row; the exit code is then 1.
import { spawnSync } from "node:child_process";
import { cpSync, mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import process from "node:process";
import { ensureInstalled } from "../../scripts/ensure-installed.mjs";
import { ROOT } from "../../scripts/root.mjs";

const HERE = join(ROOT, "test", "adoption");
const FOLDERS = join(HERE, "frameworks");
/** Outside of the sources, so that no check reads the packages. */
const INSTALLED = join(ROOT, ".runtimes", "adoption");
/** Too large for every installation, or for a newer Node: each is installed into a folder of its own. */
const ON_DEMAND = readdirSync(FOLDERS, { withFileTypes: true }).flatMap((entry) =>
  entry.isDirectory() ? [entry.name] : [],
);

/** Tests of several frameworks, each of those that are installed. */
const SHARED = ["test/adoption/adopted", "test/adoption/examples"];
/** By the test file. */
const TITLES = {
  "ai-sdk": "AI SDK",
  langchain: "LangChain",
  mastra: "Mastra",
  "old-versions": "Versions that are refused",
  "openai-agents": "OpenAI Agents",
  tanstack: "TanStack AI",
};

const [first, ...given] = process.argv.slice(2);
if (first === "--install") {
  // A process of its own, because a failed installation ends it.
  const name = given[0] ?? "";
  cpSync(join(FOLDERS, name), join(INSTALLED, name), { recursive: true });
  ensureInstalled(join(INSTALLED, name));
} else {
  process.exitCode = run(first === undefined ? [] : [first, ...given]);
}

function run(names) {
  const unknown = names.filter((name) => !ON_DEMAND.includes(name));
  if (unknown.length > 0) {
    process.stderr.write(`There is no framework ${unknown.join(", ")}. There are: ${ON_DEMAND.join(", ")}.\n`);
    return 2;
  }
  const notes = new Map();
  const installed = (names.length > 0 ? names : ON_DEMAND).filter((name) => {
    const problem = install(name);
    if (problem !== undefined) notes.set(name, problem);
    return problem === undefined;
  });
  const folder = mkdtempSync(join(tmpdir(), "haft-adoption-report-"));
  try {
    const report = join(folder, "report.json");
    const status = runTests(names, installed, report);
    const rows = readRows(report);
    process.stdout.write(`\n${formatTable(rows, notes)}\n`);
    return notes.size > 0 ? 1 : status;
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** Why it could not be installed; undefined if it is. */
function install(name) {
  process.stderr.write(`== ${name}\n`);
  const { status, stderr } = spawnSync(process.execPath, [join(HERE, "run.mjs"), "--install", name], {
    encoding: "utf8",
    stdio: ["ignore", "inherit", "pipe"],
  });
  process.stderr.write(stderr);
  if (status === 0) return undefined;
  const reason = stderr.split("\n").find((line) => /npm (error|ERR!)/.test(line)) ?? `exit code ${status}`;
  return `could not be installed: ${reason.trim()}. npm's own words are above.`;
}

/** All tests of adoption; if frameworks are named, only theirs. */
function runTests(names, installed, report) {
  if (names.length > 0 && installed.length === 0) return 1;
  const files = names.length > 0 ? installed.map((name) => `test/adoption/${name}`) : ["test/adoption"];
  const reporters = ["--reporter=default", "--reporter=json", `--outputFile.json=${report}`];
  const { status } = spawnSync(
    process.execPath,
    [join(ROOT, "scripts", "with-runtime.mjs"), "node24", ...files, ...SHARED, ...reporters],
    {
      cwd: ROOT,
      env: { ...process.env, HAFT_FULL: "1", HAFT_FRAMEWORKS: installed.join(" ") },
      stdio: ["ignore", "inherit", "inherit"],
    },
  );
  return status ?? 1;
}

/** What each test says about its row in `task.meta.adoption`. Tests that say nothing are counted by their file. */
function readRows(report) {
  let results;
  try {
    results = JSON.parse(readFileSync(report, "utf8")).testResults;
  } catch {
    return [];
  }
  return results.flatMap(({ name, assertionResults }) =>
    assertionResults
      .filter(({ meta, status }) => meta?.adoption || status === "passed" || status === "failed")
      .map(({ meta, title, status, failureMessages }) => ({
        framework: TITLES[basename(name, ".test.ts")] ?? basename(name),
        version: "",
        row: title,
        ...meta?.adoption,
        outcome:
          status === "passed" ? "passed" : (meta?.adoption?.note ?? failureMessages[0]?.split("\n")[0] ?? status),
        isCounted: !meta?.adoption,
      })),
  );
}

function formatTable(rows, notes) {
  const lines = [...groupByFramework(rows)].map(([framework, own]) => {
    const passed = own.filter(({ outcome }) => outcome === "passed");
    const others = own.filter(({ outcome }) => outcome !== "passed").map(({ row, outcome }) => `${row}: ${outcome}`);
    const named = passed.filter(({ isCounted }) => !isCounted).map(({ row }) => row);
    const counted = passed.length - named.length;
    const all = [...named, ...(counted > 0 ? [`${counted} more tests`] : [])].join(", ") || "nothing";
    return [`${framework} ${own[0].version}`.trim(), `  passed: ${all}`, ...others.map((other) => `  ${other}`)].join(
      "\n",
    );
  });
  const missing = [...notes].map(([name, note]) => `${name}\n  ${note}`);
  return ["Frameworks", ...lines, ...missing].join("\n");
}

function groupByFramework(rows) {
  const groups = new Map();
  for (const row of rows) groups.set(row.framework, [...(groups.get(row.framework) ?? []), row]);
  return groups;
}
