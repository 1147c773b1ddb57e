import type { HaftClient } from "../../client/create-client.ts";
import type { ChangeInfo } from "../../http/wire.ts";
import { defineCommand } from "../command.ts";
import { EXIT } from "../exit-code.ts";
import { type Output, safe, safeLine } from "../output.ts";
import { paintDiff } from "../paint-diff.ts";
import { showColumns } from "../show-columns.ts";
import { showTime } from "../show-time.ts";
import { UsageError } from "../usage-error.ts";

export const command = defineCommand({
  examples: [
    ["haft undo", "what tools changed, newest first"],
    ["haft undo --last", "put back what the last call changed"],
    ["haft undo call_1 --diff", "what that call changed; nothing is put back"],
    ["haft undo --session review", "everything of a session"],
  ],
  operands: [{ name: "CALL", isOptional: true }],
  options: {
    last: { type: "flag", about: "The last call that changed something" },
    session: { type: "text", value: "NAME", about: "Everything of this session" },
    diff: { type: "flag", about: "Only show what was changed" },
    force: { type: "flag", about: "Also where a file was changed since" },
    limit: { type: "number", value: "N", range: [1, 500], about: "How many are listed, 20 unless said" },
  },
  notes: ["All of it is put back, or none: where a file was changed since, nothing is, and it is said which."],
  async run({ connect, output, operands: [named], options: { last, session, diff, force, limit = 20 } }) {
    if ([named, last || undefined, session].filter((one) => one !== undefined).length > 1) {
      throw new UsageError("A call, --last or --session: one of them.");
    }
    const client = await connect();
    if (named === undefined && !last && session === undefined) {
      const page = await client.undo.list({ limit });
      output.list(page, (changes) => showChanges(changes, output));
      if (page.items.length === 0) output.info("Tools have changed nothing here.");
      return EXIT.done;
    }
    const call = last ? await findLast(client) : named;
    if (diff) return showDiffs(client, { call, session }, output);
    const outcome = await client.undo.run({
      ...(call === undefined ? { session } : { call }),
      ...(force ? { force } : {}),
    });
    output.data(outcome, ({ undone }) => showChanges(undone, output));
    for (const { change, reason } of outcome.skipped) output.warn(`${safeLine(change.path)}: ${safeLine(reason)}`);
    output.info(outcome.undone.length === 0 ? "There was nothing to put back." : `Put back: ${outcome.undone.length}.`);
    return EXIT.done;
  },
});

async function findLast(client: HaftClient): Promise<string> {
  const { items } = await client.undo.list({ limit: 500 });
  const change = items.find(({ state, callId, isUndo }) => state === "done" && callId !== undefined && !isUndo);
  if (change?.callId === undefined) throw new Error("There is nothing to put back: tools have changed nothing here.");
  return change.callId;
}

async function showDiffs(client: HaftClient, of: { call?: string; session?: string }, output: Output): Promise<number> {
  const { items } = await client.undo.list({ ...of, limit: 500 });
  const changes = await Promise.all(items.map(({ id }) => client.undo.get(id)));
  output.list({ items: changes }, (shown) =>
    shown.map(({ path, kind, diff }) =>
      diff === undefined ? `${kind} ${safeLine(path)}` : paintDiff(safe(diff), output),
    ),
  );
  return EXIT.done;
}

function showChanges(changes: readonly ChangeInfo[], { paint, columns }: Output): string[] {
  const rows = changes.map(({ callId = "", at, kind, path, to, state, toolName = "" }) => [
    safeLine(callId),
    showTime(at),
    safeLine(toolName),
    state === "done" ? kind : `${kind} (${state})`,
    safeLine(to === undefined ? path : `${path} → ${to}`),
  ]);
  return showColumns(rows, { paint, styles: ["bold", "dim", "cyan"], columns });
}
