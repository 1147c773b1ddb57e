import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { textOf } from "../../src/core/content.ts";
import { SpilledOutputs } from "../../src/mcp/server/resources.ts";
import { createHaft } from "../../src/runtime.ts";
import { openWorkspace } from "../../src/workspace.ts";
import { temporaryFolder } from "../setup/temporary-folder.ts";

function stage() {
  const folder = temporaryFolder();
  const haft = createHaft({ workspace: openWorkspace(folder, { sandbox: false }), rules: { allow: ["exec"] } });
  const run = async (script: string, input: object = {}) => {
    writeFileSync(join(folder, "program.cjs"), script);
    return haft.execute("exec", { command: "node program.cjs", ...input }, { caller: { session: "s" } });
  };
  return { haft, run };
}

const ASK = `
const { createInterface } = require("node:readline");
const lines = createInterface({ input: process.stdin, output: process.stdout });
lines.question("Overwrite the file? [y/N] ", (answer) => { console.log("answered " + answer); lines.close(); });
`;

test("a command that asks without a terminal gets a note that its input was closed", async () => {
  const { run } = stage();
  const asked = await run(ASK);
  expect(asked).toMatchObject({ status: "completed", details: { exitCode: 0 } });
  expect(textOf(asked.content)).toContain("the command seems to have asked for input, but its input was closed");
  const answered = textOf((await run(ASK, { stdin: "y\n" })).content);
  expect(answered).toContain("answered y");
  expect(answered).not.toContain("input was closed");
  expect(textOf((await run("console.log('Total: 5')")).content)).toBe("Total: 5");
});

test("the error in the middle of megabytes of output is shown, and the rest can be read", async () => {
  const { haft, run } = stage();
  const result = await run(`
    for (let i = 1; i <= 60000; i++) {
      console.log(i === 34567 ? "src/app.ts(7,3): error TS2322: Type 'string' is not assignable" : "compiled module " + i);
    }
  `);
  const text = textOf(result.content);
  expect(text).toMatch(/\n\[… \d+ lines …\]\nsrc\/app\.ts\(7,3\): error TS2322: .*\n\[… \d+ lines …\]\n/);
  expect(text).toMatch(/compiled module 60000$/);
  const before = text.slice(0, text.indexOf("[… lines ")).trimEnd().split("\n").length;
  const [, gap] = /\n\[… (\d+) lines …\]\nsrc/.exec(text) ?? [];
  expect(before + Number(gap) + 1).toBe(34_567);
  const { spillRef } = result.details as { spillRef: string };
  const read = await haft.execute("read", { path: spillRef, offset: 34_567, limit: 1 }, { caller: { session: "s" } });
  expect(textOf(read.content)).toContain("error TS2322");
});

test("a full output is a resource of the MCP session that made the call only", async () => {
  const outputs = new SpilledOutputs({ read: () => "all of it" });
  const mine = { id: "ann", name: "ann", rights: [], session: "one" };
  const result = { toolName: "print", metadata: { spill: { ref: "spill:1", bytes: 9 } } };
  const link = outputs.link(result as never, mine);
  const { uri } = link as { uri: string };
  expect(await outputs.read(uri, mine)).toMatchObject({ text: "all of it" });
  expect(outputs.list(mine)).toHaveLength(1);
  for (const other of [
    { ...mine, session: "two" },
    { ...mine, id: "bob" },
  ]) {
    expect(await outputs.read(uri, other)).toBeUndefined();
    expect(outputs.list(other)).toEqual([]);
  }
});
