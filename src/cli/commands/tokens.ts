import type { Scope } from "../../contracts/identity.ts";
import type { NewToken } from "../../contracts/tokens.ts";
import { UsageError } from "../arguments.ts";
import { defineCommand } from "../command.ts";
import { showTime } from "../../core/clock.ts";
import { showColumns } from "../layout.ts";
import { type Output, safeLine } from "../output.ts";

const SCOPES: readonly Scope[] = ["read", "call", "approve", "admin"];

const create = defineCommand({
  examples: [
    ["haft token create ci --scope read,call --expires 30d", "prints the token once; only its hash is kept"],
    ["HAFT_URL=http://127.0.0.1:4117 HAFT_TOKEN=… haft tools list", "how it is used"],
  ],
  operands: [{ name: "NAME" }],
  options: {
    scope: {
      type: "list",
      value: "SCOPES",
      about: "read (view), call (run tools), approve (answer), admin (manage tokens); default: read,call",
    },
    expires: { type: "duration", value: "TIME", about: "After this time: 12h, 30d; default: never" },
  },
  uses: ["tokens"],
  async run({ connect, output, operands: [name = ""], options: { scope, expires } }) {
    const wrong = scope.find((word) => !isScope(word));
    if (wrong !== undefined) throw new UsageError(`There is no scope "${wrong}".`, `Scopes are: ${SCOPES.join(", ")}.`);
    const scopes: Scope[] = scope.length === 0 ? ["read", "call"] : scope.filter(isScope);
    const client = await connect();
    const made = await client.tokens.create({ name, scopes, expiresInMs: expires });
    showNew(made, output);
  },
});

const rotate = defineCommand({
  examples: [
    ["haft token rotate 1a2b3c", "prints a new token with the same name, scopes and lifetime; the old one ends"],
  ],
  operands: [{ name: "ID", listedBy: "haft token list" }],
  uses: ["tokens"],
  async run({ connect, output, operands: [id = ""] }) {
    showNew(await (await connect()).tokens.rotate(id), output);
  },
});

function showNew(made: NewToken, output: Output): void {
  output.data(made, ({ token }) => [token]);
  const until = made.expiresAt === undefined ? "" : `, until ${showTime(made.expiresAt)}`;
  output.info(`${made.id} for ${made.scopes.join(", ")}${until}. It is not shown again.`);
}

function isScope(word: string): word is Scope {
  return (SCOPES as readonly string[]).includes(word);
}

const list = defineCommand({
  examples: [["haft token list", "which programs and browsers can use the servers of this folder, and their scopes"]],
  uses: ["tokens"],
  async run({ connect, output }) {
    const client = await connect();
    const page = await client.tokens.list();
    output.list(page, (tokens) =>
      showColumns(
        tokens.map(({ id, name, scopes, kind, createdAt, expiresAt }) => [
          id,
          safeLine(name),
          scopes.join(","),
          `${kind === "session" ? "browser, signed in" : "created"} ${showTime(createdAt)}${expiresAt === undefined ? "" : `, until ${showTime(expiresAt)}`}`,
        ]),
        { paint: output.paint, columns: output.columns, styles: ["bold", "cyan"] },
      ),
    );
    if (page.items.length === 0) output.info("No tokens. `haft token create NAME` creates one.");
  },
});

const revoke = defineCommand({
  examples: [["haft token revoke 1a2b3c", "by its id, as `haft token list` shows it; signs a browser out"]],
  operands: [{ name: "ID", listedBy: "haft token list" }],
  uses: ["tokens"],
  async run({ connect, output, operands: [id = ""] }) {
    const client = await connect();
    await client.tokens.revoke(id);
    output.info(`${id} is revoked.`);
  },
});

export const commands = { create, list, rotate, revoke };
