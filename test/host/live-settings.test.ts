// Each setting of the schema is changed in a running server. It is either seen to take effect, or named with "restart needed".
import { mkdirSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, beforeAll, expect, test } from "vitest";
import { type StartedServer, startServer } from "../../src/cli/start-server.ts";
import { configSchema } from "../../src/config/config-schema.ts";
import { bindingOf } from "../../src/config/setting-binding.ts";
import { createClient, type HaftClient } from "../../src/client.ts";
import type { CallOptions } from "../../src/core/call.ts";
import type { ToolResult } from "../../src/core/result.ts";
import type { GrantBounds } from "../../src/gate/permit/grants.ts";
import { temporaryFolder } from "../setup/temporary-folder.ts";
import { until } from "../setup/until.ts";

const root = temporaryFolder("haft-live-");
const folder = join(root, "work");
const outside = join(root, "outside");
const write = (path: string, text: string): void => {
  mkdirSync(dirname(join(root, path)), { recursive: true });
  writeFileSync(join(root, path), text);
};
/** The user's own file: nothing in it needs trust. */
const configure = (value: object): void => write("config/haft/config.json", JSON.stringify(value));
/** Nothing listens there. */
const NOWHERE = { url: "http://127.0.0.1:1/mcp" };
const exits = (code: string) => ({ type: "command", command: code, sandbox: false });

let started: StartedServer;
let client: HaftClient;

beforeAll(async () => {
  for (const name of ["a.md", "denied.md", "claude.md", ".env", "ro/a.md", "long.txt"])
    write(`work/${name}`, "x\n".repeat(20));
  write("outside/o.md", "outside");
  write("work/.claude/settings.json", '{"model":"opus"}');
  write("work/.codex/config.toml", 'approval_policy = "never"');
  write("work/.gemini/settings.json", "{}");
  write("work/opencode.json", "{}");
  write("config/mine.json", JSON.stringify({ mcpServers: { imported: NOWHERE } }));
  configure({});
  const env = { PATH: process.env["PATH"], XDG_CONFIG_HOME: join(root, "config"), HAFT_STATE_DIR: join(root, "state") };
  const quiet = { log: () => undefined, onWarning: () => undefined };
  started = await startServer({ folder, version: "0.0.0", env, embedded: {}, port: 0, ...quiet });
  client = createClient({
    url: started.server.url,
    token: await started.server.issueToken({ name: "t", scopes: ["read"] }),
  });
  const { haft } = started.host;
  const own = { description: "For this test", parameters: [] as never };
  const pause = async (ms: number, signal?: AbortSignal): Promise<void> =>
    sleep(ms, undefined, { signal }).catch(() => undefined);
  for (const kind of ["readonly", "write", "execute"] as const)
    haft.register({
      ...own,
      name: `wait_${kind}`,
      kind,
      permission: "auto",
      run: (_input, { signal }) => pause(300, signal),
    });
  const waits = {
    ...own,
    kind: "readonly" as const,
    run: (_input: unknown, { signal }: { signal: AbortSignal }) => pause(5000, signal),
  };
  haft.register({ ...waits, name: "slow" });
  haft.register({ ...waits, name: "slow_network", category: "network" });
  haft.register({ ...own, name: "stubborn", kind: "write", permission: "auto", run: () => pause(300) });
  haft.register({ ...own, name: "undeclared", run: () => "done" });
  haft.register({ ...own, name: "long", kind: "readonly", run: () => "word ".repeat(4000) });
  const response = [{ name: "response", type: "string", enum: ["concise", "detailed"], required: false }] as never;
  haft.register({
    ...own,
    name: "reply",
    kind: "readonly",
    parameters: response,
    run: (input) => JSON.stringify(input),
  });
  for (const name of ["asks", "asks_allowed", "asks_hooked"])
    haft.register({ ...own, name, kind: "write", permission: "confirm", run: () => "done" });
  for (const name of ["plain", "plain_asked", "plain_denied", "plain_hooked", "plain_reviewed", "plain_limited"])
    haft.register({ ...own, name, kind: "readonly", run: () => "done" });
});
afterAll(() => started.close());
beforeAll(() => started.host.sessions.create({ caller: { user: "u" } } as never));

const run = (name: string, options?: CallOptions, input: object = {}): Promise<ToolResult> =>
  started.host.haft.execute(name, input, options);
const statusOf = async (name: string, options?: CallOptions): Promise<string> => (await run(name, options)).status;
const errorOf = (result: ToolResult): string => (result.status === "failed" ? result.error.code : result.status);
const textOf = (result: ToolResult): string => JSON.stringify(result.content);
const has = (tool: string, caller?: object): boolean =>
  started.host.haft.tools.list({ caller }).some(({ name }) => name === tool);
const may = (path: string, operation: "read" | "write" = "read"): boolean => {
  try {
    started.host.workspace.files.realPath(path, operation);
    return true;
  } catch {
    return false;
  }
};
/** The error of a call that is stopped after a while, if it has not ended before. */
const timesOut = async (name: string, timeoutMs?: number): Promise<boolean> =>
  errorOf(await run(name, { timeoutMs, signal: AbortSignal.timeout(1000) })) === "timeout";
/** How many of these calls run at once, and the errors of all. */
async function together(names: readonly string[]): Promise<{ running: number; errors: string[] }> {
  const calls = names.map((name) => run(name));
  await sleep(30);
  const { running } = started.host.haft.calls.load();
  return { running, errors: (await Promise.all(calls)).map(errorOf) };
}
const refusesGrant = (bounds: GrantBounds): Promise<boolean> => {
  const { grants } = started.host.haft.policy;
  const holder = grants.holderOf({ session: "granted" }, "session");
  return grants.give({ holder, rules: ["plain"], why: "for this test", ...bounds }).then(
    () => false,
    () => true,
  );
};
const server = (name: string): boolean => started.host.mcp.status().some((each) => each.name === name);
const ask = async (session: string, user = "u") => {
  const result = await run("asks", { caller: { session, user } });
  return result.status === "pending" ? started.host.haft.approvals.get(result.pending.id) : undefined;
};
const spawn = async (caller: object): Promise<string> => {
  const authority = { caller: { depth: 0, ...caller } } as never;
  const request = { task: "t", id: Math.random().toString(), label: "l" };
  return started.host.sessions.sessionService.spawn(authority, request).then(
    () => "ok",
    (error: { code: string }) => error.code,
  );
};
/** For settings that are read when they are needed, much later: what their part will read. */
const read = (path: string) => (): unknown =>
  path
    .split(".")
    .reduce<unknown>((value, key) => (value as Record<string, unknown> | undefined)?.[key], started.host.config.value);
/** For settings without an effect on calls. */
const shown = (path: string) => async (): Promise<boolean> =>
  (await client.configuration.show()).entries.some(({ key }) => key.startsWith(path));

type Probe = readonly [value: unknown, holds: () => unknown];

/** By round: settings of one round are changed together. A probe is false before its round and true in it. */
const ROUNDS: readonly Readonly<Record<string, Probe>>[] = [
  {
    $schema: ["x", () => read("limits.response")()],
    "tools.allowedPaths": [[".", outside], () => may(join(outside, "o.md"))],
    "tools.mcpServers": [{ three: NOWHERE }, () => server("three")],
    "tools.deny": [["json_parse"], () => !has("json_parse")],
    "tools.byProvider": [{ acme: { deny: ["plain"] } }, () => !has("plain", { model: "acme/m" })],
    agents: [
      { reader: { description: "d", toolkit: ["read"], tools: { deny: ["plain"] } } },
      () => started.host.agents.names().includes("reader") && !has("plain", { agent: "reader" }),
    ],
    "sandbox.tools": [{ deny: ["plain"] }, () => !has("plain", { sandboxed: true })],
    "sandbox.autoAllow": [true, () => started.host.workspace.sandbox?.autoAllow === true],
    "sandbox.allowedHosts": [["a.example"], read("sandbox.allowedHosts")],
    "sandbox.memoryMb": [512, read("sandbox.memoryMb")],
    "sandbox.processes": [64, read("sandbox.processes")],
    "sandbox.previewMs": [0, () => read("sandbox.previewMs")() === 0],
    "subagents.tools": [{ deny: ["plain"] }, () => !has("plain", { depth: 1 })],
    "subagents.byDepth": [{ 2: { deny: ["reply"] } }, () => !has("reply", { depth: 2 })],
    "permissions.allow": [["asks_allowed"], async () => (await statusOf("asks_allowed")) === "completed"],
    "permissions.ask": [["plain_asked"], async () => (await statusOf("plain_asked")) === "pending"],
    "permissions.deny": [["plain_denied"], async () => (await statusOf("plain_denied")) === "failed"],
    "permissions.limits": [
      [{ tools: "plain_limited", calls: 1, per: "hour" }],
      async () => (await statusOf("plain_limited")) === "completed" && (await statusOf("plain_limited")) === "failed",
    ],
    "permissions.defaultPermission": ["auto", async () => (await statusOf("undeclared")) === "completed"],
    "permissions.tests": [[{ tool: "plain", expect: "allow" }], shown("permissions.tests")],
    "hooks.PreToolUse": [
      [{ matcher: "plain_hooked", hooks: [exits("exit 2")] }],
      async () => (await statusOf("plain_hooked")) === "failed",
    ],
    "hooks.PermissionRequest": [
      [{ matcher: "asks_hooked", hooks: [exits("exit 2")] }],
      async () => (await statusOf("asks_hooked")) === "failed",
    ],
    "hooks.PostToolUse": [
      [{ matcher: "plain_reviewed", hooks: [exits(`echo '{"hookSpecificOutput":{"additionalContext":"reviewed"}}'`)] }],
      async () => textOf(await run("plain_reviewed")).includes("reviewed"),
    ],
    mcpServers: [{ one: NOWHERE }, () => server("one")],
    servers: [{ two: NOWHERE }, () => server("two")],
    inputs: [[{ id: "x", type: "promptString", description: "d" }], shown("inputs")],
    "workspace.readOnlyPaths": [["ro"], () => !may("ro/a.md", "write")],
    "workspace.denyGlobs": [["denied.md"], () => !may("denied.md")],
    "workspace.permitGlobs": [[".env"], () => may(".env")],
    "workspace.requireReadBeforeEdit": [
      false,
      async () => {
        const input = { path: "a.md", content: `${Math.random()}` };
        return errorOf(await run("write", { mode: "bypassPermissions" }, input)) === "completed";
      },
    ],
    "workspace.maxReadBytes": [10, async () => errorOf(await run("read", {}, { path: "long.txt" })) !== "completed"],
    "limits.maxConcurrentByKind.readonly": [
      1,
      async () => (await together(["wait_readonly", "wait_readonly"])).running === 1,
    ],
    "limits.maxConcurrentByKind.write": [1, async () => (await together(["wait_write", "wait_write"])).running === 1],
    "limits.maxConcurrentByKind.execute": [
      1,
      async () => (await together(["wait_execute", "wait_execute"])).running === 1,
    ],
    "limits.maxResultBytes": [1000, async () => textOf(await run("long")).length < 5000],
    "limits.response": ["concise", async () => textOf(await run("reply")).includes("concise")],
    "toolSearch.budget": [2000, () => started.host.haft.tools.shown().deferred.length > 0],
    "toolSearch.core": [["wait_write"], () => read("toolSearch.core")()],
    "store.retention.auditDays": [5, read("store.retention.auditDays")],
    "store.retention.maxMb": [100, read("store.retention.maxMb")],
    "store.retention.sessionDays": [6, read("store.retention.sessionDays")],
    "store.retention.outputDays": [7, read("store.retention.outputDays")],
    "store.retention.archives": [true, read("store.retention.archives")],
    "server.grace": [50, read("server.grace")],
    "approvals.expireMs": [
      90_000,
      async () => {
        const { askedAt, expiresAt = Infinity } = (await ask("expiring")) ?? { askedAt: 0 };
        return expiresAt - askedAt < 10 * 90_000;
      },
    ],
    "approvals.replayMs": [80_000, read("approvals.replayMs")],
    "approvals.grants.maxMinutes": [90, () => refusesGrant({ minutes: 100 })],
    "approvals.grants.maxUses": [3, () => refusesGrant({ minutes: 60, maxUses: 4 })],
    "approvals.grants.maxBudget": [
      { EUR: 50 },
      () => refusesGrant({ minutes: 60, maxUses: 3, budget: { unit: "EUR", max: 51 } }),
    ],
    "provenance.mode": ["strict", () => started.host.haft.policy.provenance.settings.mode === "strict"],
    "provenance.tools": [
      { plain: { labels: ["untrusted_input"] } },
      () => "plain" in started.host.haft.policy.provenance.settings.tools,
    ],
    "approvals.webhook.url": ["http://127.0.0.1:1/", read("approvals.webhook.url")],
    "approvals.webhook.headers": [{ a: "b" }, read("approvals.webhook.headers")],
    "approvals.webhook.details": [true, read("approvals.webhook.details")],
    "sessions.maxDepth": [0, async () => (await spawn({ session: "s" })) === "too_deep"],
    "sessions.visibility": [
      "all",
      async () => {
        const seen = await started.host.sessions.sessionService.list({ session: "other", depth: 0 } as never, {});
        return seen.length > 0;
      },
    ],
    "import.claude": [false, () => isLeftOut("claude")],
    "import.codex": [false, () => isLeftOut("codex")],
    "import.gemini": [false, () => isLeftOut("gemini")],
    "import.opencode": [false, () => isLeftOut("opencode")],
    "import.mcp": [[join(root, "config/mine.json")], () => server("imported")],
    "mcp.tools": [["plain"], () => read("mcp.tools")()],
  },
  {
    "tools.maxConcurrent": [1, async () => (await together(["wait_readonly", "wait_write"])).running === 1],
    "limits.maxWaiting": [
      1,
      async () => (await together(["wait_readonly", "wait_write", "wait_execute"])).errors.includes("busy"),
    ],
    "limits.maxWait": [50, async () => (await together(["wait_readonly", "wait_write"])).errors.includes("busy")],
    "limits.maxResultTokens": [100, async () => textOf(await run("long")).length < 5000],
    "workspace.allowedPaths": [[outside], () => !may("a.md")],
    "sandbox.mode": ["off", () => started.host.workspace.sandbox === undefined],
    "approvals.maxOpenPerSession": [1, async () => !((await ask("full")) && (await ask("full")))],
    "sessions.maxChildren": [0, async () => (await spawn({ session: "parent" })) === "busy"],
    "mcp.profile": ["minimal", () => read("mcp.profile")()],
    ...Object.fromEntries(
      Object.entries({
        model: "mine/m",
        baseUrl: "http://127.0.0.1:1/v1",
        apiKey: "k",
        format: "xml",
        dialect: "claude",
        instructions: "Be brief.",
        maxOutputTokens: 9,
        temperature: 1,
        prices: { input: 1, output: 2 },
        "limits.steps": 3,
        "limits.tokens": 4,
        "limits.costUsd": 5,
        projectFile: false,
      }).map(([key, value]): [string, Probe] => [`agent.${key}`, [value, () => started.host.agents.isConfigured]]),
    ),
  },
  {
    profiles: [{ mine: ["read", "plain", "asks"] }, () => has("plain") && !has("write")],
    "tools.profile": ["mine", () => !has("write")],
    "tools.alsoAllow": [["reply"], () => has("reply") && !has("write")],
    "tools.allow": [["reply", "plain", "asks"], () => !has("read")],
    "permissions.disableBypassPermissionsMode": [
      "disable",
      async () => (await statusOf("asks", { mode: "bypassPermissions" })) !== "completed",
    ],
    "workspace.unrestricted": [true, () => may("/etc/hostname")],
    "approvals.waitMs": [
      300,
      async () => {
        const { approvals } = started.host.haft;
        let asked: ReturnType<typeof approvals.get> | undefined;
        const caller = { user: `waits-${Math.random()}` };
        await run("asks", { caller, onApprovalRequested: (id) => void (asked = approvals.get(id)) });
        return (await asked)?.waitsUntil !== undefined;
      },
    ],
    "approvals.maxOpenPerUser": [1, read("approvals.maxOpenPerUser")],
  },
  {
    "permissions.defaultMode": ["plan", async () => (await statusOf("stubborn")) === "failed"],
    "limits.maxTimeout": [60, () => timesOut("slow", 5000)],
  },
  // Alone: on a busy machine no other call would end in time.
  {
    "tools.timeout": [60, () => timesOut("slow")],
    "limits.networkTimeout": [70, () => timesOut("slow_network")],
    "limits.grace": [1, async () => errorOf(await run("stubborn", { timeoutMs: 20 })) === "unknown_outcome"],
  },
];

function isLeftOut(program: string): boolean {
  return started.host.config.imported.some(
    ({ reason }) => reason === `import.${program} is false in the configuration.`,
  );
}

const RESTART = {
  tools: {
    webSearch: {
      provider: "searxng",
      apiKey: "k",
      endpoint: "http://127.0.0.1:1",
      engineId: "e",
      maxResults: 3,
      fallbacks: [],
    },
  },
  plugins: [{ from: "./plugin.mjs", enabled: false }],
  workspace: { diagnostics: false, folderInstructions: false },
  languageServers: { x: { command: "x", extensions: [".x"] } },
  toolSearch: { enabled: false, mcp: true, learnFrom: "nothing" },
  network: { exceptions: ["10.0.0.1"], hosts: ["a.example"], proxyResolvesNames: true },
  browser: { enabled: false, executable: "/x", confined: false, downloads: "d" },
  store: { url: "postgres://127.0.0.1:1/x" },
  jobs: { redisUrl: "redis://127.0.0.1:1", concurrency: 2 },
  server: {
    ...{ host: "127.0.0.2", port: 4242, token: "t".repeat(40), allowedHosts: ["a"], allowedOrigins: ["http://a"] },
    limits: { connections: 9, maxWaitingPerCaller: 8, maxWaiting: 7, maxWaitMs: 6 },
  },
  artifacts: { keepOutputs: true },
  audit: { enabled: true, redact: ["x"] },
  message: { channels: { c: { type: "console" } } },
};

interface Def {
  type: string;
  innerType?: { def: Def };
  shape?: Record<string, { def: Def }>;
  options?: { def: Def }[];
}

/** The path of every setting. Maps and lists are one setting. */
function settings({ def }: { def: Def }, path = ""): string[] {
  if (def.innerType) return settings({ def: def.innerType.def }, path);
  const objects = (def.type === "union" ? (def.options ?? []) : [{ def }]).filter(
    (option) => option.def.type === "object",
  );
  const [object] = objects;
  if (objects.length !== 1 || !object?.def.shape) return [path];
  return Object.entries(object.def.shape).flatMap(([key, value]) => settings(value, path ? `${path}.${key}` : key));
}

function nested(probes: Readonly<Record<string, Probe>>): object {
  const config: Record<string, unknown> = {};
  for (const [path, [value]] of Object.entries(probes)) {
    const parts = path.split(".");
    let at = config;
    for (const part of parts.slice(0, -1)) at = (at[part] ??= {}) as Record<string, unknown>;
    at[parts.at(-1) ?? ""] = value;
  }
  return config;
}

/** Waits until it is in effect. */
async function set(value: object, mark: string): Promise<void> {
  configure({ ...value, $schema: mark });
  await until(() => started.host.config.origins.some(({ value: text }) => text === mark));
}

const ALL = settings(configSchema as unknown as { def: Def });

test("every setting of the schema has a row, and a probe or a changed value", () => {
  expect(ALL.filter((path) => bindingOf(path) === undefined)).toEqual([]);
  const probed = new Set(ROUNDS.flatMap((round) => Object.keys(round)));
  const isProbed = (path: string) => [...probed].some((key) => path === key || path.startsWith(`${key}.`));
  expect(ALL.filter((path) => bindingOf(path) === "live" && !isProbed(path))).toEqual([]);
  const valueAt = (path: string) =>
    path.split(".").reduce<unknown>((at, key) => (at as Record<string, unknown> | undefined)?.[key], RESTART);
  expect(ALL.filter((path) => bindingOf(path) === "restart" && valueAt(path) === undefined)).toEqual([]);
  const exists = (key: string) => ALL.some((path) => path === key || path.startsWith(`${key}.`));
  expect([...probed].filter((key) => !exists(key))).toEqual([]);
});

test.each(ROUNDS.map((round, at) => [at + 1, round] as const))(
  "round %i takes effect in the running server",
  async (at, round) => {
    await set({}, `before ${at}`);
    for (const [path, [, holds]] of Object.entries(round))
      expect([path, Boolean(await holds())]).toEqual([path, false]);
    await set(nested(round), `round ${at}`);
    for (const [path, [, holds]] of Object.entries(round)) expect([path, Boolean(await holds())]).toEqual([path, true]);
    expect(started.host.configStatus()).toEqual({ problems: [], restartNeeded: [] });
    const { entries } = await client.configuration.show();
    for (const path of Object.keys(round)) expect(entries.some(({ key }) => key.startsWith(path))).toBe(true);
  },
);

test("a setting that needs a restart is named by the status, the health and the list of settings", async () => {
  await set({}, "before");
  configure(RESTART);
  await until(() => started.host.configStatus().restartNeeded.length > 0);
  const named = started.host.configStatus().restartNeeded;
  const isNamed = (path: string) => named.some((key) => path === key || path.startsWith(`${key}.`));
  // It is not another value.
  const same = ["audit.enabled"];
  const needing = ALL.filter((path) => bindingOf(path) === "restart" && !same.includes(path));
  expect(needing.filter((path) => !isNamed(path))).toEqual([]);
  expect(await client.server.health()).toMatchObject({ status: "ok", problems: ["restart_needed"] });
  expect((await client.server.info()).warnings.join()).toContain("Restart needed: ");
  const { entries, state } = await client.configuration.show();
  expect(state.restartNeeded).toEqual(named);
  expect(entries.filter(({ binding, isPending }) => binding === "restart" && !isPending).map(({ key }) => key)).toEqual(
    [],
  );
});
