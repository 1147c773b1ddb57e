import { AUDIT_FILTERS, auditQuery, showEntries } from "../audit-options.ts";
import { defineCommand } from "../command.ts";
import { EXIT } from "../exit-code.ts";
import { pause } from "../pause.ts";
import type { AuditEntry, AuditQuery } from "../../http/wire.ts";
import type { HaftClient } from "../../client/create-client.ts";

const CHECK_INTERVAL_MS = 500;
const PAGE = 200;

export const command = defineCommand({
  examples: [
    ["haft audit tail", "the last ten, then whatever is done"],
    ["haft audit tail --tool exec --jsonl | jq .input", "commands, for a program"],
  ],
  options: {
    ...AUDIT_FILTERS,
    lines: { type: "number", short: "n", value: "N", range: [0, 500], about: "Begin with so many, 10 unless said" },
  },
  notes: ["What every process does that works in this folder is seen."],
  async run({ connect, output, interrupted, options: { lines = 10, ...filters } }) {
    const client = await connect();
    const query = auditQuery(filters);
    const show = (entries: readonly AuditEntry[]): void => {
      if (output.format === "text") output.lines(showEntries(entries, output));
      else for (const entry of entries) output.item(entry, () => []);
    };
    const first = (await client.audit.search({ ...query, limit: Math.max(1, lines) })).items;
    let last = Number(first[0]?.id ?? 0);
    show(lines === 0 ? [] : first.toReversed());
    while (!interrupted.aborted) {
      await pause(CHECK_INTERVAL_MS, interrupted);
      const added = await readAfter(client, query, last);
      show(added);
      last = Number(added.at(-1)?.id ?? last);
    }
    return EXIT.interrupted;
  },
});

/** Oldest first; page after page, where more was added than one holds. */
async function readAfter(client: HaftClient, query: AuditQuery, last: number): Promise<AuditEntry[]> {
  const added: AuditEntry[] = [];
  let cursor: string | undefined;
  do {
    const page = await client.audit.search({ ...query, limit: PAGE, ...(cursor === undefined ? {} : { cursor }) });
    const fresh = page.items.filter(({ id }) => Number(id) > last);
    added.push(...fresh);
    cursor = fresh.length === page.items.length ? page.next : undefined;
  } while (cursor !== undefined);
  return added.reverse();
}
