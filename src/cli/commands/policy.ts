import type { PermissionTest } from "../../config/config-schema.ts";
import type { ApiClient } from "../../contracts/index.ts";
import { UsageError } from "../arguments.ts";
import { readCallInput } from "../call-input.ts";
import { defineCommand, MODE_OPTION } from "../command.ts";
import { EXIT, isApiError } from "../exit-codes.ts";
import { showColumns } from "../layout.ts";
import { waitForTools } from "../mcp-servers.ts";
import { safeLine, type Style } from "../output.ts";

const STYLES: Readonly<Record<string, Style>> = { allow: "green", ask: "yellow", deny: "red", "-": "dim" };

const lint = defineCommand({
  examples: [["haft policy lint", "rules that do nothing, or not what they seem to do; exits with 1 if it finds one"]],
  notes: ["Rules of files that are not trusted yet are checked too."],
  uses: ["policy"],
  async run({ connect, output }) {
    const client = await connect({ connectsMcp: false });
    const page = await client.policy.lint();
    output.list(page, (findings) =>
      findings.map(({ level, message, rule, origin, line }) => {
        const where = [origin, line].filter((part) => part !== undefined).join(":");
        const what = rule === undefined ? "" : `${safeLine(rule)}: `;
        return `${output.paint(level === "error" ? "red" : "yellow", level)}  ${what}${safeLine(message)}${where ? output.paint("dim", `  ${safeLine(where)}`) : ""}`;
      }),
    );
    if (page.items.length === 0) output.info("No mistakes found.");
    return page.items.length > 0 ? EXIT.failed : EXIT.done;
  },
});

const explain = defineCommand({
  examples: [
    ["haft policy explain exec command='git push'", "what would happen, and which rule decides; nothing runs"],
    ["haft policy explain write path=a.txt content=x --mode plan", "in another mode"],
  ],
  operands: [
    { name: "NAME", completes: "tool" },
    { name: "KEY=VALUE", isRest: true, isOptional: true },
  ],
  options: {
    mode: MODE_OPTION,
    session: { type: "text", value: "NAME", about: "Include what was approved in this session" },
  },
  notes: ["Exits with 0 for every decision; `--json` has the decision for a program."],
  uses: ["policy", "mcp"],
  async run({ connect, terminal, output, url, interrupted, operands: [tool = "", ...words], options }) {
    const { mode, session } = options;
    const input = await readCallInput(words, terminal);
    const client = await connect({ tool });
    await waitForTools(client, { url, interrupted, output }, tool);
    const explained = await client.policy.explain({ tool, input, mode, session });
    output.data(explained, ({ verdict, steps }) => [
      `${output.paint(STYLES[verdict.decision] ?? "dim", verdict.decision)}: ${safeLine(verdict.reason)}`,
      ...(verdict.rule === undefined || verdict.reason.includes(verdict.rule)
        ? []
        : [`  rule ${safeLine(verdict.rule)}${verdict.origin === undefined ? "" : ` in ${safeLine(verdict.origin)}`}`]),
      "",
      ...showColumns(
        steps.map(({ by, decision, reason, rule, origin }) => [
          `  ${safeLine(by)}`,
          decision === "none" ? "-" : decision,
          safeLine([reason, ...[rule, origin].filter((part) => part && !reason.includes(part))].join("  ")),
        ]),
        { paint: output.paint, styleOf: (cell, column) => (column === 1 ? STYLES[cell] : undefined) },
      ),
    ]);
  },
});

const test = defineCommand({
  examples: [
    [
      "haft policy test",
      "the examples under permissions.tests of this folder's configuration; exits with 1 if one fails",
    ],
    ["haft policy test policy-tests.yml", "a list of { tool, input, expect } from files"],
  ],
  operands: [{ name: "FILE", isRest: true, isOptional: true, completes: "file" }],
  uses: ["policy"],
  async run({ connect, terminal, output, operands, folder }) {
    const tests = await readPolicyTests(operands, { folder, cwd: terminal.cwd, env: terminal.env });
    const client = await connect({ connectsMcp: tests.some(({ tool }) => tool.startsWith("mcp__")) });
    const items = [];
    for (const each of tests) items.push(await judge(client, each));
    output.list({ items }, (outcomes) =>
      outcomes.map(({ name, holds, expect, decision, reason }) => {
        const mark = holds ? output.paint("green", "ok  ") : output.paint("red", "FAIL");
        return `${mark}  ${safeLine(name)}${holds ? "" : `\n      expected ${expect}, but: ${decision ?? "cannot be judged"}: ${safeLine(reason)}`}`;
      }),
    );
    const failed = items.filter(({ holds }) => !holds).length;
    output.info(
      tests.length === 0
        ? "There are no examples. Write some under permissions.tests."
        : `${tests.length - failed} of ${tests.length} pass.`,
    );
    return failed > 0 ? EXIT.failed : EXIT.done;
  },
});

export const commands = { lint, explain, test };

interface Outcome {
  name: string;
  holds: boolean;
  expect: PermissionTest["expect"];
  decision?: PermissionTest["expect"];
  reason: string;
}

/** The server judges, so the rules that it uses are tested. */
async function judge(
  client: Pick<ApiClient, "policy">,
  { name, tool, input = {}, mode, expect }: PermissionTest,
): Promise<Outcome> {
  const title = name ?? `${expect} ${tool} ${JSON.stringify(input)}`;
  try {
    const { verdict } = await client.policy.explain({ tool, input, mode });
    return {
      name: title,
      holds: verdict.decision === expect,
      expect,
      decision: verdict.decision,
      reason: verdict.reason,
    };
  } catch (error) {
    if (!isApiError(error) || error.status === 0 || error.status === 401 || error.code === "forbidden") throw error;
    return { name: title, holds: false, expect, reason: [error.message, error.next].filter(Boolean).join(" ") };
  }
}

interface TestPaths {
  folder: string;
  cwd: string;
  env: Readonly<Record<string, string | undefined>>;
}

/** From the files, or from the configuration of the folder if there are none. */
async function readPolicyTests(
  files: readonly string[],
  { folder, cwd, env }: TestPaths,
): Promise<readonly PermissionTest[]> {
  if (files.length === 0) {
    const { loadConfig } = await import("../../config/load-config.ts");
    const { sources } = await loadConfig({ folder, env });
    return sources.flatMap(({ value }) => value.permissions?.tests ?? []);
  }
  const { resolve } = await import("node:path");
  return (await Promise.all(files.map((file) => readTestFile(resolve(cwd, file))))).flat();
}

async function readTestFile(file: string): Promise<readonly PermissionTest[]> {
  const [{ readFile }, { parseConfigText }, { configSchema }] = await Promise.all([
    import("node:fs/promises"),
    import("../../config/config-text.ts"),
    import("../../config/config-schema.ts"),
  ]);
  const text = await readFile(file, "utf8").catch((error: NodeJS.ErrnoException) => {
    throw new UsageError(`${file} cannot be read (${error.code}).`);
  });
  const { value } = await parseConfigText(text, file);
  const tests = Array.isArray(value) ? value : (Object(value) as { tests?: unknown }).tests;
  const { success, data, error } = configSchema.safeParse({ permissions: { tests } });
  if (!success) {
    const [issue] = error.issues;
    throw new UsageError(
      `${file} is not a list of examples: ${issue?.path.slice(2).join(".") ?? ""} ${issue?.message ?? ""}`,
      "Write a list of { tool, input, expect: allow|ask|deny }.",
    );
  }
  return data.permissions?.tests ?? [];
}
