import type { Handlers } from "../../contracts/contract.ts";
import { ApiError, notFound } from "../../contracts/errors.ts";
import type { ChangeInfo, undo as contract, UndoOutcome } from "../../contracts/undo.ts";
import type { FileDiff } from "../../io/files/undo-plan.ts";
import { rootCall } from "../../io/files/undo-store.ts";
import type { ListedChange, Undo, UndoOutcome as DoneUndo } from "../../io/files/undo.ts";

const DEFAULT_LIMIT = 100;
const MAX_CHANGES = 5000;

export function createUndoApi(undo: Undo): Handlers<typeof contract> {
  const findChange = async (id: string): Promise<ListedChange | undefined> =>
    (await undo.listChanges({ limit: MAX_CHANGES })).find((change) => change.id === id);

  const describe = async ({ callIds, undoId }: DoneUndo): Promise<UndoOutcome> => {
    const changes = await Promise.all(callIds.map((id) => undo.listChanges({ callId: id })));
    // Each call of a session is undone under an id of its own, below that of the whole undo.
    const undone = changes.flat().filter(({ undoneBy = "" }) => rootCall(undoneBy) === undoId);
    return { undone: undone.map(infoOf), undoId: undoId ?? undefined };
  };

  return {
    async list({ query: { call, session, limit = DEFAULT_LIMIT, cursor } }) {
      const before = cursor === undefined ? Infinity : Number(cursor);
      const all = await undo.listChanges({ limit: MAX_CHANGES, callId: call, session });
      const found = all.filter(({ order, abandoned }) => order < before && !abandoned);
      const shown = found.slice(0, limit);
      const next = found.length > limit ? String(shown.at(-1)?.order) : undefined;
      return { items: shown.map(infoOf), next };
    },
    async get({ params: { id } }) {
      const change = await findChange(id);
      if (!change) throw new ApiError("not_found", "There is no such change, or it was deleted");
      const { did } = await undo.diffOf({ changeId: id });
      const diff = did.map(describeDiff).join("\n");
      return { ...infoOf(change), diff: diff === "" ? undefined : diff };
    },
    async run({ body: { call, session, user, agent, change, force }, identity: { name: by } }) {
      const made = call === undefined && change !== undefined ? await findChange(change) : undefined;
      if (call === undefined && change !== undefined && made?.callId === undefined) {
        throw new ApiError("not_found", "The call that made this change is not known", "Undo the call or the session.");
      }
      const request = { by, force: force ? { by } : undefined };
      const callId = call ?? made?.callId;
      const outcome = await (callId !== undefined
        ? undo.undoCall(callId, { ...request, ...(made ? ownerOf(made) : { session, user, agent }) })
        : undo.undoSession(required(session), request));
      return describe(outcome);
    },
    async redo({ body: { undo: named, call, force }, identity: { name: by } }) {
      if ((named === undefined) === (call === undefined)) {
        throw new ApiError("bad_request", "The request does not say what to redo", "Send `undo` or `call`.");
      }
      const id = named ?? (await undo.listChanges({ callId: call })).find(({ undoneBy }) => undoneBy)?.undoneBy;
      const changes = id === undefined ? [] : await undo.listChanges({ callId: id });
      // The id of a call would undo that call.
      if (id === undefined || !changes.some(({ isUndo }) => isUndo)) throw nothingToRedo(named ?? call);
      return describe(await undo.undoCall(id, { by, force: force ? { by } : undefined }));
    },
  };
}

/** Those of the calls that have file changes which can be undone. */
export function undoableCalls(undo: Undo): (callIds: readonly string[]) => Promise<ReadonlySet<string>> {
  return async (callIds) => {
    const wanted = new Set(callIds);
    const changes = await undo.listChanges({ limit: MAX_CHANGES });
    const open = changes.filter(({ undoneBy, abandoned }) => undoneBy === undefined && !abandoned);
    const calls = open.flatMap(({ callId }) => (callId === undefined ? [] : [callId, rootCall(callId)]));
    return new Set(calls.filter((callId) => wanted.has(callId)));
  };
}

function ownerOf({ session, user, agent }: ListedChange) {
  return { session, user, agent };
}

/** A part that is left out is named: a diff that ends early looks like a whole one. */
function describeDiff({ path, what, text, truncated, added, removed }: FileDiff): string {
  if (text === "") return `${path}: ${what}`;
  return truncated ? `${text}[not shown: a part of these ${added + removed} changed lines]` : text;
}

function required(session: string | undefined): string {
  if (session !== undefined) return session;
  throw new ApiError("bad_request", "The request does not say what to undo", "Send `call`, `change` or `session`.");
}

function nothingToRedo(id: string | undefined): ApiError {
  return notFound(`Nothing was undone under "${id}"`, "changes");
}

function infoOf({
  id,
  callId,
  session,
  user,
  agent,
  tool,
  at,
  kind,
  path,
  to,
  undoneBy,
  isUndo,
}: ListedChange): ChangeInfo {
  return {
    id,
    callId,
    session,
    user,
    agent,
    toolName: tool,
    at,
    kind,
    path,
    to,
    state: undoneBy === undefined ? "done" : "undone",
    isUndo: isUndo || undefined,
    undoneBy,
  };
}
