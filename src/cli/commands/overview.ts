import { existsSync } from "node:fs";
import { join } from "node:path";
import type { ApprovalInfo } from "../../contracts/approvals.ts";
import type { CallInfo } from "../../contracts/calls.ts";
import type { ApiClient } from "../../contracts/index.ts";
import type { McpServerInfo } from "../../contracts/mcp.ts";
import { RISK_LEVELS } from "../../core/call-summary.ts";
import { showSpan } from "../../core/clock.ts";
import { readVersion } from "../../io/files/own-folders.ts";
import { STATE_FILES, stateFolderOf } from "../../io/files/state-folder.ts";
import { defineCommand, type Invocation } from "../command.ts";
import { isApiError } from "../exit-codes.ts";
import { cut, showColumns } from "../layout.ts";
import { type Output, safe, safeLine } from "../output.ts";
import { showApprovalTable } from "../show-approval.ts";

const RECENT_MS = 3_600_000;
const MAX_SHOWN = 3;
const MAX_COUNTED = 100;
/** Narrower, commands stand alone. */
const MIN_SIDE_BY_SIDE = 60;

type OverviewClient = Pick<ApiClient, "approvals" | "calls" | "mcp" | "server">;

interface Overview {
  version: string;
  folder: string;
  /** Undefined if none runs. */
  server?: string;
  /** False if nothing was ever recorded here. */
  hasStore: boolean;
  approvals: ApprovalInfo[];
  /** How many approvals there are, also if they are not listed. */
  waiting: number;
  running: CallInfo[];
  failed: CallInfo[];
  /** Servers that should work and do not. Known to a running server only. */
  mcpDown: Pick<McpServerInfo, "name" | "state" | "error">[];
  /** Changed settings that the running server uses after a restart. */
  restartNeeded: readonly string[];
}

/** `haft` without arguments. Opens no MCP server, and creates nothing. */
export const overview = defineCommand({
  examples: [["haft", "what is going on here, and what to do next"]],
  uses: ["approvals", "calls", "mcp", "server"],
  async run({ output, ...invocation }) {
    const found = await lookAround(invocation, output);
    output.data(found, (shown) => showOverview(shown, output));
  },
});

type Place = Pick<Invocation, "folder" | "url" | "terminal"> & {
  connect(options: object): Promise<OverviewClient>;
};

async function lookAround({ folder, url, terminal, connect }: Place, output: Output): Promise<Overview> {
  const { env } = terminal;
  const found: Overview = {
    version: await readVersion(),
    folder,
    server: url ?? (await findUrl()),
    hasStore: true,
    approvals: [],
    waiting: 0,
    running: [],
    failed: [],
    mcpDown: [],
    restartNeeded: [],
  };
  if (found.server === undefined && !(await hasStore(folder, env))) return { ...found, hasStore: false };
  const client = await connect({ only: [], connectsMcp: false, runsJobs: false });
  const [approvals, running, failed, servers, info] = await Promise.all([
    client.approvals.list({ state: "pending", brief: true, limit: 500 }),
    client.calls.list({ status: ["running"], limit: MAX_COUNTED }),
    client.calls.list({ status: ["failed", "denied", "unknown"], from: Date.now() - RECENT_MS, limit: MAX_COUNTED }),
    found.server === undefined ? [] : listServers(client),
    found.server === undefined ? undefined : client.server.info(),
  ]);
  found.restartNeeded = info?.configuration?.restartNeeded ?? [];
  found.approvals = approvals.items;
  found.waiting = approvals.total ?? approvals.items.length;
  found.running = running.items;
  found.failed = failed.items;
  found.mcpDown = servers
    .filter(({ state }) => state !== "ready" && state !== "connecting" && state !== "stopped")
    .map(({ name, state, error }) => ({ name, state, error }));
  return found;

  async function findUrl(): Promise<string | undefined> {
    const { findRunningServer } = await import("../running-server.ts");
    return (await findRunningServer(folder, { env, warn: (text) => output.warn(safe(text)) }))?.url;
  }
}

async function listServers(client: OverviewClient): Promise<McpServerInfo[]> {
  try {
    return (await client.mcp.list()).items;
  } catch (error) {
    if (isApiError(error, "not_here")) return [];
    throw error;
  }
}

async function hasStore(folder: string, env: Invocation["terminal"]["env"]): Promise<boolean> {
  if (existsSync(join(stateFolderOf(folder, { env }), STATE_FILES.store))) return true;
  const { loadConfig } = await import("../../config/load-config.ts");
  return (await loadConfig({ folder, env })).value.store.url !== undefined;
}

function showOverview(found: Overview, { paint, columns }: Output): string[] {
  const { version, folder, server, approvals, waiting, running, failed, mcpDown, restartNeeded } = found;
  const lines = [`${paint("bold", `Haft ${version}`)} in ${safeLine(folder)}`, ""];
  const fact = (name: string, value: string): void => void lines.push(`  ${paint("dim", name.padEnd(10))} ${value}`);
  const detail = (text: string): void => void lines.push(cut(`             ${text}`, columns));
  fact("server", server === undefined ? "not running" : paint("green", server));
  if (restartNeeded.length > 0)
    detail(paint("yellow", `restart needed: ${safeLine(restartNeeded.join(", "))} changed`));
  if (!found.hasStore) fact("calls", "none yet");
  else {
    fact("approvals", approvals.length === 0 ? "nothing waits" : paint("yellow", `${waiting} waiting`));
    const worst = approvals.toSorted((one, other) => rankOf(other) - rankOf(one)).slice(0, MAX_SHOWN);
    const table = worst.length === 0 ? [] : showApprovalTable(worst, { paint, columns: columns - 2 });
    lines.push(...table.map((line) => `  ${line}`));
    if (waiting > MAX_SHOWN) lines.push(`  and ${waiting - MAX_SHOWN} more`);
    fact("running", running.length === 0 ? "no call" : counted(running.length, "call"));
    for (const call of running.slice(0, MAX_SHOWN)) detail(`${describeCall(call)}, for ${showSpan(sinceStart(call))}`);
    fact(
      "failures",
      failed.length === 0
        ? "none in the last hour"
        : paint("red", `${counted(failed.length, "call")} in the last hour`),
    );
    for (const call of failed.slice(0, MAX_SHOWN))
      detail(`${describeCall(call)}: ${call.errorCode ?? "failed"}, ${showSpan(Date.now() - call.requestedAt)} ago`);
  }
  for (const { name, state, error } of mcpDown)
    fact("MCP", cut(`${safeLine(name)} is ${state}${error === undefined ? "" : `: ${safeLine(error)}`}`, columns - 13));
  const isNarrow = columns < MIN_SIDE_BY_SIDE;
  const next = showColumns(
    nextCommands(found).map(([line, does]) => (isNarrow ? [`  ${line}`] : [`  ${line}`, does])),
    { paint, styles: ["cyan", "dim"], columns: isNarrow ? undefined : columns },
  );
  return [...lines, "", ...next];
}

function rankOf({ risk }: ApprovalInfo): number {
  return RISK_LEVELS.indexOf(risk.level);
}

function counted(count: number, what: string): string {
  return `${count >= MAX_COUNTED ? `${MAX_COUNTED} or more` : count} ${what}${count === 1 ? "" : "s"}`;
}

function describeCall({ toolName, subject }: CallInfo): string {
  return subject === undefined || subject.text === ""
    ? safeLine(toolName)
    : `${safeLine(toolName)} ${cut(safeLine(subject.text), 40)}`;
}

function sinceStart({ startedAt, requestedAt }: CallInfo): number {
  return Date.now() - (startedAt ?? requestedAt);
}

/** What to do next: the most urgent first. */
function nextCommands({
  server,
  hasStore: isUsed,
  approvals,
  failed,
  mcpDown,
}: Overview): (readonly [string, string])[] {
  const [down] = mcpDown;
  return [
    ...(approvals.length > 0 ? [["haft approvals watch", "answer calls that wait for approval"] as const] : []),
    ...(failed.length > 0 ? [["haft audit query --status failed --since 1h", "what failed"] as const] : []),
    ...(down ? [[`haft mcp doctor ${safeLine(down.name)}`, "what is wrong with it"] as const] : []),
    server === undefined
      ? (["haft serve", "start the server and the console"] as const)
      : (["haft login", "open the console in a browser"] as const),
    ...(isUsed ? [] : [["haft tools call write path=a.txt content=Hi", "try a call; it asks first"] as const]),
    ["haft tools list", "what can be called here"] as const,
    ["haft help", "all commands"] as const,
  ];
}
