import { basename } from "node:path";
import type { McpLockNow } from "../../contracts/mcp.ts";
import type { DefinitionLock, LockFinding } from "../../mcp/client/definition-lock.ts";
import { countOf } from "../../core/results/count-of.ts";
import { UsageError } from "../arguments.ts";
import { defineCommand, type Invocation } from "../command.ts";
import { CommandError, EXIT } from "../exit-codes.ts";
import { showColumns } from "../layout.ts";
import { waitForServers } from "../mcp-servers.ts";
import { type Output, safe, safeLine } from "../output.ts";
import { showDiff } from "../show-diff.ts";

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
    output.info("Read the differences. If they are wanted: haft mcp lock");
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
  if (state === "not_trusted") return `${safeLine(name)} was not started: nobody has trusted it.`;
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
  const driver = {
    name: "haft mcp verify",
    rules: Object.entries(rules).map(([id, text]) => ({ id, shortDescription: { text: `${text}.` } })),
  };
  const results = findings.map((finding) => ({
    ruleId: finding.rule,
    level: "error",
    message: { text: safe([finding.message, finding.difference ?? ""].join("\n").trimEnd()) },
    locations: [{ physicalLocation: { artifactLocation: { uri: file }, region: { startLine: lineOf(finding) } } }],
  }));
  const $schema = "https://json.schemastore.org/sarif-2.1.0.json";
  return { $schema, version: "2.1.0", runs: [{ tool: { driver }, results }] };
}
