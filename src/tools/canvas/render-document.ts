import type { Caller } from "../../core/call.ts";
import type { Content } from "../../core/content.ts";
import type { ToolContext } from "../../core/tool.ts";

/** Programs that draw documents, as the text of a script each. */
export type LibraryName = "marked" | "purify" | "mermaid";
export type LoadLibrary = (name: LibraryName) => Promise<string | undefined>;

export interface RenderedDocument {
  /** Whole; also where it is shown by itself it reaches nothing, and nothing of its own server. */
  html: string;
  /** What its server must say of it, besides that it is sandboxed. */
  policy: string;
  /** What is in it when it has been drawn; absent where it is at once. */
  drawn?: string;
}

const CLOSED = [
  "default-src 'none'",
  "style-src 'unsafe-inline'",
  "img-src data: blob:",
  "font-src data:",
  "media-src data: blob:",
  "form-action 'none'",
  "base-uri 'none'",
];
const STYLE =
  "body{font:16px/1.5 system-ui,sans-serif;margin:1rem;color:#1b1b1b;background:#fff}img,svg{max-width:100%;height:auto}" +
  "pre,code{font-family:ui-monospace,monospace;background:#f4f4f5;border-radius:4px}pre{padding:.75rem;overflow:auto}" +
  "table{border-collapse:collapse}td,th{border:1px solid #d4d4d8;padding:.25rem .5rem}";

/** A surface as a document of its own. Scripts run in HTML alone: in the other kinds they are not what they are for. */
export async function renderDocument(
  surface: Pick<Surface, "kind" | "content" | "title" | "picture">,
  load: LoadLibrary,
): Promise<RenderedDocument> {
  const { kind, content } = surface;
  switch (kind) {
    case "html":
      return assemble("script-src 'unsafe-inline'", surface.title, content, { style: "" });
    case "svg":
      return assemble("script-src 'none'", surface.title, content);
    case "url":
      return assemble("script-src 'none'", surface.title, picturePart(surface));
    case "markdown":
    case "mermaid":
      return drawn(surface, load);
  }
}

/** Drawn where it is shown, by programs that a mark lets in; scripts in the document itself have no such mark. */
async function drawn(
  { kind, content, title }: Pick<Surface, "kind" | "content" | "title">,
  load: LoadLibrary,
): Promise<RenderedDocument> {
  const hasDiagram = kind === "mermaid" || /^ {0,3}(?:```+|~~~+)[ \t]*mermaid\b/m.test(content);
  const names: LibraryName[] = [
    ...(kind === "markdown" ? (["marked", "purify"] as const) : []),
    ...(hasDiagram ? (["mermaid"] as const) : []),
  ];
  const libraries = await Promise.all(names.map((name) => load(name)));
  if (libraries.some((library) => library === undefined)) {
    const note = "<p><em>Shown as text: the programs that draw it are not installed.</em></p>";
    return assemble("script-src 'none'", title, `${note}<pre>${escapeMarkup(content)}</pre>`);
  }
  const nonce = crypto.randomUUID();
  const scripts = [...libraries, DRAW.replace('"SOURCE"', () => literal({ kind, content }))];
  const body = scripts.map((script) => `<script nonce="${nonce}">${safeScript(script ?? "")}</script>`).join("\n");
  const document = assemble(`script-src 'nonce-${nonce}'`, title, `<main id="haft-drawn"></main>\n${body}`);
  return { ...document, drawn: "main[data-drawn]" };
}

const DRAW = `(async () => {
  const { kind, content } = "SOURCE";
  const place = document.getElementById("haft-drawn");
  const diagram = async (source, at) => {
    const id = "haft-diagram-" + at;
    try {
      mermaid.initialize({ startOnLoad: false, securityLevel: "strict" });
      return (await mermaid.render(id, source)).svg;
    } catch (error) {
      document.getElementById("d" + id)?.remove();
      const failed = document.createElement("pre");
      failed.textContent = String(error.message ?? error) + "\\n\\n" + source;
      return failed.outerHTML;
    }
  };
  if (kind === "mermaid") {
    place.innerHTML = await diagram(content, 0);
    place.dataset.drawn = "";
    return;
  }
  place.innerHTML = DOMPurify.sanitize(marked.parse(content));
  for (const [at, code] of [...place.querySelectorAll("code.language-mermaid")].entries()) {
    const drawing = document.createElement("div");
    drawing.innerHTML = await diagram(code.textContent, at);
    code.closest("pre").replaceWith(drawing);
  }
  place.dataset.drawn = "";
})();`;

function assemble(scripts: string, title: string, body: string, { style = STYLE } = {}): RenderedDocument {
  const policy = [...CLOSED, scripts].join("; ");
  const head = [
    "<!doctype html>",
    '<meta charset="utf-8">',
    `<meta http-equiv="content-security-policy" content="${escapeMarkup(policy)}">`,
    `<title>${escapeMarkup(title)}</title>`,
    ...(style === "" ? [] : [`<style>${style}</style>`]),
  ];
  return { html: `${head.join("\n")}\n${body}`, policy };
}

function picturePart({ content, picture }: Pick<Surface, "content" | "picture">): string {
  const address = `<p>${escapeMarkup(content)}</p>`;
  if (!picture) return address;
  return `${address}<img alt="The page" src="data:${picture.mimeType};base64,${picture.data}">`;
}

/** Text in a script that no end tag can end. */
function literal(value: unknown): string {
  return JSON.stringify(value)
    .replaceAll("<", "\\u003c")
    .replaceAll("\u2028", "\\u2028")
    .replaceAll("\u2029", "\\u2029");
}

function safeScript(script: string): string {
  return script.replace(/<\/(?=script)/gi, "<\\/").replaceAll("<!--", "<\\!--");
}

function escapeMarkup(text: string): string {
  return text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;").replaceAll('"', "&quot;");
}

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
