// npm run docs [-- --base /haft/ | --serve]: builds the documentation site into docs/site/dist.
import { spawnSync } from "node:child_process";
import { cpSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import process from "node:process";
import { parseArgs } from "node:util";
import { ensureInstalled } from "../../scripts/ensure-installed.mjs";
import { ROOT } from "../../scripts/root.mjs";
import { checkSite } from "./check-site.mjs";
import { findPages } from "./pages.mjs";

const HERE = join(ROOT, "docs", "site");
/** Outside of the sources, so that no check reads the packages. */
const WORK = join(ROOT, ".runtimes", "docs-site");

const { values } = parseArgs({
  options: {
    base: { type: "string", default: "/" },
    out: { type: "string", default: join(HERE, "dist") },
    serve: { type: "boolean", default: false },
  },
});
const base = `/${values.base}/`.replaceAll(/\/+/g, "/");

ensureInstalled(ROOT, "start");
for (const file of ["package.json", "package-lock.json", "api.mjs", "pages.mjs", ".vitepress"]) {
  cpSync(join(HERE, file), join(WORK, file), { recursive: true });
}
ensureInstalled(WORK);
copyPages();
run("api.mjs", [ROOT, join(WORK, "pages", "api")]);
run("node_modules/vitepress/bin/vitepress.js", ["build"]);
const { pages, problems } = checkSite(values.out, base);
for (const problem of problems) process.stderr.write(`${problem}\n`);
if (problems.length > 0) process.exit(1);
process.stdout.write(`${pages} pages in ${values.out}. To read them: npm run docs -- --serve\n`);
if (values.serve) run("node_modules/vitepress/bin/vitepress.js", ["preview", "--host", "127.0.0.1"]);

/** The generator reads one folder. */
function copyPages() {
  const folder = join(WORK, "pages");
  rmSync(folder, { recursive: true, force: true });
  cpSync(join(ROOT, "docs", "images"), join(folder, "public", "images"), { recursive: true });
  cpSync(join(ROOT, "docs", "haft.config.schema.json"), join(folder, "public", "haft.config.schema.json"));
  const found = findPages(ROOT);
  const additions = {
    "zh-CN.md": (text) => `<div lang="zh-CN">\n\n${text}\n\n</div>\n`,
    "decisions/index.md": (text) => `${text}\n## All decisions\n\n${listDecisions(found).join("\n")}\n`,
  };
  for (const [file, page] of found) {
    const text = readFileSync(join(ROOT, file), "utf8");
    mkdirSync(dirname(join(folder, page)), { recursive: true });
    writeFileSync(join(folder, page), additions[page]?.(text) ?? text);
  }
}

/** The newest first. */
function listDecisions(found) {
  const files = [...found.keys()].filter((file) => /^docs\/decisions\/\d/.test(file));
  return files.reverse().map((file) => {
    const title = /^# (.+)$/m.exec(readFileSync(join(ROOT, file), "utf8"))?.[1] ?? basename(file);
    return `- [${title}](${basename(file)})`;
  });
}

function run(script, parameters) {
  const { status } = spawnSync(process.execPath, [join(WORK, script), ...parameters], {
    cwd: WORK,
    env: { ...process.env, HAFT_DOCS_ROOT: ROOT, HAFT_DOCS_BASE: base, HAFT_DOCS_OUT: values.out },
    stdio: ["ignore", "inherit", "inherit"],
  });
  if (status !== 0) process.exit(status ?? 1);
}
