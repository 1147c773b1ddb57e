import type { ListedChange, Undo } from "../../io/files/undo.ts";
import { rootCall } from "../../io/files/undo-store.ts";
import { HttpError } from "../door-error.ts";
import type { UndoCapability } from "../host-parts.ts";
import type { ChangeInfo, Page } from "../wire.ts";

const MAX_CHANGES = 5000;

/** The undo of a workspace in the words of the wire. */
export function undoCapability(undo: Undo): UndoCapability {
  const findChange = async (id: string): Promise<ListedChange | undefined> =>
    (await undo.listChanges({ limit: MAX_CHANGES })).find((change) => change.id === id);

  return {
    async list({ call, session, limit, cursor }) {
      const filter = {
        limit: MAX_CHANGES,
        callId: call,
        session,
      };
      const before = cursor === undefined ? Infinity : Number(cursor);
      const found = (await undo.listChanges(filter)).filter(({ order, abandoned }) => order < before && !abandoned);
      const shown = found.slice(0, limit);
      const page: Page<ChangeInfo> = { items: shown.map(infoOf) };
      return found.length > limit ? { ...page, next: String(shown.at(-1)!.order) } : page;
    },
    async find(id) {
      const change = await findChange(id);
      if (!change) return undefined;
      const { did } = await undo.diffOf({ changeId: id });
      const diff = did.map(({ text, what, path }) => (text === "" ? `${path}: ${what}` : text)).join("\n");
      return { ...infoOf(change), ...(diff === "" ? {} : { diff }) };
    },
    async undoable(callIds) {
      const wanted = new Set(callIds);
      const changes = await undo.listChanges({ limit: MAX_CHANGES });
      const open = changes.filter(({ undoneBy, abandoned }) => undoneBy === undefined && !abandoned);
      const calls = open.flatMap(({ callId }) => (callId === undefined ? [] : [callId, rootCall(callId)]));
      return new Set(calls.filter((callId) => wanted.has(callId)));
    },
    async undo({ call, session, user, agent, change, force }, by) {
      const request = { by, force: force ? { by } : undefined };
      const made = call === undefined && change !== undefined ? await findChange(change) : undefined;
      const callId = call ?? made?.callId;
      const owner = made ? { session: made.session, user: made.user, agent: made.agent } : { session, user, agent };
      if (call === undefined && change !== undefined && callId === undefined) {
        throw new HttpError("not_found", "No call is known that made this change", "Undo the call, or the session.");
      }
      const outcome =
        callId === undefined
          ? await undo.undoSession(session!, request)
          : await undo.undoCall(callId, { ...request, ...owner });
      const changes = await Promise.all(outcome.callIds.map((id) => undo.listChanges({ callId: id })));
      const undone = changes.flat().filter(({ undoneBy }) => undoneBy === outcome.undoId);
      return { undone: undone.map(infoOf), skipped: [] };
    },
  };
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
  };
}
