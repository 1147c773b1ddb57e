import { readFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { join } from "node:path";
import type { LoadLibrary } from "../tools/canvas/render-document.ts";
import { findPackage } from "./find-package.ts";

/** In a repository, where nothing is built: from the packages that the build takes them from. */
const PACKAGED = {
  marked: "marked/lib/marked.umd.js",
  purify: "dompurify/dist/purify.min.js",
  mermaid: "mermaid/dist/mermaid.min.js",
} as const;

/** From the built console, whose build puts them there. */
export const loadCanvasLibrary: LoadLibrary = async (name) => {
  const built = join((await findPackage()) ?? "", "dist", "console", "canvas", `${name}.js`);
  const text = await readFile(built, "utf8").catch(() => undefined);
  if (text !== undefined) return text;
  try {
    const { resolve } = createRequire(import.meta.url);
    const [packageName = ""] = PACKAGED[name].split("/");
    // The file itself need not be among what a package exports: only its folder is asked for.
    const entry = resolve(packageName);
    const root = entry.slice(0, entry.lastIndexOf(join("node_modules", packageName)));
    return await readFile(join(root, "node_modules", PACKAGED[name]), "utf8");
  } catch {
    return undefined;
  }
};
