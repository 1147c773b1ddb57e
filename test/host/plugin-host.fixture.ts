// A program that opens a folder and makes calls of it: one JSON line per call on stdin, one per result on stdout.
import { createInterface } from "node:readline";
import { openHaft } from "../../src/host.ts";
import { createTool } from "../../src/index.ts";

interface Request {
  id: string;
  tool: string;
  input?: object;
  /** As the id of the call, in a session. */
  key?: string;
  /** Aborts the call with this id instead. */
  abort?: string;
  /** Reads the audit log instead. */
  audit?: true;
  /** Lists the approvals instead. */
  approvals?: true;
  /** Explains the policy for the call instead. */
  explain?: true;
  /** Throws an error that belongs to no call. */
  crash?: true;
}

const say = (line: object): void => void process.stdout.write(`${JSON.stringify(line)}\n`);
const [folder = "", home = ""] = process.argv.slice(2);
const host = await openHaft(folder, {
  home,
  only: ["plugins", "schedules"],
  ownsProcess: true,
  // The plugin has not seen this object.
  middleware: [
    {
      name: "copy",
      after: "validate",
      enter(call) {
        if (call.requestedName === "asks") Object.assign(call, { input: structuredClone(call.input) });
      },
    },
  ],
  tools: [
    createTool({
      name: "leaves_timer",
      description: "Throws after its end",
      parameters: [],
      needsApproval: false,
      run: () =>
        void setTimeout(() => {
          throw new Error("left in a timer");
        }, 5),
    }),
    createTool({
      name: "leaves_rejection",
      description: "Rejects while it runs",
      parameters: [],
      needsApproval: false,
      async run() {
        void Promise.reject(new Error("left unhandled"));
        await new Promise((resolve) => setTimeout(resolve, 20));
        return "done";
      },
    }),
    createTool({
      name: "blocks_here",
      description: "Blocks the event loop",
      parameters: [],
      needsApproval: false,
      run() {
        Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 1200);
        return "done";
      },
    }),
  ],
  env: { ...process.env, HAFT_STATE_DIR: `${home}/state` },
  onWarning: (warning: string) => say({ warning }),
});
const aborts = new Map<string, AbortController>();
say({ tools: host.haft.tools.list().map(({ name, origin }) => ({ name, origin })) });

for await (const line of createInterface({ input: process.stdin })) {
  const { id, tool, input, key, abort, audit, approvals, explain, crash } = JSON.parse(line) as Request;
  if (abort !== undefined) aborts.get(abort)?.abort(new Error("enough"));
  else if (approvals) say({ previews: (await host.haft.approvals.list()).map(({ preview }) => preview?.title) });
  else if (audit) say({ notes: (await host.store.audit.query({ kind: "note" })).entries });
  else if (explain) say({ id, verdict: (await host.haft.policy.explain(tool, input)).verdict });
  else if (crash)
    setTimeout(() => {
      throw new Error("of nobody");
    });
  else void run({ id, tool, input, key });
}
await host.close();
say({ closed: true });

async function run({ id, tool, input = {}, key }: Request): Promise<void> {
  const controller = new AbortController();
  aborts.set(id, controller);
  const onUpdate = (update: object): void => say({ id, update });
  const known = key === undefined ? { id } : { id: key, caller: { session: "s" } };
  say({ id, result: await host.haft.execute(tool, input, { ...known, signal: controller.signal, onUpdate }) });
}
