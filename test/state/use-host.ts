// A program: a host in a workspace that this user cannot write. Prints what worked as JSON.
import { accessSync, constants } from "node:fs";
import { openHaft } from "../../src/host.ts";

const [workspace = "", stateFolder = ""] = process.argv.slice(2);
const canWrite = (() => {
  try {
    accessSync(workspace, constants.W_OK);
    return true;
  } catch {
    return false;
  }
})();
const host = await openHaft(workspace, {
  stateFolder,
  home: stateFolder,
  env: {},
  approver: async () => ({ approved: true, by: "ada" }),
  tools: [
    { name: "talk", description: "Talks", kind: "readonly", parameters: [], run: () => "x ".repeat(60_000) } as never,
  ],
});
const { entries } = await host.store.audit.query();
const read = await host.haft.execute("read", { path: "a.txt" });
const talk = await host.haft.execute("talk");
const write = await host.haft.execute("write", { path: "b.txt", content: "b" });
await host.close();
const result = {
  canWrite,
  read: read.status,
  spilled: talk.metadata.spill !== undefined,
  write: write.status === "failed" ? write.error.code : write.status,
  earlierEntries: entries.length,
  warnings: host.warnings.filter((warning) => !warning.startsWith("Commands are not confined")),
};
process.stdout.write(JSON.stringify(result));
