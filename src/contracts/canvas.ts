import { z } from "zod";
import { Count, page, Time } from "./basics.ts";
import { namedObject, read } from "./contract.ts";

/** What an agent shows to its user. */
export const CanvasSurface = namedObject("CanvasSurface", {
  /** Omitted if the caller had none. */
  session: z.string().optional(),
  /** The artifact with its content, and the shown version of it. */
  artifact: z.string(),
  version: Count,
  kind: z.enum(["html", "svg", "markdown", "mermaid", "url"]),
  title: z.string(),
  /** Of a web page. */
  url: z.string().optional(),
  at: Time,
});
export type CanvasSurface = z.infer<typeof CanvasSurface>;

export const canvas = {
  list: read("GET /api/canvas", {
    summary: "What agents show to their users, newest first",
    output: page("CanvasPage", CanvasSurface),
  }),
  document: read("GET /api/canvas/document", {
    summary: "What one session shows, as a document for a sandboxed frame of the console",
    query: z.strictObject({
      session: z.string().optional().describe("Omit it for callers without a session"),
      v: z.string().optional().describe("Ignored; another value makes a frame load the document again"),
    }),
    text: "text/html",
  }),
};
