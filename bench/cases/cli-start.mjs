// What a command costs before it does anything: CPU time of `haft tools list` over that of a Node that does nothing.
import { existsSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DIST, interleave, median, runNode } from "../harness.mjs";

export const name = "cli-start";

const ROUNDS = 15;
const MAIN = join(DIST, "cli", "main.js");
/** Tells the CPU time of the whole process, at its end. */
const REPORT_CPU = `data:text/javascript,${encodeURIComponent(
  "process.on('exit', () => { const { user, system } = process.cpuUsage(); " +
    "process.stdout.write('\\nCPU ' + (user + system) / 1000); });",
)}`;

export async function run({ report, notMeasured }) {
  if (!existsSync(MAIN)) return notMeasured("haft tools list", `there is no ${MAIN}`);
  const [plain, configured] = [openFolder(), openFolder()];
  writeFileSync(join(plain, "a.txt"), "one line\n");
  writeFileSync(join(configured, "haft.config.yml"), 'permissions:\n  deny: ["Read(./secrets/**)"]\n');
  try {
    const haft = (folder, ...words) => start([MAIN, ...words], folder);
    // The store and the compiled code are made at the first use; what is measured is every later one.
    for (const folder of [plain, configured]) await haft(folder, "tools", "list");
    const times = await interleave(
      {
        bare: () => start(["--eval", ""], plain),
        list: () => haft(plain, "tools", "list"),
        listConfigured: () => haft(configured, "tools", "list"),
        call: () => haft(plain, "tools", "call", "current_time"),
        read: () => haft(plain, "tools", "call", "read", "path=a.txt"),
        version: () => haft(plain, "--version"),
      },
      ROUNDS,
    );
    const bare = median(times.bare);
    const over = (values) => median(values) - bare;
    report({ case: "haft tools list, over a bare Node start", value: over(times.list), unit: "ms", atMost: 250 });
    report({ case: "the same with a configuration file", value: over(times.listConfigured), unit: "ms" });
    report({ case: "haft tools call current_time", value: over(times.call), unit: "ms" });
    report({ case: "haft tools call read", value: over(times.read), unit: "ms", atMost: 300 });
    report({ case: "haft --version", value: over(times.version), unit: "ms", atMost: 40 });
    report({ case: "a bare Node start", value: bare, unit: "ms" });
  } finally {
    for (const folder of [plain, configured]) rmSync(folder, { recursive: true, force: true });
  }
}

function openFolder() {
  return mkdtempSync(join(tmpdir(), "haft-bench-cli-"));
}

async function start(words, cwd) {
  const printed = await runNode(["--import", REPORT_CPU, ...words], { cwd });
  return Number(/CPU ([\d.]+)/.exec(printed)[1]);
}
