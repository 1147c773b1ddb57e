import { resolve } from "node:path";
import { createRecorder } from "../../gate/record-and-replay.ts";
import { defineCommand } from "../command.ts";
import { UsageError } from "../usage-error.ts";

export const command = defineCommand({
  examples: [
    ["haft record session.jsonl", "serve, and write every call down"],
    ["haft record session.jsonl -- tools call read path=README.md", "the calls of one command"],
  ],
  operands: [{ name: "FILE", completes: "file" }],
  options: {
    redact: { type: "flag", about: "Hide what looks like a secret" },
    overwrite: { type: "flag", about: "Replace a recording that is there" },
  },
  takesRest: true,
  notes: ["Answer calls from it with `haft replay FILE`. It holds inputs and results: keep it as you keep those."],
  async run({ operands: [file = ""], rest, options: { redact, overwrite }, folder, url, terminal, output, run }) {
    if (url !== undefined)
      throw new UsageError("Calls of another server cannot be recorded here.", "Start that one with `haft record`.");
    const path = resolve(terminal.cwd, file);
    const recorder = createRecorder(path, { redact, overwrite });
    let exitCode: number;
    try {
      const words = rest.length === 0 ? ["serve"] : rest;
      exitCode = await run(["--folder", folder, ...words], {
        middleware: recorder.middleware,
        onEvent: (event) => recorder.onEvent(event),
      });
    } finally {
      recorder.close();
    }
    output.info(`${recorder.calls} calls are in ${path}`);
    return exitCode;
  },
});
