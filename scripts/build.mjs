// Builds dist/ when the sources, the configuration or the compiler changed since the last build; `--force` builds always.
import { createHash } from "node:crypto";
import {
  chmodSync,
  existsSync,
  mkdirSync,
  readFileSync,
  readdirSync,
  realpathSync,
  renameSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { basename, dirname, isAbsolute, join, resolve } from "node:path";
import process from "node:process";
import { fileURLToPath } from "node:url";
import { ROOT } from "./root.mjs";
import { findTool, runTool } from "./run-tool.mjs";

const DIST = join(ROOT, "dist");
const CACHE = join(ROOT, "node_modules", ".cache", "haft");
const STAMP = join(CACHE, "build.json");

/** What users import. */
const ENTRIES = ["index", "testing/index", "workspace", "host", "server", "client", "compat", "formats", "agent"];

/** What a program that is bundled again can do without: each in a file of its own, which is left out as a whole. */
const PARTS = { tool: ["core/create-tool"] };

/** In the place of a package that only Node can run. */
const ONLY_NODE_STUB = 'export default undefined;\nthrow new Error("This part of Haft needs Node.");\n';

/** The command line for itself, with what it loads at every start inside: files of packages take long to find and read. */
const COMMAND_LINE = {
  entry: "cli/main",
  /** Loads the entry. */
  launcher: "cli/launch",
  inlined: [
    ...["zod", "hono", "@hono/node-server", "ws", "diff", "unbash", "picomatch", "ignore", "fastest-levenshtein"],
    ...["ipaddr.js", "croner", "@modelcontextprotocol"],
  ],
  /**
   * What the most frequent commands load, each in one file: every command, those that a running server answers,
   * `config show`, `audit query`, `tools call`, `tools list`.
   */
  layers: {
    start: ["cli/run-cli", "cli/terminal", "cli/help", "io/files/own-folders"],
    // Also what `remote` and `client` share: otherwise each would load the other.
    connect: [
      ...["cli/connect", "cli/command", "contracts/errors"],
      ...["api/client", "api/query", "core/clock", "io/files/state-folder"],
    ],
    remote: [
      ...["cli/running-server", "cli/fetch-by-http", "api/http-client"],
      ...["server", "approvals", "calls", "tools", "questions", "mcp", "audit", "policy", "undo"].map(
        (name) => `contracts/${name}`,
      ),
      ...["tools", "approvals", "audit", "overview"].map((name) => `cli/commands/${name}`),
    ],
    client: [
      ...["cli/in-process", "config/load-config", "cli/commands/config"],
      ...["contracts/configuration", "api/handlers/configuration"],
    ],
    store: ["store/store", "store/sqlite/sqlite-file", "store/open-state-folder", "api/handlers/audit"],
    host: [
      ...["capabilities/open-host", "capabilities/base", "capabilities/confinement", "capabilities/jobs"],
      ...["capabilities/plugins", "api/host-api", "api/handlers/calls", "api/handlers/undo"],
    ],
    tools: [
      ...["artifacts", "browser", "web", "canvas", "messages", "mcp", "agents", "sessions", "schedules", "tokens"].map(
        (name) => `capabilities/${name}`,
      ),
      ...["api/handlers/tools", "api/handlers/policy"],
    ],
  },
};

/** Returns the exit code of the compiler; a failed build leaves the earlier dist/ in place. */
export async function build({ force = false, say = false } = {}) {
  const inputs = hashInputs();
  if (!force && isFresh(inputs)) return 0;
  if (say) process.stderr.write("Building Haft, once after each change: half a minute.\n");
  mkdirSync(CACHE, { recursive: true });
  // A folder of its own, swapped in whole: no output of a deleted source survives, nobody meets half a build.
  // Its real name, because the bundler compares it with the real names of modules.
  const fresh = join(realpathSync(CACHE), `dist-${process.pid}`);
  rmSync(fresh, { recursive: true, force: true });
  const code = runTool(findTool("typescript", "tsc"), [
    "-p",
    "tsconfig.build.json",
    "--noEmitOnError",
    "--outDir",
    fresh,
  ]);
  if (code !== 0) {
    rmSync(fresh, { recursive: true, force: true });
    process.stderr.write("The build failed; the compiler's messages are above.\n");
    return code;
  }
  // First: it is made of the modules that the other bundles are written over.
  await buildCommandLine(fresh);
  await bundle(fresh, {
    entries: Object.fromEntries(ENTRIES.map((entry) => [entry, entry])),
    // It can only be imported by bundlers for Node.
    inlined: ["fastest-levenshtein"],
    chunks: "chunks",
    codeSplitting: { groups: groupModules(fresh, PARTS) },
  });
  writeFileSync(join(fresh, "only-node.js"), ONLY_NODE_STUB);
  removePrivateTypes(fresh);
  await buildConsole(join(fresh, "console"));
  replaceFolder(DIST, fresh);
  writeFileSync(STAMP, `${JSON.stringify({ inputs, outputs: listFiles(DIST).length })}\n`);
  return 0;
}

/** Scripts, for the compiled code of `src/cli/launch.ts`, in which a function of the launcher imports packages. */
async function buildCommandLine(folder) {
  const { entry, launcher, inlined, layers } = COMMAND_LINE;
  const minify = { compress: true, mangle: { keepNames: true }, codegen: { removeWhitespace: true } };
  const chunks = "cli/chunks";
  const alias = { "@modelcontextprotocol/server/_shims": join(ROOT, "scripts", "mcp-shims.mjs") };
  const scripts = { isScript: true, codeSplitting: { groups: groupModules(folder, layers) }, minify };
  const files = await bundle(folder, { entries: { main: entry }, inlined, chunks, alias, ...scripts });
  await bundle(folder, { entries: { "cli/main": launcher }, inlined, chunks });
  const main = join(folder, "cli", "main.js");
  const name = files.find((file) => /\/main-[^/]+\.cjs$/.test(file)) ?? "";
  writeFileSync(main, readFileSync(main, "utf8").replace('"main.cjs"', JSON.stringify(basename(name))));
  // As npm does when it links the command: a link that was made before this build stays usable.
  chmodSync(main, 0o755);
}

/**
 * Puts each entry and what it loads into few files: a hundred small ones take four times as long to import. The modules
 * stay beside them for the scripts that measure a single one; they are not published.
 */
async function bundle(folder, { entries, inlined, chunks, alias = {}, isScript = false, ...output }) {
  const { rolldown } = await import("rolldown");
  const chunkFileNames = `${chunks}/[name]-[hash].${isScript ? "cjs" : "js"}`;
  const isInlined = (id) => inlined.some((name) => id === name || id.startsWith(`${name}/`));
  const bundled = await rolldown({
    input: Object.fromEntries(Object.entries(entries).map(([name, entry]) => [name, join(folder, `${entry}.js`)])),
    cwd: ROOT,
    platform: "node",
    resolve: { modules: [join(ROOT, "node_modules")], alias },
    external: (id, importer) => {
      if (id.startsWith(".") || isAbsolute(id) || isInlined(id)) return false;
      // What an inlined package needs is inside it as well.
      return importer === undefined || importer.startsWith(folder) || id.startsWith("node:");
    },
  });
  const { output: written } = await bundled.write({
    dir: folder,
    format: isScript ? "cjs" : "esm",
    entryFileNames: isScript ? chunkFileNames : "[name].js",
    chunkFileNames,
    ...output,
  });
  await bundled.close();
  const files = new Map(
    written.flatMap((file) => (file.type === "chunk" ? [[file.fileName, escapeWide(file.code)]] : [])),
  );
  for (const [fileName, code] of isScript ? await importByLauncher(files) : await importPortably(files)) {
    writeFileSync(join(folder, fileName), code);
  }
  return [...files.keys()];
}

/** Plugins run one of the scripts without the launcher: then it imports by itself. */
async function importByLauncher(files) {
  const { parseSync, Visitor } = await import("rolldown/utils");
  const importing = "function $import(id){return(require.import??(id=>import(id)))(id)}";
  const changed = new Map();
  for (const [fileName, code] of files) {
    const starts = [];
    new Visitor({ ImportExpression: ({ start }) => starts.push(start) }).visit(parseSync(fileName, code).program);
    const parts = [0, ...starts].map((start, at) => code.slice(start, starts[at]));
    changed.set(fileName, starts.length === 0 ? code : `${parts.join("$")}${importing}`);
  }
  return changed;
}

/** Packages that only Node can run. By `imports` of package.json a bundle for something else has a file that throws in their place. */
const ONLY_NODE = new Set(["undici", "ws", "ipaddr.js", "@modelcontextprotocol/client"]);

/**
 * Takes the modules of Node from the process instead of importing them: bundlers for browsers refuse a file that imports one, even if
 * nothing of the file is used. It is also faster, because an import reads every member of the module.
 */
async function importPortably(files) {
  const { parseSync, Visitor } = await import("rolldown/utils");
  const taking =
    "function $builtin(id, name) {\n\tconst taken = globalThis.process?.getBuiltinModule?.(id);\n\treturn name === void 0 ? taken : taken?.[name];\n}\n";
  const changed = new Map();
  for (const [fileName, code] of files) {
    const edits = [];
    const rename = (source) => {
      if (!ONLY_NODE.has(source.value)) return;
      edits.push({ start: source.start, end: source.end, text: `"#${source.value}"` });
    };
    const visitor = new Visitor({
      ImportExpression: ({ source }) => rename(source),
      ImportDeclaration({ start, end, source, specifiers }) {
        if (!source.value.startsWith("node:")) return rename(source);
        const members = specifiers.map((each) => {
          const imported = each.type === "ImportSpecifier" && "name" in each.imported ? each.imported.name : "default";
          const name = imported === "default" ? "" : `, "${imported}"`;
          return `const ${each.local.name} = /* @__PURE__ */ $builtin("${source.value}"${name});`;
        });
        edits.push({ start, end, text: members.join("\n") });
      },
    });
    visitor.visit(parseSync(fileName, code).program);
    let text = code;
    for (const edit of edits.toSorted((one, other) => other.start - one.start)) {
      text = `${text.slice(0, edit.start)}${edit.text}${text.slice(edit.end)}`;
    }
    changed.set(fileName, text.includes("$builtin(") ? `${text}${taking}` : text);
  }
  return changed;
}

/** A single character beyond Latin-1 makes V8 keep the whole file with two bytes a character, and compile it more slowly. */
function escapeWide(code) {
  const raw = /String\.raw`[^`]*[^\0-\x7f]/.exec(code);
  if (raw)
    throw new Error(`Write ${raw[0].slice(0, 80)} with escapes outside String.raw: the build escapes its characters.`);
  return code.replaceAll(/[^\0-\x7f]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`);
}

/**
 * One chunk per layer: the modules that its entries import statically, without those of the layers above. Otherwise every set of
 * modules that several commands share becomes a chunk of its own, and a command loads a hundred of them.
 */
function groupModules(folder, layers) {
  const grouped = new Set();
  return Object.entries(layers).map(([name, entries], index) => {
    const own = new Set([...staticImports(folder, entries)].filter((id) => !grouped.has(id)));
    for (const id of own) grouped.add(id);
    const isOwn = (id) => own.has(id) || own.has(packageOf(id));
    return { name, priority: Object.keys(layers).length - index, test: isOwn };
  });
}

/** The files that are loaded with these, and the names of the packages that they import. */
function staticImports(folder, entries) {
  const found = new Set();
  const queue = entries.map((entry) => join(folder, `${entry}.js`));
  for (let file = queue.pop(); file !== undefined; file = queue.pop()) {
    if (found.has(file)) continue;
    found.add(file);
    for (const [, name = ""] of readFileSync(file, "utf8").matchAll(
      /^(?:import|export)(?:\s[^"';=(]*?\sfrom)?\s*["']([^"']+)["']/gm,
    )) {
      if (name.startsWith(".")) queue.push(resolve(dirname(file), name));
      else found.add(packageOf(`/node_modules/${name}`));
    }
  }
  return found;
}

function packageOf(id) {
  return /.*\/node_modules\/((?:@[^/]+\/)?[^/]+)/.exec(id)?.[1];
}

/** Leaves the declarations that the published entries lead to. */
function removePrivateTypes(folder) {
  const found = new Set();
  const queue = ENTRIES.map((entry) => join(folder, `${entry}.d.ts`));
  for (let file = queue.pop(); file !== undefined; file = queue.pop()) {
    if (found.has(file)) continue;
    found.add(file);
    for (const [, name = ""] of readFileSync(file, "utf8").matchAll(/(?:from|import)[\s(]*["'](\.[^"']+)["']/g)) {
      queue.push(resolve(dirname(file), name.replace(/\.[jt]s$/, ".d.ts")));
    }
  }
  for (const file of listFiles(folder)) if (file.endsWith(".d.ts") && !found.has(file)) rmSync(file);
}

async function buildConsole(folder) {
  const vite = await import("vite");
  const configFile = join(ROOT, "console", "vite.config.ts");
  await vite.build({ configFile, logLevel: "warn", build: { outDir: folder } });
}

function replaceFolder(target, replacement) {
  for (let attempt = 1; ; attempt += 1) {
    rmSync(target, { recursive: true, force: true });
    try {
      renameSync(replacement, target);
      return;
    } catch (error) {
      // Another build put its own folder there in between: the later one wins.
      if (attempt === 5 || !["ENOTEMPTY", "EEXIST", "EPERM"].includes(error.code)) throw error;
    }
  }
}

function isFresh(inputs) {
  if (!existsSync(STAMP) || !existsSync(DIST)) return false;
  const stamp = JSON.parse(readFileSync(STAMP, "utf8"));
  return stamp.inputs === inputs && stamp.outputs === listFiles(DIST).length;
}

function hashInputs() {
  const hash = createHash("sha256").update(process.version);
  const sources = ["src", "console"]
    .flatMap((folder) => listFiles(join(ROOT, folder)))
    .filter((file) => !file.endsWith(".test.ts"));
  const settings = [
    "tsconfig.json",
    "tsconfig.build.json",
    "package-lock.json",
    "scripts/build.mjs",
    "scripts/mcp-shims.mjs",
  ].map((name) => join(ROOT, name));
  for (const file of [...settings, ...sources]) hash.update(`\0${file}\0`).update(readFileSync(file));
  return hash.digest("hex");
}

function listFiles(folder) {
  return readdirSync(folder, { withFileTypes: true, recursive: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name))
    .sort();
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  process.exitCode = await build({ force: process.argv.includes("--force") });
}
