import { constants, existsSync } from "node:fs";
import { access, mkdtemp, rm } from "node:fs/promises";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { countOf } from "../../core/results/count-of.ts";
import { errorMessage } from "../../core/error.ts";
import type { ImportedSetting } from "../../config/foreign/settings-reader.ts";
import type { LoadedConfig } from "../../config/load-config.ts";
import { showProblem } from "../../config/problems.ts";
import type { ApiClient } from "../../contracts/index.ts";
import type { ToolPermission } from "../../core/tool.ts";
import type { HaftHost } from "../../host.ts";
import { systemClock } from "../../core/clock.ts";
import { findPackage } from "../../io/files/own-folders.ts";
import type { RefusalReporting } from "../../io/sandbox/refusals.ts";
import { findUnmigratedState, STATE_FILES, stateFolderOf } from "../../io/files/state-folder.ts";
import { defineCommand } from "../command.ts";
import { EXIT } from "../exit-codes.ts";
import { showColumns } from "../layout.ts";
import { safeLine, type Style } from "../output.ts";
import { showImported } from "../show-imported.ts";

export interface Finding {
  what: string;
  state: "ok" | "warning" | "broken";
  found: string;
  next?: string;
}

type Check = Omit<Finding, "what">;
type Environment = Readonly<Record<string, string | undefined>>;

type DoctorClient = Pick<ApiClient, "server" | "policy">;

interface DoctorOptions {
  folder: string;
  env: Environment;
  /** To the server of this folder, if one runs. */
  connect(): Promise<DoctorClient>;
}

const STYLES: Readonly<Record<string, Style>> = {
  ok: "green",
  warning: "yellow",
  broken: "red",
};
const MIN_NODE_VERSION = [20, 19] as const;

export const doctor = defineCommand({
  examples: [
    ["haft doctor", "what works here, what does not, and what to do; exits with 1 if something is broken"],
    ["haft doctor --json", "for a bug report"],
  ],
  uses: ["server", "policy"],
  notes: [
    "It opens the folder like `haft serve`, without its MCP servers, and says why if that fails. It also lists what happens to",
    "each setting of other programs: Claude Code and Desktop, Codex, Cursor, Gemini, OpenCode and VS Code.",
  ],
  async run({ folder, url, terminal, output, connect }) {
    const report =
      url === undefined
        ? await checkEverything({ folder, env: terminal.env, connect })
        : { items: await checkServer(await connect()), imported: [] };
    const { items, imported } = report;
    output.list(report, () => [
      ...showColumns(
        items.map(({ what, state, found, next }) => [
          state,
          what,
          safeLine(next === undefined ? found : `${found} ${next}`),
        ]),
        {
          paint: output.paint,
          columns: output.columns,
          styleOf: (cell, column) => (column === 0 ? STYLES[cell] : undefined),
        },
      ),
      ...showImported(imported, output),
    ]);
    return items.some(({ state }) => state === "broken") ? EXIT.failed : EXIT.done;
  },
});

/** Each part is checked on its own: a broken one does not hide the others. Leaves nothing behind. */
async function checkEverything(options: DoctorOptions): Promise<{ items: Finding[]; imported: ImportedSetting[] }> {
  let config: LoadedConfig | undefined;
  let imported: ImportedSetting[] = [];
  const { findRunningServer } = await import("../running-server.ts");
  const running = await findRunningServer(options.folder, { env: options.env, warn: () => undefined });
  const findings = [
    await check("Node", () => checkNode(process.versions.node)),
    ...checkSystem(process.platform),
    await check("workspace", () => checkWorkspace(options.folder)),
    await check("configuration", async () => {
      const { loadConfig } = await import("../../config/load-config.ts");
      config = await loadConfig(options);
      imported = config.imported;
      return checkConfig(config);
    }),
    ...(await checkHost(options, config, (found) => (imported = found))),
    await check("state folder", () => checkStateFolder(options)),
    await check("store", () => checkStore(options, config?.value.store.url)),
    ...(running
      ? (await checkServer(await options.connect())).filter(({ what }) => what !== "store")
      : [await check("port", () => checkPort(config?.value.server.port ?? 4117))]),
    await check("console", checkConsole),
    await check("shell", () => checkShell(options)),
    await check("terminal", checkPty),
    ...(await checkSandbox(config)),
    ...(await checkHooks(options)),
  ];
  if (config) {
    const known = config;
    if (!running) findings.push(...checkDefaultPermission(config.value.permissions.defaultPermission));
    findings.push(await check("browser", () => checkBrowser(known, options.env)));
    findings.push(await check("web search", () => checkWebSearch(known, options.env)));
    findings.push(...(await checkChannels(config, options.env)));
  }
  return { items: findings, imported };
}

/** Opens the folder as every other command does: what makes that fail is broken. */
async function checkHost(
  options: DoctorOptions,
  config: LoadedConfig | undefined,
  onImported: (imported: ImportedSetting[]) => void,
): Promise<Finding[]> {
  // The reason is known already.
  if (!config) return [];
  const { folder, env } = options;
  const warnings: string[] = [];
  const finding = await check("host", async () => {
    const stateFolder = stateFolderOf(folder, { env });
    if (findUnmigratedState(folder, stateFolder) !== undefined) {
      const { configuredRules } = await import("../../capabilities/runtime-options.ts");
      configuredRules(config);
      return { state: "ok", found: "not tried: the first use moves the state of an earlier version" };
    }
    const temporary = existsSync(stateFolder) ? undefined : await mkdtemp(join(tmpdir(), "haft-doctor-"));
    try {
      const [{ openHaft }, { otherRules }, { listImported }] = await Promise.all([
        import("../../host.ts"),
        import("../../capabilities/base.ts"),
        import("../show-imported.ts"),
      ]);
      const host = await openHaft(folder, {
        env,
        stateFolder: temporary,
        isShortLived: true,
        runsJobs: false,
        connectsMcp: false,
        onWarning: (warning) => warnings.push(warning),
      });
      try {
        onImported(await listImported(host));
        await checkServing(host);
        warnings.push(...(await otherRules(host.store.owners, host.haft.policy.rules)));
        return { state: "ok", found: `opens, with ${countOf(host.haft.tools.list().length, "tool")}` };
      } finally {
        await host.close();
      }
    } finally {
      if (temporary !== undefined) await rm(temporary, { recursive: true, force: true });
    }
  });
  const known = new Set(config.warnings.map(showProblem));
  const others = warnings.filter((warning) => !known.has(warning) && !warning.includes("haft trust"));
  return [finding, ...others.map((found): Finding => ({ what: "host", state: "warning", found }))];
}

/** What `haft serve` checks before it listens, except whether the port is free. */
async function checkServing(host: HaftHost): Promise<void> {
  const [{ openServerTokens }, { requireToken }] = await Promise.all([
    import("../start-server.ts"),
    import("../../server/http-server.ts"),
  ]);
  const { token, host: address = "127.0.0.1" } = host.config.value.server;
  await requireToken(address, (await openServerTokens(host, token)).tokens);
}

/** Nothing to report on Linux, where Haft is tested. */
export function checkSystem(platform: NodeJS.Platform): Finding[] {
  if (platform === "linux") return [];
  const known: Partial<Record<NodeJS.Platform, Check>> = {
    win32: {
      state: "warning",
      found: "Windows is not supported: tools expect paths with slashes.",
      next: "Use WSL 2.",
    },
    darwin: {
      state: "warning",
      found: "macOS is not tested.",
      next: "docs/platforms.md lists what is expected to work.",
    },
  };
  const other: Check = { state: "warning", found: `${platform} is not tested.` };
  return [{ what: "system", ...(known[platform] ?? other) }];
}

/** Nothing to report if undeclared tools ask. */
export function checkDefaultPermission(defaultPermission: ToolPermission | undefined): Finding[] {
  if (defaultPermission !== "auto") return [];
  const found = 'permissions.defaultPermission is "auto": tools that do not say what they do run without asking.';
  return [{ what: "approval", state: "warning", found, next: "Declare them, then remove the setting." }];
}

async function checkServer(client: DoctorClient): Promise<Finding[]> {
  const { version, parts, warnings, workspace = "", store } = await client.server.info();
  return [
    { what: "server", state: "ok", found: `Haft ${version} in ${workspace}, with ${parts.join(", ")}` },
    { what: "store", state: "ok", found: store ? `${store.kind} ${store.place ?? ""}` : "unknown" },
    ...(parts.includes("policy") ? checkDefaultPermission((await client.policy.show()).defaultPermission) : []),
    ...warnings.map((found): Finding => ({ what: "server", state: "warning", found })),
  ];
}

async function check(what: string, work: () => Check | Promise<Check>): Promise<Finding> {
  try {
    return { what, ...(await work()) };
  } catch (error) {
    return { what, state: "broken", found: errorMessage(error) };
  }
}

function checkNode(version: string): Check {
  const [major = 0, minor = 0] = version.split(".").map(Number);
  if (major > MIN_NODE_VERSION[0] || (major === MIN_NODE_VERSION[0] && minor >= MIN_NODE_VERSION[1]))
    return { state: "ok", found: version };
  return {
    state: "broken",
    found: `${version} is too old.`,
    next: `Install Node ${MIN_NODE_VERSION.join(".")} or later.`,
  };
}

async function checkWorkspace(folder: string): Promise<Check> {
  await access(folder, constants.R_OK);
  return access(folder, constants.W_OK).then(
    () => ({ state: "ok" as const, found: folder }),
    () => ({
      state: "warning" as const,
      found: `${folder} is not writable: tools cannot change files.`,
      next: "To change that, give this user the permission, or use another folder with -C.",
    }),
  );
}

function checkConfig({ sources, warnings, untrusted }: LoadedConfig): Check {
  const files = sources.flatMap(({ file }) => file ?? []);
  const found = files.length === 0 ? "none; all settings have their defaults" : files.join(", ");
  if (untrusted.length > 0) {
    return {
      state: "warning",
      found: `${found}; ${countOf(untrusted.length, "setting is", "settings are")} not trusted.`,
      next: "See them with `haft trust`.",
    };
  }
  if (warnings.length === 0) return { state: "ok", found };
  return { state: "warning", found: `${found}; ${warnings.map(({ message }) => message).join(" ")}` };
}

async function checkStateFolder({ folder, env }: DoctorOptions): Promise<Check> {
  const stateFolder = stateFolderOf(folder, { env });
  const old = findUnmigratedState(folder, stateFolder);
  if (old !== undefined) return { state: "ok", found: `${stateFolder}; the first use copies ${old} into it` };
  if (!existsSync(stateFolder)) {
    let parent = dirname(stateFolder);
    while (!existsSync(parent)) parent = dirname(parent);
    await access(parent, constants.W_OK);
    return { state: "ok", found: `${stateFolder} is created at the first use` };
  }
  return access(stateFolder, constants.W_OK).then(
    () => ({ state: "ok" as const, found: stateFolder }),
    () => ({
      state: "broken" as const,
      found: `${stateFolder} is not writable.`,
      next: "Give this user the permission, or set HAFT_STATE_DIR to another folder.",
    }),
  );
}

async function checkStore({ folder, env }: DoctorOptions, url: string | undefined): Promise<Check> {
  const stateFolder = stateFolderOf(folder, { env });
  const file = join(stateFolder, STATE_FILES.store);
  if (url === undefined && !existsSync(file)) return { state: "ok", found: `${file} is created at the first use` };
  const { openStore } = await import("../../store/store.ts");
  const store = await openStore(url === undefined ? { stateFolder } : { url });
  try {
    const { ok, problems, head } = await store.audit.verify(undefined, { sinceCheckpoint: true });
    if (!ok)
      return {
        state: "broken",
        found: `The audit log was changed: ${problems[0]?.message}`,
        next: "Restore the store from a backup, or find out who changed it.",
      };
    const state = store.warnings.length > 0 ? "warning" : "ok";
    return {
      state,
      found: [
        `${store.database.engine}, ${countOf(head.count, "entry", "entries")}, all unchanged`,
        ...store.warnings,
      ].join("; "),
    };
  } finally {
    await store.close();
  }
}

function checkPort(port: number): Promise<Check> {
  return new Promise((resolve) => {
    const server = createServer();
    const next = "Another Haft may use it; `haft serve --port 0` uses any free one.";
    server.once("error", ({ code }: NodeJS.ErrnoException) =>
      resolve({ state: "warning", found: `${port} is not available (${code}).`, next }),
    );
    server.listen(port, "127.0.0.1", () => server.close(() => resolve({ state: "ok", found: `${port} is free` })));
  });
}

async function checkConsole(): Promise<Check> {
  const folder = join((await findPackage()) ?? "", "dist", "console");
  if (existsSync(join(folder, "index.html"))) return { state: "ok", found: folder };
  return { state: "warning", found: "not built.", next: "`npm run build` builds it; the rest works without it." };
}

async function checkShell({ env }: DoctorOptions): Promise<Check> {
  const { findShell } = await import("../../io/shell/find-program.ts");
  const { path } = findShell(env as Record<string, string>);
  return { state: "ok", found: path };
}

async function checkPty(): Promise<Check> {
  try {
    await import("@lydell/node-pty");
    return { state: "ok", found: "commands can use a terminal" };
  } catch {
    return {
      state: "warning",
      found: "commands cannot use a terminal here.",
      next: "Install @lydell/node-pty for this platform.",
    };
  }
}

/** Runs the self-tests, one line for each engine that was tried. */
async function checkSandbox(config: LoadedConfig | undefined): Promise<Finding[]> {
  const { mode = "auto", autoAllow = false } = config?.value.sandbox ?? {};
  const what = "sandbox";
  const { commandsConfinedBy } = config ?? {};
  if (mode === "off" && commandsConfinedBy === undefined) {
    const found = "commands are not confined: disabled by sandbox.mode. Every command needs approval or an allow rule";
    return [{ what, state: "warning", found }];
  }
  const { machineEngines } = await import("../../io/sandbox/self-test.ts");
  const { look, work, tests, refusalReporting } = machineEngines();
  const missing = mode === "required" ? "broken" : "warning";
  const summary: Finding = {
    what,
    state: look && work ? "ok" : missing,
    found:
      look && work
        ? `commands without approval are confined by ${look.name}, others by ${work.name}${autoAllow ? ", and run without asking" : ""}`
        : commandsConfinedBy === undefined
          ? "this machine cannot confine commands, so every command needs approval"
          : `this machine cannot confine commands, and ${commandsConfinedBy} wants that, so no command runs`,
  };
  const questions: Finding[] = refusalReporting
    ? [{ what: "sandbox questions", ...describeQuestions(refusalReporting) }]
    : [];
  return [
    summary,
    ...questions,
    ...tests.map(({ profile, engine, problem }): Finding => ({
      what: `sandbox ${profile}`,
      state: problem === undefined ? "ok" : "warning",
      found: `${engine}: ${problem ?? "passed its self-test (secret, write, mode, socket, signal: all refused)"}`,
    })),
  ];
}

/** How a command that no rule decides is judged. */
function describeQuestions(reporting: RefusalReporting): Check {
  return reporting.isReported
    ? { state: "ok", found: "a command that no rule decides runs in a copy first, and asks about its effects" }
    : {
        state: "warning",
        found: `the text of a command decides whether it asks, because ${reporting.why}`,
      };
}

/** Only looks for the program; does not start it. */
export async function checkBrowser(config: LoadedConfig, env: Environment): Promise<Check> {
  if (config.value.browser.enabled === false) return { state: "ok", found: "disabled" };
  const { openBrowserProgram } = await import("../../capabilities/browser.ts");
  const { program = "", confined, problem } = await openBrowserProgram(config, { env, clock: systemClock }).status();
  if (problem !== undefined) return { state: "warning", found: "not ready:", next: problem };
  if (confined) return { state: "ok", found: program };
  return {
    state: "warning",
    found: `${program} runs without its own sandbox.`,
    next: "Run Haft as another user than root, or leave browser.confined as it is.",
  };
}

/** The providers in their order; sends no request. */
export async function checkWebSearch({ value: { tools } }: LoadedConfig, env: Environment): Promise<Check> {
  const { searchChain } = await import("../../tools/web/search-providers.ts");
  const chain = searchChain(tools.webSearch, env);
  const ready = chain.filter(({ missing }) => missing === undefined).map(({ provider }) => provider.name);
  const missing = chain.flatMap((link) => link.missing ?? []);
  const found = ready.length === 0 ? "no provider is ready." : ready.join(", then ");
  if (missing.length === 0) return { state: "ok", found };
  return { state: "warning", found, next: missing.join(" ") };
}

/** Each hook that was installed, with a call that it has to deny. */
async function checkHooks({ env, folder }: DoctorOptions): Promise<Finding[]> {
  const { installedHooks, proveHook, proveNative } = await import("../hook-setup.ts");
  const findings: Finding[] = [];
  for (const hook of installedHooks(env)) {
    findings.push(
      await check(`hook ${hook.agent}`, async () => {
        const problem = await proveHook(hook, { env, folder });
        const next = `haft hook install ${hook.agent} --${hook.scope}`;
        if (problem !== undefined) return { state: "broken", found: `${hook.file}: ${problem}`, next };
        const slow = await proveNative(hook, env);
        return { state: "ok", found: slow === undefined ? `${hook.file} denies` : `${hook.file} denies. ${slow}` };
      }),
    );
  }
  return findings;
}

/** The settings and packages of each message channel; sends nothing. */
async function checkChannels(config: LoadedConfig, env: Environment): Promise<Finding[]> {
  const { openMessages } = await import("../../capabilities/messages.ts");
  const messages = openMessages(config, { env, clock: systemClock });
  try {
    const findings: Finding[] = [];
    for (const { name, type, targets, problem } of messages.channels) {
      const what = `channel ${name}`;
      const wrong = problem ?? (type === "email" ? await missingMailer() : undefined);
      const found = `${type} to ${[...targets.keys()].join(", ") || "nobody"}`;
      findings.push(
        wrong === undefined
          ? { what, state: "ok", found }
          : { what, state: "warning", found: `${found} is not ready:`, next: wrong },
      );
    }
    return findings;
  } finally {
    await messages.close();
  }
}

async function missingMailer(): Promise<string | undefined> {
  const { loadMailer } = await import("../../tools/message/channels/email.ts");
  return loadMailer().then(
    () => undefined,
    (error: Error) => error.message,
  );
}
