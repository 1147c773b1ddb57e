import { appendFileSync, existsSync } from "node:fs";
import { setTimeout } from "node:timers/promises";
import { createTool } from "../../src/core/create-tool.ts";
import { failPoint } from "../../src/store/fail-point.ts";

export interface LedgerTool {
  name: string;
  /** Such a one may be made again; of the other an effect must not happen twice. */
  isReadOnly: boolean;
  takesMs: number;
  /** It does not end before this file is there. */
  waitsFor?: string;
}

/** Writes down that it began and that it ended, where somebody outside reads it. */
export function ledgerTool({ name, isReadOnly, takesMs, waitsFor }: LedgerTool, ledger: string) {
  return createTool({
    name,
    description: isReadOnly ? "Looks at something" : "Does what must not happen twice",
    kind: isReadOnly ? "readonly" : "execute",
    mode: "background",
    parameters: [{ name: "what", type: "string", description: "What" }],
    needsApproval: false,
    async run({ what }) {
      failPoint("before effect");
      appendFileSync(ledger, `begin ${what} ${process.pid} ${Date.now()}\n`);
      failPoint("after effect");
      await setTimeout(takesMs);
      while (waitsFor !== undefined && !existsSync(waitsFor)) await setTimeout(20);
      appendFileSync(ledger, `end ${what} ${process.pid} ${Date.now()}\n`);
      return what;
    },
  });
}
