// What confining a command costs beside the same command unconfined.
import { importHaft, importWorkspace, interleave, median } from "../harness.mjs";

export const name = "sandbox";

const ROUNDS = 40;

export async function run({ report }) {
  const { createHaft } = await importHaft();
  const { openWorkspace } = await importWorkspace();
  const approver = async () => ({ approved: true });
  const bare = createHaft({ workspace: openWorkspace(), approver });
  const workspace = openWorkspace(process.cwd(), { sandbox: { autoAllow: true } });
  const confined = createHaft({ workspace, approver });
  try {
    if (workspace.unconfined)
      return report({ case: `sandbox: not measured, ${workspace.unconfined}`, value: 0, unit: "" });
    const cases = {
      bare: () => wall(() => bare.execute("exec", { command: "/bin/true" })),
      confined: () => wall(() => confined.execute("exec", { command: "/bin/true" })),
    };
    await interleave(cases, 5);
    const taken = await interleave(cases, ROUNDS);
    report({
      case: "a confined command, over a bare one",
      value: median(taken.confined) - median(taken.bare),
      unit: "ms",
      atMost: 60,
    });
  } finally {
    await Promise.all([bare.shutdown(), confined.shutdown()]);
  }
}

async function wall(work) {
  const before = performance.now();
  await work();
  return performance.now() - before;
}
