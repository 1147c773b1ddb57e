// For scripts that run Haft: it does not write into the state folder of the developer.
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";

/** Removed when this process exits. Children inherit it. */
export function useTemporaryState() {
  const folder = mkdtempSync(join(tmpdir(), "haft-state-"));
  process.env["HAFT_STATE_DIR"] = folder;
  process.on("exit", () => rmSync(folder, { recursive: true, force: true }));
}
