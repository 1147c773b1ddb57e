// Runs once, in vitest's own process, for all test files of a run.
import { mkdtempSync, rmSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import { text } from "node:stream/consumers";
import type { TestProject } from "vitest/node";
import type { LaunchedPostgres } from "./launch-postgres.ts";
import { watchForHangs } from "./watch-for-hangs.ts";

declare module "vitest" {
  export interface ProvidedContext {
    /** GET answers with the port of a PostgreSQL server, which the first request starts. DELETE drops databases. */
    postgresAddress: string;
    /** GET answers with the folder of the packed package. The first request packs it. */
    archiveAddress: string;
  }
}

const ARCHIVE_PATH = "/archive";

/** The tests of the project "packed" may have packed it already. */
async function provideArchive(folder: string): Promise<string> {
  const packed = process.env["HAFT_ARCHIVE"];
  if (packed !== undefined) return packed;
  const { installArchive } = await import("../../scripts/install-archive.mjs");
  return installArchive(folder);
}

export default async function startServices(project: TestProject): Promise<() => Promise<void>> {
  // What the root provides is there for all projects.
  if (!project.isRootProject()) return async () => undefined;
  keepExitCode();
  let postgres: Promise<LaunchedPostgres> | undefined;
  let isEnding = false;
  /** Databases that no test needs any more: hundreds of them fill a disk. */
  const dropAll = async (names: readonly string[]): Promise<void> => {
    const { runStatement } = await import("./launch-postgres.ts");
    for (const name of names) {
      if (isEnding || postgres === undefined) return;
      await runStatement((await postgres).port, `DROP DATABASE IF EXISTS ${name} WITH (FORCE)`);
    }
  };
  let archive: Promise<string> | undefined;
  const archiveFolder = mkdtempSync(join(tmpdir(), "haft-archive-"));
  // No limits: packing blocks this process, and a request that waited would be refused.
  const server = createServer({ headersTimeout: 0, requestTimeout: 0 }, (request, response) => {
    if (request.url === ARCHIVE_PATH) {
      archive ??= provideArchive(archiveFolder);
      archive.then(
        (folder) => response.end(folder),
        (error: unknown) => response.writeHead(500).end(String(error)),
      );
      return;
    }
    if (request.method === "DELETE") {
      void text(request).then((names) => {
        response.end();
        // What cannot be dropped goes with the server.
        return dropAll(names.split(" ").filter(Boolean)).catch(() => undefined);
      });
      return;
    }
    postgres ??= import("./launch-postgres.ts").then(({ launchPostgres }) => launchPostgres());
    postgres.then(
      ({ port }) => response.end(String(port)),
      (error: unknown) => response.writeHead(500).end(String(error)),
    );
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const address = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  project.provide("postgresAddress", `${address}/`);
  project.provide("archiveAddress", `${address}${ARCHIVE_PATH}`);
  const stopWatching = watchForHangs(project.vitest);
  return async () => {
    isEnding = true;
    stopWatching();
    server.closeAllConnections();
    server.close();
    await postgres?.then(
      ({ stop }) => stop(),
      () => undefined,
    );
    await archive?.catch(() => undefined);
    rmSync(archiveFolder, { recursive: true, force: true, maxRetries: 3 });
  };
}

/** The package of the PostgreSQL server ends the process with code 0 when nothing is left to do, also after failed tests. */
function keepExitCode(): void {
  let code: typeof process.exitCode;
  process.prependListener("beforeExit", () => (code ??= process.exitCode));
  process.on("exit", () => {
    if (code) process.exitCode = code;
  });
}
