import type { Scope } from "../../http/wire.ts";
import { defineCommand } from "../command.ts";
import { showTime } from "../show-time.ts";
import { UsageError } from "../usage-error.ts";

const SCOPES: readonly string[] = ["read", "call", "approve", "admin"];

export const command = defineCommand({
  examples: [
    ["haft token create ci --scope read,call --expires 30d", "prints it this once; only its hash is kept"],
    ["HAFT_URL=http://127.0.0.1:4117 HAFT_TOKEN=… haft tools list", "how it is used"],
  ],
  operands: [{ name: "NAME" }],
  options: {
    scope: {
      type: "list",
      value: "SCOPES",
      about: "read (sees), call (runs tools), approve (answers), admin (tokens); read,call unless said",
    },
    expires: { type: "duration", value: "TIME", about: "After so long: 12h, 30d; never unless said" },
  },
  async run({ connect, output, operands: [name = ""], options: { scope, expires } }) {
    const wrong = scope.find((one) => !SCOPES.includes(one));
    if (wrong !== undefined) throw new UsageError(`There is no scope "${wrong}".`, `Scopes are: ${SCOPES.join(", ")}.`);
    const scopes = (scope.length === 0 ? ["read", "call"] : scope) as Scope[];
    const client = await connect();
    const made = await client.tokens.create({
      name,
      scopes,
      expiresInMs: expires,
    });
    output.data(made, ({ token }) => [token]);
    output.info(
      `${made.id} for ${made.scopes.join(", ")}${made.expiresAt === undefined ? "" : `, until ${showTime(made.expiresAt)}`}. It is not shown again.`,
    );
  },
});
