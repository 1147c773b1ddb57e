import { type ChangeMaker, stateBefore } from "./undo-journal.ts";
import {
  type DiscardedChanges,
  isAtPath,
  isOfCall,
  type RecordedChange,
  rootCall,
  type UndoRun,
  type UndoStore,
} from "./undo-store.ts";

interface StoredContent {
  bytes: Buffer;
  uses: number;
}

/** Each change also counts for itself, so that a million empty ones are bounded too. */
const CHANGE_BYTES = 256;

/** Forgets its oldest calls beyond `maxBytes` of content, and everything when the process ends. */
export function createMemoryUndo({ maxBytes = 64 * 1024 * 1024, clock = Date.now } = {}): UndoStore & {
  /** Oldest first. */
  readonly changes: readonly RecordedChange[];
} {
  const changes: RecordedChange[] = [];
  const contents = new Map<string, StoredContent>();
  const runs: UndoRun[] = [];
  let order = 0;
  let held = 0;
  let discardedChanges: DiscardedChanges | undefined;

  const store = (hash: string | undefined, bytes: Uint8Array | null | undefined): void => {
    if (hash === undefined || !bytes) return;
    const stored = contents.get(hash);
    if (stored) stored.uses += 1;
    else {
      contents.set(hash, { bytes: Buffer.from(bytes), uses: 1 });
      held += bytes.byteLength;
    }
  };
  const release = (hash: string | undefined): void => {
    const stored = hash === undefined ? undefined : contents.get(hash);
    if (hash === undefined || !stored || --stored.uses > 0) return;
    contents.delete(hash);
    held -= stored.bytes.byteLength;
  };
  const drop = (change: RecordedChange): void => {
    changes.splice(changes.indexOf(change), 1);
    held -= CHANGE_BYTES;
    release(hashIn(change.old));
    if (change.kind !== "move") release(hashIn(change.next));
    discardedChanges = {
      changes: (discardedChanges?.changes ?? 0) + 1,
      newest: Math.max(discardedChanges?.newest ?? 0, change.at),
    };
  };

  return {
    changes,
    async before(change) {
      const { bytes, ...next } = change.next;
      const old = stateBefore(change);
      order += 1;
      const { callId, session, user, agent, tool, kind, path, to } = change;
      const facts = { callId, session, user, agent, tool, kind, path, to };
      changes.push({ id: String(order), order, at: clock(), ...facts, old, next, abandoned: false });
      held += CHANGE_BYTES;
      store(hashIn(old), change.old);
      store(hashIn(next), bytes);
      // A call that is half forgotten could not be undone as a whole.
      while (held > maxBytes && changes.length > 1) {
        const oldest = changes[0]!;
        const call = callKey(oldest);
        const whole = changes.filter((other) => other === oldest || (call !== undefined && callKey(other) === call));
        if (whole.length === changes.length) break;
        for (const one of whole) drop(one);
      }
      return String(order);
    },
    async abandoned(id) {
      const change = changes.find((one) => one.id === id);
      if (change) change.abandoned = true;
    },
    list: ({ session, user, agent, callId, path, since = 0, limit = Number.POSITIVE_INFINITY } = {}) =>
      changes
        .toReversed()
        .filter(
          (change) =>
            (session === undefined || change.session === session) &&
            (user === undefined || change.user === user) &&
            (agent === undefined || change.agent === agent) &&
            (callId === undefined || isOfCall(change.callId, callId)) &&
            (path === undefined || isAtPath(change, path)) &&
            change.at >= since,
        )
        .slice(0, limit)
        .map((change) => structuredClone(change)),
    content: (hash) => contents.get(hash)?.bytes,
    beginUndo(run) {
      if (runs.some(({ state }) => state === "running")) return false;
      runs.push({ ...run, state: "running" });
      return true;
    },
    endUndo(id, state) {
      const run = runs.find((one) => one.id === id);
      if (run) run.state = state;
    },
    adoptUndo(id, from, to) {
      const run = runs.find((one) => one.id === id && one.state === "running");
      if (run?.owner.instance !== from.instance) return false;
      run.owner = to;
      return true;
    },
    undos: () => structuredClone(runs),
    discardedChanges: () => discardedChanges,
  };
}

function hashIn(state: RecordedChange["old"]): string | undefined {
  return state.kind === "file" ? state.hash : undefined;
}

function callKey({ session, user, agent, callId }: ChangeMaker): string | undefined {
  return callId === undefined ? undefined : JSON.stringify([session, user, agent, rootCall(callId)]);
}
