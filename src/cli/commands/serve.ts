import { existsSync } from "node:fs";
import { mkdir, readdir, readFile, writeFile } from "node:fs/promises";
import { homedir } from "node:os";
import { dirname, join, resolve } from "node:path";
import { countImported, listImported } from "../show-imported.ts";
import type { ImportedSetting } from "../../config/foreign/settings-reader.ts";
import { readVersion } from "../../io/files/own-folders.ts";
import { quoteWord } from "../../io/shell/rebuilt-word.ts";
import type { HaftHost } from "../../host.ts";
import { checkFolder, UsageError } from "../arguments.ts";
import { defineCommand } from "../command.ts";
import { EXIT } from "../exit-codes.ts";
import { type Output, safe } from "../output.ts";
import { confirm } from "../prompts.ts";
import { hasDesktop, isInteractive, openInBrowser, type Terminal } from "../terminal.ts";
import type { StartedServer } from "../start-server.ts";
import { askTrust } from "./trust.ts";

export const serve = defineCommand({
  examples: [
    ["haft serve", "serve this folder on loopback, and print a link that opens the console"],
    ["haft serve ../project --port 0", "serve another folder, on any free port"],
    ["haft serve --sample", "serve a small sample folder"],
  ],
  operands: [{ name: "FOLDER", isOptional: true, completes: "folder" }],
  options: {
    port: { type: "number", value: "N", about: "Port to listen on, 0 for any free one; default: 4117" },
    host: { type: "text", value: "ADDRESS", about: "Address to listen on; beyond loopback it needs a token" },
    "tls-cert": { type: "text", value: "FILE", about: "TLS certificate, with --tls-key", completes: "file" },
    "tls-key": { type: "text", value: "FILE", about: "Key of the certificate", completes: "file" },
    grace: {
      type: "duration",
      value: "TIME",
      about: "How long running calls and jobs may take after Ctrl-C; default: 10s",
    },
    idle: { type: "duration", value: "TIME", about: "End if no hook of an agent has come for so long" },
    sample: { type: "flag", about: "Create haft-sample/ here, and use that" },
    "no-open": { type: "flag", about: "Do not open a browser" },
  },
  notes: [
    "Ctrl-C or SIGTERM stops the server: it accepts no more requests, and running calls and jobs have ten seconds to finish.",
    "Approvals stay pending. A second Ctrl-C stops it at once. The server also runs background calls, like `haft worker`,",
    "including those that earlier processes left.",
  ],
  async run({ operands: [named], options, folder: given, terminal, output, interrupted, embedded }) {
    const { port, host, grace, "tls-cert": cert, "tls-key": key } = options;
    if ((cert === undefined) !== (key === undefined))
      throw new UsageError("--tls-cert needs --tls-key, and vice versa.");
    if (port !== undefined && port > 65_535) throw new UsageError("--port is at most 65535.");
    const wanted = named === undefined ? given : resolve(terminal.cwd, named);
    if (!options.sample) checkFolder(wanted);
    const folder = options.sample ? await createSample(wanted) : named === undefined ? await offerSample() : wanted;
    await askTrust(folder, { terminal, output, interrupted });
    // The reader of the log may end before the server does.
    terminal.ignoreClosedOutput?.();
    const { startServer } = await import("../start-server.ts");
    const version = await readVersion();
    const served = await startServer({
      folder,
      version,
      env: terminal.env,
      embedded,
      port,
      host,
      graceMs: grace,
      tls: cert && key ? { cert: await readFile(cert, "utf8"), key: await readFile(key, "utf8") } : undefined,
      log: createLog(terminal, output),
      onWarning: (warning) => output.warn(safe(warning)),
    });
    try {
      const { server, host: running, hasConsole } = served;
      output.item({ url: server.url, login: served.login, folder: running.config.folder, pid: process.pid }, () => [
        served.login,
      ]);
      greet(output, { version, cwd: terminal.cwd, host: running, hasConsole, imported: await listImported(running) });
      if (hasConsole && !options["no-open"] && hasDesktop(terminal)) await openInBrowser(served.login);
      await new Promise<void>((done) => {
        if (interrupted.aborted) done();
        interrupted.addEventListener("abort", () => done(), { once: true });
        if (options.idle !== undefined) endIfIdle(served, options.idle, done);
      });
      output.info(describeEnd(served.host));
    } finally {
      await served.close();
    }
    return EXIT.done;

    async function offerSample(): Promise<string> {
      const why = await unsuitableWorkspaceReason(wanted);
      if (why === undefined) return wanted;
      if (!isInteractive(terminal)) {
        output.info(
          `${why} \`haft serve --sample\` creates a folder to try things in; \`haft serve FOLDER\` uses another one.`,
        );
        return wanted;
      }
      const question = `${why} Create a sample workspace in haft-sample/, and use that?`;
      return (await confirm(question, { terminal, signal: interrupted })) ? createSample(wanted) : wanted;
    }
  },
});

const IDLE_CHECK_MS = 2000;

/** Also ends if its state was removed: nobody finds it then. */
function endIfIdle({ host, lastHookAt }: StartedServer, idleMs: number, end: () => void): void {
  const timer = setInterval(() => {
    const isIdle = Date.now() - lastHookAt() > idleMs && host.haft.calls.load().running === 0;
    if (!isIdle && existsSync(host.stateFolder)) return;
    clearInterval(timer);
    end();
  }, IDLE_CHECK_MS);
}

/** Unread lines are kept in memory, up to this many characters. */
const MAX_UNREAD_LOG = 1024 * 1024;

/** Lines that nobody reads are dropped, and counted in the next one that is written. */
function createLog({ stderr }: Terminal, { info, paintStderr }: Output): (line: string) => void {
  let dropped = 0;
  return (line) => {
    if ((stderr.writableLength ?? 0) > MAX_UNREAD_LOG) return void dropped++;
    info(paintStderr("dim", dropped > 0 ? `${line} dropped=${dropped}` : line));
    dropped = 0;
  };
}

function describeEnd({ haft }: HaftHost): string {
  const { running } = haft.calls.load();
  if (running === 0) return "Ending…";
  return `Ending; waiting for ${running === 1 ? "a running call" : `${running} running calls`}. Ctrl-C again ends at once.`;
}

interface Greeting {
  version: string;
  cwd: string;
  host: HaftHost;
  hasConsole: boolean;
  imported: readonly ImportedSetting[];
}

function greet({ info, paintStderr }: Output, { version, cwd, host, hasConsole, imported }: Greeting): void {
  info(
    `${paintStderr("bold", `Haft ${version}`)} serves ${safe(host.config.folder)} with ${host.haft.tools.list().length} tools.`,
  );
  if (imported.length > 0) {
    info(`Settings of other programs: ${countImported(imported)}. \`haft doctor\` lists them with the reasons.`);
  }
  info(
    hasConsole
      ? "Open the address above in a browser: it logs you in once, within ten minutes."
      : "The console is not built here (npm run build). The API and the command line work.",
  );
  const { folder } = host.config;
  const [where, haft] = folder === cwd ? [" in this folder", "haft"] : ["", `haft -C ${safe(quoteWord(folder))}`];
  info(
    `Or, at another terminal${where}: ${paintStderr("cyan", `${haft} tools call write path=hello.txt content=Hello`)}`,
  );
  info(`and then: ${paintStderr("cyan", `${haft} undo --last`)}. Ctrl-C ends the server.`);
}

const SAMPLE_FILES: Readonly<Record<string, string>> = {
  "README.md": `# A sample workspace

Everything here may be read, changed and undone. Try, in the console or at a terminal:

    haft tools call read path=notes/todo.md
    haft tools call grep pattern=TODO
    haft tools call edit path=notes/todo.md oldText='[ ] water the plants' newText='[x] water the plants'
    haft undo --last
`,
  "notes/todo.md": `# To do

- [ ] water the plants
- [ ] call the dentist
- [x] read about Haft
`,
  "src/greet.js": `// TODO: greet in more languages
export function greet(name) {
  return \`Hello, \${name}!\`;
}
`,
};

/** Existing files are kept. */
async function createSample(parent: string): Promise<string> {
  const folder = join(parent, "haft-sample");
  for (const [name, text] of Object.entries(SAMPLE_FILES)) {
    const file = join(folder, name);
    await mkdir(dirname(file), { recursive: true });
    await writeFile(file, text, { flag: "wx" }).catch((error: NodeJS.ErrnoException) => {
      if (error.code !== "EEXIST") throw error;
    });
  }
  return folder;
}

/** Why a folder is a poor workspace; undefined if it is not. */
async function unsuitableWorkspaceReason(folder: string): Promise<string | undefined> {
  if (folder === homedir()) return "This is your home folder: tools could reach everything in it.";
  const names = await readdir(folder);
  return names.length === 0 ? "This folder is empty." : undefined;
}
