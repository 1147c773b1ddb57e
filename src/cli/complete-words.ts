import { existsSync } from "node:fs";
import { join } from "node:path";
import type { HaftClient } from "../client/create-client.ts";
import { type CommandEntry, COMMANDS, namesOf } from "./command-table.ts";
import type { OperandSpec, OptionSpecs } from "./command.ts";
import { GLOBAL_OPTIONS } from "./parse-arguments.ts";

interface CompletionPaths {
  folder: string;
  connect(): Promise<HaftClient>;
}

/** What may stand where the last word is being typed. Empty where the shell should offer files. */
export async function completeWords(words: readonly string[], paths: CompletionPaths): Promise<string[]> {
  const typed = words.at(-1) ?? "";
  const before = words.slice(0, -1).filter((word) => !word.startsWith("-"));
  const offer = (found: readonly string[]): string[] => found.filter((word) => word.startsWith(typed));
  const [first, second] = before;
  if (first === undefined) return offer(typed.startsWith("-") ? optionsOf(GLOBAL_OPTIONS) : namesOf());
  const entry = COMMANDS.find(({ path }) => path === first || path === `${first} ${second ?? ""}`);
  if (!entry)
    return offer(COMMANDS.filter(({ path }) => path.startsWith(`${first} `)).map(({ path }) => path.split(" ")[1]!));
  return offer(await completeCommand(entry, before.slice(entry.path.split(" ").length), words, paths));
}

async function completeCommand(
  entry: CommandEntry,
  operandsBefore: readonly string[],
  words: readonly string[],
  paths: CompletionPaths,
): Promise<string[]> {
  const command = await entry.load();
  const options: OptionSpecs = { ...command.options, ...GLOBAL_OPTIONS };
  const previous = words.at(-2) ?? "";
  const valued = previous.startsWith("--") ? options[previous.slice(2)] : undefined;
  if (valued && valued.type !== "flag") return [...(valued.oneOf ?? [])];
  if (words.at(-1)?.startsWith("-")) return optionsOf(options);
  const { operands = [] } = command;
  if (operands[0]?.completes === "tool" && operandsBefore.length > 0) return parametersOf(operandsBefore[0]!, paths);
  const operand = operands[operandsBefore.length] ?? operands.findLast(({ isRest }) => isRest);
  return operand ? completeOperand(operand, paths) : [];
}

async function completeOperand({ completes }: OperandSpec, { folder, connect }: CompletionPaths): Promise<string[]> {
  if (completes === "tool") return (await toolsIn(folder)).map(({ name }) => name);
  // Pressing a key makes no store where there is none.
  if (completes !== "approval" || !existsSync(join(folder, ".haft", "haft.db"))) return [];
  const { items } = await (await connect()).approvals.list({ state: "pending" });
  return items.map(({ id }) => id);
}

async function parametersOf(tool: string, { folder }: CompletionPaths): Promise<string[]> {
  const found = (await toolsIn(folder)).find(({ name, aliases }) => name === tool || aliases.includes(tool));
  const { properties = {} } = (found?.parameters.jsonSchema ?? {}) as { properties?: object };
  return Object.keys(properties).map((name) => `${name}=`);
}

/** Without the store and the configuration: this is asked at every press of a key. */
async function toolsIn(folder: string) {
  const { openWorkspace } = await import("../workspace.ts");
  const workspace = openWorkspace(folder);
  await workspace.close();
  return workspace.tools;
}

function optionsOf(options: OptionSpecs): string[] {
  return Object.keys(options).map((name) => `--${name}`);
}
