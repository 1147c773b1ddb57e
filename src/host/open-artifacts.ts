import type { LoadedConfig } from "../config/load-config.ts";
import type { Clock } from "../core/clock.ts";
import type { AnyTool } from "../core/tool.ts";
import type { Spill } from "../gate/bound.ts";
import { type ArtifactManager, createArtifactManager } from "../tools/artifacts/artifact-manager.ts";
import type { ArtifactStore } from "../tools/artifacts/artifact-store.ts";
import { createArtifactTools } from "../tools/artifacts/artifact-tools.ts";
import { saveOutputsAsArtifacts } from "../tools/artifacts/output-artifacts.ts";
import type { Workspace } from "../workspace.ts";

export interface ArtifactsHost {
  store: ArtifactStore;
  workspace: Workspace;
  clock: Clock;
}

export interface OpenArtifacts {
  manager: ArtifactManager;
  tools: readonly AnyTool[];
  /** Where outputs are kept that are too long for a result. */
  spill: Spill;
}

/** Documents with versions, and where it is configured so, the outputs that are too long for a result among them. */
export function openArtifacts(
  { value: { artifacts } }: LoadedConfig,
  { store, workspace, clock }: ArtifactsHost,
): OpenArtifacts {
  const manager = createArtifactManager({ store, clock });
  return {
    manager,
    tools: createArtifactTools(manager),
    spill: artifacts.keepOutputs ? saveOutputsAsArtifacts(manager, workspace.spill) : workspace.spill,
  };
}
