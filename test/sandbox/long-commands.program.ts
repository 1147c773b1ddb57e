// A process that asks about a command and stays, or answers what another one asked:
// `program ask|approve|deny WORKSPACE STATE COMMAND-OR-ID [STORE]`. It prints one line of JSON for each result.
import { openHaft } from "../../src/host.ts";

const [, , mode, folder = "", stateFolder = "", what = "", store] = process.argv;
const overrides = { sandbox: { previewMs: 800 }, store: store ? { url: store } : {} };
const isShortLived = mode !== "ask";
const options = { stateFolder, home: folder, approvalWaitMs: false, isShortLived, overrides } as const;
const { haft, close } = await openHaft(folder, options);
const say = (value: unknown): void => void process.stdout.write(`${JSON.stringify(value)}\n`);
if (mode === "ask") {
  const result = await haft.execute(
    "exec",
    { command: what },
    { id: `call-${process.pid}`, caller: { session: "s1" } },
  );
  const question = result.status === "pending" ? await haft.approvals.get(result.pending.id) : undefined;
  say({ ...result, display: question?.preview?.output });
  setInterval(() => undefined, 1000);
} else {
  say(await (mode === "approve" ? haft.approvals.approve(what) : haft.approvals.deny(what)));
  await close();
}
