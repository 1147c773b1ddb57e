// A part of wire.ts: what agents show to their people.
//
// GET /api/canvas, GET /api/canvas/document?session= (a document for a sandboxed frame, no JSON)

export interface CanvasSurface {
  /** Absent for callers without one. */
  session?: string;
  /** The artifact that holds it, and which version of it is shown. */
  artifact: string;
  version: number;
  kind: "html" | "svg" | "markdown" | "mermaid" | "url";
  title: string;
  /** Of a page of the web. */
  url?: string;
  at: number;
}
