import { dirname, join } from "node:path";
import type { ToolContext } from "../../core/tool.ts";
import { createScopes, isReadable, type SearchDependencies, walkOptions } from "./search-scope.ts";

/** For other tools: the files below a folder, relative to it, without those that .gitignore files exclude. */
export function createTreeLister(dependencies: SearchDependencies) {
  const scopeOf = createScopes(dependencies);
  return async (
    path: string,
    { respectGitignore, context }: { respectGitignore: boolean; context: ToolContext },
  ): Promise<{ paths: string[]; isComplete: boolean }> => {
    const { files, ripgrep, signal, timeLeft } = scopeOf(context);
    const directory = await files.openDirectory(path);
    try {
      const { output, prefix, end } = await ripgrep.run({
        options: ["--files", "--null", ...walkOptions({ hidden: true, respectGitignore })],
        directory,
        signal,
        timeoutMs: timeLeft(),
      });
      // The last path may be cut off.
      const found = output.slice(0, output.lastIndexOf("\0")).split("\0");
      const readable = new Map<string, boolean>();
      const isReadableFolder = (folder: string): boolean => {
        let known = readable.get(folder);
        if (known === undefined) {
          known =
            isReadable(files, join(directory.real, folder)) && (folder === "." || isReadableFolder(dirname(folder)));
          readable.set(folder, known);
        }
        return known;
      };
      const paths = found
        .filter((each) => each.startsWith(prefix))
        .map((each) => each.slice(prefix.length))
        .filter((each) => isReadableFolder(dirname(each)));
      return { paths, isComplete: end === "complete" };
    } finally {
      directory.close();
    }
  };
}
