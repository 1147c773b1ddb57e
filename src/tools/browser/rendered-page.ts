// A file of its own without types of Playwright: the public types reach it, and Playwright is optional.
import type { Content } from "../../core/content.ts";

/** Loads single pages, each in a temporary profile. */
export interface PageRenderer {
  /** The markup of a page after its scripts have run. */
  render(url: string, signal: AbortSignal): Promise<string>;
  /** Loads a document or a page, and optionally runs a script in it and takes a picture. */
  show(request: ShowRequest, signal: AbortSignal): Promise<Shown>;
}

export interface ShowRequest {
  /** A complete document; it has an opaque origin. */
  html?: string;
  /** A selector that matches when the document is ready. */
  until?: string;
  url?: string;
  script?: string;
  picture?: boolean;
  width?: number;
  height?: number;
}

export interface Shown {
  /** The value of the script. */
  value?: unknown;
  picture?: Extract<Content, { type: "image" }>;
  /** Errors in the page. */
  problems: string[];
}
