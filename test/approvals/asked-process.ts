// A process that asks the user, or answers what another one asked. Run as a program of its own: see questions.test.ts.
// argv: the state folder, the call's id, what to do, and the answer.
import { textOf } from "../../src/core/content.ts";
import { createHaft } from "../../src/runtime.ts";
import { openStore } from "../../src/store/store.ts";
import { createConversationTools } from "../../src/tools/tool-families.ts";

const [, , stateFolder = "", callId = "", role, choice = ""] = process.argv;
const say = (word: string): void => void process.stdout.write(`${word}\n`);
const store = await openStore({ stateFolder });
const haft = createHaft({
  tools: createConversationTools({ todos: store.todos }),
  calls: store.calls,
  log: store.audit,
  approvalWaitMs: role === "wait" ? 60_000 : undefined,
});
if (role === "answer") {
  const open = await haft.approvals.list();
  const { id = "" } = open.find((approval) => approval.callId === callId) ?? {};
  // Both that race have found it by now.
  say("found");
  await new Promise((resolve) => process.stdin.once("data", resolve));
  const answered = await haft.approvals
    .answer(id, [{ choices: [choice] }], choice)
    .catch((error: Error) => error.message);
  say(typeof answered === "string" ? `refused: ${answered}` : `answered: ${textOf(answered.content)}`);
} else {
  const questions = [{ question: "Which one?", options: [{ label: "ada" }, { label: "bob" }] }];
  if (role === "wait") haft.on("permission_requested", () => say("asked"));
  const caller = { session: "s", user: "eve" };
  const result = await haft.execute("ask_user", { questions }, { id: callId, caller });
  say(`${result.status}: ${result.status === "pending" ? result.pending.kind : textOf(result.content)}`);
}
process.stdin.destroy();
await haft.shutdown();
await store.close();
