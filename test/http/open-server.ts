// A runtime in memory behind a real server on a real port.
import { request } from "node:http";
import { connect, type Socket } from "node:net";
import { onTestFinished } from "vitest";
import { createTestHaft, type TestHaft } from "haft/testing";
import type { ApiHost } from "../../src/api/host-api.ts";
import { createClient, type HaftClient } from "../../src/client.ts";
import { type HttpServer, type HttpServerOptions, serveHttp } from "../../src/server/http-server.ts";
import type { Scope } from "../../src/contracts/index.ts";

export interface TestServer {
  haft: TestHaft;
  server: HttpServer;
  /** `127.0.0.1:PORT`. */
  host: string;
  logged: string[];
  runs: unknown[];
  tokenFor(...scopes: Scope[]): Promise<string>;
  clientFor(...scopes: Scope[]): Promise<HaftClient>;
}

export async function openTestServer(
  options: HttpServerOptions & { haft?: Parameters<typeof createTestHaft>[0]; parts?: Omit<ApiHost, "haft"> } = {},
): Promise<TestServer> {
  const { haft: haftOptions, parts, ...serverOptions } = options;
  const runs: unknown[] = [];
  const haft = createTestHaft({ ...haftOptions, tools: [...toolsFor(runs), ...(haftOptions?.tools ?? [])] });
  const logged: string[] = [];
  const server = await serveHttp(parts ? { ...parts, haft } : haft, {
    port: 0,
    log: (line) => logged.push(line),
    ...serverOptions,
  });
  onTestFinished(async () => {
    await server.close();
    await haft.shutdown();
  });
  const tokenFor = (...scopes: Scope[]): Promise<string> =>
    server.issueToken({ name: scopes.join("+") || "nothing", scopes });
  return {
    haft,
    server,
    host: `127.0.0.1:${server.port}`,
    logged,
    runs,
    tokenFor,
    clientFor: async (...scopes) => createClient({ url: server.url, token: await tokenFor(...scopes) }),
  };
}

function toolsFor(runs: unknown[]) {
  const text = [{ name: "text", type: "string", required: true }] as never;
  return [
    {
      name: "echo",
      description: "Says it again",
      kind: "readonly" as const,
      parameters: text,
      run: (input: unknown) => (runs.push(input), (input as { text: string }).text),
    },
    {
      name: "keep",
      description: "Keeps a text",
      kind: "write" as const,
      permission: "confirm" as const,
      parameters: text,
      run: (input: unknown) => (runs.push(input), "kept"),
    },
    {
      name: "wait",
      description: "Waits until it is stopped",
      kind: "readonly" as const,
      parameters: [] as never,
      run: async (_input: unknown, context: { signal: AbortSignal; update(text: string): void }) => {
        runs.push("begun");
        context.update("waiting");
        await new Promise((resolve) => context.signal.addEventListener("abort", resolve, { once: true }));
        runs.push("stopped");
        return "never";
      },
    },
  ];
}

export interface RawAnswer {
  status: number;
  headers: Record<string, string | string[] | undefined>;
  text: string;
  json: { error?: { code: string; message: string; next?: string } } & Record<string, unknown>;
}

/** A request as it is written, with whatever headers: no browser and no fetch in between. */
export function ask(
  { host }: Pick<TestServer, "host">,
  method: string,
  path: string,
  { headers = {}, body, token }: { headers?: Record<string, string>; body?: unknown; token?: string } = {},
): Promise<RawAnswer> {
  const [hostname, port] = host.split(":");
  return new Promise((resolve, reject) => {
    const text = body === undefined ? undefined : typeof body === "string" ? body : JSON.stringify(body);
    const sent = request(
      {
        hostname,
        port,
        method,
        path,
        agent: false,
        headers: {
          ...(text === undefined
            ? {}
            : { "content-type": "application/json", "content-length": Buffer.byteLength(text) }),
          ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
          ...headers,
        },
      },
      (response) => {
        const chunks: Buffer[] = [];
        response.on("data", (chunk: Buffer) => chunks.push(chunk));
        response.on("error", reject);
        response.on("end", () => {
          const answered = Buffer.concat(chunks).toString("utf8");
          const isJson = /^application\/json(;|$)/.test(response.headers["content-type"] ?? "");
          const json = (isJson && answered !== "" ? JSON.parse(answered) : {}) as RawAnswer["json"];
          resolve({ status: response.statusCode ?? 0, headers: response.headers, text: answered, json });
        });
      },
    );
    sent.on("error", reject);
    sent.end(text);
  });
}

/** A bare socket, for what no client would send. */
export function openSocket({
  host,
}: Pick<TestServer, "host">): Promise<Socket & { received(): string; gone: Promise<void> }> {
  const [hostname, port] = host.split(":");
  return new Promise((resolve, reject) => {
    const socket = connect(Number(port), hostname);
    let received = "";
    const gone = new Promise<void>((done) => socket.once("close", () => done()));
    socket.on("data", (chunk) => (received += chunk.toString("latin1")));
    // Being cut off is what some tests are about.
    socket.on("error", reject);
    socket.once("connect", () => {
      onTestFinished(() => void socket.destroy());
      resolve(Object.assign(socket, { received: () => received, gone }));
    });
  });
}

/** Waits until something is so; the test's own time limit says when it never is. */
export async function until(isSo: () => boolean | Promise<boolean>): Promise<void> {
  while (!(await isSo())) await new Promise((resolve) => setTimeout(resolve, 5));
}
