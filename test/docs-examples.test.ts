import { spawnSync } from "node:child_process";
import { mkdirSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { expect, test } from "vitest";
import { ROOT } from "./architecture/read-entries.ts";
import { temporaryFolder } from "./setup/temporary-folder.ts";

// The documents of the repository itself are checked by `npm run check:docs`; here the check is checked.
function checkDocuments(documents: Record<string, readonly string[]>, ...flags: string[]) {
  const folder = temporaryFolder("haft-docs-");
  for (const [name, lines] of Object.entries(documents)) {
    mkdirSync(dirname(join(folder, name)), { recursive: true });
    writeFileSync(join(folder, name), lines.join("\n"));
  }
  const script = join(ROOT, "scripts", "check-docs.mjs");
  const { status, stdout, stderr } = spawnSync(process.execPath, [script, "--root", folder, ...flags], {
    encoding: "utf8",
  });
  return { status, summary: stdout.trim(), problems: stderr.trim().split("\n").filter(Boolean) };
}

test("reports a type error at its place in the document, and a missing name of the package too", () => {
  const { status, problems } = checkDocuments({
    "README.md": ["# Title", "", "```ts", "const fine = 1;", 'const wrong: number = "text";', "```", ""],
    "docs/guide/deep.md": ["1. A step", "", "   ```ts", '   import { noSuchExport } from "haft";', "   ```"],
  });
  expect(status).toBe(1);
  expect(problems).toHaveLength(2);
  expect(problems).toContainEqual(expect.stringMatching(/^README\.md:5:7 error TS2322: /));
  expect(problems).toContainEqual(expect.stringMatching(/^docs\/guide\/deep\.md:4:13 error TS\d+: .*noSuchExport/));
});

test("looks at TypeScript only, leaves out what says why, and refuses what does not", () => {
  const broken = "const broken: number = true;";
  const { status, problems, summary } = checkDocuments({
    "README.md": [
      "```js",
      broken,
      "```",
      "```ts no-check: shows a mistake",
      broken,
      "```",
      "````md",
      "```ts",
      broken,
      "```",
      "````",
    ],
    "docs/a.md": ["```ts no-check", broken, "```", "~~~ts fun", broken, "~~~", "```ts", "const fine = 1;", "```"],
  });
  expect(problems).toEqual([
    "docs/a.md:2:1 no-check needs a reason: `ts no-check: why`",
    'docs/a.md:5:1 unknown mark "fun": use `run` or `no-check: why`',
  ]);
  expect(summary).toBe("1 examples in 1 documents type-checked, 0 executed, 2 problems");
  expect(status).toBe(1);
});

test("executes what is marked to run, and reports the one that fails with its output", () => {
  const good = [
    "```ts run",
    'import assert from "node:assert/strict";',
    "const one: number = 1;",
    "assert.equal(one, 1);",
    "```",
  ];
  expect(checkDocuments({ "README.md": good }, "--run")).toEqual({
    status: 0,
    summary: "1 examples in 1 documents type-checked, 1 executed, 0 problems",
    problems: [],
  });
  const bad = ["```ts run", 'throw new Error("it does not work");', "```"];
  const { status, problems } = checkDocuments({ "README.zh-CN.md": bad }, "--run");
  expect(status).toBe(1);
  expect(problems[0]).toBe("README.zh-CN.md:2:1 ended with 1");
  expect(problems.join("\n")).toContain("it does not work");
});
