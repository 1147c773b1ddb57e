import { MemoryArtifactStore } from "./artifact-store.ts";
import { describeArtifactStore } from "./artifact-store.suite.ts";

describeArtifactStore("memory", () => new MemoryArtifactStore());
