import { HaftClientError } from "../../client/client-error.ts";
import type { HaftClient } from "../../client/create-client.ts";
import type { PermissionTest } from "../../config/config-schema.ts";
import { defineCommand } from "../command.ts";
import { EXIT } from "../exit-code.ts";
import { safeLine } from "../output.ts";
import { readPolicyTests } from "../read-policy-tests.ts";

export const command = defineCommand({
  examples: [
    [
      "haft policy test",
      "the examples under permissions.tests of this folder's configuration; exits with 1 where one does not hold",
    ],
    ["haft policy test policy-tests.yml", "a list of { tool, input, expect } from files"],
  ],
  operands: [{ name: "FILE", isRest: true, isOptional: true, completes: "file" }],
  async run({ connect, terminal, output, operands, folder }) {
    const tests = await readPolicyTests(operands, { folder, cwd: terminal.cwd, env: terminal.env });
    const client = await connect();
    const items = [];
    for (const test of tests) items.push(await judge(client, test));
    output.list({ items }, (outcomes) =>
      outcomes.map(({ name, holds, expect, decision, reason }) => {
        const mark = holds ? output.paint("green", "ok  ") : output.paint("red", "FAIL");
        return `${mark}  ${safeLine(name)}${holds ? "" : `\n      expected ${expect}, but: ${decision ?? "cannot be judged"}: ${safeLine(reason)}`}`;
      }),
    );
    const failed = items.filter(({ holds }) => !holds).length;
    output.info(
      tests.length === 0
        ? "There are no examples. Write some under permissions.tests."
        : `${tests.length - failed} of ${tests.length} hold.`,
    );
    return failed > 0 ? EXIT.failed : EXIT.done;
  },
});

interface Outcome {
  name: string;
  holds: boolean;
  expect: PermissionTest["expect"];
  decision?: PermissionTest["expect"];
  reason: string;
}

/** Judged by the server that is asked, so that what is tested is what is in force there. */
async function judge(client: HaftClient, { name, tool, input = {}, mode, expect }: PermissionTest): Promise<Outcome> {
  const title = name ?? `${expect} ${tool} ${JSON.stringify(input)}`;
  try {
    const { verdict } = await client.policy.explain({ tool, input, mode: mode || undefined });
    return {
      name: title,
      holds: verdict.decision === expect,
      expect,
      decision: verdict.decision,
      reason: verdict.reason,
    };
  } catch (error) {
    if (!(error instanceof HaftClientError) || error.status === 0 || error.status === 401 || error.code === "forbidden")
      throw error;
    return { name: title, holds: false, expect, reason: error.message };
  }
}
