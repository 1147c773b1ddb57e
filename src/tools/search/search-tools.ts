import type { AnyTool } from "../../core/tool.ts";
import { createGlobTool } from "./glob.ts";
import { createGrepTool } from "./grep.ts";
import { createRipgrep } from "./ripgrep.ts";
import type { SearchDependencies } from "./search-scope.ts";

export function createSearchTools({ ripgrep = createRipgrep(), ...dependencies }: SearchDependencies): AnyTool[] {
  return [createGlobTool({ ...dependencies, ripgrep }), createGrepTool({ ...dependencies, ripgrep })];
}
