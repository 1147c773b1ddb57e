// A command that does nothing, beside a bare spawn of the same shell.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { importHaft, importWorkspace, interleave, median, medianRatio } from "../harness.mjs";

export const name = "exec";

const ROUNDS = 60;

export async function run({ report }) {
  const { createHaft } = await importHaft();
  const { openWorkspace } = await importWorkspace();
  const haft = createHaft({ workspace: openWorkspace(), approver: async () => ({ approved: true }) });
  try {
    const tool = () => wall(() => haft.execute("exec", { command: ":" }));
    const bare = () =>
      wall(() =>
        once(spawn("/bin/bash", ["--noprofile", "--norc", "-c", ":"], { stdio: ["ignore", "pipe", "pipe"] }), "close"),
      );
    await interleave({ tool, bare }, 5);
    const taken = await interleave({ tool, bare }, ROUNDS);
    report({
      case: "exec of nothing, × spawn of the same shell, wall",
      value: medianRatio(taken.tool, taken.bare),
      unit: "×",
      atMost: 1.5,
    });
    report({ case: "exec of nothing, wall", value: median(taken.tool), unit: "ms" });
  } finally {
    await haft.shutdown();
  }
}

/** Wall time: most of it is spent outside this process. */
async function wall(work) {
  const before = performance.now();
  await work();
  return performance.now() - before;
}
