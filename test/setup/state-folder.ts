// Runs once, in vitest's own process, before the workers start: they and their children inherit the variable. No test
// writes into the state folder of the developer.
import { mkdtempSync, realpathSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { TestProject } from "vitest/node";

export default function useTemporaryStateFolder(project: TestProject): () => void {
  if (!project.isRootProject()) return () => undefined;
  const folder = realpathSync(mkdtempSync(join(tmpdir(), "haft-state-")));
  process.env["HAFT_STATE_DIR"] = folder;
  return () => rmSync(folder, { recursive: true, force: true });
}
