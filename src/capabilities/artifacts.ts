import type { ArtifactInfo } from "../contracts/artifacts.ts";
import type { Handlers } from "../contracts/contract.ts";
import { ApiError } from "../contracts/errors.ts";
import type { Contracts } from "../contracts/index.ts";
import { ToolError } from "../core/error.ts";
import type { McpResourceSource } from "../mcp/server/server-options.ts";
import { type ArtifactManager, createArtifactManager } from "../tools/artifacts/artifact-manager.ts";
import type { Artifact } from "../tools/artifacts/artifact-store.ts";
import { createArtifactTools } from "../tools/artifacts/artifact-tools.ts";
import { saveOutputsAsArtifacts } from "../tools/artifacts/output-artifacts.ts";
import { defineCapability } from "./capability.ts";

/** Versioned documents. If configured, outputs that are too long for a result are kept as artifacts too. */
export const artifacts = defineCapability({
  name: "artifacts",
  config: ["artifacts"],
  needs: ["store", "workspace"],
  open({ config, clock, store, workspace }) {
    const manager = createArtifactManager({ store: store.artifacts, clock });
    const { keepOutputs } = config.value.artifacts;
    const spill = keepOutputs ? saveOutputsAsArtifacts(manager, workspace.spill) : workspace.spill;
    return {
      value: { manager, spill },
      tools: createArtifactTools(manager),
      api: () => ({ artifacts: createArtifactsApi(manager) }),
    };
  },
});

const PREFIX = "haft://artifact/";
const TEMPLATE = `${PREFIX}{id}`;
const VERSION_TEMPLATE = `${PREFIX}{id}/{version}`;
const MAX_LISTED = 500;

/** Artifacts as resources of the MCP server. A client sees the artifacts of its own session. */
export function serveArtifacts(manager: ArtifactManager): McpResourceSource {
  return {
    templates: [
      { uriTemplate: TEMPLATE, name: "artifact", title: "Artifact", description: "The newest version of a document" },
      {
        uriTemplate: VERSION_TEMPLATE,
        name: "artifact version",
        title: "Version of an artifact",
        description: "A document as it was; versions count from 1",
      },
    ],
    async list({ session }) {
      if (session === undefined) return [];
      const artifacts = await manager.list({ session, limit: MAX_LISTED });
      return artifacts.map(({ id, title, contentType, version }) => ({
        uri: uriOf(id),
        name: id,
        title,
        description: `Artifact, version ${version}`,
        mimeType: contentType,
      }));
    },
    async read(uri, { session }) {
      const requested = /^haft:\/\/artifact\/([^/]+)(?:\/([1-9]\d{0,8}))?$/.exec(uri);
      if (!requested || session === undefined) return undefined;
      try {
        const key = { session, id: decodeURIComponent(requested[1]!) };
        const { artifact, version } = await manager.read(
          key,
          requested[2] === undefined ? undefined : Number(requested[2]),
        );
        return { mimeType: artifact.contentType, text: version.content };
      } catch (error) {
        if (error instanceof ToolError || error instanceof URIError) return undefined;
        throw error;
      }
    },
    async valuesOf(template, argument, { session }) {
      if (argument !== "id" || (template !== TEMPLATE && template !== VERSION_TEMPLATE)) return undefined;
      if (session === undefined) return [];
      return (await manager.list({ session, limit: MAX_LISTED })).map(({ id }) => id);
    },
    onChanged: (listener) => manager.onChanged(({ id, version }) => listener(version === 1 ? undefined : uriOf(id))),
  };
}

function uriOf(id: string): string {
  return PREFIX + encodeURIComponent(id);
}

const DEFAULT_LIMIT = 100;

/** Artifacts of callers without a session have the session "". */
export function createArtifactsApi(manager: ArtifactManager): Handlers<Contracts["artifacts"]> {
  return {
    async list({ query: { session, limit = DEFAULT_LIMIT, cursor } }) {
      const offset = offsetOf(cursor);
      const found = await manager.list({ limit: limit + 1, offset, session });
      const next = found.length > limit ? String(offset + limit) : undefined;
      return { items: found.slice(0, limit).map(infoOf), next };
    },
    get: ({ params: { id }, query: { session = "", version } }) =>
      orNotFound(async () => {
        const read = await manager.read({ id, session }, version);
        const { content, ...shown } = read.version;
        return { ...infoOf(read.artifact), shown, content };
      }),
    document: ({ params: { id }, query: { session = "", version }, setHeader }) =>
      orNotFound(async () => {
        const { artifact, version: shown } = await manager.read({ id, session }, version);
        const { drawArtifact } = await import("./canvas.ts");
        const drawn = await drawArtifact({ ...artifact, content: shown.content }, setHeader);
        if (drawn === undefined) {
          throw new ApiError("not_found", `Documents of the type ${artifact.contentType} are not drawn`);
        }
        return drawn;
      }),
    versions: ({ params: { id }, query: { session = "" } }) =>
      orNotFound(async () => ({ items: await manager.versions({ id, session }) })),
    diff: ({ params: { id }, query: { session = "", from, to } }) =>
      orNotFound(() => manager.diff({ id, session }, { from, to })),
  };
}

function offsetOf(cursor = "0"): number {
  if (/^\d{1,15}$/.test(cursor)) return Number(cursor);
  throw new ApiError("bad_request", '"cursor" is not a cursor of this list', "Send `next` of the previous page.");
}

function infoOf({ session, ...artifact }: Artifact): ArtifactInfo {
  return { ...artifact, session: session === "" ? undefined : session };
}

async function orNotFound<T>(read: () => Promise<T>): Promise<T> {
  try {
    return await read();
  } catch (error) {
    const isMissing = error instanceof ToolError && (error.code === "path_not_found" || error.code === "bad_range");
    throw isMissing ? new ApiError("not_found", error.summary, error.next) : error;
  }
}
