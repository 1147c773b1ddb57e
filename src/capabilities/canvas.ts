import { readFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { join } from "node:path";
import type { Handlers } from "../contracts/contract.ts";
import { ApiError } from "../contracts/errors.ts";
import type { Contracts } from "../contracts/index.ts";
import { ToolError } from "../core/error.ts";
import { findPackage } from "../io/files/own-folders.ts";
import type { ArtifactManager } from "../tools/artifacts/artifact-manager.ts";
import { sessionOf } from "../tools/artifacts/artifact-store.ts";
import { authorshipOf } from "../tools/artifacts/artifact-tools.ts";
import { createCanvasBoard, createCanvasTool } from "../tools/canvas/canvas.ts";
import {
  CONTENT_TYPES,
  type LoadLibrary,
  renderDocument,
  type RenderedDocument,
  SURFACE_KINDS,
  type SurfaceStore,
} from "../tools/canvas/render-document.ts";
import { defineCapability } from "./capability.ts";
import type { HostCanvas } from "./capability-values.ts";

export const canvas = defineCapability({
  name: "canvas",
  config: [],
  needs: ["artifacts"],
  uses: ["browser"],
  open({ clock, artifacts: { manager }, browser }) {
    const board = createCanvasBoard();
    const surfaceStore = saveAsArtifacts(manager);
    const value: HostCanvas = {
      list: board.list,
      async document(session) {
        const surface = board.find(session);
        return surface && renderDocument(surface, loadCanvasLibrary);
      },
    };
    return {
      value,
      tools: [createCanvasTool({ board, surfaceStore, load: loadCanvasLibrary, clock, browser })],
      api: () => ({ canvas: createCanvasApi(value) }),
    };
  },
});

function saveAsArtifacts(artifacts: ArtifactManager): SurfaceStore {
  return {
    sessionOf,
    async save({ id, title, contentType, content }, context) {
      const key = { session: sessionOf(context.caller), id };
      const by = authorshipOf(context);
      const known = await artifacts.read(key).catch((error: unknown) => {
        if (error instanceof ToolError && error.code === "path_not_found") return undefined;
        throw error;
      });
      if (known?.version.content === content) return { version: known.version.version };
      const { version } = known
        ? await artifacts.rewrite(key, { content }, by)
        : await artifacts.create({ ...key, title, contentType, content }, by);
      return { version: version.version };
    },
  };
}

/** In the repository nothing is built: the packages that the build uses. */
const PACKAGED = {
  marked: "marked/lib/marked.umd.js",
  purify: "dompurify/dist/purify.min.js",
  mermaid: "@mermaid-js/tiny/dist/mermaid.tiny.js",
} as const;

/** From the built console, or from the packages. */
const loadCanvasLibrary: LoadLibrary = async (name) => {
  const built = join((await findPackage()) ?? "", "dist", "console", "canvas", `${name}.js`);
  const text = await readFile(built, "utf8").catch(() => undefined);
  if (text !== undefined) return text;
  try {
    const { resolve } = createRequire(import.meta.url);
    const [packageName = ""] = /^(@[^/]+\/)?[^/]+/.exec(PACKAGED[name]) ?? [];
    // A package may not export the file itself, so its folder is resolved.
    const entry = resolve(packageName);
    const root = entry.slice(0, entry.lastIndexOf(join("node_modules", packageName)));
    return await readFile(join(root, "node_modules", PACKAGED[name]), "utf8");
  } catch {
    return undefined;
  }
};

/** Callers without a session have the session "". */
export function createCanvasApi(shown: HostCanvas): Handlers<Contracts["canvas"]> {
  return {
    list: () => ({
      items: shown.list().map(({ session, id, version, kind, title, content, at }) => ({
        session: session === "" ? undefined : session,
        artifact: id,
        version,
        kind,
        title,
        url: kind === "url" ? content : undefined,
        at,
      })),
    }),
    async document({ query: { session = "" }, setHeader }) {
      const document = await shown.document(session);
      if (!document) throw new ApiError("not_found", "Nothing is on this canvas");
      return sealed(document, setHeader);
    },
  };
}

/** For a frame of the console. Without an origin, wherever it is opened: it cannot use the rights of the console. */
function sealed({ html, policy }: RenderedDocument, setHeader: (name: string, value: string) => void): string {
  setHeader("x-frame-options", "SAMEORIGIN");
  setHeader("content-security-policy", `${policy}; sandbox allow-scripts; frame-ancestors 'self'`);
  return html;
}

/** An artifact as the canvas would show it. Undefined if its content type is not drawn. */
export async function drawArtifact(
  { title, contentType, content }: { title: string; contentType: string; content: string },
  setHeader: (name: string, value: string) => void,
): Promise<string | undefined> {
  const type = contentType.split(";")[0]?.trim().toLowerCase();
  const kind = SURFACE_KINDS.find((one) => one !== "url" && CONTENT_TYPES[one] === type);
  return kind && sealed(await renderDocument({ kind, title, content }, loadCanvasLibrary), setHeader);
}
