// A session as an entrance: something is said to it, its agent makes the given call, and the history has the result.
import type { CallOptions, ToolResult } from "haft";
import { createScriptedLanguageModel, type TestHaft } from "haft/testing";
import { createAgent } from "../../src/agent.ts";
import { MemorySessionStore } from "../../src/models/agent/memory-session-store.fixture.ts";
import { Sessions } from "../../src/models/agent/sessions.ts";

interface Called {
  readonly haft: TestHaft;
  readonly name: string;
  readonly input: unknown;
  readonly options: CallOptions;
}

export async function callBySession({ haft, name, input, options }: Called): Promise<ToolResult> {
  const { id, mode, caller, policy } = options;
  const model = createScriptedLanguageModel([{ calls: [{ name, input, ...(id ? { id } : {}) }] }, { text: "done" }]);
  const { clock } = haft;
  const sessions = new Sessions({
    store: new MemorySessionStore(() => clock.now()),
    clock,
    agentFor: () => createAgent({ haft, model }),
  });
  const { key } = await sessions.create({
    key: "talk",
    ...(mode ? { mode } : {}),
    ...(caller ? { caller } : {}),
    ...(policy ? { policy: [policy].flat() } : {}),
    first: { id: "1", kind: "message", text: "go" },
  });
  await sessions.settled();
  const results = (await sessions.history(key)).flatMap(({ message }) =>
    message?.role === "tool" ? message.results : [],
  );
  await sessions.close();
  return results[0]!;
}
