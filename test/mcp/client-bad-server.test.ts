import { textOf } from "haft";
import { describe, expect, test } from "vitest";
import { connectHub, openHub, scripted, until } from "./connect-scripted.ts";

describe("a faulty server affects only its own calls", () => {
  test("mc-017: after half a frame the call times out, and later frames are read", async () => {
    const { haft, hub } = await connectHub([scripted("bad")]);
    const half = await haft.execute("mcp__bad__half_frame", {}, { timeoutMs: 300 });
    expect(half).toMatchObject({ error: { code: "unknown_outcome", data: { stoppedBy: "timeout" } } });
    const next = await haft.execute("mcp__bad__echo", { a: 1 });
    expect(textOf(next.content)).toBe('{"a":1}');
    expect(hub.statusOf("bad").state).toBe("ready");
  });

  test("mc-019: 256 KiB on stderr before the reply are drained, and the last lines are available", async () => {
    const { haft, hub } = await connectHub([scripted("bad")]);
    const result = await haft.execute("mcp__bad__stderr_flood");
    expect(result).toMatchObject({ status: "completed", details: "drained" });
    const { stderr } = hub.statusOf("bad");
    expect(stderr.at(-1)).toBe("the last line");
    expect(stderr.join("").length).toBeLessThan(20_000);
  });

  test("mc-021: a server that exits during initialize fails within its time limit, with its last output", async () => {
    const { hub } = await connectHub([scripted("bad", ["exit-at-initialize"]), scripted("good")]);
    const { state, error } = hub.statusOf("bad");
    expect(state).toBe("unavailable");
    expect(error).toContain("cannot open the database");
    expect(error).toContain("exited with code 3");
    expect(hub.statusOf("good").state).toBe("ready");
  });

  test("a server that never answers initialize times out", async () => {
    const { hub } = await connectHub([scripted("bad", ["silent", "silent-at-probe"], { startTimeoutMs: 1500 })]);
    expect(hub.statusOf("bad")).toMatchObject({
      state: "unavailable",
      error: expect.stringContaining("not ready after 1500 ms"),
    });
  });

  test("mc-023: the second of two replies is ignored and reported", async () => {
    const { haft, hub } = await connectHub([scripted("bad")]);
    expect(await haft.execute("mcp__bad__twice")).toMatchObject({ details: "first" });
    expect(await haft.execute("mcp__bad__echo", { b: 2 })).toMatchObject({ details: '{"b":2}' });
    expect(hub.statusOf("bad").faults.join()).toContain("unknown message ID");
  });

  test("mc-025: replies with other ids are ignored", async () => {
    const { haft, hub } = await connectHub([scripted("bad"), scripted("good")]);
    const [mine, other] = await Promise.all([haft.execute("mcp__bad__wrong_id"), haft.execute("mcp__good__late")]);
    expect(mine).toMatchObject({ details: "mine" });
    expect(other).toMatchObject({ details: "late" });
    expect(hub.statusOf("bad").faultCount).toBeGreaterThanOrEqual(2);
    expect(hub.statusOf("good").faultCount).toBe(0);
  });

  test("mc-027: a request for an undeclared capability is rejected", async () => {
    const { haft } = await connectHub([scripted("bad")]);
    const result = await haft.execute("mcp__bad__ask_sampling");
    expect(JSON.parse(textOf(result.content))).toMatchObject({ code: -32601 });
  });

  test("mc-029: 100,000 progress notifications are limited, and the call still ends", async () => {
    const { haft, hub } = await connectHub([scripted("bad")]);
    let updates = 0;
    const result = await haft.execute("mcp__bad__progress_flood", {}, { onUpdate: () => void updates++ });
    expect(result).toMatchObject({ details: "flooded" });
    expect(updates).toBeGreaterThan(0);
    expect(updates).toBeLessThan(500);
    expect(hub.statusOf("bad").faults.join()).toContain("more than 500 notifications a second");
  });

  test("progress that arrives in one piece with the result is an update", async () => {
    const { haft } = await connectHub([scripted("bad")]);
    const updates: unknown[] = [];
    const onUpdate = (update: unknown) => void updates.push(update);
    expect(await haft.execute("mcp__bad__progress_with_result", {}, { onUpdate })).toMatchObject({ details: "done" });
    expect(updates).toContainEqual(expect.objectContaining({ progress: expect.objectContaining({ done: 2 }) }));
  });

  test("of a flood of log messages only the last few are kept", async () => {
    const { haft, hub } = await connectHub([scripted("bad")]);
    await haft.execute("mcp__bad__log_flood");
    const { log } = hub.statusOf("bad");
    expect(log.length).toBeGreaterThan(0);
    expect(log.length).toBeLessThanOrEqual(20);
  });

  test("a line of 100 MB fails its own call at once and is not buffered", async () => {
    const { haft, hub } = await connectHub([scripted("bad")], { hub: { maxMessageBytes: 1024 * 1024 } });
    const before = process.memoryUsage().rss;
    for (const tool of ["long_line", "long_line_result_first"]) {
      const result = await haft.execute(`mcp__bad__${tool}`);
      expect(result).toMatchObject({ status: "failed", error: { code: "too_large" } });
    }
    expect(process.memoryUsage().rss - before).toBeLessThan(90 * 1024 * 1024);
    expect(await haft.execute("mcp__bad__echo")).toMatchObject({ success: true });
    expect(hub.statusOf("bad").state).toBe("ready");
  });

  test("invalid lines between messages are skipped and reported", async () => {
    const { haft, hub } = await connectHub([scripted("bad")]);
    expect(await haft.execute("mcp__bad__garbage")).toMatchObject({ details: "after garbage" });
    expect(hub.statusOf("bad").faults.join()).toContain("not a message");
  });

  test("an answer nested 50,000 deep fails its call", async () => {
    const { haft } = await connectHub([scripted("bad")]);
    const deep = await haft.execute("mcp__bad__deep_json", {}, { timeoutMs: 2000 });
    expect(deep.status).toBe("failed");
    expect(await haft.execute("mcp__bad__echo")).toMatchObject({ success: true });
  });

  test("a late reply to a cancelled call is ignored", async () => {
    const { haft, hub } = await connectHub([scripted("bad")]);
    const late = await haft.execute("mcp__bad__late", {}, { timeoutMs: 50 });
    expect(late).toMatchObject({ error: { code: "unknown_outcome", data: { stoppedBy: "timeout" } } });
    await until(() => hub.statusOf("bad").faultCount > 0);
    expect(await haft.execute("mcp__bad__echo")).toMatchObject({ success: true });
  });

  test("a crash fails the call with an unknown outcome, keeps the tools listed, and the server restarts", async () => {
    const { haft, hub } = await connectHub([scripted("bad"), scripted("good")]);
    const [crashed, other] = await Promise.all([haft.execute("mcp__bad__crash"), haft.execute("mcp__good__late")]);
    expect(crashed).toMatchObject({ status: "failed", error: { code: "unknown_outcome" } });
    expect(other).toMatchObject({ details: "late" });
    const down = hub.statusOf("bad");
    expect(down).toMatchObject({ state: "unavailable", error: expect.stringContaining("exited with code 7") });
    expect(down.nextTryAt).toBeGreaterThan(Date.now() - 1000);
    expect(down.tools.find(({ name }) => name === "echo")).toMatchObject({ isAvailable: false });
    expect(haft.tools.registry.get("mcp__bad__echo")).toBeDefined();
    expect(await haft.execute("mcp__bad__echo")).toMatchObject({ status: "failed", error: { code: "unavailable" } });
    await until(() => hub.statusOf("bad").state === "ready");
    expect(await haft.execute("mcp__bad__echo", { c: 3 })).toMatchObject({ details: '{"c":3}' });
  });

  test("an interrupted call of a trusted read-only tool may be repeated", async () => {
    const { haft } = await connectHub([scripted("trusted", [], { trust: true }), scripted("bad")]);
    const read = await haft.execute("mcp__trusted__crash_reading");
    expect(read).toMatchObject({ error: { code: "unavailable", retryable: true } });
    expect(await haft.execute("mcp__bad__crash_reading")).toMatchObject({ error: { code: "unknown_outcome" } });
  });

  test("the caller can cancel a call that hangs, the server is notified, and other calls continue", async () => {
    const { haft } = await connectHub([scripted("bad")]);
    const controller = new AbortController();
    const hanging = haft.execute("mcp__bad__hang", {}, { signal: controller.signal });
    expect(await haft.execute("mcp__bad__echo")).toMatchObject({ success: true });
    controller.abort();
    expect(await hanging).toMatchObject({ error: { code: "unknown_outcome", data: { stoppedBy: "cancelled" } } });
    const reported = await haft.execute("mcp__bad__cancelled");
    expect(JSON.parse(textOf(reported.content))).toHaveLength(1);
  });

  test("a server that exits on the probe of a modern client is restarted without it", async () => {
    const { hub } = await connectHub([scripted("old", ["exit-at-probe"])]);
    expect(hub.statusOf("old")).toMatchObject({ state: "ready", era: "legacy", protocolVersion: "2025-06-18" });
  });

  test("a server that does not answer the probe is a legacy one", async () => {
    const { hub } = await connectHub([scripted("old", ["silent-at-probe"], { startTimeoutMs: 4000 })]);
    expect(hub.statusOf("old")).toMatchObject({ state: "ready", era: "legacy" });
  });

  test("a missing program is reported in the status", async () => {
    const config = { name: "none", transport: "stdio", command: "no-such-program-at-all" } as const;
    const { hub } = await connectHub([config]);
    expect(hub.statusOf("none")).toMatchObject({
      state: "unavailable",
      error: expect.stringContaining("was not found"),
    });
  });

  test("a failing server delays nothing: the hub opens at once, and other servers are ready before it fails", async () => {
    const { haft, hub } = openHub([
      scripted("slow", ["silent", "silent-at-probe"], { startTimeoutMs: 20_000 }),
      scripted("good"),
    ]);
    expect(hub.status().map(({ state }) => state)).toEqual(["connecting", "connecting"]);
    await until(() => hub.statusOf("good").state === "ready");
    expect(await haft.execute("mcp__good__echo")).toMatchObject({ success: true });
    expect(hub.statusOf("slow").state).toBe("connecting");
  });
});

describe("a server's processes", () => {
  const pidOf = async (
    haft: { execute(name: string): Promise<{ content: Parameters<typeof textOf>[0] }> },
    tool: string,
  ) => Number(textOf((await haft.execute(tool)).content));
  const isAlive = (pid: number): boolean => {
    try {
      process.kill(pid, 0);
      return true;
    } catch {
      return false;
    }
  };

  test("end with the hub, also one that ignores SIGTERM, and children outside its process group", async () => {
    // Unconfined: in the sandbox its process ids are its own. test/mcp/confined-servers.test.ts has the confined ones.
    const { haft, hub } = await connectHub([scripted("tough", ["ignore-sigterm", "stay"], { sandbox: false })]);
    const pids = [await pidOf(haft, "mcp__tough__pid"), await pidOf(haft, "mcp__tough__child")];
    expect(pids.every(isAlive)).toBe(true);
    await hub.close();
    await until(() => !pids.some(isAlive));
  });

  test("mc-039: get the configured variables and harmless ones, but no secrets of the host", async () => {
    const hostEnvironment = {
      ...process.env,
      OPENAI_API_KEY: "sk-secret",
      AWS_SECRET_ACCESS_KEY: "secret",
      NODE_OPTIONS: "",
    };
    const { haft } = await connectHub([scripted("env", [], { env: { MY_TOKEN: "given" } })], {
      hub: { hostEnvironment },
    });
    const env = JSON.parse(textOf((await haft.execute("mcp__env__env")).content)) as Record<string, string>;
    expect(env).toMatchObject({ MY_TOKEN: "given", PATH: process.env["PATH"] });
    expect(env).not.toHaveProperty("OPENAI_API_KEY");
    expect(env).not.toHaveProperty("AWS_SECRET_ACCESS_KEY");
    expect(env).not.toHaveProperty("NODE_OPTIONS");
  });

  test("mc-037: escape codes and hidden characters of a result reach neither a person nor the model", async () => {
    const { haft } = await connectHub([scripted("bad")]);
    const result = await haft.execute("mcp__bad__escape_codes");
    expect(result.display).toBe("cleared\\u{202e}");
    expect(result).toMatchObject({ content: [{ text: "cleared" }], details: "cleared" });
    expect(result.status).toBe("completed");
  });
});
