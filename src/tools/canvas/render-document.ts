import type { Caller } from "../../core/call.ts";
import type { Content } from "../../core/content.ts";
import type { ToolContext } from "../../core/tool.ts";

/** Rendering libraries, loaded as script text. */
export type LibraryName = "marked" | "purify" | "mermaid";
export type LoadLibrary = (name: LibraryName) => Promise<string | undefined>;

export interface RenderedDocument {
  /** A complete document. Even without a frame it can reach nothing, including its own server. */
  html: string;
  /** The content security policy that its server must send, besides the sandbox. */
  policy: string;
  /** A selector that matches when it has been drawn; undefined if it needs no drawing. */
  drawn?: string;
}

const BASE_POLICY = [
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
/** Only for what has no colours of its own. A frame of the console gets its theme as the fragment. */
const DARK_STYLE =
  ".dark{color-scheme:dark}.dark body{color:#e7eaf1;background:#181c25}.dark a{color:#8ea6ff}" +
  ".dark pre,.dark code{background:#202632}.dark td,.dark th{border-color:#2d3442}";
const CHOOSE_THEME =
  'const isDark=location.hash===""?matchMedia("(prefers-color-scheme:dark)").matches:location.hash==="#dark";' +
  'document.documentElement.classList.toggle("dark",isDark);';

/** Renders a surface as a complete document. Scripts run only in HTML. */
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

/** Drawn in the browser by libraries with a nonce. Scripts in the content have no nonce and do not run. */
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
    const note = "<p><em>Shown as text: the libraries that draw it are not installed.</em></p>";
    return assemble("script-src 'none'", title, `${note}<pre>${escapeMarkup(content)}</pre>`);
  }
  const nonce = crypto.randomUUID();
  const scripts = [CHOOSE_THEME, ...libraries, DRAW.replace('"SOURCE"', () => literal({ kind, content }))];
  const body = scripts.map((script) => `<script nonce="${nonce}">${safeScript(script ?? "")}</script>`).join("\n");
  const style = STYLE + DARK_STYLE;
  const document = assemble(`script-src 'nonce-${nonce}'`, title, `<main id="haft-drawn"></main>\n${body}`, { style });
  return { ...document, drawn: "main[data-drawn]" };
}

const DRAW = `(async () => {
  const { kind, content } = "SOURCE";
  const main = document.getElementById("haft-drawn");
  const diagram = async (source, at) => {
    const id = "haft-diagram-" + at;
    try {
      mermaid.initialize({ startOnLoad: false, securityLevel: "strict", theme: isDark ? "dark" : "default" });
      return (await mermaid.render(id, source)).svg;
    } catch (error) {
      document.getElementById("d" + id)?.remove();
      const failed = document.createElement("pre");
      failed.textContent = String(error.message ?? error) + "\\n\\n" + source;
      return failed.outerHTML;
    }
  };
  if (kind === "mermaid") {
    main.innerHTML = await diagram(content, 0);
    main.dataset.drawn = "";
    return;
  }
  main.innerHTML = DOMPurify.sanitize(marked.parse(content));
  for (const [at, code] of [...main.querySelectorAll("code.language-mermaid")].entries()) {
    const drawing = document.createElement("div");
    drawing.innerHTML = await diagram(code.textContent, at);
    code.closest("pre").replaceWith(drawing);
  }
  main.dataset.drawn = "";
})();`;

function assemble(scripts: string, title: string, body: string, { style = STYLE } = {}): RenderedDocument {
  const policy = [...BASE_POLICY, scripts].join("; ");
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

/** A JavaScript literal that cannot contain an end tag. */
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

/** What an agent shows to its person; one per session. */
export interface Surface {
  readonly session: string;
  /** The id of its artifact. */
  readonly id: string;
  readonly version: number;
  readonly kind: SurfaceKind;
  readonly title: string;
  /** The markup, or the URL if the kind is `url`. */
  readonly content: string;
  readonly at: number;
  /** The picture of a web page, which is not framed. */
  readonly picture?: Picture;
}

/** Stores the documents of the canvas. */
export interface SurfaceStore {
  /** The session of the surface. Subagents use the surface of the outermost session. */
  sessionOf(caller: Caller): string;
  /** Creates a new version if the document exists. */
  save(document: SavedDocument, context: ToolContext): Promise<{ version: number }>;
}

export interface SavedDocument {
  id: string;
  title: string;
  contentType: string;
  content: string;
}

/** The part of the browser that the canvas uses. */
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
