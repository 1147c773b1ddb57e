import type { Caller } from "../../core/call.ts";
import type { Content } from "../../core/content.ts";
import type { ToolContext } from "../../core/tool.ts";

export const SURFACE_KINDS = ["html", "svg", "markdown", "mermaid", "url"] as const;
export type SurfaceKind = (typeof SURFACE_KINDS)[number];

export type Picture = Extract<Content, { type: "image" }>;

/** What an agent shows to its person: one for a session. */
export interface Surface {
  readonly session: string;
  /** Of the artifact that holds it, and which version of it is shown. */
  readonly id: string;
  readonly version: number;
  readonly kind: SurfaceKind;
  readonly title: string;
  /** What is shown: markup, or the address where the kind is `url`. */
  readonly content: string;
  readonly at: number;
  /** Of a page of the web, which itself is not framed. */
  readonly picture?: Picture;
}

/** What the canvas needs of wherever documents are kept. */
export interface SurfaceStore {
  /** Whose surface a caller means: subagents show on that of whoever started them. */
  sessionOf(caller: Caller): string;
  /** A new version where the document is there already. */
  save(document: SavedDocument, context: ToolContext): Promise<{ version: number }>;
}

export interface SavedDocument {
  id: string;
  title: string;
  contentType: string;
  content: string;
}

/** What the canvas needs of a browser. */
export interface SurfaceBrowser {
  show(
    request: {
      html?: string;
      until?: string;
      url?: string;
      script?: string;
      picture?: boolean;
      width?: number;
      height?: number;
    },
    signal: AbortSignal,
  ): Promise<{ value?: unknown; picture?: Picture; problems: string[] }>;
}

export const CONTENT_TYPES: Readonly<Record<SurfaceKind, string>> = {
  html: "text/html",
  svg: "image/svg+xml",
  markdown: "text/markdown",
  mermaid: "text/vnd.mermaid",
  url: "text/uri-list",
};
