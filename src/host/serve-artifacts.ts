import { ToolError } from "../core/error.ts";
import type { McpResourceSource } from "../mcp/server/resources.ts";
import type { ArtifactManager } from "../tools/artifacts/artifact-manager.ts";

const PREFIX = "haft://artifact/";
const TEMPLATE = `${PREFIX}{id}`;
const VERSION_TEMPLATE = `${PREFIX}{id}/{version}`;
const MAX_LISTED = 500;

/** Artifacts as MCP resources: a client sees those of its own session. */
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
