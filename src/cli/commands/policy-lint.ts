import { defineCommand } from "../command.ts";
import { EXIT } from "../exit-code.ts";
import { safeLine } from "../output.ts";

export const command = defineCommand({
  examples: [
    ["haft policy lint", "rules that do nothing, or something else than they seem to; exits with 1 on errors"],
  ],
  async run({ connect, output }) {
    const client = await connect();
    const page = await client.policy.lint();
    output.list(page, (findings) =>
      findings.map(({ level, message, rule, origin, line }) => {
        const where = [origin, line].filter((part) => part !== undefined).join(":");
        const what = rule === undefined ? "" : `${safeLine(rule)}: `;
        return `${output.paint(level === "error" ? "red" : "yellow", level)}  ${what}${safeLine(message)}${where ? output.paint("dim", `  ${safeLine(where)}`) : ""}`;
      }),
    );
    if (page.items.length === 0) output.info("Nothing to find fault with.");
    return page.items.some(({ level }) => level === "error") ? EXIT.failed : EXIT.done;
  },
});
