// A verdict without asking, with 200 rules; and what reading a shell command costs when it was not seen before.
import { mkdtempSync, mkdirSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import { pathToFileURL } from "node:url";
import { DIST, importWorkspace, median } from "../harness.mjs";

export const name = "verdict";

const WARM_UP = 5_000;
const ROUNDS = 200;
const BLOCK = 100;
const load = (module) => import(pathToFileURL(join(DIST, module)).href);

export async function run({ report }) {
  const folder = realpathSync(mkdtempSync(join(tmpdir(), "haft-bench-verdict-")));
  mkdirSync(join(folder, "src/deep"), { recursive: true });
  writeFileSync(join(folder, "src/deep/a.ts"), "x\n");
  const { RuleSet } = await load("gate/permit/rules/rule-set.js");
  const { readCommand } = await load("io/shell/command-signature.js");
  const { openWorkspace } = await importWorkspace();
  const workspace = openWorkspace(folder);
  try {
    const ruleSet = new RuleSet(twoHundredRules());
    const tool = (wanted) => workspace.tools.find((one) => one.name === wanted);
    const judged = (wanted, raw) => {
      const subject = tool(wanted);
      return { tool: subject, input: subject.build(raw).params, cwd: folder, home: "/home/somebody" };
    };
    const subjects = {
      "read a file": judged("read", { path: "src/deep/a.ts" }),
      "write a new file": judged("write", { path: "src/deep/new.ts", content: "" }),
      "ask for the time": judged("current_time", {}),
      "exec, the same command again": judged("exec", { command: "npm run task7 -- --watch" }),
    };
    for (const [title, call] of Object.entries(subjects)) {
      const times = micros(() => ruleSet.judge(call));
      report({ case: `verdict, 200 rules: ${title}, p50`, value: median(times), unit: "µs", atMost: 20 });
    }
    let n = 0;
    const reading = micros(() =>
      readCommand(`cd src && npm run build -- --out "a ${n++}" | tee log.txt && git status`),
    );
    report({
      case: "reading a shell command not seen before, p50",
      value: median(reading) / 1000,
      unit: "ms",
      atMost: 0.3,
    });
  } finally {
    await workspace.close();
    rmSync(folder, { recursive: true, force: true });
  }
}

/** As a real settings file: commands, files, hosts and servers, on all three lists. */
function twoHundredRules() {
  const many = (count, rule) => Array.from({ length: count }, (_, n) => rule(n));
  return [
    {
      origin: "user",
      deny: [
        ...many(20, (n) => `Read(secrets${n}/**)`),
        ...many(20, (n) => `Bash(tool${n} *)`),
        ...many(10, (n) => `Edit(gen${n}/**)`),
      ],
      ask: [...many(10, (n) => `Bash(git push origin${n}:*)`), ...many(10, (n) => `WebFetch(domain:*.a${n}.com)`)],
      allow: [...many(60, (n) => `Bash(npm run task${n}:*)`), ...many(30, (n) => `mcp__server${n}__*`)],
    },
    {
      origin: "project",
      folder: "/",
      allow: [...many(20, (n) => `Edit(lib${n}/**)`), ...many(20, (n) => `Read(//data${n}/**)`)],
    },
  ];
}

/** CPU microseconds of one run, in blocks: the clock is coarser than a verdict. */
function micros(work) {
  for (let n = 0; n < WARM_UP; n++) work();
  return Array.from({ length: ROUNDS }, () => {
    const before = process.cpuUsage();
    for (let n = 0; n < BLOCK; n++) work();
    const { user, system } = process.cpuUsage(before);
    return (user + system) / BLOCK;
  });
}
