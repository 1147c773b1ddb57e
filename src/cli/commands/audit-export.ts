import { AUDIT_FILTERS, auditQuery } from "../audit-options.ts";
import { defineCommand } from "../command.ts";
import { showJson } from "../show-json.ts";

export const command = defineCommand({
  examples: [
    ["haft audit export > audit.jsonl", "the whole log, one entry a line"],
    ["haft audit export --since 2026-11-01 --decision deny", "what the filters leave of it"],
  ],
  options: AUDIT_FILTERS,
  async run({ connect, output, options }) {
    const client = await connect();
    const decoder = new TextDecoder();
    let rest = "";
    // Line by line: the log may be longer than memory.
    for await (const chunk of await client.audit.export(auditQuery(options))) {
      const lines = (rest + decoder.decode(chunk, { stream: true })).split("\n");
      rest = lines.pop()!;
      output.lines(lines.map((line) => showJson(JSON.parse(line))));
    }
  },
});
