import type { AnyTool } from "../../core/tool.ts";
import type { ArtifactManager } from "./artifact-manager.ts";
import { createCreateArtifactTool } from "./create-artifact.ts";
import { createDiffArtifactTool } from "./diff-artifact.ts";
import { createGrepArtifactTool } from "./grep-artifact.ts";
import { createListArtifactsTool } from "./list-artifacts.ts";
import { createReadArtifactTool } from "./read-artifact.ts";
import { createRewriteArtifactTool } from "./rewrite-artifact.ts";
import { createUpdateArtifactTool } from "./update-artifact.ts";

export function createArtifactTools(manager: ArtifactManager): AnyTool[] {
  return [
    createCreateArtifactTool(manager),
    createReadArtifactTool(manager),
    createUpdateArtifactTool(manager),
    createRewriteArtifactTool(manager),
    createListArtifactsTool(manager),
    createDiffArtifactTool(manager),
    createGrepArtifactTool(manager),
  ];
}
