import { ToolError } from "../core/error.ts";
import type { Spill } from "../gate/bound.ts";
import type { McpResourceSource } from "../mcp/server/resources.ts";
import { type ArtifactManager, createArtifactManager } from "../tools/artifacts/artifact-manager.ts";
import { createArtifactTools } from "../tools/artifacts/artifact-tools.ts";
import { saveOutputsAsArtifacts } from "../tools/artifacts/output-artifacts.ts";
import { defineCapability } from "./capability.ts";

export interface HostArtifacts {
  manager: ArtifactManager;
  /** Keeps outputs that are too long for a result. */
  spill: Spill;
}

/** Versioned documents. If configured, outputs that are too long for a result are kept as artifacts too. */
export const artifacts = defineCapability({
  name: "artifacts",
  config: ["artifacts"],
  needs: ["store", "workspace"],
  open({ config, clock, store, workspace }) {
    const manager = createArtifactManager({ store: store.artifacts, clock });
    const { keepOutputs } = config.value.artifacts;
    const spill = keepOutputs ? saveOutputsAsArtifacts(manager, workspace.spill) : workspace.spill;
    return { value: { manager, spill }, tools: createArtifactTools(manager) };
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
