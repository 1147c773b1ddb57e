import { readFile } from "node:fs/promises";
import { resolve } from "node:path";
import type { HaftHost } from "../../host.ts";
import { checkFolder } from "../check-folder.ts";
import { defineCommand } from "../command.ts";
import { confirm } from "../confirm.ts";
import { EXIT } from "../exit-code.ts";
import { hasDesktop, openBrowser } from "../open-browser.ts";
import { type Output, safe } from "../output.ts";
import { readVersion } from "../read-version.ts";
import { makeSample, unsuitableWorkspaceReason } from "../sample-workspace.ts";
import { isInteractive } from "../terminal.ts";
import { UsageError } from "../usage-error.ts";

export const command = defineCommand({
  examples: [
    ["haft", "this folder, on loopback, with the console; the address logs you in once"],
    ["haft serve ../project --port 0", "another folder, on any free port"],
    ["haft serve --sample", "a small folder to try things in"],
  ],
  operands: [{ name: "FOLDER", isOptional: true, completes: "folder" }],
  options: {
    port: { type: "number", value: "N", about: "0 for any free one; 4117 unless said" },
    host: { type: "text", value: "ADDRESS", about: "Where to listen; beyond loopback only with tokens" },
    "tls-cert": { type: "text", value: "FILE", about: "Certificate, with --tls-key", completes: "file" },
    "tls-key": { type: "text", value: "FILE", about: "Its key", completes: "file" },
    sample: { type: "flag", about: "Make haft-sample/ here, and use that" },
    "no-open": { type: "flag", about: "Open no browser" },
  },
  notes: [
    "Ctrl-C ends it well: calls are cancelled, running jobs have ten seconds, everything is written. Killed at any moment, it",
    "goes on at the next start. It runs the background calls of its store, also those left from before; so does `haft worker`.",
  ],
  async run({ operands: [named], options, folder: given, terminal, output, interrupted, embedded }) {
    const { port, host, "tls-cert": cert, "tls-key": key } = options;
    if ((cert === undefined) !== (key === undefined)) throw new UsageError("--tls-cert and --tls-key go together.");
    if (port !== undefined && port > 65_535) throw new UsageError("--port is at most 65535.");
    const wanted = named === undefined ? given : resolve(terminal.cwd, named);
    if (!options.sample) checkFolder(wanted);
    const folder = options.sample ? await makeSample(wanted) : named === undefined ? await offerSample() : wanted;
    const { startServer } = await import("../start-server.ts");
    const version = await readVersion();
    const served = await startServer({
      folder,
      version,
      env: terminal.env,
      embedded,
      port,
      host,
      tls: cert && key ? { cert: await readFile(cert, "utf8"), key: await readFile(key, "utf8") } : undefined,
      log: (line) => output.info(output.paintStderr("dim", line)),
      onWarning: (warning) => output.warn(safe(warning)),
    });
    try {
      const { server, host: running, hasConsole } = served;
      output.item({ url: server.url, login: served.login, folder: running.config.folder, pid: process.pid }, () => [
        served.login,
      ]);
      greet(output, { version, host: running, hasConsole });
      if (hasConsole && !options["no-open"] && hasDesktop(terminal)) openBrowser(served.login);
      await new Promise<void>((done) => {
        if (interrupted.aborted) done();
        interrupted.addEventListener("abort", () => done(), { once: true });
      });
      output.info("Ending…");
    } finally {
      await served.close();
    }
    return EXIT.done;

    async function offerSample(): Promise<string> {
      const why = await unsuitableWorkspaceReason(wanted);
      if (why === undefined) return wanted;
      if (!isInteractive(terminal)) {
        output.info(
          `${why} \`haft serve --sample\` makes a folder to try things in; \`haft serve FOLDER\` takes another.`,
        );
        return wanted;
      }
      const isWanted = await confirm(`${why} Make a sample workspace in haft-sample/, and use that?`, {
        terminal,
        signal: interrupted,
      });
      return isWanted ? makeSample(wanted) : wanted;
    }
  },
});

function greet(
  { info, paintStderr }: Output,
  { version, host, hasConsole }: { version: string; host: HaftHost; hasConsole: boolean },
): void {
  info(
    `${paintStderr("bold", `Haft ${version}`)} serves ${safe(host.config.folder)} with ${host.haft.tools().length} tools.`,
  );
  info(
    hasConsole
      ? "Open the address above in a browser: it logs you in once, within ten minutes."
      : "The console is not built here (npm run build). The API and the command line work.",
  );
  info(
    `Or, at another terminal in this folder: ${paintStderr("cyan", "haft tools call write path=hello.txt content=Hello")}`,
  );
  info(`and then: ${paintStderr("cyan", "haft undo --last")}. Ctrl-C ends the server.`);
}
