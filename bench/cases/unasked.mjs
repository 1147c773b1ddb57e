// How many commands of coding agents run without a question, on a small project and on installed packages as repositories.
import { execFileSync } from "node:child_process";
import {
  chmodSync,
  cpSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { ROOT } from "../../scripts/root.mjs";
import { importHaft, importWorkspace, interleave, median, SMOKE } from "../harness.mjs";

export const name = "unasked";

const PACKAGES = ["hono", "zod", "ws", "yaml", "semver", "picomatch", "diff", "undici", "commander", "ajv"];
const ON_PACKAGES = [
  ...["ls -la", "git status", "git log --oneline -5", "cat package.json | head -40", "grep -rn 'function' . | wc -l"],
  ...[
    "find . -name '*.js' | xargs wc -l | tail -1",
    "node -p \"require('./package.json').version\"",
    "npm pkg get scripts",
  ],
  ...[
    "node -e \"console.log(Object.keys(require('.')).length)\"",
    "python3 -m json.tool package.json",
    "npm ls --depth=0",
  ],
  ...['for f in *.md; do wc -l "$f"; done', "node --check index.js", "git diff && node --version", "make -n"],
];

const SCRIPTS = {
  test: "node --test test/",
  lint: "node --check src/index.js",
  typecheck: "node --check src/other.js",
  check: "npm run lint && npm run typecheck",
  hello: "echo hello",
  build: "node scripts/write.js",
  dev: "node scripts/server.js",
  start: "node scripts/server.js",
};

const PROJECT = {
  "package.json": `${JSON.stringify({ name: "project", version: "1.0.0", type: "module", scripts: SCRIPTS }, undefined, 2)}\n`,
  "README.md": "# Project\n\nIt adds two numbers.\n",
  ".gitignore": "node_modules\ndist\n",
  Makefile:
    "help:\n\t@echo targets\nbuild:\n\tmkdir -p dist && cp src/index.js dist\ntest check:\n\tnode --test test/\n",
  "build.sh": "mkdir -p dist\ncp src/index.js dist\n",
  "calc.py": "def add(a, b):\n    return a + b\n\n\nprint(add(1, 2))\n",
  "change.patch": "--- README.md\n+++ README.md\n@@ -1 +1 @@\n-# Project\n+# Changed\n",
  "src/index.js": "// TODO: subtract\nexport function add(a, b) {\n  return a + b;\n}\nconsole.log(add(1, 2));\n",
  "src/other.js": "export function other() {\n  return 1;\n}\n",
  "test/add.test.js":
    "import test from 'node:test';\nimport assert from 'node:assert';\nimport { add } from '../src/index.js';\ntest('adds', () => assert.equal(add(1, 2), 3));\n",
  "tests/__init__.py": "",
  "tests/test_calc.py":
    "import unittest\nfrom calc import add\n\n\nclass Adds(unittest.TestCase):\n    def test_adds(self):\n        self.assertEqual(add(1, 2), 3)\n",
  "scripts/report.js":
    "import { readdirSync } from 'node:fs';\nconsole.log(JSON.stringify({ files: readdirSync('src').length }));\n",
  "scripts/count.mjs": "import { readdirSync } from 'node:fs';\nconsole.log(readdirSync(process.argv[2]).length);\n",
  "scripts/stats.py": "import os, sys\nprint(len(os.listdir(sys.argv[1])))\n",
  "scripts/info.sh": "#!/bin/sh\nuname -s\nls src\n",
  "scripts/write.js":
    "import { mkdirSync, writeFileSync } from 'node:fs';\nmkdirSync('dist', { recursive: true });\nwriteFileSync('dist/out.js', '1');\n",
  "scripts/write.py": "open('out.txt', 'w').write('x')\n",
  "scripts/server.js":
    "import { createServer } from 'node:http';\ncreateServer((_, res) => res.end('hi')).listen(3000);\n",
};

export async function run({ report, notMeasured }) {
  const { createHaft } = await importHaft();
  const { openWorkspace } = await importWorkspace();
  const base = mkdtempSync(join(tmpdir(), "haft-unasked-"));
  const lists = JSON.parse(readFileSync(new URL("../agent-commands.json", import.meta.url), "utf8"));
  const open = (folder) => {
    const workspace = openWorkspace(folder, { stateFolder: join(base, "state") });
    return { haft: createHaft({ workspace }), sandbox: workspace.sandbox };
  };
  const project = join(base, "project");
  writeProject(project);
  const { haft, sandbox } = open(project);
  try {
    const reporting = sandbox?.refusalReporting;
    if (!reporting?.isReported)
      return notMeasured("commands that run unasked", reporting?.why ?? "there is no sandbox");
    for (const [kind, commands] of Object.entries(lists)) {
      const some = SMOKE ? commands.slice(0, 2) : commands;
      const counts = await runAll(haft, project, some);
      if (process.env.SHOW) console.log(kind, JSON.stringify(counts, undefined, 1));
      reportShares(report, `commands of agents, ${kind}`, counts, some.length, kind === "reads" ? 90 : undefined);
    }
    const all = emptyCounts();
    for (const name of SMOKE ? PACKAGES.slice(0, 1) : PACKAGES) {
      const folder = join(base, name);
      if (!copyPackage(name, folder)) continue;
      const { haft: own } = open(folder);
      const counts = await runAll(own, folder, ON_PACKAGES);
      await own.shutdown();
      if (process.env.SHOW) console.log(name, JSON.stringify(counts, undefined, 1));
      for (const key of Object.keys(all)) all[key].push(...counts[key]);
    }
    reportShares(report, "commands on packages", all, Object.values(all).flat().length, 90);
    const wall = (command) => async () => {
      const before = performance.now();
      await haft.execute("exec", { command });
      return performance.now() - before;
    };
    const bare = async () => {
      const before = performance.now();
      execFileSync("/bin/sh", ["-c", "sh scripts/info.sh"], { cwd: project, stdio: "ignore" });
      return performance.now() - before;
    };
    const taken = await interleave({ bare, first: wall("sh scripts/info.sh"), look: wall("ls src") }, 20);
    report({
      case: "a script that runs first, over a bare run, wall",
      value: median(taken.first) - median(taken.bare),
      unit: "ms",
    });
    report({ case: "a command that only reads, by its text, wall", value: median(taken.look), unit: "ms" });
  } finally {
    await haft.shutdown();
    rmSync(base, { recursive: true, force: true });
  }
}

function reportShares(report, label, counts, total, atLeast) {
  for (const [kind, commands] of Object.entries(counts)) {
    const goal = kind === "harmful" ? { atMost: 0 } : kind === "unasked" && atLeast ? { atLeast } : {};
    const value = kind === "harmful" ? commands.length : (100 * commands.length) / total;
    report({ case: `${label}: ${kind}`, value, unit: kind === "harmful" ? "commands" : "%", ...goal });
  }
}

function emptyCounts() {
  return { unasked: [], "with effects": [], refused: [], unknown: [], harmful: [] };
}

async function runAll(haft, folder, commands) {
  const counts = emptyCounts();
  let before = pictureOf(folder);
  for (const command of commands) {
    const result = await haft.execute("exec", { command });
    const after = pictureOf(folder);
    if (after !== before) counts.harmful.push(command);
    before = after;
    counts[await kindOf(haft, result)].push(command);
  }
  return counts;
}

async function kindOf(haft, result) {
  if (result.status !== "pending") return "unasked";
  const { preview } = await haft.approvals.get(result.pending.id);
  const keys = (preview?.facts ?? []).map(({ key }) => key);
  await haft.approvals.deny(result.pending.id);
  if (keys.some((key) => key.startsWith("preview.refused"))) return "refused";
  return keys.includes("preview.ran") ? "with effects" : "unknown";
}

/** Everything except what git notes about its own index. */
function pictureOf(folder) {
  return readdirSync(folder, { recursive: true, encoding: "utf8" })
    .map((path) => {
      const info = lstatSync(join(folder, path));
      return `${path} ${info.mode} ${info.size} ${info.isFile() ? String(info.mtimeMs) : ""}`;
    })
    .sort()
    .join("\n");
}

function writeProject(folder) {
  for (const [path, content] of Object.entries(PROJECT)) {
    mkdirSync(dirname(join(folder, path)), { recursive: true });
    writeFileSync(join(folder, path), content);
  }
  chmodSync(join(folder, "scripts/info.sh"), 0o755);
  commit(folder);
}

function copyPackage(name, folder) {
  try {
    cpSync(join(ROOT, "node_modules", name), folder, { recursive: true, dereference: true });
  } catch {
    return false;
  }
  commit(folder);
  return true;
}

function commit(folder) {
  const git = (...args) =>
    execFileSync("git", ["-c", "user.email=a@b.c", "-c", "user.name=a", ...args], { cwd: folder, stdio: "ignore" });
  git("init", "-q");
  git("add", "-A");
  git("commit", "-qm", "first");
}
