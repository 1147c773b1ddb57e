// npm run conformance [-- server|client] [--revision 2026-07-28]
// Runs the official suite against Haft as a server and as a client, in both revisions. The suite needs a newer Node than
// Haft does; it is installed here, with the suite.
import { spawn } from "node:child_process";
import { mkdirSync, rmSync } from "node:fs";
import { isAbsolute, join } from "node:path";
import process from "node:process";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { ensureInstalled } from "../scripts/ensure-installed.mjs";
import { ROOT } from "../scripts/root.mjs";

const HERE = fileURLToPath(new URL(".", import.meta.url));
const REVISIONS = ["2025-11-25", "2026-07-28"];
const SIDES = ["server", "client"];

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    revision: { type: "string", multiple: true, default: REVISIONS },
    verbose: { type: "boolean", default: false },
  },
});
const sides = positionals.length > 0 ? positionals : SIDES;
const unknown = [
  ...sides.filter((side) => !SIDES.includes(side)),
  ...values.revision.filter((name) => !REVISIONS.includes(name)),
];
if (unknown.length > 0) {
  process.stderr.write(
    `There is no ${unknown.join(", ")}. Sides: ${SIDES.join(", ")}; revisions: ${REVISIONS.join(", ")}.\n`,
  );
  process.exit(2);
}

ensureInstalled(HERE);
/** Below the installed packages, so that the bundles find them. */
const work = join(ROOT, "node_modules", ".cache", "haft", `conformance-${process.pid}`);
process.on("exit", () => rmSync(work, { recursive: true, force: true }));

let failures = 0;
for (const side of sides) {
  const program = await bundle(side);
  for (const revision of values.revision) {
    process.stdout.write(`\n=== Haft as a ${side}, ${revision}\n`);
    if ((await (side === "server" ? runServer : runClient)(program, revision)) !== 0) failures++;
  }
}
process.stdout.write(failures === 0 ? "\nHaft conforms.\n" : `\n${failures} of the runs above failed.\n`);
process.exitCode = failures === 0 ? 0 : 1;

async function runServer(program, revision) {
  const server = spawn(process.execPath, [program], { stdio: ["ignore", "pipe", "inherit"] });
  try {
    const lines = createInterface({ input: server.stdout });
    const [url] = await new Promise((resolve, reject) => {
      lines.once("line", (line) => resolve([line]));
      server.once("exit", (code) => reject(new Error(`The server ended with ${code}.`)));
    });
    return await runSuite(["server", "--url", url], "server", revision);
  } finally {
    server.kill();
  }
}

function runClient(program, revision) {
  // All scenarios start at once, each with a process: on a small machine that takes its time.
  return runSuite(["client", "--command", `${process.execPath} ${program}`, "--timeout", "240000"], "client", revision);
}

function runSuite(parameters, side, revision) {
  const suite = join(HERE, "node_modules", "@modelcontextprotocol", "conformance", "dist", "index.js");
  const node = join(HERE, "node_modules", "node", "bin", process.platform === "win32" ? "node.exe" : "node");
  const more = ["--requirements", revision, "--expected-failures", join(HERE, `expected-failures-${revision}.yml`)];
  const results = join(HERE, "results", `${side}-${revision}`);
  rmSync(results, { recursive: true, force: true });
  const all = [suite, ...parameters, ...more, "-o", results, ...(values.verbose ? ["--verbose"] : [])];
  return new Promise((resolve, reject) => {
    spawn(node, all, { cwd: HERE, stdio: ["ignore", "inherit", "inherit"] })
      .once("error", reject)
      .once("exit", resolve);
  });
}

async function bundle(side) {
  const { rolldown } = await import("rolldown");
  mkdirSync(work, { recursive: true });
  const bundled = await rolldown({
    input: join(HERE, `${side}.ts`),
    platform: "node",
    external: (id) => !id.startsWith(".") && !isAbsolute(id),
    logLevel: "silent",
  });
  const file = join(work, `${side}.mjs`);
  await bundled.write({ file, format: "esm", codeSplitting: false });
  await bundled.close();
  return file;
}
