// What `npm install haft` brings: packages and megabytes, from what npm would publish.
import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { runNpm } from "../../scripts/ensure-installed.mjs";
import { ROOT } from "../../scripts/root.mjs";

export const name = "install";

export async function run({ report, notMeasured }) {
  const folder = mkdtempSync(join(tmpdir(), "haft-install-"));
  try {
    const packed = runNpm(["pack", "--json", "--ignore-scripts", "--pack-destination", folder], ROOT);
    if (packed.status !== 0) throw new Error(`npm pack failed: ${packed.stderr}`);
    const [{ filename, unpackedSize, files }] = JSON.parse(packed.stdout);
    if (!files.some(({ path }) => path === "dist/index.js")) {
      notMeasured("npm install haft", "dist/ is not built, so that the package would be empty");
      return;
    }
    writeFileSync(join(folder, "package.json"), JSON.stringify({ private: true }));
    const flags = ["--omit=dev", "--no-audit", "--no-fund", "--prefer-offline", "--loglevel=error"];
    const installed = runNpm(["install", join(folder, filename), ...flags], folder);
    if (installed.status !== 0) {
      notMeasured("npm install haft", installed.stderr.split("\n")[0]);
      return;
    }
    const modules = join(folder, "node_modules");
    const { packages } = JSON.parse(readFileSync(join(modules, ".package-lock.json"), "utf8"));
    report({ case: "npm install haft", value: Object.keys(packages).length, unit: "packages", atMost: 60 });
    report({ case: "npm install haft, on disk", value: sizeOf(modules) / 1e6, unit: "MB", atMost: 60 });
    report({ case: "Haft itself, unpacked", value: unpackedSize / 1e6, unit: "MB" });
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

function sizeOf(folder) {
  return readdirSync(folder, { withFileTypes: true, recursive: true })
    .filter((entry) => entry.isFile())
    .reduce((sum, entry) => sum + statSync(join(entry.parentPath, entry.name)).size, 0);
}
