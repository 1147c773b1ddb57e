import { defineCommand } from "../command.ts";
import { EXIT } from "../exit-code.ts";
import { safeLine } from "../output.ts";

export const command = defineCommand({
  examples: [
    ["haft audit verify", "exits with 1 where an entry is missing or was changed; prints the head of the log"],
    ["haft audit verify --head 120:9f2c…", "also where entries were cut off, or the log removed, since that head"],
  ],
  options: {
    head: { type: "text", value: "COUNT:HASH", about: "The head that an earlier check printed" },
  },
  notes: ["Keep the head elsewhere: without one, a log that was cut at its end looks whole."],
  async run({ connect, output, options: { head: noted } }) {
    const client = await connect();
    const check = await client.audit.verify(noted === undefined ? {} : { head: noted });
    output.data(check, ({ ok, entries, head, broken }) => [
      ok
        ? `${output.paint("green", "ok")}: ${entries} entries, each as it was written; head ${head}`
        : `${output.paint("red", "BROKEN")} at entry ${broken?.id}: ${safeLine(broken?.reason ?? "")}`,
    ]);
    return check.ok ? EXIT.done : EXIT.failed;
  },
});
