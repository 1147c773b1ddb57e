import { createSocket } from "node:dgram";
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { type AddressInfo, createServer as createSocketServer } from "node:net";
import { join } from "node:path";
import process from "node:process";
import type { CallOptions, ToolResult } from "haft";
import { type HaftHost, type HostOptions, openHaft } from "haft/host";
import type { FoundBrowser } from "../console/find-browser.ts";
import { temporaryFolder } from "../setup/temporary-folder.ts";

/** A host with a browser, a server that its pages may reach, and one beside it that they may not. */
export interface Browsing {
  readonly host: HaftHost;
  readonly folder: string;
  /** Of the server that may be reached. */
  readonly origin: string;
  /** What it was asked. */
  readonly requested: string[];
  /** Of the other one, and how many connections and datagrams came to it. */
  readonly privatePort: number;
  readonly udpPort: number;
  intrusions(): number;
  /** A call of the tool, in a session. */
  browse(input: Record<string, unknown>, options?: CallOptions): Promise<ToolResult>;
  onDisk(name: string): string | undefined;
  write(name: string, text: string): void;
  close(): Promise<void>;
}

export type Pages = (path: string, request: IncomingMessage, response: ServerResponse) => string | undefined;

export async function openBrowsing(
  found: Extract<FoundBrowser, { executablePath: string }>,
  pages: Pages,
  { overrides = {}, ...options }: HostOptions = {},
): Promise<Browsing> {
  const root = temporaryFolder("haft-browser-");
  const folder = join(root, "work");
  mkdirSync(folder);
  const requested: string[] = [];
  const server = createServer((request, response) => {
    requested.push(`${request.method} ${request.url}`);
    request.resume().on("end", () => {
      const page = pages(request.url ?? "", request, response);
      if (response.headersSent) return;
      if (page === undefined) response.writeHead(404).end();
      else response.writeHead(200, { "content-type": "text/html; charset=utf-8" }).end(page);
    });
  });
  let intrusions = 0;
  const hidden = createSocketServer((socket) => {
    intrusions += 1;
    socket.destroy();
  });
  const datagrams = createSocket("udp4").on("message", () => (intrusions += 1));
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  await new Promise<void>((resolve) => hidden.listen(0, "127.0.0.1", resolve));
  await new Promise<void>((resolve) => datagrams.bind(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  const { LD_LIBRARY_PATH, FONTCONFIG_PATH, PATH, HOME } = process.env;
  const host = await openHaft(folder, {
    home: join(root, "home"),
    env: { LD_LIBRARY_PATH, FONTCONFIG_PATH, PATH, HOME },
    overrides: {
      ...overrides,
      browser: { executable: found.executablePath },
      network: { exceptions: [`127.0.0.1:${port}`] },
    },
    approver: async () => ({ approved: true, by: "ada" }),
    ...options,
  });
  return {
    host,
    folder,
    origin: `http://127.0.0.1:${port}`,
    requested,
    privatePort: (hidden.address() as AddressInfo).port,
    udpPort: datagrams.address().port,
    intrusions: () => intrusions,
    browse: (input, given = {}) => host.haft.execute("browser", input, { caller: { session: "main" }, ...given }),
    onDisk: (name) => (existsSync(join(folder, name)) ? readFileSync(join(folder, name), "latin1") : undefined),
    write: (name, text) => writeFileSync(join(folder, name), text),
    async close() {
      await host.close();
      server.closeAllConnections();
      server.close();
      hidden.close();
      datagrams.close();
      rmSync(root, { recursive: true, force: true });
    },
  };
}
