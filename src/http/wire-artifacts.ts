// A part of wire.ts: documents with versions.
//
// GET /api/artifacts?session=&limit=&cursor=, GET /api/artifacts/{id}?session=&version=,
// GET /api/artifacts/{id}/versions?session=, GET /api/artifacts/{id}/diff?session=&from=&to=

export interface ArtifactInfo {
  id: string;
  /** Absent for those of callers without one. */
  session?: string;
  title: string;
  contentType: string;
  /** `output`: the whole output of a call, kept because it was too long for its result; it goes after a week. */
  origin: "made" | "output";
  /** The newest one. */
  version: number;
  createdAt: number;
  updatedAt: number;
}

export interface ArtifactVersionInfo {
  version: number;
  type: "create" | "update" | "update_fuzzy" | "rewrite";
  author: { agent?: string; user?: string };
  callId?: string;
  at: number;
  characters: number;
  /** Of an `update_fuzzy`: how like the quoted text was to what was replaced, from 0 to 1. */
  similarity?: number;
}

export interface ArtifactDetail extends ArtifactInfo {
  /** The version that was asked for. */
  shown: ArtifactVersionInfo;
  content: string;
}

/** A unified diff. */
export interface ArtifactDiff {
  from: number;
  to: number;
  added: number;
  removed: number;
  text: string;
  /** Whether the rest of the text was left out. */
  truncated: boolean;
}
