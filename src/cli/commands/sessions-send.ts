import { defineCommand } from "../command.ts";
import { EXIT } from "../exit-code.ts";
import { safe } from "../output.ts";
import { findSession } from "../show-sessions.ts";
import { UsageError } from "../usage-error.ts";

const WAIT_MS = 600_000;

export const command = defineCommand({
  examples: [
    ["haft sessions send research 'Which sources did you use?'", "asks, and waits for the answer"],
    ["haft sessions send --new research 'Find out who uses this module'", "begins a session of that name"],
    ["haft sessions send research 'Go on' --wait 0s --url http://127.0.0.1:4117", "says it to a running server"],
  ],
  operands: [{ name: "SESSION" }, { name: "TEXT", isRest: true }],
  options: {
    new: { type: "flag", about: "Begin a session with this label" },
    agent: { type: "text", value: "NAME", about: "Of a new one: which configured agent answers" },
    wait: { type: "duration", value: "TIME", about: "How long to wait for the answer, 10 minutes unless said" },
  },
  notes: ["Without a server the turn runs in this command: where it ends first, `haft serve` goes on with the turn."],
  async run({ connect, output, interrupted, operands: [wanted = "", ...words], options: { new: isNew, agent, wait } }) {
    const client = await connect();
    if (isNew && !(await client.sessions.list({ limit: 1 })).canAnswer) throw noAgentConfigured();
    const key = isNew
      ? (await client.sessions.create({ label: wanted, agent })).key
      : await findSession(client, wanted);
    const request = { text: words.join(" "), waitMs: Math.min(wait ?? WAIT_MS, WAIT_MS) };
    const answer = await client.sessions.send(key, request, { signal: interrupted });
    output.data({ session: key, ...answer }, ({ status, reply, error }) => {
      if (reply !== undefined && reply !== "") return [safe(reply)];
      return [error === undefined ? status : safe(error)];
    });
    if (answer.status === "accepted" && request.waitMs > 0) {
      output.info("It waits for a person, a job or a client. `haft approvals list` shows what waits for you.");
    }
    if (answer.status === "timeout") output.info("It has not answered yet; what it says will be in its history.");
    return answer.status === "ok" || answer.status === "accepted" ? EXIT.done : EXIT.toolFailed;
  },
});

/** Before anything is begun: a session in which nobody answers is of no use. */
function noAgentConfigured(): UsageError {
  return new UsageError(
    "No model is configured, so that nobody answers in a session.",
    "Set agent.model in the configuration, for example to openai/gpt-5.",
  );
}
