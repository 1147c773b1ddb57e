import { z } from "zod";
import { BoundedMap } from "../../core/bounded-map.ts";
import { ToolCategory } from "../../core/category.ts";
import { type Clock, systemClock } from "../../core/clock.ts";
import { text } from "../../core/content.ts";
import { createTool } from "../../core/create-tool.ts";
import { errorMessage, toolError } from "../../core/error.ts";
import type { ToolContext } from "../../core/tool.ts";
import { disarmText, wrapUntrusted } from "../../core/untrusted-text.ts";
import {
  CONTENT_TYPES,
  type LoadLibrary,
  type Picture,
  renderDocument,
  type Surface,
  SURFACE_KINDS,
  type SurfaceBrowser,
  type SurfaceKind,
  type SurfaceStore,
} from "./render-document.ts";
import { describeOutput, field } from "../../schema/describe-output.ts";

export interface CanvasDependencies {
  board: CanvasBoard;
  surfaceStore: SurfaceStore;
  load: LoadLibrary;
  /** Required for eval and snapshot. */
  browser?: SurfaceBrowser;
  clock?: Clock;
}

const MAX_CONTENT_LENGTH = 2_000_000;
const MAX_VALUE_LENGTH = 20_000;
const WEB_ADDRESS = /^https?:\/\//i;

const PARAMETERS = z.object({
  action: z.enum(["present", "hide", "navigate", "eval", "snapshot"]).describe("What to do"),
  kind: z.enum(SURFACE_KINDS).optional().describe("The kind of content. Default: detected"),
  content: z
    .string()
    .max(MAX_CONTENT_LENGTH)
    .optional()
    .describe("For present: a document or a fragment; scripts run only in html"),
  url: z.string().max(8192).optional().describe("For present and navigate: a web page instead of content"),
  title: z.string().max(200).optional().describe("A title for the person"),
  script: z.string().max(50_000).optional().describe("For eval: a JavaScript expression"),
  width: z.number().int().min(100).max(4000).optional().describe("For snapshot and eval, in pixels"),
  height: z.number().int().min(100).max(4000).optional().describe("For snapshot and eval. Default: the full height"),
});
type Input = z.infer<typeof PARAMETERS>;

/** Shows documents of an agent to its person in the console, sandboxed from everything else there. */
export function createCanvasTool({ board, surfaceStore, load, browser, clock = systemClock }: CanvasDependencies) {
  async function present(input: Input, context: ToolContext): Promise<Surface> {
    const { kind, content } = contentOf(input);
    const session = surfaceStore.sessionOf(context.caller);
    const id = `canvas-${kind}`;
    const title = input.title ?? (kind === "url" ? content : "Canvas");
    const saved = await surfaceStore.save({ id, title, contentType: CONTENT_TYPES[kind], content }, context);
    const surface = { session, id, version: saved.version, kind, title, content, at: clock.now() };
    board.show(surface);
    return surface;
  }

  /** Web pages are not framed in the console: it shows their picture. */
  async function withPicture(surface: Surface, input: Input, signal: AbortSignal): Promise<Picture> {
    const { picture } = await show(surface, input, signal, { picture: true });
    if (!picture) throw toolError("failed", "No picture could be taken.");
    if (surface.kind === "url" && board.find(surface.session)?.at === surface.at) board.show({ ...surface, picture });
    return picture;
  }

  async function show(
    surface: Surface,
    { width, height }: Input,
    signal: AbortSignal,
    what: { script?: string; picture?: boolean },
  ) {
    if (!browser) {
      throw toolError("unavailable", "This needs the browser, which is disabled.", {
        next: "The person can still see the canvas.",
      });
    }
    const document = surface.kind === "url" ? undefined : await renderDocument(surface, load);
    const source = document ? { html: document.html, until: document.drawn } : { url: surface.content };
    return browser.show({ ...source, width, height, ...what }, signal);
  }

  function shownTo({ caller }: ToolContext): Surface {
    const surface = board.find(surfaceStore.sessionOf(caller));
    if (surface) return surface;
    throw toolError("no_match", "Nothing is on the canvas.", { next: "Present something first." });
  }

  async function run(input: Input, context: ToolContext) {
    const { action } = input;
    const { signal } = context;
    if (action === "hide") {
      const wasShown = board.hide(surfaceStore.sessionOf(context.caller));
      return {
        content: wasShown ? "The canvas is hidden." : "Nothing was on the canvas.",
        details: { action, shown: false },
      };
    }
    if (action === "present" || action === "navigate") {
      const surface = await present(input, context);
      const problem =
        surface.kind === "url" && browser ? await problemOf(withPicture(surface, input, signal), signal) : undefined;
      const note = problem === undefined ? "" : ` Its picture could not be taken: ${problem}`;
      const summary = `On the canvas: ${surface.kind}, stored as the artifact ${surface.id}, version ${surface.version}.${note}`;
      return {
        content: summary,
        display: `canvas: ${surface.title}`,
        details: { action, ...factsOf(surface), shown: true },
      };
    }
    const surface = shownTo(context);
    if (action === "snapshot") {
      const picture = await withPicture(surface, input, signal);
      return {
        content: [text("The canvas:"), picture],
        display: "canvas: picture",
        details: { action, ...factsOf(surface) },
      };
    }
    if (surface.kind === "url") {
      throw toolError("invalid_input", "Scripts run only in your own documents, not in web pages.", {
        next: "Use the browser tool.",
      });
    }
    const { value, problems } = await show(surface, input, signal, { script: input.script ?? "" });
    const shown = (JSON.stringify(value) ?? String(value)).slice(0, MAX_VALUE_LENGTH).toWellFormed();
    const summary = [disarmText(shown), ...problems.map((problem) => `Error in the page: ${disarmText(problem)}`)].join(
      "\n",
    );
    return { content: wrapUntrusted(summary, "canvas"), display: "canvas: eval", details: { action, value, problems } };
  }

  return createTool({
    name: "canvas",
    title: "Canvas",
    description: {
      short: "Shows something to the person: HTML, SVG, Markdown, a Mermaid diagram or a web page.",
      usageNotes: [
        "present replaces what is shown; each version is stored as an artifact.",
        "The document has no network access: embed styles, scripts and pictures (data:).",
        "snapshot returns a picture of it. eval runs a script in a copy that the person does not see.",
      ],
      examples: [
        { input: { action: "present", kind: "mermaid", content: "graph LR; A-->B" } },
        { input: { action: "present", content: "<h1>Result</h1><p>42</p>", title: "Result" } },
      ],
    },
    parameters: PARAMETERS,
    parameterAliases: { html: "content", javaScript: "script", javascript: "script", target: "url", format: "kind" },
    kind: "write",
    category: ToolCategory.UI,
    tags: ["canvas", "show", "diagram", "html", "svg", "mermaid", "markdown"],
    labels: ["untrusted_input", "outside_effect"],
    labelsOf({ action, url }) {
      if (url !== undefined) return ["untrusted_input", "outside_effect"];
      return action === "snapshot" ? ["untrusted_input"] : [];
    },
    concurrency: "exclusive",
    builtIn: {
      zh: { title: "画布", short: "向人展示内容：HTML、SVG、Markdown、Mermaid 图或网页。" },
      sameAs: { opencode: [], gemini: [] },
    },
    output: describeOutput({
      action: field.text(),
      "shown?": field.flag("Something is on the canvas"),
      "id?": field.text("The artifact"),
      "version?": field.integer("Of the artifact"),
      "kind?": field.text(),
      "title?": field.text(),
      "value?": field.any("Of eval; untrusted"),
      "problems?": field.list(field.text(), "Errors in the page"),
    }),
    validate: missingIn,
    signature: ({ action, url }) => (url === undefined ? { text: action } : { text: `${action} ${url}`, urls: [url] }),
    run,
  });
}

function missingIn({ action, content, url, kind, script }: Input): string | null {
  const address = url ?? (kind === "url" ? content : undefined);
  if (address !== undefined && !(WEB_ADDRESS.test(address) && URL.canParse(address)))
    return "A url must begin with http:// or https://.";
  if (action === "present" && (content === undefined) === (url === undefined))
    return 'To present, either "content" or "url" is required.';
  if (action === "navigate" && url === undefined) return 'To navigate, "url" is required.';
  if (action === "eval" && script === undefined) return 'For eval, "script" is required.';
  return null;
}

function contentOf({ url, content = "", kind }: Input): { kind: SurfaceKind; content: string } {
  if (url !== undefined) return { kind: "url", content: new URL(url).href };
  if (kind !== undefined) return { kind, content: kind === "url" ? new URL(content.trim()).href : content };
  if (/^\s*(?:<\?xml[^>]*>\s*)?<svg\b/i.test(content)) return { kind: "svg", content };
  return { kind: /^\s*<(?:!doctype|[a-z])/i.test(content) ? "html" : "markdown", content };
}

function factsOf({ id, version, kind, title }: Surface) {
  return { id, version, kind, title };
}

async function problemOf(work: Promise<unknown>, signal: AbortSignal): Promise<string | undefined> {
  try {
    await work;
    return undefined;
  } catch (error) {
    signal.throwIfAborted();
    return disarmText(errorMessage(error)).slice(0, 500);
  }
}

/** What is shown now, by session, in memory. The documents are stored as artifacts. */
interface CanvasBoard {
  show(surface: Surface): void;
  /** False if nothing was shown. */
  hide(session: string): boolean;
  find(session: string): Surface | undefined;
  /** Newest first. */
  list(): Surface[];
}

const MAX_SURFACES = 200;

export function createCanvasBoard(): CanvasBoard {
  const surfaces = new BoundedMap<string, Surface>(MAX_SURFACES);
  return {
    show(surface) {
      surfaces.set(surface.session, surface);
    },
    hide: (session) => surfaces.delete(session),
    find: (session) => surfaces.get(session),
    list: () => [...surfaces.values()].reverse(),
  };
}
