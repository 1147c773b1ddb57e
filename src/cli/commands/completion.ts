import { defineCommand } from "../command.ts";
import { completeWords } from "../complete-words.ts";
import { completionScript, SHELLS } from "../completion-script.ts";
import { UsageError } from "../usage-error.ts";

export const command = defineCommand({
  examples: [
    ["haft completion bash >> ~/.bashrc", "commands, options, tools and approvals, in Bash"],
    ["haft completion zsh > ~/.zfunc/_haft", "in Zsh, with that folder in fpath"],
    ["haft completion fish > ~/.config/fish/completions/haft.fish", "in fish"],
  ],
  operands: [{ name: "SHELL", isOptional: true }],
  options: { words: { type: "flag", about: "For the scripts: what may stand at the end of the words after --" } },
  takesRest: true,
  async run({ operands: [shell], rest, options: { words }, folder, output, connect }) {
    if (words) return output.lines(await completeWords(rest, { folder, connect }));
    const script = shell === undefined ? undefined : completionScript(shell);
    if (script === undefined) throw new UsageError("Which shell?", `One of: ${SHELLS.join(", ")}.`);
    output.lines([script]);
  },
});
