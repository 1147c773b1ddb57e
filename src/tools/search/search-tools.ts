import type { AnyTool } from "../../core/tool.ts";
import { createGlobTool } from "./glob.ts";
import { createGrepTool } from "./grep.ts";
import { createRipgrep } from "./ripgrep.ts";
import type { SearchDependencies } from "./search-scope.ts";

/** The tools that find files and what is in them. */
export function createSearchTools(dependencies: SearchDependencies): AnyTool[] {
  const given = { ripgrep: createRipgrep(), ...dependencies };
  return [createGlobTool(given), createGrepTool(given)];
}
