import type { Clock } from "../core/clock.ts";
import { ToolError } from "../core/error.ts";
import type { AnyTool } from "../core/tool.ts";
import { sessionOf } from "../tools/artifacts/artifact-store.ts";
import type { ArtifactManager } from "../tools/artifacts/artifact-manager.ts";
import { authorshipOf } from "../tools/artifacts/artifact-tools.ts";
import { createCanvasBoard, createCanvasTool } from "../tools/canvas/canvas.ts";
import {
  renderDocument,
  type RenderedDocument,
  type Surface,
  type SurfaceBrowser,
  type SurfaceStore,
} from "../tools/canvas/render-document.ts";
import { loadCanvasLibrary } from "./load-canvas-library.ts";

/** What agents show now. */
export interface HostCanvas {
  /** Newest first. */
  list(): Surface[];
  document(session: string): Promise<RenderedDocument | undefined>;
}

export interface CanvasHost {
  artifacts: ArtifactManager;
  browser?: SurfaceBrowser | undefined;
  clock: Clock;
}

export function openCanvas({ artifacts, browser, clock }: CanvasHost): {
  tools: readonly AnyTool[];
  canvas: HostCanvas;
} {
  const board = createCanvasBoard();
  const surfaceStore = saveAsArtifacts(artifacts);
  return {
    tools: [createCanvasTool({ board, surfaceStore, load: loadCanvasLibrary, clock, browser })],
    canvas: {
      list: board.list,
      async document(session) {
        const surface = board.find(session);
        return surface && renderDocument(surface, loadCanvasLibrary);
      },
    },
  };
}

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
