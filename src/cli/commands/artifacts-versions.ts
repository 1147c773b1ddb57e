import type { ArtifactVersionInfo } from "../../http/wire.ts";
import { ARTIFACT_SESSION, ofSession } from "../artifact-options.ts";
import { defineCommand } from "../command.ts";
import { type Output, safeLine } from "../output.ts";
import { showColumns } from "../show-columns.ts";
import { showTime } from "../show-time.ts";

export const command = defineCommand({
  examples: [["haft artifacts versions report --session review", "who changed it when, and how"]],
  operands: [{ name: "ID" }],
  options: ARTIFACT_SESSION,
  async run({ connect, output, operands: [id = ""], options: { session } }) {
    const client = await connect();
    output.list(await client.artifacts.versions(id, ofSession(session)), (versions) => showVersions(versions, output));
  },
});

function showVersions(versions: readonly ArtifactVersionInfo[], { paint, columns }: Output): string[] {
  const rows = versions.map(({ version, type, at, author, characters, similarity }) => [
    `v${version}`,
    similarity === undefined ? type : `${type} (${Math.floor(similarity * 100)}%)`,
    showTime(at),
    safeLine([author.agent, author.user].filter((name) => name !== undefined).join(" for ")),
    `${characters} characters`,
  ]);
  return showColumns(rows, { paint, styles: ["bold", "cyan", "dim"], columns });
}
