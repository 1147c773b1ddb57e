// What confining a command costs beside the same command unconfined, and what many files with secrets cost.
import { spawn } from "node:child_process";
import { mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { importHaft, importWorkspace, interleave, median, percentile, SMOKE, timed } from "../harness.mjs";
import { wallMs } from "../search-tree.mjs";

export const name = "sandbox";

const ROUNDS = 60;
const TREE_ROUNDS = 7;
const FOLDERS = SMOKE ? 20 : 1000;
const FILES_A_FOLDER = 50;
const SECRETS = 40;
/** Of a spawn the fastest tenth is judged: in the others the machine did something else. */
const quick = (times) => percentile(times, 0.1);

export async function run({ report }) {
  const { openWorkspace } = await importWorkspace();
  const folder = mkdtempSync(join(tmpdir(), "haft-bench-sandbox-"));
  try {
    const { sandbox } = openWorkspace(folder);
    if (sandbox?.engines.look === undefined || sandbox.engines.work === undefined)
      return report({ case: `not measured, ${sandbox?.notice ?? "there is no sandbox"}`, value: 0, unit: "" });
    await measureSpawns(sandbox, folder, report);
    await measureCalls(report);
    await measureTree(openWorkspace, report);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** From the decision to confine it to its end. */
async function measureSpawns(sandbox, cwd, report) {
  const confined = (profile) => async () => {
    const { command, env, finish } = await sandbox.confine(profile, ["/bin/true"], { cwd, terminal: false });
    await runToEnd(command, { cwd, env });
    await finish();
  };
  const cases = {
    bare: () => wallMs(() => runToEnd(["/bin/true"], { cwd, env: {} })),
    look: () => wallMs(confined("look")),
    work: () => wallMs(confined("work")),
  };
  await interleave(cases, 5);
  const times = await interleave(cases, ROUNDS);
  const bare = quick(times.bare);
  report({ case: "a bare spawn of true, wall", value: bare, unit: "ms" });
  const { look, work } = sandbox.engines;
  report({ case: `look (${look}), over it`, value: quick(times.look) - bare, unit: "ms", atMost: 1.5 });
  report({ case: `work (${work}), over it`, value: quick(times.work) - bare, unit: "ms", atMost: 4 });
}

async function measureCalls(report) {
  const { createHaft } = await importHaft();
  const { openWorkspace } = await importWorkspace();
  const approver = async () => ({ approved: true });
  const bare = createHaft({ workspace: openWorkspace(process.cwd(), { sandbox: false }), approver });
  const confined = createHaft({
    workspace: openWorkspace(process.cwd(), { sandbox: { autoAllow: true } }),
    approver,
  });
  try {
    const cases = {
      bare: () => wallMs(() => bare.execute("exec", { command: "/bin/true" })),
      confined: () => wallMs(() => confined.execute("exec", { command: "/bin/true" })),
    };
    await interleave(cases, 5);
    const times = await interleave(cases, ROUNDS);
    const value = median(times.confined) - median(times.bare);
    report({ case: "a confined call of exec, over a bare one", value, unit: "ms", atMost: 60 });
  } finally {
    await Promise.all([bare.shutdown(), confined.shutdown()]);
  }
}

/** 50,000 files, and secrets in 40 of their 1,000 folders. */
async function measureTree(openWorkspace, report) {
  const root = realpathSync(mkdtempSync(join(tmpdir(), "haft-bench-tree-")));
  try {
    const folders = plantFiles(root).slice(0, SECRETS);
    for (const folder of folders) writeFileSync(join(folder, ".env"), "KEY=value\n");
    // What was just written is read again, to be safe.
    await new Promise((resolve) => setTimeout(resolve, 100));
    const first = [];
    for (let round = 0; round < TREE_ROUNDS; round++) {
      const { sandbox } = openWorkspace(root);
      void sandbox.engines;
      first.push(await timed(() => confine(sandbox, root)));
    }
    report({ case: "50,000 files with 40 secrets: first table", value: median(first), unit: "ms", atMost: 300 });
    const { sandbox } = openWorkspace(root);
    await confine(sandbox, root);
    const changed = [];
    for (let round = 0; round < TREE_ROUNDS; round++) {
      writeFileSync(join(folders[round], "changed.txt"), "changed\n");
      changed.push(await timed(() => confine(sandbox, root)));
    }
    report({ case: "after a change in one folder", value: median(changed), unit: "ms", atMost: 40 });
    await new Promise((resolve) => setTimeout(resolve, 100));
    const cases = {
      bare: () => wallMs(() => runToEnd(["/bin/true"], { cwd: root, env: {} })),
      table: () => timed(() => confine(sandbox, root)),
      confined: async () => {
        const { command, env } = await confine(sandbox, root);
        return wallMs(() => runToEnd(command, { cwd: root, env }));
      },
    };
    await interleave(cases, 3);
    const times = await interleave(cases, ROUNDS);
    report({ case: "without a change", value: median(times.table), unit: "ms" });
    const start = quick(times.confined) - quick(times.bare);
    report({ case: "start of a command with that table, over a bare one", value: start, unit: "ms", atMost: 40 });
  } finally {
    rmSync(root, { recursive: true, force: true });
  }
}

/** Returns the folders. */
function plantFiles(root) {
  return Array.from({ length: FOLDERS }, (_, folder) => {
    const path = join(root, `packages/p${folder % 25}/src/m${folder}`);
    mkdirSync(path, { recursive: true });
    for (let file = 0; file < FILES_A_FOLDER; file++) writeFileSync(join(path, `file${file}.ts`), "");
    return path;
  });
}

function confine(sandbox, cwd) {
  return sandbox.confine("look", ["/bin/true"], { cwd, terminal: false });
}

function runToEnd([program, ...args], { cwd, env }) {
  return new Promise((resolve, reject) => {
    const child = spawn(program, args, { cwd, env, stdio: "ignore" });
    child.once("error", reject);
    child.once("exit", (code) => (code === 0 ? resolve() : reject(new Error(`exit code ${code}`))));
  });
}
