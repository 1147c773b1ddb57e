import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { pathToFileURL } from "node:url";
import { afterAll, beforeAll, expect, inject, test } from "vitest";
import { openWorkshop, originalOf, readDocument, runDocument, type Workshop } from "../../scripts/docs/index.mjs";
import { ROOT } from "../architecture/read-entries.ts";
import { temporaryFolder } from "../setup/temporary-folder.ts";

// The documents of the repository are tested beside this; here the runner is.
let workshop: Workshop;

beforeAll(async () => {
  const response = await fetch(inject("archiveAddress"));
  workshop = openWorkshop(await response.text());
}, 300_000);

afterAll(() => workshop?.close());

const isHere = process.platform !== "win32";

async function run(...lines: string[]): Promise<string[]> {
  return runFor(undefined, ...lines);
}

async function runFor(maxMs: number | undefined, ...lines: string[]): Promise<string[]> {
  const document = readDocument("a.md", lines.join("\n"));
  const { problems } = await runDocument(document, workshop, maxMs === undefined ? {} : { maxMs });
  return [...document.problems, ...problems].map(({ line, message, details }) =>
    [`${line} ${message}`, details].filter(Boolean).join("\n"),
  );
}

test.runIf(isHere)("a document runs in one folder, its blocks in order", async () => {
  const problems = await run(
    ...["```ts file=double.ts no-run: the next block imports it", "export const double = (n: number) => n * 2;", "```"],
    ...["```ts", 'import { double } from "./double.ts";', "console.log(double(21));", "```"],
    ...["```text output", "42", "```"],
    ...["```sh", "printf 'one\\n\\ntwo\\n' > a.txt", "```"],
    ...[
      "```sh",
      "NAME=Ann",
      "cat a.txt; echo \\",
      '  "$NAME"',
      "cat > b.txt <<'END'",
      "x # exit 4",
      "END",
      "cat b.txt >&2",
      "```",
    ],
    ...["```text output", "o…", "…", "Ann", "x # exit 4", "```"],
    ...["```sh in=other", 'echo "[$NAME]" $(ls)', "false # exit 1", "```"],
    ...["```text output", "[] a.txt b.txt double.ts", "```"],
    ...["```sh", "echo $NAME", "```", "```text output", "Ann", "```"],
  );
  expect(problems).toEqual([]);
});

test.runIf(isHere)(
  "a program runs while the next blocks run, at a free port instead of the one that is printed",
  async () => {
    const problems = await run(
      ...["```sh background", "haft serve", "```", "```text output", "…", "…http://127.0.0.1:4117/…", "```"],
      ...[
        "```js",
        'const { status } = await fetch("http://127.0.0.1:4117/api/health");',
        "console.log(status);",
        "```",
      ],
      ...["```text output", "200", "```"],
    );
    expect(problems).toEqual([]);
  },
);

test.runIf(isHere)("a program in the background has the folder and the variables of its terminal", async () => {
  const problems = await run(
    ...["```sh in=one", "mkdir sub && cd sub", "export NAME='A  nn'", "```"],
    ...[
      "```sh background in=one",
      'echo "$NAME" in "$(basename "$PWD")"; cat',
      "```",
      "```text output",
      "A  nn in sub",
      "```",
    ],
  );
  expect(problems).toEqual([]);
});

test.runIf(isHere)("what this machine does not have is skipped", async () => {
  expect(await run("```sh needs=no-such-program", "exit 3", "```", "```text output", "x", "```")).toEqual([]);
  const document = readDocument("a.md", "<!-- needs: no-such-program -->\n```sh\nexit 3\n```");
  expect(await runDocument(document, workshop)).toMatchObject({
    executed: 0,
    skipped: "no-such-program is not installed",
  });
});

test.runIf(isHere)("a document that needs PostgreSQL has a database, or is skipped with the reason", async () => {
  const text = [
    "<!-- needs: postgres -->",
    "```sh",
    "echo $DATABASE_URL",
    "```",
    "```text output",
    "postgres://one",
    "```",
  ];
  const document = readDocument("a.md", text.join("\n"));
  const runWith = (createDatabase: () => Promise<string>) => runDocument(document, workshop, { createDatabase });
  expect(await runWith(async () => "postgres://one")).toEqual({ executed: 1, problems: [] });
  expect((await runWith(async () => "postgres://two")).problems).toMatchObject([{ line: 6 }]);
  expect(await runWith(() => Promise.reject(new Error("no disk")))).toMatchObject({
    executed: 0,
    skipped: "PostgreSQL could not be started: no disk",
  });
});

test("a translation with the same code is not executed again", () => {
  const read = (file: string, ...lines: string[]) => readDocument(file, ["```sh", ...lines, "```"].join("\n"));
  const original = read("README.md", "haft serve # starts it", "false # exit 1");
  const find = (...lines: string[]) => {
    const translation = read("README.zh-CN.md", ...lines);
    return originalOf(translation, [original, translation]);
  };
  expect(find("haft serve # 启动", "false # exit 1")).toBe(original);
  expect(find("haft serve # 启动", "false # exit 2")).toBeUndefined();
  expect(originalOf(original, [original])).toBeUndefined();
});

test.runIf(isHere)("what fails is reported at its line, with its output", async () => {
  expect(await run("# A", "```ts", 'throw new Error("it does not work");', "```")).toEqual([
    expect.stringMatching(/^3 ended with 1\n[^]*it does not work/),
  ]);
  expect(await run("```sh", "echo one", "echo two; exit 3", "```")).toEqual([
    "3 `echo two; exit 3` ended with 3\ntwo\n\n(the shell ended)",
  ]);
  expect(await run("```sh", "true # exit 7", "```")).toEqual(["2 `true # exit 7` ended with 0, not with 7"]);
  expect(await run("```sh", "printf 'a\\nb\\nc\\n'", "```", "```text output", "a", "x…", "c", "```")).toEqual([
    "5 The output is another one\n  a\n- x…\n+ b\n  c",
  ]);
  expect(await run("```sh background", "echo no; exit 1", "```", "```text output", "ready", "```")).toEqual([
    "2 `echo no; exit 1` ended before it was ready\nno",
    "5 The output is another one\n- ready\n+ no",
  ]);
  expect(await run("```yaml", "tools:", "  timeot: 1", "```", "```text output", "x", "```")).toEqual([
    expect.stringMatching(/^3 Unknown key\. Did you mean "timeout"\?/),
    "6 This output follows no block that runs",
  ]);
  expect(await run("```ts no-run", "```", "```sh fast", "```")).toEqual([
    "2 no-run needs a reason: `ts no-run: why`",
    expect.stringMatching(/^4 unknown mark "fast"/),
  ]);
});

test.runIf(isHere)("output that nothing printed, and what no output shows, are reported", async () => {
  expect(await run("```sh no-run: why", "echo x", "```", "```text output", "x", "```")).toEqual([
    "5 This output follows no block that runs",
  ]);
  expect(await run("<!-- before: sh", "touch a", "-->")).toEqual([
    "1 Readers do not see this set-up: show it in a block of its own",
  ]);
  const warn = ["```js", 'console.error("careful"); console.log("done");', "```"];
  expect(await run(...warn)).toEqual(["2 It printed on stderr, and no output block shows it\ncareful"]);
  expect(await run(...warn, "```text output", "done", "```")).toEqual([
    "5 The output is another one\n  done\n+ careful",
  ]);
  expect(await run(...warn, "```text output", "careful", "done", "```")).toEqual([]);
});

test.runIf(isHere)("a program in the background that fails later is reported", async () => {
  const program = (end: string) => ["```sh background", `echo ready; cat go; ${end}`, "```"];
  const goOn = ["```sh", "mkfifo go", "```"];
  const wait = ["```sh", "echo end > go; while test ! -e gone; do sleep 0.05; done", "```"];
  expect(await run(...goOn, ...program("touch gone; exit 3"), ...wait)).toEqual([
    expect.stringMatching(/^5 `echo ready; .*` ended with 3\nready\nend$/),
  ]);
  expect(await run(...goOn, ...program("touch gone; exit 0"), ...wait)).toEqual([]);
});

const HAS_PIPEFAIL = ["sh", "bash"].some((shell) => spawnSync(shell, ["-c", "set -o pipefail"]).status === 0);

test.runIf(isHere && HAS_PIPEFAIL)("a pipe ends with the code of the part that failed", async () => {
  expect(await run("```sh", "sh -c 'echo x; exit 3' | cat", "sh -c 'exit 4' | cat # exit 4", "```")).toEqual([
    "2 `sh -c 'echo x; exit 3' | cat` ended with 3\nx",
  ]);
});

test.runIf(isHere)("what takes too long is stopped with what it started, and with the document", async () => {
  const next = ["```sh", "false", "```"];
  expect(await runFor(300, "```sh", "echo a; sh -c 'sleep 600'", "```", ...next)).toEqual([
    "2 `echo a; sh -c 'sleep 600'` ended with SIGKILL\na\n\n(no end after 0.3 s)",
  ]);
  expect(await runFor(1000, "```js", "setInterval(() => undefined, 1000);", "```", ...next)).toEqual([
    "2 did not end after 1 s",
  ]);
});

test.runIf(isHere)("a signal ends the runner and the processes of its documents", async () => {
  const module = pathToFileURL(join(ROOT, "scripts", "docs", "processes.mjs")).href;
  const script = `
    import { startGroup, stopOnSignals } from ${JSON.stringify(module)};
    stopOnSignals();
    startGroup("sh", ["-c", "echo ready; sleep 600 & wait"], { stdio: "inherit" });
  `;
  const runner = spawn(process.execPath, ["--input-type=module", "-e", script], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  await once(runner.stdout, "data");
  runner.kill("SIGTERM");
  // Its stdout closes after the last process that has it.
  expect(await once(runner, "close")).toEqual([1, null]);
});

// In two parts: every variable that a test names exists for developers.
const UNKNOWN = ["HAFT", "NO_SUCH"].join("_");

test("the check reports types, links, names and forms at their lines", () => {
  const folder = temporaryFolder("haft-docs-check-");
  const documents: Record<string, string[]> = {
    ".github/a/b.md": ["[none](c.md)"],
    "CHANGELOG.md": ["`npm install -D haft@1`, `npm install ../haft`"],
    "CODE_OF_CONDUCT.md": ["```rust", "```"],
    "CONTRIBUTING.md": [`\`HAFT_SEED\`, \`${UNKNOWN}\`, \`npm run check\`, \`npm run no-such\``],
    "README.md": [
      "```ts",
      "const fine = 1;",
      'const wrong: number = "text";',
      "```",
      "",
      "```sh",
      "haft serve # x",
      "```",
    ],
    "README.zh-CN.md": [
      "```ts no-check: shows a mistake",
      "const fine = 1;",
      "```",
      "",
      "```sh",
      "haft login # y",
      "```",
    ],
    "docs/guides/a.md": [
      ...["# One two", "[here](#one-two) [wrong](#two) [b](b.md#first) [none](d.md) [web](https://example.com)"],
      ...["`haft tools lst` `haft tools list --jsn` `haft -C DIR tools call NAME` `--no-wait` `--no-waiting`"],
      ...["`HAFT_SEED` `HAFT_URL`, a span that `haft", "nothing` ends in the next line", "", "    indented", ""],
      ...["```sh", "HAFT_URL=x haft audit query | haft no-such", "haft record a -- tools kall", "```"],
      ...["1. A step", "", "   ```ts", '   import { noSuchExport } from "haft";', "   ```"],
      ...["```json", "{ a: 1 }", "```"],
    ],
    "docs/guides/b.md": [
      "## Second",
      "```ts file=x.ts",
      "export const x = 1;",
      "```",
      "```ts",
      'import { x } from "./x.ts";',
      "const y: string = x;",
      "```",
    ],
    "docs/guides/c.md": [
      ...["`$ haft nothing`, `npx -y haft nothing`", "", "```text", "$ npm exec -- haft nothing", "```"],
      ...["<!-- before: sh", "cd a && haft trust --yes", "-->"],
    ],
    "conformance/README.md": ["[none](c.md)"],
    "docs/decisions/0001-a.md": ["`haft old-command` [wrong](../b.md)"],
  };
  for (const [name, lines] of Object.entries(documents)) {
    mkdirSync(dirname(join(folder, name)), { recursive: true });
    writeFileSync(join(folder, name), lines.join("\n"));
  }
  const script = join(ROOT, "scripts", "docs", "check.mjs");
  const { status, stderr } = spawnSync(process.execPath, [script, "--root", folder], { encoding: "utf8" });
  expect(status).toBe(1);
  expect(stderr.trim().split("\n")).toEqual([
    expect.stringMatching(/^\.github\/a\/b\.md:1 The link c\.md leads to no file$/),
    expect.stringMatching(/^CHANGELOG\.md:1 Haft is not on npm/),
    expect.stringMatching(/^CODE_OF_CONDUCT\.md:2 Unknown language "rust"$/),
    expect.stringMatching(/^CONTRIBUTING\.md:1 .*_NO_SUCH$/),
    expect.stringMatching(/^CONTRIBUTING\.md:1 .*"no-such"$/),
    expect.stringMatching(/^README\.md:3:7 error TS2322: /),
    expect.stringMatching(/^README\.zh-CN\.md:2 The code differs from README\.md:2$/),
    expect.stringMatching(/^README\.zh-CN\.md:6 The code differs from README\.md:7$/),
    expect.stringMatching(/^conformance\/README\.md:1 The link c\.md leads to no file$/),
    expect.stringMatching(/^docs\/decisions\/0001-a\.md:1 The link \.\.\/b\.md leads to no file$/),
    expect.stringMatching(/^docs\/guides\/a\.md:2 docs\/guides\/a\.md has no heading for #two$/),
    expect.stringMatching(/^docs\/guides\/a\.md:2 docs\/guides\/b\.md has no heading for #first$/),
    expect.stringMatching(/^docs\/guides\/a\.md:2 The link d\.md leads to no file$/),
    expect.stringMatching(/^docs\/guides\/a\.md:3 There is no command "tools lst"\./),
    expect.stringMatching(/^docs\/guides\/a\.md:3 `haft tools list` has no option --jsn$/),
    expect.stringMatching(/^docs\/guides\/a\.md:3 No command has the option --no-waiting$/),
    expect.stringMatching(/^docs\/guides\/a\.md:4 .*HAFT_SEED$/),
    expect.stringMatching(/^docs\/guides\/a\.md:4 There is no command "nothing"\./),
    expect.stringMatching(/^docs\/guides\/a\.md:7 Indented code/),
    expect.stringMatching(/^docs\/guides\/a\.md:10 There is no command "no-such"\./),
    expect.stringMatching(/^docs\/guides\/a\.md:11 There is no command "tools kall"\./),
    expect.stringMatching(/^docs\/guides\/a\.md:16:13 error TS\d+: .*noSuchExport/),
    expect.stringMatching(/^docs\/guides\/a\.md:19 This is not JSON/),
    expect.stringMatching(/^docs\/guides\/b\.md:7:7 error TS2322: /),
    expect.stringMatching(/^docs\/guides\/c\.md:1 There is no command "nothing"\./),
    expect.stringMatching(/^docs\/guides\/c\.md:1 There is no command "nothing"\./),
    expect.stringMatching(/^docs\/guides\/c\.md:4 There is no command "nothing"\./),
    expect.stringMatching(/^docs\/guides\/c\.md:6 Readers do not see this set-up/),
  ]);
});
