// What it costs to show the effects of a command before its approval, beside the same command in the sandbox.
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { importHaft, importWorkspace, interleave, median } from "../harness.mjs";

export const name = "effects";

const ROUNDS = 30;
const COMMAND = "echo three >> numbers.txt";

export async function run({ report, notMeasured }) {
  const { createHaft } = await importHaft();
  const { openWorkspace } = await importWorkspace();
  const folder = mkdtempSync(join(tmpdir(), "haft-effects-"));
  writeFileSync(join(folder, "numbers.txt"), "one\ntwo\n");
  let askedAt = 0;
  let isShown = false;
  const approver = async (approval) => {
    askedAt = performance.now();
    isShown = approval.preview?.facts?.some(({ key }) => key === "preview.ran") ?? false;
    return { approved: false };
  };
  const asking = createHaft({ workspace: openWorkspace(folder), approver });
  const unshown = createHaft({ workspace: openWorkspace(folder, { sandbox: { previewMs: 0 } }), approver });
  const allowed = createHaft({ workspace: openWorkspace(folder), rules: { allow: ["exec"] } });
  const wall = async (haft) => {
    askedAt = 0;
    const before = performance.now();
    await haft.execute("exec", { command: COMMAND });
    return (askedAt || performance.now()) - before;
  };
  try {
    const cases = { unshown: () => wall(unshown), previewed: () => wall(asking), confined: () => wall(allowed) };
    await interleave(cases, 3);
    await wall(asking);
    if (!isShown) return notMeasured("effects before approval", "this machine has no overlays");
    const taken = await interleave(cases, ROUNDS);
    report({
      case: "effects before approval, over the question and the command, wall",
      value: median(taken.previewed) - median(taken.unshown) - median(taken.confined),
      unit: "ms",
      atMost: 40,
    });
  } finally {
    await Promise.all([asking.shutdown(), unshown.shutdown(), allowed.shutdown()]);
    rmSync(folder, { recursive: true, force: true });
  }
}
