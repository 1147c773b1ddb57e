import type { ToolInfo } from "../../contracts/tools.ts";
import { isObject, type JsonSchema } from "../../schema/json-schema.ts";
import { UsageError } from "../arguments.ts";
import { readCallInput } from "../call-input.ts";
import { makeCall, showResult, StreamedOutput } from "../calls.ts";
import { callPolicy, defineCommand, MODE_OPTION, type OptionSpec } from "../command.ts";
import { EXIT } from "../exit-codes.ts";
import { waitForTools } from "../mcp-servers.ts";
import { showColumns } from "../layout.ts";
import { type Output, safe, safeLine, type Style } from "../output.ts";

const WAIT_OPTION = {
  type: "duration",
  value: "TIME",
  about: "How long to wait for MCP servers; default: 2s",
} as const satisfies OptionSpec;

const list = defineCommand({
  examples: [
    ["haft tools list", "every tool of this folder"],
    ["haft tools list --kind readonly", "only those that change nothing"],
    ["haft tools list --group group:fs --json", "a group, for a program"],
  ],
  options: {
    kind: { type: "text", value: "KIND", about: "Only of this kind", oneOf: ["readonly", "write", "execute"] },
    group: { type: "text", value: "GROUP", about: "group:fs, a category, or the origin of a tool" },
    wait: WAIT_OPTION,
  },
  uses: ["tools", "mcp"],
  async run({ connect, url, interrupted, output, options: { kind, group, wait } }) {
    const client = await connect();
    await waitForTools(client, { url, interrupted, output, maxMs: wait });
    const page = await client.tools.list({ kind, group });
    output.list(page, (tools) => showToolList(tools, output));
    if (page.items.length === 0) output.info("No tool matches. `haft tools list` shows all tools.");
  },
});

const describe = defineCommand({
  examples: [
    ["haft tools describe read", "its parameters, and how to call it"],
    ["haft tools describe exec --json", "with its schema, for a program"],
  ],
  operands: [{ name: "NAME", completes: "tool", listedBy: "haft tools list" }],
  uses: ["tools", "mcp"],
  async run({ connect, url, interrupted, output, operands: [name = ""] }) {
    const client = await connect({ tool: name });
    await waitForTools(client, { url, interrupted, output }, name);
    output.data(await client.tools.get(name), (tool) => showTool(tool, output));
  },
});

const search = defineCommand({
  examples: [
    ["haft tools search rename a file", "in your own words"],
    ["haft tools search 'run shell' --limit 3 --json", "the best three, for a program"],
  ],
  operands: [{ name: "WORDS", isRest: true }],
  options: {
    limit: { type: "number", value: "N", range: [1, 1000], about: "Max number of tools; default: 10" },
    wait: WAIT_OPTION,
  },
  uses: ["tools", "mcp"],
  async run({ connect, url, interrupted, output, operands, options: { limit = 10, wait } }) {
    const client = await connect();
    await waitForTools(client, { url, interrupted, output, maxMs: wait });
    const { items } = await client.tools.list({ search: operands.join(" ") });
    const found = items.slice(0, limit);
    output.list({ items: found }, (tools) => showToolList(tools, output));
    if (found.length > 0) return EXIT.done;
    output.info("Nothing found. `haft tools list` shows all tools.");
    return EXIT.failed;
  },
});

const forget = defineCommand({
  examples: [
    ["haft tools forget", "everything it has learned from your calls in this folder"],
    ["haft tools forget github_create_issue", "only about one tool"],
  ],
  operands: [{ name: "NAME", isOptional: true, completes: "tool" }],
  notes: ["`toolSearch.learnFrom` of the configuration sets what it learns from; `nothing` turns it off."],
  uses: ["tools"],
  async run({ connect, output, operands: [tool] }) {
    const client = await connect();
    output.data(await client.tools.forget({ tool }), ({ tools }) =>
      tools === 0
        ? ["Nothing was learned."]
        : [
            `Forgot what was learned about ${tools} ${tools === 1 ? "tool" : "tools"}.`,
            "Other processes that run in this folder may use it for up to a minute.",
          ],
    );
  },
});

const call = defineCommand({
  examples: [
    ["haft tools call read path=README.md limit:=20", "text with =, JSON with :="],
    ["haft tools call write path=note.txt content=@draft.txt", "a parameter from a file (or @- from stdin)"],
    ['echo \'{"command": "npm test"}\' | haft tools call exec -', "the whole input as JSON"],
    ["haft tools call exec command='npm test' --jsonl", "events as they happen, for a program"],
  ],
  operands: [
    { name: "NAME", completes: "tool" },
    { name: "KEY=VALUE", isRest: true, isOptional: true },
  ],
  options: {
    mode: MODE_OPTION,
    session: { type: "text", value: "NAME", about: "The session of the call" },
    timeout: { type: "duration", value: "TIME", about: "Stop the call after this time: 30s, 5m" },
    allow: {
      type: "list",
      value: "NAMES",
      about: "Only these tools, groups and patterns, for this call and the calls that it makes",
    },
    deny: { type: "list", value: "NAMES", about: "None of these tools" },
    id: { type: "text", value: "ID", about: "Id of the call; calls with the same id run once" },
    background: { type: "flag", about: "Run it as a job and print the job's id; a server or `haft worker` runs it" },
    raw: { type: "flag", about: "Print the text unchanged, for a pipe" },
  },
  notes: [
    "`exec` prints the output of the command as it comes, and exits with 5 if the command fails.",
    "At a terminal, you are asked to approve the call. Without one, it prints the approval's id and exits with 7.",
    "Control and invisible characters are escaped; --json and --raw keep them.",
    "`haft policy explain NAME KEY=VALUE…` shows what would happen without running it.",
  ],
  uses: ["calls", "approvals", "questions", "mcp"],
  async run({ connect, url, terminal, output, interrupted, operands: [tool = "", ...words], options }) {
    const { mode, session, timeout, id, raw, allow, deny, background } = options;
    if (raw && terminal.stdout.isTTY)
      throw new UsageError("--raw is not for a terminal.", "Redirect it to a file or a pipe.");
    const input = await readCallInput(words, terminal);
    // A job that this process started would be cut off when it ends.
    const client = await connect({ tool, runsJobs: false });
    await waitForTools(client, { url, interrupted, output }, tool);
    const request = {
      tool,
      input,
      mode,
      session,
      timeoutMs: timeout,
      id,
      policy: callPolicy(allow, deny),
      background: background || undefined,
      waitForEnd: background ? undefined : true,
    };
    const streamed = output.format === "text" && !raw ? new StreamedOutput(output) : undefined;
    const result = await makeCall(client, request, { terminal, output, interrupted, streamed });
    const exitCode =
      output.format === "jsonl"
        ? showResult(result, { ...output, data: () => undefined })
        : showResult(result, output, { raw, streamed });
    if (interrupted.aborted) return EXIT.interrupted;
    if (result.status === "completed" && terminal.stderr.isTTY && output.format === "text") {
      const { canUndo } = await client.calls.get(result.callId);
      if (canUndo) output.info(output.paintStderr("dim", `haft undo ${result.callId}   undoes it`));
    }
    return exitCode;
  },
});

export const commands = { list, describe, search, call, forget };

const KIND_STYLES: Readonly<Record<string, Style>> = { readonly: "green", write: "yellow", execute: "red" };

function showToolList(tools: readonly ToolInfo[], { paint, columns }: Output): string[] {
  const rows = tools.map(({ name, kind, description, verdict }) => [
    safeLine(name),
    kind,
    `${verdict && verdict.decision !== "allow" ? `(${verdict.decision}) ` : ""}${safeLine(description.short)}`,
  ]);
  const styleOf = (cell: string, column: number): Style | undefined => (column === 1 ? KIND_STYLES[cell] : undefined);
  return showColumns(rows, { paint, styles: ["bold"], styleOf, columns });
}

function showTool(tool: ToolInfo, { paint }: Output): string[] {
  const { name, kind, category, aliases, description, parameters, permission, verdict } = tool;
  const facts = [
    ["  kind", kind],
    ["  category", safeLine(category)],
    ...(aliases.length > 0 ? [["  aliases", aliases.map(safeLine).join(", ")]] : []),
    ...(permission ? [["  permission", permission]] : []),
    ...(verdict ? [["  policy", `${verdict.decision}: ${safeLine(verdict.reason)}`]] : []),
    ...labelFacts(tool),
    ["  from", originOf(tool)],
  ];
  return [
    `${paint("bold", safeLine(name))}  ${safe(description.short)}`,
    ...(description.long ? ["", safe(description.long)] : []),
    ...[...(description.usageNotes ?? []), ...(description.important ?? [])].map((note) => `- ${safe(note)}`),
    "",
    ...showExamples(tool, paint),
    paint("bold", "Parameters"),
    ...showParameters(parameters, paint),
    "",
    ...showColumns(facts, { paint, styles: ["dim"] }),
  ];
}

/** What provenance knows of its values: which arguments decide something, and who makes the fields of its results. */
function labelFacts({ labels, authority, trust }: ToolInfo): string[][] {
  const pairs = (roles: Readonly<Record<string, string>>): string =>
    Object.entries(roles)
      .filter(([, role]) => role !== "none" && role !== "other")
      .map(([path, role]) => `${safeLine(path)}: ${safeLine(role)}`)
      .join(", ");
  const facts = [
    ["  labels", labels.join(", ")],
    ["  authority", pairs(authority)],
    ["  results", pairs(trust)],
  ];
  return facts.filter(([, value]) => value !== "");
}

function originOf({ origin }: ToolInfo): string {
  if (origin.type === "mcp") return `MCP server ${safeLine(origin.server)}`;
  return origin.type === "plugin" ? `plugin ${safeLine(origin.plugin)}` : origin.type;
}

function showExamples({ name, description: { examples = [] } }: ToolInfo, paint: Output["paint"]): string[] {
  const lines = examples.flatMap(({ input, description }) => [
    ...(description ? [`  ${paint("dim", `# ${safeLine(description)}`)}`] : []),
    `  ${paint("cyan", `haft tools call ${safeLine(name)} ${asArguments(input)}`.trimEnd())}`,
  ]);
  return lines.length === 0 ? [] : [...lines, ""];
}

/** An input as typed in a shell. */
function asArguments(input: unknown): string {
  return Object.entries(isObject(input) ? input : {})
    .map(([key, value]) =>
      quote(
        typeof value === "string" && !value.startsWith("@") ? `${key}=${value}` : `${key}:=${JSON.stringify(value)}`,
      ),
    )
    .map(safeLine)
    .join(" ");
}

function quote(word: string): string {
  return /^[\w./:=@%+-]+$/.test(word) ? word : `'${word.replaceAll("'", `'\\''`)}'`;
}

function showParameters(schema: JsonSchema, paint: Output["paint"]): string[] {
  const { properties = {}, required = [] } = schema as {
    properties?: Record<string, unknown>;
    required?: readonly string[];
  };
  const rows = Object.entries(properties).map(([name, property]) => {
    const { type, description = "", enum: allowed, default: fallback } = isObject(property) ? property : {};
    const about = [
      typeof description === "string" ? description.split("\n")[0] : "",
      Array.isArray(allowed) ? `One of: ${allowed.map(String).join(", ")}` : "",
      fallback === undefined ? "" : `Default: ${JSON.stringify(fallback)}`,
    ];
    const isRequired = required.includes(name);
    return [
      `  ${safeLine(name)}`,
      `${[type ?? "any"].flat().join("|")}${isRequired ? "" : "?"}`,
      safeLine(about.filter(Boolean).join(" ")),
    ];
  });
  return rows.length === 0 ? ["  none"] : showColumns(rows, { paint, styles: ["cyan", "dim"] });
}
