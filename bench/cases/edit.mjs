// Editing: an exact edit in a large file beside plain reading and writing, and how soon a miss is explained.
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { open, readFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { importHaft, importWorkspace, interleave, median, medianRatio, timed } from "../harness.mjs";

export const name = "edit";

const LARGE_BYTES = 10 * 1024 * 1024;
const ROUNDS = 9;

export async function run({ report }) {
  const folder = mkdtempSync(join(tmpdir(), "haft-bench-edit-"));
  const { createHaft } = await importHaft();
  const { openWorkspace } = await importWorkspace();
  const workspace = openWorkspace(folder, { requireReadBeforeEdit: false });
  const haft = createHaft({ workspace, approver: async () => ({ approved: true }) });
  try {
    const large = makeText(LARGE_BYTES);
    writeFileSync(join(folder, "large.txt"), large);
    writeFileSync(join(folder, "plain.txt"), large);
    let turn = 0;
    const tool = () =>
      timed(async () => {
        const [from, to] = turn++ % 2 === 0 ? ["MARK_A", "MARK_B"] : ["MARK_B", "MARK_A"];
        const result = await haft.execute("edit", { path: "large.txt", old_string: from, new_string: to });
        if (!result.success) throw new Error(result.display);
      });
    const plain = () => timed(() => editPlainly(join(folder, "plain.txt")));
    await interleave({ tool, plain }, 2);
    const taken = await interleave({ tool, plain }, ROUNDS);
    report({
      case: "exact edit in 10 MB, × read + indexOf + synced write",
      value: medianRatio(taken.tool, taken.plain),
      unit: "×",
      atMost: 2,
    });
    report({ case: "exact edit in 10 MB", value: median(taken.tool), unit: "ms" });

    writeFileSync(join(folder, "miss.txt"), makeText(1024 * 1024));
    const miss = () =>
      timed(() =>
        haft.execute("edit", { path: "miss.txt", old_string: "line 77 of the txet, nearly\n  there", new_string: "x" }),
      );
    await interleave({ miss }, 2);
    report({
      case: "a miss in 1 MB, explained",
      value: median((await interleave({ miss }, ROUNDS)).miss),
      unit: "ms",
      atMost: 200,
    });
  } finally {
    await haft.shutdown();
    rmSync(folder, { recursive: true, force: true });
  }
}

function makeText(bytes) {
  const lines = [];
  for (let length = 0, n = 1; length < bytes; n++) {
    const line = n === 1000 ? "here stands MARK_A alone" : `line ${n} of the text, nearly all alike, ${n * 7919}`;
    lines.push(line);
    length += line.length + 1;
  }
  return `${lines.join("\n")}\n`;
}

/** What one would write by hand; synced, as the tool's is. */
async function editPlainly(path) {
  const bytes = await readFile(path);
  const from = bytes.includes("MARK_A") ? "MARK_A" : "MARK_B";
  const at = bytes.indexOf(from);
  const handle = await open(path, "r+");
  await handle.writeFile(
    Buffer.concat([
      bytes.subarray(0, at),
      Buffer.from(from === "MARK_A" ? "MARK_B" : "MARK_A"),
      bytes.subarray(at + 6),
    ]),
  );
  await handle.sync();
  await handle.close();
}
