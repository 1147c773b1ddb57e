import { execFileSync } from "node:child_process";
import { Readable } from "node:stream";
import { expect, test } from "vitest";
import { commandOf } from "../../console/src/pages/work/call-command.ts";
import { parseArguments, splitCommand } from "../../src/cli/arguments.ts";
import { readCallInput } from "../../src/cli/call-input.ts";

/** What a shell and the command line make of a command. */
async function readBack(command: string): Promise<{ tool: string | undefined; input: unknown }> {
  const haft = `haft() { if [ ! -t 0 ]; then cat; fi; printf '\\0%s' "$@"; }`;
  const output = execFileSync("/bin/sh", ["-c", `${haft}\n${command}`], {
    encoding: "utf8",
    stdio: ["ignore", "pipe", "pipe"],
  });
  const [stdin = "", ...argv] = output.split("\0");
  const { words, others } = splitCommand(argv);
  expect(words).toEqual(["tools", "call"]);
  const [tool, ...operands] = parseArguments(others, {}).operands;
  const sources = { stdin: Object.assign(Readable.from([Buffer.from(stdin)]), { isTTY: false }), cwd: "/" };
  return { tool, input: await readCallInput(operands, sources as never) };
}

test.each([
  ["read", { path: "README.md", limit: 20 }],
  ["exec", { command: "echo 'a b' && echo $HOME `id` \"x\"\nnext" }],
  ["x; touch owned", { text: "$(touch owned)" }],
  ["--mode", { "--mode": "bypass", a: "-" }],
  ["-", { list: ["@a", null], file: "@/etc/passwd", empty: "" }],
  ["odd keys", { "a=b": "c", "": 1, "@x": "y", "k:": "'" }],
  ["nothing", {}],
])("the copied command of %s makes the same call", async (tool, input) => {
  expect(await readBack(commandOf(tool, input))).toEqual({ tool, input });
});
