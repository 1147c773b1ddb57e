import { fileURLToPath } from "node:url";
import react from "@vitejs/plugin-react";
import { defineConfig } from "vite";

const here = (path: string) => fileURLToPath(new URL(path, import.meta.url));

/** Built into the package and served by it: relative addresses, nothing inline, no request to anybody else. */
export default defineConfig({
  root: here("."),
  base: "./",
  plugins: [react()],
  resolve: {
    alias: {
      // Named by a test helper of the form library alone; it writes code, which our content security policy forbids.
      "@rjsf/validator-ajv8": here("src/parts/no-validator.ts"),
    },
  },
  build: {
    outDir: here("../dist/console"),
    emptyOutDir: true,
    // A policy without `data:` for scripts and fonts; small pictures as files as well.
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    chunkSizeWarningLimit: 900,
  },
});
