import type { ApiClient } from "../../contracts/index.ts";
import { GLOBAL_OPTIONS, UsageError } from "../arguments.ts";
import { type CommandEntry, COMMANDS, namesOf } from "../command-table.ts";
import { defineCommand, type OperandSpec, type OptionSpecs } from "../command.ts";
import type { Terminal } from "../terminal.ts";

/** Each script asks this program, so it knows the tools of the folder. */
const SCRIPTS = {
  bash: `# Completion of haft for Bash
_haft() {
  local words=("\${COMP_WORDS[@]:1:COMP_CWORD}")
  local IFS=$'\\n'
  COMPREPLY=($(compgen -W "$(haft completion --words -- "\${words[@]}" 2>/dev/null)" -- "\${COMP_WORDS[COMP_CWORD]}"))
}
complete -o default -F _haft haft`,
  zsh: `#compdef haft
# Completion of haft for Zsh
_haft() {
  local -a found
  found=("\${(@f)$(haft completion --words -- "\${(@)words[2,CURRENT]}" 2>/dev/null)}")
  if [[ -n "$found" ]]; then compadd -a found; else _files; fi
}
if [ "$funcstack[1]" = "_haft" ]; then _haft "$@"; else compdef _haft haft; fi`,
  fish: `# Completion of haft for fish
complete -c haft -a '(haft completion --words -- (commandline -opc)[2..-1] (commandline -ct) 2>/dev/null)'`,
} as const;

export const completion = defineCommand({
  examples: [
    ["haft completion bash >> ~/.bashrc", "commands, options, tools and approvals, in Bash"],
    ["haft completion zsh > ~/.zfunc/_haft", "in Zsh, with that folder in fpath"],
    ["haft completion fish > ~/.config/fish/completions/haft.fish", "in fish"],
  ],
  operands: [{ name: "SHELL", isOptional: true }],
  options: { words: { type: "flag", about: "For the scripts: complete the last word after --" } },
  takesRest: true,
  uses: ["approvals"],
  async run({ operands: [shell = ""], rest, options: { words }, folder, terminal, output, connect }) {
    if (words) {
      const approvals = (): Promise<Pick<ApiClient, "approvals">> => connect({ connectsMcp: false });
      return output.lines(await completeWords(rest, { folder, env: terminal.env, connect: approvals }));
    }
    if (!Object.hasOwn(SCRIPTS, shell))
      throw new UsageError("Which shell?", `One of: ${Object.keys(SCRIPTS).join(", ")}.`);
    output.lines([SCRIPTS[shell as keyof typeof SCRIPTS]]);
  },
});

interface CompletionContext {
  folder: string;
  env: Terminal["env"];
  connect(): Promise<Pick<ApiClient, "approvals">>;
}

/** Completions of the last word. Empty if the shell should offer files. */
async function completeWords(words: readonly string[], context: CompletionContext): Promise<string[]> {
  const typed = words.at(-1) ?? "";
  const before = words.slice(0, -1).filter((word) => !word.startsWith("-"));
  const offer = (found: readonly string[]): string[] => found.filter((word) => word.startsWith(typed));
  const [first, second] = before;
  if (first === undefined) return offer(typed.startsWith("-") ? optionsOf(GLOBAL_OPTIONS) : namesOf());
  const entry = COMMANDS.find(({ path }) => path === first || path === `${first} ${second ?? ""}`);
  if (!entry) {
    const inGroup = COMMANDS.filter(({ path }) => path.startsWith(`${first} `));
    return offer(inGroup.map(({ path }) => path.slice(first.length + 1)));
  }
  return offer(await completeCommand(entry, before.slice(entry.path.split(" ").length), words, context));
}

async function completeCommand(
  entry: CommandEntry,
  operandsBefore: readonly string[],
  words: readonly string[],
  context: CompletionContext,
): Promise<string[]> {
  const command = await entry.load();
  const options: OptionSpecs = { ...command.options, ...GLOBAL_OPTIONS };
  const previous = words.at(-2) ?? "";
  const option = previous.startsWith("--") ? options[previous.slice(2)] : undefined;
  if (option && option.type !== "flag") return [...(option.oneOf ?? [])];
  if (words.at(-1)?.startsWith("-")) return optionsOf(options);
  const { operands = [] } = command;
  const [firstOperand] = operandsBefore;
  if (operands[0]?.completes === "tool" && firstOperand !== undefined) return parametersOf(firstOperand, context);
  const operand = operands[operandsBefore.length] ?? operands.findLast(({ isRest }) => isRest);
  return operand ? completeOperand(operand, context) : [];
}

async function completeOperand({ completes }: OperandSpec, context: CompletionContext): Promise<string[]> {
  const { folder, env, connect } = context;
  if (completes === "tool") return (await toolsIn(folder)).map(({ name }) => name);
  // Pressing a key creates no store.
  if (completes !== "approval" || !(await hasStore(folder, env))) return [];
  const { items } = await (await connect()).approvals.list({ state: "pending", brief: true, limit: 500 });
  return items.map(({ id }) => id);
}

async function hasStore(folder: string, env: Terminal["env"]): Promise<boolean> {
  const [{ existsSync }, { join }, { STATE_FILES, stateFolderOf }] = await Promise.all([
    import("node:fs"),
    import("node:path"),
    import("../../io/files/state-folder.ts"),
  ]);
  return existsSync(join(stateFolderOf(folder, { env }), STATE_FILES.store));
}

async function parametersOf(tool: string, { folder }: CompletionContext): Promise<string[]> {
  const found = (await toolsIn(folder)).find(({ name, aliases }) => name === tool || aliases.includes(tool));
  const { properties = {} } = (found?.parameters.jsonSchema ?? {}) as { properties?: object };
  return Object.keys(properties).map((name) => `${name}=`);
}

/** Opens neither the store nor the configuration: this runs at every key. */
async function toolsIn(folder: string) {
  const { openWorkspace } = await import("../../workspace.ts");
  const workspace = openWorkspace(folder);
  await workspace.close();
  return workspace.tools;
}

function optionsOf(options: OptionSpecs): string[] {
  return Object.keys(options).map((name) => `--${name}`);
}
