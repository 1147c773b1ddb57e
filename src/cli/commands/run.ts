import { defineCommand } from "../command.ts";
import { exitCodeOfAnswer, openConversation, describeStop } from "../converse.ts";
import { safe } from "../output.ts";

export const command = defineCommand({
  examples: [
    ['haft run "Why does the build fail?"', "give the configured agent a task"],
    ['haft run "Rename parse to read everywhere" --mode plan', "a plan, and nothing is changed"],
    ['haft run "Sum up CHANGELOG.md" --json', "the answer and everything that was done, for a program"],
  ],
  operands: [{ name: "TASK", isRest: true }],
  options: {
    agent: { type: "text", value: "NAME", about: "One of the configured agents" },
    model: { type: "text", value: "PROVIDER/NAME", about: "Another model than the configured one" },
    mode: {
      type: "text",
      value: "MODE",
      about: "How much is asked",
      oneOf: ["default", "acceptEdits", "plan", "dontAsk", "bypassPermissions"],
    },
    steps: { type: "number", value: "N", about: "How often the model is asked at most", range: [1, 10_000] },
  },
  notes: [
    "The model is `agent.model` of the configuration, as provider/name. Its key is PROVIDER_API_KEY of the environment.",
    "A call that needs a yes asks here, at a terminal. Elsewhere the run ends with 7, and the approval stays open.",
    "Ctrl-C ends the run; what it has begun is told to stop.",
  ],
  async run(invocation) {
    const { operands, options, output, interrupted } = invocation;
    const conversation = await openConversation(invocation, { ...options, mode: options.mode as never });
    try {
      const answer = await conversation.send(operands.join(" "), interrupted);
      if (output.format === "json") output.data(answer, () => []);
      const remark = describeStop(answer);
      if (remark !== undefined) output.notice(safe(remark));
      return exitCodeOfAnswer(answer);
    } finally {
      await conversation.close();
    }
  },
});
