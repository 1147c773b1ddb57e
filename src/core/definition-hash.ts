import { canonicalJson } from "./canonical-json.ts";
import { definitionParts } from "./definition-parts.ts";
import type { AnyTool } from "./tool.ts";

const hashes = new WeakMap<AnyTool, string>();

/** The same for the same definition, wherever it is kept: with a question, in the audit log. `sha256` gives hex. */
export function definitionHash(tool: AnyTool, sha256: (text: string) => string): string {
  let hash = hashes.get(tool);
  if (hash === undefined) {
    hash = `sha256:${sha256(canonicalJson(definitionParts(tool)))}`;
    hashes.set(tool, hash);
  }
  return hash;
}
