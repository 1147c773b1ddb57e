import { z } from "zod";
import { cursor, limit, Name, page, Time } from "./basics.ts";
import { approve, named, namedObject, read } from "./contract.ts";

export const ChangeInfo = namedObject("ChangeInfo", {
  id: z.string(),
  callId: z.string().optional(),
  session: z.string().optional(),
  user: z.string().optional(),
  agent: z.string().optional(),
  toolName: z.string().optional(),
  at: Time,
  kind: z.enum(["write", "delete", "move", "make_directory", "make_link", "set_mode"]),
  path: z.string(),
  to: z.string().optional(),
  state: z.enum(["done", "undone", "lost"]),
  /** A change that an undo made. Undoing it restores the first change. */
  isUndo: z.boolean().optional(),
  /** The undo that undid it. `undo.redo` takes this id. */
  undoneBy: z.string().optional(),
});
export type ChangeInfo = z.infer<typeof ChangeInfo>;

export const ChangeDetail = named(
  "ChangeDetail",
  ChangeInfo.extend({
    /** A unified diff. Omitted for content that is not text. */
    diff: z.string().optional(),
  }),
);
export type ChangeDetail = z.infer<typeof ChangeDetail>;

/** A call, a session, or a change (the call that made it is undone). */
export const UndoRequest = namedObject("UndoRequest", {
  call: Name.optional(),
  session: Name.optional(),
  /** With `call`, if several callers used the same id. */
  user: Name.optional(),
  agent: Name.optional(),
  change: Name.optional(),
  /**
   * Even if a file was changed since. Without it, such an undo fails with `stale`, and the error's `data.conflicts` has each
   * file with both texts.
   */
  force: z.boolean().optional(),
});
export type UndoRequest = z.infer<typeof UndoRequest>;

/** A file that was changed after the call: `data.conflicts` of the error `stale`. */
export const UndoConflict = namedObject("UndoConflict", {
  path: z.string(),
  reason: z.enum(["changed", "not_empty", "occupied", "folder_gone", "not_kept", "denied"]),
  /** The reason in words. */
  why: z.string(),
  /** Calls that changed it later. None: a person or another program did. */
  laterCalls: z.array(z.string()),
  /** From what the call left to what is there now: the later change that would be discarded. */
  diff: z.string(),
  /** What is there now. Omitted if there is no file, it is not text, or it is too long. */
  now: z.string().optional(),
  /** What the undo would put there. Omitted as `now` is. */
  restored: z.string().optional(),
});
export type UndoConflict = z.infer<typeof UndoConflict>;

/** An undo, by its id, or the last undo of a call. */
export const RedoRequest = namedObject("RedoRequest", {
  undo: Name.optional(),
  call: Name.optional(),
  /** As in `UndoRequest`. */
  force: z.boolean().optional(),
});
export type RedoRequest = z.infer<typeof RedoRequest>;

export const UndoOutcome = namedObject("UndoOutcome", {
  undone: z.array(ChangeInfo),
  /** `undo.redo` with this id brings back what was undone. Omitted if nothing was. */
  undoId: z.string().optional(),
});
export type UndoOutcome = z.infer<typeof UndoOutcome>;

export const undo = {
  list: read("GET /api/changes", {
    summary: "File changes that tools made, newest first",
    query: z.strictObject({
      call: z.string().optional().describe("Made by this call or the calls that it made"),
      session: z.string().optional().describe("Only of this session"),
      limit,
      cursor,
    }),
    output: page("ChangePage", ChangeInfo),
  }),
  get: read("GET /api/changes/{id}", { summary: "One change, with its diff", output: ChangeDetail }),
  run: approve("POST /api/undo", {
    summary: "Undo the file changes of a call or a session, all or none",
    body: UndoRequest,
    output: UndoOutcome,
  }),
  redo: approve("POST /api/redo", {
    summary: "Undo an undo: the changes are made again, all or none",
    body: RedoRequest,
    output: UndoOutcome,
  }),
};
