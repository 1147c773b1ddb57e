import type { ArtifactInfo, ArtifactVersionInfo } from "../../contracts/artifacts.ts";
import { UsageError } from "../arguments.ts";
import { defineCommand, type OptionSpecs } from "../command.ts";
import { showTime } from "../../core/clock.ts";
import { showColumns } from "../layout.ts";
import { type Output, safe, safeLine } from "../output.ts";
import { showDiff } from "../show-diff.ts";

/** Ids are unique within a session. */
const SESSION = {
  session: { type: "text", value: "NAME", about: "The session of the document" },
} as const satisfies OptionSpecs;

const list = defineCommand({
  examples: [
    ["haft artifacts list", "the documents of every session, last changed first"],
    ["haft artifacts list --session review", "those of one session"],
  ],
  options: {
    session: { type: "text", value: "NAME", about: "Only of this session" },
    limit: { type: "number", value: "N", range: [1, 500], about: "Max number of documents; default: 50" },
    cursor: { type: "text", value: "CURSOR", about: "`next` of the previous page" },
  },
  uses: ["artifacts"],
  async run({ connect, output, options: { session, limit = 50, cursor } }) {
    const client = await connect({ only: ["artifacts"] });
    const page = await client.artifacts.list({ session, limit, cursor });
    output.list(page, (artifacts) => showArtifacts(artifacts, output));
    if (page.items.length === 0) output.info("No artifacts. Agents create them with the tool create_artifact.");
    else if (page.next !== undefined) output.info(`There are more: --cursor ${page.next}`);
  },
});

const show = defineCommand({
  examples: [
    ["haft artifacts show report --session review", "the newest version"],
    ["haft artifacts show report 2 > report.md", "an older one, into a file"],
  ],
  operands: [
    { name: "ID", listedBy: "haft artifacts list" },
    { name: "VERSION", isOptional: true },
  ],
  options: SESSION,
  uses: ["artifacts"],
  async run({ connect, output, operands: [id = "", number], options: { session } }) {
    if (number !== undefined && !/^[1-9]\d{0,5}$/.test(number)) {
      throw new UsageError(`"${number}" is not a version.`, "Versions are whole numbers from 1.");
    }
    const client = await connect({ only: ["artifacts"] });
    const version = number === undefined ? undefined : Number(number);
    const artifact = await client.artifacts.get(id, { session, version });
    output.data(artifact, ({ content }) => safe(content).replace(/\n$/, "").split("\n"));
  },
});

const versions = defineCommand({
  examples: [["haft artifacts versions report --session review", "who changed it when, and how"]],
  operands: [{ name: "ID", listedBy: "haft artifacts list" }],
  options: SESSION,
  uses: ["artifacts"],
  async run({ connect, output, operands: [id = ""], options: { session } }) {
    const client = await connect({ only: ["artifacts"] });
    output.list(await client.artifacts.versions(id, { session }), (items) => showVersions(items, output));
  },
});

const diff = defineCommand({
  examples: [
    ["haft artifacts diff report --session review", "the last change"],
    ["haft artifacts diff report --from 1 --to 4", "between two versions"],
  ],
  operands: [{ name: "ID", listedBy: "haft artifacts list" }],
  options: {
    ...SESSION,
    from: { type: "number", value: "N", range: [1, 1_000_000], about: "Default: the version before --to" },
    to: { type: "number", value: "N", range: [1, 1_000_000], about: "Default: the newest" },
  },
  uses: ["artifacts"],
  async run({ connect, output, operands: [id = ""], options: { session, from, to } }) {
    const client = await connect({ only: ["artifacts"] });
    const found = await client.artifacts.diff(id, { session, from, to });
    output.data(found, ({ text }) => (text === "" ? [] : showDiff(text, output)));
    if (found.text === "") output.info(`Versions ${found.from} and ${found.to} are the same.`);
  },
});

export const commands = { list, show, versions, diff };

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

function showVersions(items: readonly ArtifactVersionInfo[], { paint, columns }: Output): string[] {
  const rows = items.map(({ version, type, at, author, characters, similarity }) => [
    `v${version}`,
    similarity === undefined ? type : `${type} (${Math.floor(similarity * 100)}%)`,
    showTime(at),
    safeLine([author.agent, author.user].filter((name) => name !== undefined).join(" for ")),
    `${characters} characters`,
  ]);
  return showColumns(rows, { paint, styles: ["bold", "cyan", "dim"], columns });
}
