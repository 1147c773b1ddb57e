import { once } from "node:events";
import { existsSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { connect, createServer, type Socket } from "node:net";
import { dirname, join } from "node:path";
import { afterAll, beforeAll, beforeEach, describe, expect, onTestFinished, test } from "vitest";
import { createClient } from "../../src/client.ts";
import { bundleHaft, type HaftProgram, type Running } from "./run-haft.ts";

let haft: HaftProgram;

beforeAll(async () => {
  haft = await bundleHaft();
}, 120_000);
afterAll(() => haft.remove());
beforeEach(() => {
  haft.openFolder();
  writeFileSync(join(haft.folder, "README.md"), "A folder that is not empty\n");
});

async function serve(...words: string[]): Promise<{ running: Running; url: string; login: string }> {
  const running = haft.start(["serve", "--port", "0", "--json", ...words]);
  const [line] = await running.waitForOutput(/^\{.*\}\n/);
  return { running, ...(JSON.parse(line) as { url: string; login: string }) };
}

const newToken = async (scope: string): Promise<string> =>
  (await haft.run(["token", "create", "test", "--scope", scope])).stdout.trim();

describe("the server", () => {
  test("prints an address that logs a browser in once, and shows this folder", async () => {
    const { url, login } = await serve();
    const token = login.split("#login=")[1]!;
    const post = () =>
      fetch(`${url}/api/session`, {
        method: "POST",
        headers: { "content-type": "application/json", origin: url },
        body: JSON.stringify({ token }),
      });
    const first = await post();
    expect(first.status).toBe(200);
    const cookie = first.headers.get("set-cookie")!.split(";")[0]!;
    expect((await post()).status).toBe(401);
    const info = await fetch(`${url}/api/server`, { headers: { cookie } });
    expect(await info.json()).toMatchObject({
      workspace: haft.folder,
      store: { kind: "sqlite" },
      parts: expect.arrayContaining(["policy", "audit", "undo", "configuration"]),
    });
  });

  test("gives a new link at any time, with the scopes that are asked for", async () => {
    const without = await haft.run(["login"]);
    expect(without).toMatchObject({ code: 4, stdout: "" });
    expect(without.stderr).toContain("No server is running");
    const { url } = await serve();
    const begin = (token = ""): Promise<Response> =>
      fetch(`${url}/api/session`, {
        method: "POST",
        headers: { "content-type": "application/json", origin: url },
        body: JSON.stringify({ token }),
      });
    const printed = await haft.run(["login"], { env: { HAFT_MODE: "plan" } });
    expect(printed.code, printed.stderr).toBe(0);
    expect(printed.stdout.startsWith(`${url}/#login=`)).toBe(true);
    expect((await begin(printed.stdout.trim().split("#login=")[1])).status).toBe(200);
    const limited = await haft.run(["login", "--scope", "read", "--json"]);
    const link = JSON.parse(limited.stdout) as { url: string; scopes: string[] };
    expect(link.scopes).toEqual(["read"]);
    expect(await (await begin(link.url.split("#login=")[1])).json()).toMatchObject({ scopes: ["read"] });
    expect((await haft.run(["login", "--scope", "everything"])).code).toBe(2);
  });

  test("is spoken to by the same commands, with a token of its store", async () => {
    const { url } = await serve();
    const env = { HAFT_URL: url, HAFT_TOKEN: await newToken("read,call,approve") };
    haft.openFolder();
    expect(await haft.run(["tools", "call", "read", "path=README.md"], { env })).toMatchObject({
      code: 0,
      stdout: expect.stringContaining("not empty"),
    });
    const requested = await haft.run(["tools", "call", "write", "path=a.txt", "content=x", "--json"], { env });
    expect(requested.code).toBe(7);
    const { pending } = JSON.parse(requested.stdout) as { pending: { id: string } };
    expect(await haft.run(["approvals", "approve", pending.id], { env })).toMatchObject({ code: 0 });
    expect(await haft.run(["undo", "--last"], { env })).toMatchObject({ code: 0 });
    expect(await haft.run(["doctor"], { env })).toMatchObject({ code: 0 });
    expect(await haft.run(["token", "list"], { env }), "which needs the scope admin").toMatchObject({ code: 3 });
    expect(existsSync(haft.stateFolder), "nothing is opened here").toBe(false);
  });

  test("refuses a wrong token with exit code 3, and where none listens it is 4", async () => {
    const { url, running } = await serve();
    const env = { HAFT_TOKEN: "w".repeat(43) };
    const refused = await haft.run(["tools", "list", "--url", url], { env });
    expect(refused).toMatchObject({ code: 3, stdout: "" });
    expect(refused.stderr).toContain("HAFT_TOKEN");
    running.child.kill("SIGTERM");
    expect(await running.ended).toMatchObject({ code: 0 });
    expect(await haft.run(["tools", "list", "--url", url], { env })).toMatchObject({ code: 4, stdout: "" });
    expect(await haft.run(["tools", "list", "--url", "here"])).toMatchObject({ code: 2 });
  });

  test("says what to do about a busy port, and about a store that it may not write", async () => {
    const busy = createServer().listen(0, "127.0.0.1");
    onTestFinished(() => void busy.close());
    await new Promise((done) => busy.once("listening", done));
    const { port } = busy.address() as { port: number };
    const refused = await haft.run(["serve", "--port", String(port)]);
    expect(refused).toMatchObject({ code: 1, stdout: "" });
    expect(refused.stderr).toContain(`Port ${port} on 127.0.0.1 is in use`);
    expect(refused.stderr).toContain("--port 0");
    haft.openFolder();
    mkdirSync(dirname(haft.stateFolder), { recursive: true });
    writeFileSync(haft.stateFolder, "in the way");
    const broken = await haft.run(["serve", "--port", "0"]);
    expect(broken).toMatchObject({ code: 1, stdout: "" });
    expect(broken.stderr).toContain(haft.stateFolder);
    expect(broken.stderr).toContain("set HAFT_STATE_DIR");
    // Other commands look for a running server first.
    const other = await haft.run(["approvals", "list"]);
    expect(other.code).toBe(1);
    expect(other.stderr).toContain("set HAFT_STATE_DIR");
  });

  test("does not start with a damaged store, which is checked, restored from a backup, and kept", async () => {
    expect(await haft.run(["audit", "query"])).toMatchObject({ code: 0 });
    expect(await haft.run(["store", "check"])).toMatchObject({
      code: 0,
      stdout: expect.stringContaining("The store is sound."),
    });
    expect(await haft.run(["store", "backup", "saved.db"])).toMatchObject({ code: 0 });
    expect(existsSync(join(haft.folder, "saved.db"))).toBe(true);
    const file = join(haft.stateFolder, "haft.db");
    const damaged = "this is no database, whatever its name says ".repeat(200);
    writeFileSync(file, damaged);
    const refused = await haft.run(["serve", "--port", "0"]);
    expect(refused).toMatchObject({ code: 1, stdout: "" });
    expect(refused.stderr).toMatch(/haft\.db is damaged.*haft store check.*haft store restore/s);
    expect(await haft.run(["store", "check"])).toMatchObject({ code: 1, stdout: expect.stringContaining("Damaged:") });
    expect(readFileSync(file, "utf8")).toBe(damaged);
    const restored = await haft.run(["store", "restore", "saved.db", "--json"]);
    const { kept } = JSON.parse(restored.stdout) as { kept: string };
    expect(readFileSync(kept, "utf8")).toBe(damaged);
    expect(await haft.run(["audit", "query", "--search", "store_restored"])).toMatchObject({ code: 0 });
  });

  test("reports its health, refuses to write when its state folder was deleted, and still reads", async () => {
    const { url } = await serve();
    const health = async () => (await fetch(`${url}/api/health`)).json();
    expect(await health()).toMatchObject({ status: "ok", problems: [] });
    const client = createClient({ url, token: await newToken("read,call,admin") });
    expect(await client.store.check()).toMatchObject({ engine: "sqlite", problems: [] });
    const { file } = await client.store.backup();
    expect(existsSync(file)).toBe(true);
    const moved = `${haft.stateFolder}-moved`;
    renameSync(haft.stateFolder, moved);
    onTestFinished(() => rmSync(moved, { recursive: true, force: true }));
    expect(await health()).toMatchObject({ status: "damaged", problems: ["store_damaged"] });
    expect(await client.server.info()).toMatchObject({ warnings: [expect.stringContaining("was deleted while")] });
    const read = await client.calls.execute({ tool: "read", input: { path: "README.md" } });
    expect(read).toMatchObject({ status: "completed" });
    const write = await client.calls.execute({ tool: "write", input: { path: "a.txt", content: "x" } });
    expect(write.status).not.toBe("completed");
    expect(existsSync(join(haft.folder, "a.txt"))).toBe(false);
  });

  test("does not listen beyond this machine without a token", async () => {
    const refused = await haft.run(["serve", "--port", "0", "--host", "0.0.0.0"]);
    expect(refused).toMatchObject({ code: 1 });
    expect(refused.stderr).toContain("without a token");
  });
});

describe("a server that is told to end while a call has its effect", () => {
  const ledger = () => join(haft.folder, "ledger.txt");
  const effects = () => (existsSync(ledger()) ? readFileSync(ledger(), "utf8").split("\n").length - 1 : 0);

  const ENV = () => ({ XDG_CONFIG_HOME: join(haft.folder, "settings"), HAFT_SERVER_TOKEN: "t".repeat(43) });

  const release = () => writeFileSync(join(haft.folder, "settings", "haft", "released"), "");

  /** Adds a tool that ignores its signal and has its effect after `release`. */
  function addDeploy(): void {
    const settings = join(haft.folder, "settings", "haft");
    mkdirSync(settings, { recursive: true });
    const plugin = join(settings, "deploy.mjs");
    writeFileSync(
      plugin,
      `import { appendFileSync, existsSync, writeFileSync } from "node:fs";
      export default { manifest: { id: "deploy" }, register: (api) => void api.registerTool({
        name: "deploy", description: "Deploys.", permission: "auto",
        parameters: { type: "object", properties: {} },
        run: async () => {
          writeFileSync(${JSON.stringify(join(settings, "begun"))}, "");
          while (!existsSync(${JSON.stringify(join(settings, "released"))})) await new Promise((go) => setTimeout(go, 10));
          appendFileSync(${JSON.stringify(ledger())}, "deployed\\n");
          return "deployed";
        },
      }) };`,
    );
    writeFileSync(join(settings, "config.yml"), `plugins: [${plugin}]\nlimits: { grace: 300 }\n`);
  }

  async function untilBegun(): Promise<void> {
    while (!existsSync(join(haft.folder, "settings", "haft", "begun")))
      await new Promise((done) => setTimeout(done, 10));
  }

  async function serveDeploy(...words: string[]) {
    addDeploy();
    const running = haft.start(["serve", "--port", "0", "--json", ...words], { env: ENV() });
    const [line] = await running.waitForOutput(/^\{.*\}\n/);
    const { url } = JSON.parse(line) as { url: string };
    const client = createClient({ url, token: ENV().HAFT_SERVER_TOKEN });
    /** The result of a call that runs when the server gets the signal. */
    const deploy = async () => {
      const called = client.calls.execute({ tool: "deploy", input: {}, id: "deploy-1" });
      await untilBegun();
      running.child.kill("SIGINT");
      return called;
    };
    return { running, url, client, deploy };
  }

  test("answers with the real result, and takes no other call", async () => {
    const { running, client, deploy } = await serveDeploy();
    const deployed = deploy();
    await running.waitForOutput(/waiting for a running call/, "stderr");
    await expect(client.calls.execute({ tool: "deploy", input: {} })).rejects.toMatchObject({ name: "ApiError" });
    release();
    expect(await deployed).toMatchObject({ status: "completed", details: "deployed" });
    expect(await running.ended).toMatchObject({ code: 0 });
    expect(effects()).toBe(1);
  });

  test("answers what does not end in time: unknown_outcome, or shutdown for a call without effects", async () => {
    const { running, client, deploy } = await serveDeploy("--grace", "50ms");
    const frames = client.calls.stream({ tool: "sleep", input: { duration: 25 } })[Symbol.asyncIterator]();
    expect((await frames.next()).value).toMatchObject({ type: "started" });
    const unknown = { status: "failed", error: { code: "unknown_outcome", retryable: false } };
    expect(await deploy()).toMatchObject(unknown);
    expect((await frames.next()).value).toMatchObject({ type: "result", result: { error: { code: "shutdown" } } });
    expect(await running.ended).toMatchObject({ code: 0 });
    const { items } = JSON.parse((await haft.run(["audit", "query", "--json"])).stdout) as { items: object[] };
    for (const toolName of ["deploy", "sleep"]) {
      expect(items).toContainEqual(expect.objectContaining({ type: "call_ended", toolName, status: "failed" }));
    }
    expect(await haft.run(["audit", "verify"])).toMatchObject({ code: 0 });
  });

  test("over MCP, answers with the real result too", async () => {
    addDeploy();
    const running = haft.start(["mcp"], { env: ENV() });
    const clientInfo = { name: "test", version: "1" };
    const messages = [
      { id: 1, method: "initialize", params: { protocolVersion: "2025-11-25", capabilities: {}, clientInfo } },
      { method: "notifications/initialized" },
      { id: 2, method: "tools/call", params: { name: "deploy", arguments: {} } },
    ];
    for (const message of messages) running.child.stdin!.write(`${JSON.stringify({ jsonrpc: "2.0", ...message })}\n`);
    await untilBegun();
    running.child.kill("SIGTERM");
    // It says nothing until the call has ended.
    await new Promise((done) => setTimeout(done, 300));
    release();
    expect(await running.ended).toMatchObject({ code: 0, stdout: expect.stringMatching(/deployed.*"id":2/) });
    expect(effects()).toBe(1);
  });

  test("ends at once at the second Ctrl-C", async () => {
    const { running, deploy } = await serveDeploy();
    deploy().catch(() => undefined);
    await running.waitForOutput(/Ctrl-C again/, "stderr");
    running.child.kill("SIGINT");
    expect(await running.ended).toMatchObject({ code: 130 });
  });
});

describe("a server that is killed at any moment", () => {
  test("loses no call that it acknowledged, and the next one goes on with the log, the tokens and the questions", async () => {
    const token = await newToken("read,call,approve");
    const acknowledged: string[] = [];
    let question = "";
    for (let round = 0; round < 3; round++) {
      const { running, url } = await serve();
      const client = createClient({ url, token });
      if (round === 0) {
        const requested = await client.calls.execute({ tool: "write", input: { path: "asked.txt", content: "x" } });
        question = requested.status === "pending" ? requested.pending.id : "";
      }
      const calling = Array.from({ length: 4 }, async (_, lane) => {
        for (let count = 0; ; count++) {
          const id = `r${round}-${lane}-${count}`;
          // A command that only reads: recorded before it runs, as every tool that executes.
          await client.calls.execute({ tool: "exec", input: { command: `echo ${id}` }, id });
          acknowledged.push(id);
        }
      });
      while (acknowledged.length < (round + 1) * 12) await new Promise((done) => setTimeout(done, 5));
      running.child.kill("SIGKILL");
      await Promise.allSettled(calling);
      await running.ended;
    }
    const { url } = await serve();
    const client = createClient({ url, token });
    const kept = new Set<string>();
    for await (const { type, callId } of client.audit.export()) {
      if (type === "call_begun" || type === "call_ended") kept.add(callId);
    }
    expect(acknowledged.filter((id) => !kept.has(id))).toEqual([]);
    expect(await client.audit.verify()).toMatchObject({ ok: true });
    const { result } = await client.approvals.answer(question, { decision: "once" });
    expect(result).toMatchObject({ status: "completed" });
    expect(existsSync(join(haft.folder, "asked.txt"))).toBe(true);
  }, 120_000);
});

describe("a server whose surroundings fail", () => {
  const token = "t".repeat(43);

  test("continues if nobody reads its output any more, and ends at once at a second signal while a job runs", async () => {
    const running = haft.start(["serve", "--port", "0", "--json"], { env: { HAFT_SERVER_TOKEN: token } });
    const [line] = await running.waitForOutput(/^\{.*\}\n/);
    const { url } = JSON.parse(line) as { url: string };
    running.child.stdout!.destroy();
    running.child.stderr!.destroy();
    // Each is logged.
    for (let count = 0; count < 3; count++) {
      const refused = await fetch(`${url}/api/tools`, { headers: { authorization: "Bearer wrong" } });
      expect(refused.status).toBe(401);
    }
    const client = createClient({ url, token });
    const call = { tool: "exec", input: { command: "sleep 60" }, background: true, mode: "bypassPermissions" } as const;
    const { status } = await client.calls.execute(call);
    expect(status).toBe("pending");
    const isRunning = async () => (await client.jobs.list()).items.some(({ state }) => state === "running");
    while (!(await isRunning())) await new Promise((done) => setTimeout(done, 20));
    running.child.kill("SIGINT");
    while ((await fetch(`${url}/api/health`).catch(() => undefined))?.status === 200);
    running.child.kill("SIGINT");
    expect(await running.ended).toMatchObject({ code: 130 });
  });

  test.runIf(process.platform === "linux")("answers with few descriptors, or refuses with 503, and stays", async () => {
    const running = haft.start(["serve", "--port", "0", "--json"], { env: { HAFT_SERVER_TOKEN: token }, maxFiles: 96 });
    const [line] = await running.waitForOutput(/^\{.*\}\n/);
    const { url } = JSON.parse(line) as { url: string };
    const client = createClient({ url, token });
    const read = () => client.calls.execute({ tool: "read", input: { path: "README.md" } });
    // Connections that send nothing hold their descriptors, so the result does not depend on how fast either side is.
    const idle: Socket[] = [];
    const statuses: number[] = [];
    while (!statuses.includes(503) && idle.length < 96) {
      const socket = connect({ host: "127.0.0.1", port: Number(new URL(url).port) }).on("error", () => {});
      await Promise.race([once(socket, "connect"), once(socket, "close")]);
      idle.push(socket);
      const answer = await read().catch((error: { status: number }) => error);
      expect(answer.status, "tools have descriptors of their own").not.toBe("failed");
      if (typeof answer.status === "number") statuses.push(answer.status);
    }
    expect(idle.length).toBeGreaterThan(1);
    expect(statuses).toEqual([503]);
    for (const socket of idle) socket.destroy();
    while ((await read().catch(() => undefined))?.status !== "completed");
  });
});
