import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { brotliCompressSync } from "node:zlib";
import react from "@vitejs/plugin-react";
import { defineConfig, type Plugin, transformWithOxc } from "vite";
import { z } from "zod";
import * as basics from "../src/contracts/basics.ts";
import * as calls from "../src/contracts/calls.ts";
import { contracts } from "../src/contracts/index.ts";

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

/** In the place of the contracts, whose schemas would come before the first row: the endpoints, and the values of enums. */
const endpoints: Plugin = {
  name: "endpoints",
  enforce: "pre",
  load(id) {
    const unused: ReadonlySet<string> = new Set(["summary", "scope", "status", "isUnlimited"]);
    const plain = (name: string, value: unknown): unknown =>
      unused.has(name) ? undefined : value instanceof z.ZodType ? true : value;
    if (id === here("../src/contracts/index.ts"))
      return `export const contracts = ${JSON.stringify(contracts, plain)};`;
    const enums = { [here("../src/contracts/basics.ts")]: basics, [here("../src/contracts/calls.ts")]: calls }[id];
    if (!enums) return undefined;
    return Object.entries(enums)
      .flatMap(([name, schema]: [string, unknown]) =>
        schema instanceof z.ZodEnum ? `export const ${name} = ${JSON.stringify({ options: schema.options })};` : [],
      )
      .join("\n");
  },
};

/** The first answers are requested by a script of its own: it runs while the console is still being loaded. */
const firstAnswers: Plugin = {
  name: "first-answers",
  transformIndexHtml: {
    order: "post",
    async handler() {
      const path = here("src/first-answers.ts");
      const { code } = await transformWithOxc(readFileSync(path, "utf8"), path);
      const reference = this.emitFile({ type: "asset", name: "first-answers.js", source: code });
      const attrs = { type: "module", async: true, crossorigin: true, src: `./${this.getFileName(reference)}` };
      return [{ tag: "script", attrs, injectTo: "head-prepend" }];
    },
  },
};

/** What comes before the first row also exists compressed: the server would need a second of a processor for it. */
const compressed: Plugin = {
  name: "compressed",
  generateBundle: {
    order: "post",
    handler(_options, bundle) {
      const page = bundle["index.html"];
      if (page?.type !== "asset") throw new Error("There is no index.html.");
      for (const [, name = ""] of String(page.source).matchAll(/"\.\/(assets\/[^"]+)"/g)) {
        const file = bundle[name];
        if (!file) continue;
        const source = brotliCompressSync(file.type === "chunk" ? file.code : file.source);
        this.emitFile({ type: "asset", fileName: `${name}.br`, source });
      }
    },
  },
};

/** Built into the package and served by it: relative addresses, nothing inline, no request to anybody else. */
export default defineConfig({
  root: here("."),
  base: "./",
  plugins: [endpoints, react(), firstAnswers, canvasLibraries, compressed],
  resolve: {
    alias: {
      zod: here("src/parts/no-schemas.ts"),
      // React has it.
      "use-sync-external-store/shim/index.js": "react",
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
    rolldownOptions: {
      // One script before the first row: a browser has six connections, and the first answers need theirs.
      output: { codeSplitting: { groups: [{ name: "console", tags: ["$initial"] }] } },
    },
  },
});
