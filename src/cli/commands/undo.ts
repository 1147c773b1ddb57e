import type { ApiClient } from "../../contracts/index.ts";
import type { ChangeInfo } from "../../contracts/undo.ts";
import { UsageError } from "../arguments.ts";
import { defineCommand } from "../command.ts";
import { CommandError, EXIT, isApiError } from "../exit-codes.ts";
import { showTime } from "../../core/clock.ts";
import { showColumns } from "../layout.ts";
import { type Output, safeLine } from "../output.ts";
import { showDiff } from "../show-diff.ts";

export const undo = defineCommand({
  examples: [
    ["haft undo", "the changes that tools made, newest first"],
    ["haft undo --last", "undo the changes of the last call"],
    ["haft undo call_1 --diff", "what that call changed; nothing is undone"],
    ["haft undo --session review", "undo everything of a session"],
  ],
  operands: [{ name: "CALL", isOptional: true }],
  options: {
    last: { type: "flag", about: "The last call that changed something" },
    session: { type: "text", value: "NAME", about: "Everything of this session" },
    diff: { type: "flag", about: "Only show what was changed" },
    force: { type: "flag", about: "Undo even if a file has changed since" },
    limit: { type: "number", value: "N", range: [1, 500], about: "Max number of listed changes; default: 20" },
  },
  notes: ["All or nothing: if a file has changed since, nothing is undone and the file is named."],
  uses: ["undo"],
  async run({ connect, output, operands: [named], options: { last, session, diff, force, limit = 20 } }) {
    if ([named, last || undefined, session].filter((one) => one !== undefined).length > 1) {
      throw new UsageError("Give only one of: a call, --last, --session.");
    }
    const client = await connect({ only: [] });
    if (named === undefined && !last && session === undefined) {
      const page = await client.undo.list({ limit });
      output.list(page, (changes) => showChanges(changes, output));
      if (page.items.length === 0) output.info("Tools have changed nothing here.");
      return EXIT.done;
    }
    const call = last ? await findLast(client) : named;
    if (diff) return showDiffs(client, { call, session }, output);
    const request = { call, session: call === undefined ? session : undefined, force: force || undefined };
    const outcome = await client.undo.run(request).catch((thrown: unknown) => {
      if (!isApiError(thrown, "stale")) throw thrown;
      const next = "`--force` undoes it anyway; `haft redo` brings back what it overwrote.";
      throw new CommandError(thrown.message.trimEnd(), { exitCode: EXIT.failed, code: "stale", next });
    });
    output.data(outcome, ({ undone }) => showChanges(undone, output));
    if (outcome.undone.length === 0) output.info("There was nothing to undo.");
    else
      output.info(`Undone: ${outcome.undone.length}. To take that back: haft redo ${outcome.undoId ?? ""}`.trimEnd());
    return EXIT.done;
  },
});

export const redo = defineCommand({
  examples: [
    ["haft redo", "take back the last undo"],
    ["haft redo call_1", "make the changes of this call again"],
    ["haft redo undo-4f2", "take back this undo"],
  ],
  operands: [{ name: "UNDO_OR_CALL", isOptional: true }],
  options: { force: { type: "flag", about: "Redo even if a file has changed since" } },
  notes: ["All or nothing: if a file has changed since the undo, nothing is redone and the file is named."],
  uses: ["undo"],
  async run({ connect, output, operands: [named], options: { force } }) {
    const client = await connect({ only: [] });
    const undoId = named ?? (await findLastUndo(client));
    const of = undoId.startsWith("undo-") ? { undo: undoId } : { call: undoId };
    const outcome = await client.undo.redo({ ...of, force: force || undefined }).catch((thrown: unknown) => {
      if (!isApiError(thrown, "stale")) throw thrown;
      throw new CommandError(thrown.message, {
        exitCode: EXIT.failed,
        code: "stale",
        next: "`--force` redoes it anyway; `haft redo` again brings back what it overwrote.",
      });
    });
    output.data(outcome, ({ undone }) => showChanges(undone, output));
    output.info(outcome.undone.length === 0 ? "There was nothing to redo." : `Redone: ${outcome.undone.length}.`);
    return EXIT.done;
  },
});

async function findLastUndo(client: UndoClient): Promise<string> {
  const { items } = await client.undo.list({ limit: 500 });
  const last = items.find(({ isUndo, state, callId }) => isUndo && state === "done" && callId !== undefined);
  if (last?.callId === undefined) throw new Error("There is nothing to redo: no undo was made here.");
  // Each call of a session is undone under an id of its own, below that of the whole undo.
  return last.callId.replace(/\/\d+$/, "");
}

/** What the tool did. Its name is often the same word as the kind of the change. */
const KINDS: Readonly<Record<ChangeInfo["kind"], string>> = {
  write: "wrote",
  delete: "deleted",
  move: "moved",
  make_directory: "made folder",
  make_link: "made link",
  set_mode: "set mode",
};

type UndoClient = Pick<ApiClient, "undo">;

async function findLast(client: UndoClient): Promise<string> {
  const { items } = await client.undo.list({ limit: 500 });
  const change = items.find(({ state, callId, isUndo }) => state === "done" && callId !== undefined && !isUndo);
  if (change?.callId === undefined) {
    const why = items.length === 0 ? "tools have changed nothing here" : "every change was undone";
    throw new Error(`There is nothing to undo: ${why}.`);
  }
  return change.callId;
}

async function showDiffs(client: UndoClient, of: { call?: string; session?: string }, output: Output): Promise<number> {
  const { items } = await client.undo.list({ ...of, limit: 500 });
  const changes = await Promise.all(items.map(({ id }) => client.undo.get(id)));
  output.list({ items: changes }, (shown) =>
    shown.flatMap(({ path, kind, diff }) =>
      diff === undefined ? [`${KINDS[kind]} ${safeLine(path)}`] : showDiff(diff, output),
    ),
  );
  return EXIT.done;
}

function showChanges(changes: readonly ChangeInfo[], { paint, columns }: Output): string[] {
  const rows = changes.map(({ callId = "", at, kind, path, to, state, toolName = "" }) => [
    safeLine(callId),
    showTime(at),
    safeLine(toolName),
    state === "done" ? KINDS[kind] : `${KINDS[kind]} (${state})`,
    safeLine(to === undefined ? path : `${path} → ${to}`),
  ]);
  return showColumns(rows, { paint, styles: ["bold", "dim", "cyan"], columns });
}
