import type { Caller } from "../../core/call.ts";

/** How a version came about; `update_fuzzy` where the replaced text was not quoted exactly. */
export type ArtifactUpdateType = "create" | "update" | "update_fuzzy" | "rewrite";

/** An artifact belongs to a session; those of callers without one are the session "". */
export interface ArtifactKey {
  readonly session: string;
  readonly id: string;
}

/** A document with versions. */
export interface Artifact extends ArtifactKey {
  readonly title: string;
  readonly contentType: string;
  /** `output`: kept by the gate because it was too long for a result, and not for ever. */
  readonly origin: "made" | "output";
  /** The newest one. */
  readonly version: number;
  readonly createdAt: number;
  readonly updatedAt: number;
}

export interface ArtifactVersionInfo {
  /** From 1. */
  readonly version: number;
  readonly type: ArtifactUpdateType;
  readonly author: { readonly agent?: string; readonly user?: string };
  readonly callId?: string;
  readonly at: number;
  readonly characters: number;
  /** Of an `update_fuzzy`: how like the quoted text was to what was replaced, from 0 to 1. */
  readonly similarity?: number;
}

export interface ArtifactVersion extends ArtifactVersionInfo {
  readonly content: string;
}

/** So long a document can be; longer ones are files. */
export const MAX_CHARACTERS = 2_000_000;
export const MAX_VERSIONS = 1_000;

/** Subagents work on the documents of whoever started them: the outermost session counts. */
export function sessionOf(caller: Partial<Caller>): string {
  let session = "";
  for (let one: Partial<Caller> | undefined = caller; one; one = one.parent) session = one.session ?? session;
  return session;
}
