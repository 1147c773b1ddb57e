import { defineCommand } from "../command.ts";
import { EXIT } from "../exit-code.ts";
import { safeLine } from "../output.ts";

export const command = defineCommand({
  examples: [["haft audit verify", "exits with 1 where an entry is missing or was changed"]],
  async run({ connect, output }) {
    const client = await connect();
    const check = await client.audit.verify();
    output.data(check, ({ ok, entries, broken }) => [
      ok
        ? `${output.paint("green", "ok")}: ${entries} entries, each as it was written`
        : `${output.paint("red", "BROKEN")} at entry ${broken?.id}: ${safeLine(broken?.reason ?? "")}`,
    ]);
    return check.ok ? EXIT.done : EXIT.failed;
  },
});
