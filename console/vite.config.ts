import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import react from "@vitejs/plugin-react";
import { defineConfig, type Plugin } from "vite";

const here = (path: string) => fileURLToPath(new URL(path, import.meta.url));

/** The programs that draw canvases, beside the console and not in it: they run in frames without an origin. */
const canvasLibraries: Plugin = {
  name: "canvas-libraries",
  generateBundle() {
    const libraries = {
      marked: "marked/lib/marked.umd.js",
      purify: "dompurify/dist/purify.min.js",
      mermaid: "@mermaid-js/tiny/dist/mermaid.tiny.js",
    };
    for (const [name, file] of Object.entries(libraries)) {
      const source = readFileSync(here(`../node_modules/${file}`), "utf8");
      this.emitFile({ type: "asset", fileName: `canvas/${name}.js`, source });
    }
  },
};

/** Built into the package and served by it: relative addresses, nothing inline, no request to anybody else. */
export default defineConfig({
  root: here("."),
  base: "./",
  plugins: [react(), canvasLibraries],
  resolve: {
    alias: {
      zod: here("src/parts/no-schemas.ts"),
      // Named by a test helper of the form library alone; it writes code, which our content security policy forbids.
      "@rjsf/validator-ajv8": here("src/parts/no-validator.ts"),
    },
  },
  build: {
    outDir: here("../dist/console"),
    emptyOutDir: true,
    // A policy without `data:` for scripts and fonts; small pictures as files as well.
    assetsInlineLimit: 0,
    // One file: a style sheet of a page that could not be loaded is not tried again.
    cssCodeSplit: false,
    modulePreload: { polyfill: false },
    chunkSizeWarningLimit: 900,
  },
});
