import { AUDIT_FILTERS, auditQuery, showEntries } from "../audit-options.ts";
import { defineCommand } from "../command.ts";

export const command = defineCommand({
  examples: [
    ["haft audit query", "the newest entries"],
    ["haft audit query --tool exec --status failed --since 24h", "commands that failed in the last day"],
    ["haft audit query --decision deny --json", "what was denied, for a program"],
  ],
  options: {
    ...AUDIT_FILTERS,
    limit: { type: "number", value: "N", range: [1, 500], about: "At most so many, 50 unless said" },
    cursor: { type: "text", value: "CURSOR", about: "Go on from an earlier answer's `next`" },
  },
  async run({ connect, output, options: { limit = 50, cursor, ...filters } }) {
    const client = await connect();
    const page = await client.audit.search({
      ...auditQuery(filters),
      limit,
      ...(cursor === undefined ? {} : { cursor }),
    });
    output.list(page, (entries) => showEntries([...entries].reverse(), output));
    if (page.items.length === 0) output.info("Nothing found.");
    else if (page.next !== undefined) output.info(`There is more: --cursor ${page.next}`);
  },
});
