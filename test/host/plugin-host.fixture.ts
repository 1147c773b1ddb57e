// A program that opens a folder and makes calls of it: one JSON line per call on stdin, one per result on stdout.
import { createInterface } from "node:readline";
import { openHaft } from "../../src/host.ts";

interface Request {
  id: string;
  tool: string;
  input?: object;
  /** Aborts the call with this id instead. */
  abort?: string;
}

const say = (line: object): void => void process.stdout.write(`${JSON.stringify(line)}\n`);
const [folder = "", home = ""] = process.argv.slice(2);
const host = await openHaft(folder, {
  home,
  only: ["plugins"],
  env: { ...process.env, HAFT_STATE_DIR: `${home}/state` },
  onWarning: (warning: string) => say({ warning }),
});
const aborts = new Map<string, AbortController>();
say({ tools: host.haft.tools().map(({ name, origin }) => ({ name, origin })) });

for await (const line of createInterface({ input: process.stdin })) {
  const { id, tool, input, abort } = JSON.parse(line) as Request;
  if (abort !== undefined) aborts.get(abort)?.abort(new Error("enough"));
  else void run(id, tool, input);
}
await host.close();
say({ closed: true });

async function run(id: string, tool: string, input: object = {}): Promise<void> {
  const controller = new AbortController();
  aborts.set(id, controller);
  const onUpdate = (update: object): void => say({ id, update });
  say({ id, result: await host.haft.execute(tool, input, { id, signal: controller.signal, onUpdate }) });
}
