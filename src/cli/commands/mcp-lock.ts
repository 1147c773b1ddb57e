import { basename } from "node:path";
import type { AgentName, FileChange } from "../../config/agent-servers.ts";
import type { McpLockNow } from "../../contracts/mcp.ts";
import type { DefinitionLock, LockFinding } from "../../mcp/client/definition-lock.ts";
import { countOf } from "../../core/results/count-of.ts";
import { UsageError } from "../arguments.ts";
import { defineCommand, type Invocation } from "../command.ts";
import { CommandError, EXIT } from "../exit-codes.ts";
import { showColumns } from "../layout.ts";
import { waitForServers } from "../mcp-servers.ts";
import { type Output, safeLine, sarifLog } from "../output.ts";
import { confirm, withYes } from "../prompts.ts";
import { showDiff } from "../show-diff.ts";
import { haftCommand, isInteractive } from "../terminal.ts";

export const lock = defineCommand({
  examples: [["haft mcp lock", "write haft.lock, and show what changed in it"]],
  notes: [
    "haft.lock has the definition of each tool of the folder's MCP servers with its hash, and what starts each server. Commit it:",
    "reviews show what a server changed, and `haft mcp verify` fails if a server offers something else.",
    "Dates in descriptions are written as <date>, so a server that names the day does not differ each day.",
  ],
  uses: ["mcp"],
  async run({ connect, folder, output, interrupted }) {
    const { lock: now, missing } = await askServers(await connect(), interrupted);
    const absent = missing.filter(({ state }) => state !== "stopped");
    if (absent.length > 0) {
      const message = `Nothing was written: ${absent.map(whyMissing).join(" ")}`;
      throw new CommandError(message, { exitCode: EXIT.failed, code: "unavailable", next: adviceFor(absent) });
    }
    const [{ readLock, writeLock }, { compareLocks }] = await Promise.all([
      import("../../capabilities/mcp-lock.ts"),
      import("../../mcp/client/definition-lock.ts"),
    ]);
    const before = (await readLock(folder))?.lock;
    // A server that is switched off keeps its entry.
    const kept = before?.servers.filter(({ name }) => missing.some((each) => each.name === name)) ?? [];
    const written: DefinitionLock = { version: 1, servers: [...now.servers, ...kept].sort(byName) };
    const findings = before ? await compareLocks(before, written) : [];
    const file = await writeLock(folder, written);
    const tools = written.servers.reduce((count, server) => count + server.tools.length, 0);
    output.data({ file, servers: written.servers.length, tools, findings }, () => [
      ...showFindings(findings, output),
      file,
    ]);
    const dated = written.servers
      .flatMap((each) => each.tools)
      .filter((each) => JSON.stringify(each).includes("<date>"));
    if (dated.length > 0) output.info(`Dates in ${countOf(dated.length, "definition")} are compared as <date>.`);
    const what = `${countOf(tools, "tool")} of ${countOf(written.servers.length, "server")}`;
    output.info(`Locked ${what}. Commit ${basename(file)}; \`haft mcp verify\` checks it.`);
  },
});

function byName(one: { name: string }, other: { name: string }): number {
  return one.name < other.name ? -1 : 1;
}

export const verify = defineCommand({
  examples: [
    ["haft trust --yes && haft mcp verify", "in CI: exit 1 if a server differs from haft.lock"],
    ["haft mcp verify --sarif > haft.sarif", "the findings as SARIF 2.1.0, with their lines in haft.lock"],
  ],
  options: { sarif: { type: "flag", about: "Print SARIF 2.1.0" } },
  notes: ["Starts the servers of the folder, asks for their tools, and calls none."],
  uses: ["mcp"],
  async run({ connect, folder, output, interrupted, options: { sarif } }) {
    const [{ readLock, LOCK_FILE }, { compareLocks, LOCK_RULES }] = await Promise.all([
      import("../../capabilities/mcp-lock.ts"),
      import("../../mcp/client/definition-lock.ts"),
    ]);
    const read = await readLock(folder);
    if (!read) throw new UsageError(`There is no ${LOCK_FILE} in ${folder}.`, "Write it: haft mcp lock");
    const { lock: now, missing } = await askServers(await connect(), interrupted);
    const isMissing = ({ name }: { name: string }): boolean => missing.some((each) => each.name === name);
    const asked = { ...read.lock, servers: read.lock.servers.filter((server) => !isMissing(server)) };
    const unasked = missing
      .filter(({ state }) => state !== "stopped")
      .map((each): LockFinding => ({ rule: "server-missing", server: each.name, message: whyMissing(each) }));
    const findings = [...unasked, ...(await compareLocks(asked, now))];
    const lineOf = ({ server, tool }: LockFinding): number => {
      const at = read.lock.servers.findIndex(({ name }) => name === server);
      const tools = read.lock.servers[at]?.tools ?? [];
      const inServer = tools.findIndex(({ name }) => name === tool);
      return (
        read.positionOf(["servers", ...(at < 0 ? [] : [at, ...(inServer < 0 ? [] : ["tools", inServer])])])?.line ?? 1
      );
    };
    if (sarif)
      output.raw(`${JSON.stringify(sarifOf(findings, { lineOf, file: LOCK_FILE, rules: LOCK_RULES }), null, 2)}\n`);
    else output.data({ ok: findings.length === 0, findings }, () => showFindings(findings, output));
    if (findings.length === 0) {
      output.info(`${countOf(now.servers.length, "server")} as in ${LOCK_FILE}.`);
      return EXIT.done;
    }
    const hint = "Read the differences. If they are wanted: haft mcp lock";
    output.info(unasked.length === 0 ? hint : adviceFor(missing.filter(({ state }) => state !== "stopped")));
    return EXIT.failed;
  },
});

async function askServers(
  client: Awaited<ReturnType<Invocation<never, "mcp">["connect"]>>,
  signal: AbortSignal,
): Promise<McpLockNow> {
  await waitForServers(client, signal);
  return client.mcp.lock();
}

type Missing = McpLockNow["missing"][number];

function whyMissing({ name, state, error }: Missing): string {
  if (state === "not_trusted") return `${safeLine(name)} was not started: ${error ?? "nobody has trusted it"}.`;
  const why = error === undefined ? state.replaceAll("_", " ") : safeLine(error).replace(/\.$/, "");
  return `${safeLine(name)} could not be asked for its tools: ${why}.`;
}

function adviceFor(missing: readonly Missing[]): string {
  const isTrust = missing.every(({ state }) => state === "not_trusted");
  return isTrust ? "Review and trust what they start: haft trust" : "`haft mcp doctor` shows more.";
}

function showFindings(findings: readonly LockFinding[], output: Output): string[] {
  const rows = findings.map(({ rule, server, tool, message }) => [
    rule,
    safeLine(server),
    safeLine(tool ?? ""),
    safeLine(message),
  ]);
  const table = showColumns(rows, { paint: output.paint, styles: ["red", "bold", "bold"] });
  const differences = findings.flatMap(({ server, tool, difference }) => {
    if (!difference) return [];
    return [
      "",
      output.paint("bold", safeLine(tool === undefined ? server : `${server}/${tool}`)),
      ...showDiff(difference, output),
    ];
  });
  return [...table, ...differences];
}

interface SarifSource {
  file: string;
  rules: Readonly<Record<string, string>>;
  lineOf(finding: LockFinding): number;
}

function sarifOf(findings: readonly LockFinding[], { file, rules, lineOf }: SarifSource): object {
  const results = findings.map((finding) => ({
    rule: finding.rule,
    level: "error" as const,
    message: [finding.message, finding.difference ?? ""].join("\n").trimEnd(),
    file,
    line: lineOf(finding),
  }));
  return sarifLog("haft mcp verify", rules, results);
}

export const AGENT_OPTIONS = {
  user: { type: "flag", about: "Only files of the user" },
  project: { type: "flag", about: "Only files of this folder" },
  yes: { type: "flag", about: "Write what is there now, without the question" },
} as const;

interface AgentImportCommand {
  agent: AgentName;
  options: { user: boolean; project: boolean; yes: boolean; replace: boolean };
  names: ReadonlyMap<string, string>;
}

/** Takes the servers of an agent behind Haft, after a person has seen what is written. */
export async function importAgent(
  { agent, options, names }: AgentImportCommand,
  {
    argv,
    folder,
    terminal,
    output,
    interrupted,
  }: Pick<Invocation, "argv" | "folder" | "terminal" | "output" | "interrupted">,
): Promise<number> {
  const { planAgentImport, writeAgentImport } = await import("../../config/agent-servers.ts");
  const { user, project, yes, replace: replaces } = options;
  const scopes = (["user", "project"] as const).filter((scope) =>
    user === project ? true : scope === "user" ? user : project,
  );
  const plan = await planAgentImport({
    ...{ folder, agent, scopes, replaces, names, user: { env: terminal.env } },
    commandFor: (scope) => [...haftCommand(), "mcp", ...(scope === "project" ? ["--folder", folder] : [])],
  });
  for (const note of plan.notes) output.warn(safeLine(note));
  if (plan.servers.length === 0) {
    output.data({ agent, servers: [], files: [] }, () => []);
    output.info(`${agent} has no MCP servers that are not behind Haft already.`);
    return EXIT.done;
  }
  const answered = await agreeTo(plan.changes, { argv, terminal, output, interrupted, yes });
  if (answered !== undefined) return answered;
  await writeAgentImport(plan, { env: terminal.env }, Date.now());
  const files = plan.changes.map(({ file }) => file);
  output.data({ agent, servers: plan.servers, files }, () => plan.servers.map(safeLine));
  output.info(
    `${countOf(plan.servers.length, "server")} of ${agent} behind Haft. To review and start them: haft trust`,
  );
  output.info(`To give them back: haft mcp restore ${agent}`);
  return EXIT.done;
}

export const restore = defineCommand({
  examples: [["haft mcp restore claude", "give Claude Code its MCP servers back"]],
  operands: [{ name: "AGENT" }],
  options: { yes: AGENT_OPTIONS.yes },
  notes: [
    "Undoes `haft mcp import AGENT`: the agent's files are as before, or have the old servers beside what was added since.",
    "The servers leave Haft's configuration.",
  ],
  async run({ argv, operands: [agent = ""], terminal, output, interrupted, options: { yes } }) {
    const { AGENTS, planRestore, writeRestore } = await import("../../config/agent-servers.ts");
    const name = AGENTS.find((each) => each === agent);
    if (!name) throw new UsageError(`"${agent}" is not an agent.`, `Agents: ${AGENTS.join(", ")}.`);
    const plan = await planRestore(name, { env: terminal.env });
    if (plan.records.length === 0)
      throw new UsageError(`No servers of ${name} were imported.`, `haft mcp import ${name}`);
    const answered = await agreeTo(plan.changes, { argv, terminal, output, interrupted, yes });
    if (answered !== undefined) return answered;
    await writeRestore(plan);
    const files = plan.changes.map(({ file }) => file);
    output.data({ agent: name, files }, () => files.map(safeLine));
    output.info(`${name} has its servers back.`);
    return EXIT.done;
  },
});

type Agreement = Pick<Invocation, "argv" | "terminal" | "output" | "interrupted"> & { yes: boolean };

/** Shows the difference of each file. Undefined if a person agrees to it; otherwise the exit code. */
export async function agreeTo(
  changes: readonly FileChange[],
  { argv, terminal, output, interrupted, yes }: Agreement,
): Promise<number | undefined> {
  const [{ unifiedDiff }, { hideSecrets }] = await Promise.all([
    import("../../io/files/unified-diff.ts"),
    import("../../core/secrets/mask-secrets.ts"),
  ]);
  for (const { file, before, after } of changes) {
    const { text } = await unifiedDiff({ before, after }, { path: file });
    for (const line of showDiff(hideSecrets(text), output)) output.info(line);
  }
  if (yes) return undefined;
  if (!isInteractive(terminal)) {
    output.notice(`Nothing was written yet. Read it, then run \`${withYes(argv)}\`.`);
    return EXIT.pending;
  }
  return (await confirm("Write this?", { terminal, signal: interrupted })) ? undefined : EXIT.pending;
}

export const remove = defineCommand({
  examples: [["haft mcp remove files", "disconnect a server, and remove it from .mcp.json"]],
  operands: [{ name: "NAME" }],
  notes: ["What was approved for it is forgotten."],
  uses: ["mcp"],
  async run({ connect, output, operands: [name = ""] }) {
    const client = await connect({ only: ["mcp"], connectsMcp: false });
    const { items } = await client.mcp.remove(name);
    output.data({ name, servers: items.map((each) => each.name) }, () => []);
    output.info(`Removed "${safeLine(name)}".`);
  },
});
