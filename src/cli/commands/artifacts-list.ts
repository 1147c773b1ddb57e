import type { ArtifactInfo } from "../../http/wire.ts";
import { ofSession } from "../artifact-options.ts";
import { defineCommand } from "../command.ts";
import { type Output, safeLine } from "../output.ts";
import { showColumns } from "../show-columns.ts";
import { showTime } from "../show-time.ts";

export const command = defineCommand({
  examples: [
    ["haft artifacts list", "the documents of every session, what was changed last first"],
    ["haft artifacts list --session review", "those of one session"],
  ],
  options: {
    session: { type: "text", value: "NAME", about: "Of this session" },
    limit: { type: "number", value: "N", range: [1, 500], about: "At most so many, 50 unless said" },
    cursor: { type: "text", value: "CURSOR", about: "Go on from an earlier answer's `next`" },
  },
  async run({ connect, output, options: { session, limit = 50, cursor } }) {
    const client = await connect();
    const more = cursor === undefined ? {} : { cursor };
    const page = await client.artifacts.list({ ...ofSession(session), limit, ...more });
    output.list(page, (artifacts) => showArtifacts(artifacts, output));
    if (page.items.length === 0) output.info("There are none. Agents make them with the tool create_artifact.");
    else if (page.next !== undefined) output.info(`There is more: --cursor ${page.next}`);
  },
});

function showArtifacts(artifacts: readonly ArtifactInfo[], { paint, columns }: Output): string[] {
  const rows = artifacts.map(({ id, session = "", title, version, updatedAt, contentType }) => [
    safeLine(id),
    `v${version}`,
    showTime(updatedAt),
    safeLine(session),
    safeLine(contentType),
    safeLine(title === id ? "" : title),
  ]);
  return showColumns(rows, { paint, styles: ["bold", "cyan", "dim"], columns });
}
