// 2,000 lines from the start, the middle and the end of a 1 GB file, beside a raw scan of the bytes before them.
import { closeSync, mkdtempSync, openSync, readSync, rmSync, writeSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import { importHaft, importWorkspace, median, SMOKE, timed } from "../harness.mjs";

export const name = "read";

const LINE = `${"a line of the large file, which has a hundred bytes with its end, so that lines are easy to count ".slice(0, 99)}\n`;
const LINES = SMOKE ? 100_000 : 10_000_000;
const ROUNDS = 5;

export async function run({ report }) {
  const folder = mkdtempSync(join(tmpdir(), "haft-bench-read-"));
  const path = join(folder, "large.txt");
  const { createHaft } = await importHaft();
  const { openWorkspace } = await importWorkspace();
  try {
    writeLines(path);
    const places = { start: 1, middle: LINES / 2, end: LINES - 2_000 };
    for (const [place, offset] of Object.entries(places)) {
      const tool = [];
      const scan = [];
      const bare = [];
      for (let round = 0; round < ROUNDS; round++) {
        // A workspace of its own each time: a second look would use what the first one has counted.
        const haft = createHaft({ workspace: openWorkspace(folder) });
        await haft.execute("read", { path: "large.txt", limit: 1 });
        tool.push(await timed(() => haft.execute("read", { path: "large.txt", offset, limit: 2_000 })));
        scan.push(await timed(() => scanBytes(path, offset * LINE.length)));
        bare.push(await timed(() => scanBytes(path, offset * LINE.length, { look: false })));
        await haft.shutdown();
      }
      const title = `2,000 lines from the ${place} of 1 GB`;
      if (place === "start") {
        report({ case: title, value: median(tool), unit: "ms", atMost: 5 });
        continue;
      }
      report({
        case: `${title}, × raw scan of what is before`,
        value: median(tool) / median(scan),
        unit: "×",
        atMost: 1.5,
      });
      report({ case: `${title}, × reading it without looking`, value: median(tool) / median(bare), unit: "×" });
    }
    report({ case: "memory of the whole process afterwards", value: process.memoryUsage().rss / 2 ** 20, unit: "MB" });
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

function writeLines(path) {
  const block = Buffer.from(LINE.repeat(10_000));
  const file = openSync(path, "w");
  for (let n = 0; n < LINES; n += 10_000) writeSync(file, block);
  closeSync(file);
}

function scanBytes(path, bytes, { look = true } = {}) {
  const block = Buffer.allocUnsafe(64 * 1024);
  const file = openSync(path, "r");
  // Every byte is looked at, for one that does not occur: a read alone would leave them to the next reader.
  for (let at = 0; at < bytes; at += block.length) {
    readSync(file, block, 0, block.length, at);
    if (look && block.indexOf(0) >= 0) throw new Error("The file is not what was written.");
  }
  closeSync(file);
}
