import { defineCommand } from "../command.ts";
import { EXIT } from "../exit-code.ts";
import { type CallWords, makeCall } from "../make-call.ts";
import { readCallInput } from "../read-call-input.ts";
import { awaitTools } from "../settled-servers.ts";
import { showResult } from "../show-result.ts";
import { UsageError } from "../usage-error.ts";

export const command = defineCommand({
  examples: [
    ["haft tools call read path=README.md limit:=20", "text with =, JSON with :="],
    ["haft tools call write path=note.txt content=@draft.txt", "a parameter from a file (or @- from stdin)"],
    ['echo \'{"command": "npm test"}\' | haft tools call exec -', "the whole input as JSON"],
    ["haft tools call exec command='npm test' --jsonl", "what happens as it happens, for a program"],
  ],
  operands: [
    { name: "NAME", completes: "tool" },
    { name: "KEY=VALUE", isRest: true, isOptional: true },
  ],
  options: {
    mode: {
      type: "text",
      value: "MODE",
      about: "How much is asked",
      oneOf: ["default", "acceptEdits", "plan", "dontAsk", "bypassPermissions"],
    },
    session: { type: "text", value: "NAME", about: "The session that it belongs to" },
    timeout: { type: "duration", value: "TIME", about: "End it after so long: 30s, 5m" },
    allow: {
      type: "list",
      value: "NAMES",
      about: "Only these tools, groups and patterns, for this call and those that it makes",
    },
    deny: { type: "list", value: "NAMES", about: "None of these" },
    id: { type: "text", value: "ID", about: "Of the call: made twice, it runs once" },
    background: { type: "flag", about: "As a job: prints its id and goes on; a server or `haft worker` runs it" },
    raw: { type: "flag", about: "The text exactly as it is, for a pipe" },
  },
  notes: [
    "A call that needs a yes asks here, at a terminal. Elsewhere it prints the approval's id and exits with 7.",
    "Characters that a terminal would hide or act on are spelled out; --json and --raw lose nothing.",
    "`haft policy explain NAME KEY=VALUE…` tells what would happen, and runs nothing.",
  ],
  async run({ connect, url, terminal, output, interrupted, operands: [tool = "", ...words], options }) {
    const { mode, session, timeout, id, raw, allow, deny, background } = options;
    if (raw && terminal.stdout.isTTY)
      throw new UsageError("--raw is not for a terminal.", "Send it to a file or a pipe.");
    const input = await readCallInput(words, terminal);
    // What this process began, its end would cut off.
    const client = await connect({ runsJobs: false });
    await awaitTools(client, { url, interrupted, output }, tool);
    const result = await makeCall(
      client,
      {
        ...{ tool, input, mode: mode as never, session, timeoutMs: timeout, id, ...narrowed(allow, deny) },
        ...(background ? { background } : {}),
      },
      { terminal, output, interrupted },
    );
    const exitCode =
      output.format === "jsonl"
        ? showResult(result, { ...output, data: () => undefined })
        : showResult(result, output, { raw });
    if (interrupted.aborted) return EXIT.interrupted;
    if (result.status === "completed" && terminal.stderr.isTTY && output.format === "text") {
      const { canUndo } = await client.calls.get(result.callId);
      if (canUndo) output.info(output.paintStderr("dim", `haft undo ${result.callId}   puts it back`));
    }
    return exitCode;
  },
});

function narrowed(allow: readonly string[], deny: readonly string[]): Pick<CallWords, "policy"> {
  if (allow.length === 0 && deny.length === 0) return {};
  return {
    policy: { allow: allow.length > 0 ? [...allow] : undefined, deny: deny.length > 0 ? [...deny] : undefined },
  };
}
