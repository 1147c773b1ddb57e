import { defineCommand } from "../command.ts";
import { EXIT } from "../exit-code.ts";
import { type Style, safeLine } from "../output.ts";
import { readCallInput } from "../read-call-input.ts";
import { showColumns } from "../show-columns.ts";

const STYLES: Readonly<Record<string, Style>> = { allow: "green", ask: "yellow", deny: "red", none: "dim" };

export const command = defineCommand({
  examples: [
    ["haft policy explain exec command='git push'", "what would happen, and which rule says so; nothing runs"],
    ["haft policy explain write path=a.txt content=x --mode plan", "in another mode"],
  ],
  operands: [
    { name: "NAME", completes: "tool" },
    { name: "KEY=VALUE", isRest: true, isOptional: true },
  ],
  options: {
    mode: {
      type: "text",
      value: "MODE",
      about: "How much is asked",
      oneOf: ["default", "acceptEdits", "plan", "dontAsk", "bypassPermissions"],
    },
    session: { type: "text", value: "NAME", about: "With what was granted in this session" },
  },
  notes: ["Exits with 0 where it would run, 6 where it is denied, 7 where a person would be asked."],
  async run({ connect, terminal, output, operands: [tool = "", ...words], options: { mode, session } }) {
    const input = await readCallInput(words, terminal);
    const client = await connect();
    const explained = await client.policy.explain({ tool, input, mode: mode as never, session });
    output.data(explained, ({ verdict, steps }) => [
      `${output.paint(STYLES[verdict.decision]!, verdict.decision)}: ${safeLine(verdict.reason)}`,
      ...(verdict.rule === undefined
        ? []
        : [`  rule ${safeLine(verdict.rule)}${verdict.origin === undefined ? "" : ` in ${safeLine(verdict.origin)}`}`]),
      "",
      ...showColumns(
        steps.map(({ by, decision, reason, rule, origin }) => [
          `  ${safeLine(by)}`,
          decision,
          safeLine([reason, rule, origin].filter(Boolean).join("  ")),
        ]),
        { paint: output.paint, styleOf: (cell, column) => (column === 1 ? STYLES[cell] : undefined) },
      ),
    ]);
    return { allow: EXIT.done, ask: EXIT.pending, deny: EXIT.denied }[explained.verdict.decision];
  },
});
