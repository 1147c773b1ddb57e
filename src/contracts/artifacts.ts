import { z } from "zod";
import { Count, cursor, limit, page, Time } from "./basics.ts";
import { named, namedObject, read } from "./contract.ts";

export const ArtifactInfo = namedObject("ArtifactInfo", {
  id: z.string(),
  /** Omitted if the caller had none. */
  session: z.string().optional(),
  title: z.string(),
  contentType: z.string(),
  /** `output`: the whole output of a call, kept for a week because it was too long for the result. */
  origin: z.enum(["made", "output"]),
  /** The newest one. */
  version: Count,
  createdAt: Time,
  updatedAt: Time,
});
export type ArtifactInfo = z.infer<typeof ArtifactInfo>;

export const ArtifactVersionInfo = namedObject("ArtifactVersionInfo", {
  version: Count,
  type: z.enum(["create", "update", "update_fuzzy", "rewrite"]),
  author: z.strictObject({ agent: z.string().optional(), user: z.string().optional() }),
  callId: z.string().optional(),
  at: Time,
  characters: Count,
  /** Of an `update_fuzzy`: how similar the quoted text was to the replaced text, from 0 to 1. */
  similarity: z.number().optional(),
});
export type ArtifactVersionInfo = z.infer<typeof ArtifactVersionInfo>;

export const ArtifactDetail = named(
  "ArtifactDetail",
  ArtifactInfo.extend({
    /** The requested version. */
    shown: ArtifactVersionInfo,
    content: z.string(),
  }),
);
export type ArtifactDetail = z.infer<typeof ArtifactDetail>;

/** A unified diff. */
export const ArtifactDiff = namedObject("ArtifactDiff", {
  from: Count,
  to: Count,
  added: Count,
  removed: Count,
  text: z.string(),
  /** Whether the end of the text was left out. */
  truncated: z.boolean(),
});
export type ArtifactDiff = z.infer<typeof ArtifactDiff>;

const session = z.string().optional().describe("The session of the artifact; omit it for artifacts without one");
const version = z.number().int().min(1).max(1_000_000).optional();

export const artifacts = {
  list: read("GET /api/artifacts", {
    summary: "Documents with versions, last changed first",
    query: z.strictObject({ session: z.string().optional().describe("Only of this session"), limit, cursor }),
    output: page("ArtifactPage", ArtifactInfo),
  }),
  get: read("GET /api/artifacts/{id}", {
    summary: "A document in its newest or another version",
    query: z.strictObject({ session, version: version.describe("From 1; default: the newest") }),
    output: ArtifactDetail,
  }),
  document: read("GET /api/artifacts/{id}/document", {
    summary: "A version as a document for a sandboxed frame of the console: Markdown, HTML, SVG and Mermaid are drawn",
    query: z.strictObject({ session, version: version.describe("From 1; default: the newest") }),
    text: "text/html",
  }),
  versions: read("GET /api/artifacts/{id}/versions", {
    summary: "The versions of a document, newest first",
    query: z.strictObject({ session }),
    output: page("ArtifactVersionPage", ArtifactVersionInfo),
  }),
  diff: read("GET /api/artifacts/{id}/diff", {
    summary: "What changed between two versions",
    query: z.strictObject({
      session,
      from: version.describe("Default: the version before `to`"),
      to: version.describe("Default: the newest"),
    }),
    output: ArtifactDiff,
  }),
};
