import { ConfigError } from "./config-problem.ts";
import { copyParsed } from "./text-limits.ts";

/** The default export of a module. `source` is what is run: what was looked at before, not what the file holds by now. */
export async function runConfigModule(file: string, source: string): Promise<unknown> {
  const { createJiti } = await import("jiti");
  // No cache on disk: whoever could write there would decide what is run.
  const jiti = createJiti(file, { fsCache: false, moduleCache: false, interopDefault: false });
  let module: unknown;
  try {
    module = await jiti.evalModule(source, { filename: file, id: file, async: true, forceTranspile: true });
  } catch (error) {
    const message = `Could not be run: ${error instanceof Error ? error.message : String(error)}`;
    throw new ConfigError([{ file, message }], { cause: error });
  }
  const { default: value } = module as { default?: unknown };
  if (typeof value !== "object" || value === null || value instanceof Promise) {
    throw new ConfigError([
      { file, message: "Must have the configuration as its default export: `export default { … }`." },
    ]);
  }
  return copyParsed(value, file);
}
