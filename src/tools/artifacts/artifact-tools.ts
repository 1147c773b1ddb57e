import { z } from "zod";
import { ToolCategory } from "../../core/category.ts";
import { type Clock, systemClock } from "../../core/clock.ts";
import { createTool } from "../../core/create-tool.ts";
import type { AnyTool, ToolContext } from "../../core/tool.ts";
import { unifiedDiff } from "../../io/files/unified-diff.ts";
import type { ArtifactManager, Authorship } from "./artifact-manager.ts";
import { type ArtifactKey, sessionOf } from "./artifact-store.ts";
import { findLines, takePage } from "./artifact-text.ts";
import { percent, type Replaced } from "./fuzzy-replace.ts";

/** The tools with which a model creates, reads and changes artifacts. */
export function createArtifactTools(manager: ArtifactManager): AnyTool[] {
  return [
    createCreateArtifactTool(manager),
    createReadArtifactTool(manager),
    createUpdateArtifactTool(manager),
    createRewriteArtifactTool(manager),
    createListArtifactsTool(manager),
    createDiffArtifactTool(manager),
    createGrepArtifactTool(manager),
  ];
}

/** Letters and digits of any script, so that an id can stand in an address and on a command line. */
const ID = /^[\p{L}\p{N}][\p{L}\p{M}\p{N}._-]{0,127}$/u;

const artifactId = z
  .string()
  .regex(ID, "an id is 1 to 128 letters, digits, dots, hyphens and underscores, and begins with a letter or digit")
  .describe("The artifact's id: letters, digits, . - _");

const versionNumber = z.number().int().min(1);
const expectedVersion = versionNumber
  .optional()
  .describe("The version that you read: fails when there is a newer one by now");

const ID_ALIASES = { artifact_id: "id", artifactId: "id", expectedVersion: "expected_version" } as const;

function keyOf(id: string, { caller }: Pick<ToolContext, "caller">): ArtifactKey {
  return { session: sessionOf(caller), id };
}

export function authorshipOf({ caller: { agent, user }, callId }: ToolContext): Authorship {
  return { author: { agent, user }, callId };
}

/** Changes of one artifact never overlap in one process; between processes its version decides. */
function artifactLock({ id }: { id: string }): string[] {
  return [`artifact:${id}`];
}

function createCreateArtifactTool(manager: ArtifactManager) {
  return createTool({
    name: "create_artifact",
    title: "Create artifact",
    description: {
      short: "Makes an artifact: a document of this session that has versions, such as a report, a plan or code.",
      usageNotes: ["Later changes: update_artifact for parts, rewrite_artifact for the whole."],
      examples: [{ input: { id: "report", title: "Report", content: "# Report\n\nTo be written." } }],
    },
    parameters: z.object({
      id: artifactId,
      title: z.string().min(1).max(500).optional().describe("For people; the id where absent"),
      content_type: z.string().min(1).max(200).optional().describe("A media type; text/markdown where absent"),
      content: z.string().describe("The whole text"),
    }),
    parameterAliases: { ...ID_ALIASES, contentType: "content_type" },
    kind: "write",
    category: ToolCategory.ARTIFACT,
    tags: ["artifact", "document", "write", "report"],
    origin: { type: "builtin" },
    locks: artifactLock,
    async run({ id, title, content_type: contentType, content }, context) {
      const made = { ...keyOf(id, context), title, contentType, content };
      const { artifact, version } = await manager.create(made, authorshipOf(context));
      return {
        content: `Created the artifact "${id}", version 1 (${version.characters} characters).`,
        display: `created ${id}`,
        details: { id, title: artifact.title, contentType: artifact.contentType, version: 1 },
      };
    },
  });
}

const USUAL_PAGE = 20_000;
const MAX_PAGE_LENGTH = 50_000;

function createReadArtifactTool(manager: ArtifactManager) {
  return createTool({
    name: "read_artifact",
    title: "Read artifact",
    description: {
      short: "Shows the text of an artifact, the newest version or an older one, page by page.",
      usageNotes: [
        "A page ends with how to go on. `line` begins at a line, as grep_artifact and diff_artifact name them.",
      ],
      examples: [{ input: { id: "report" } }, { input: { id: "report", version: 1, line: 40 } }],
    },
    parameters: z.object({
      id: artifactId,
      version: versionNumber.optional().describe("The newest where absent"),
      line: z.number().int().min(1).optional().describe("Begin at this line, from 1"),
      offset: z.number().int().min(0).optional().describe("Begin at this character, as the page before told"),
      limit: z
        .number()
        .int()
        .min(1)
        .max(MAX_PAGE_LENGTH)
        .optional()
        .describe("At most so many characters; 20000 unless said"),
    }),
    parameterAliases: ID_ALIASES,
    kind: "readonly",
    category: ToolCategory.ARTIFACT,
    tags: ["artifact", "document", "read", "version"],
    origin: { type: "builtin" },
    // A page has its own measure; cut once more it would end up as an artifact again.
    limits: { maxResultBytes: MAX_PAGE_LENGTH * 4 },
    async run({ id, version: wanted, line, offset, limit = USUAL_PAGE }, context) {
      const { artifact, version } = await manager.read(keyOf(id, context), wanted);
      const page = takePage(version.content, { line, offset, limit });
      const { content: whole, ...info } = version;
      const isOld = version.version < artifact.version ? ` (the newest is ${artifact.version})` : "";
      const isWhole = page.start === 0 && page.next === undefined;
      const part = isWhole ? "" : `, lines ${page.firstLine} to ${page.lastLine} of ${page.lines}`;
      const more =
        page.next === undefined
          ? ""
          : `\n[${whole.length - page.next} characters more: read on with offset ${page.next}]`;
      return {
        content: `[artifact "${id}", version ${version.version}${isOld}${part}]\n${page.text}${more}`,
        display: `${id}, version ${version.version}`,
        details: {
          id,
          title: artifact.title,
          contentType: artifact.contentType,
          ...info,
          newest: artifact.version,
          ...page,
        },
      };
    },
  });
}

const MAX_DIFF_BYTES = 8 * 1024;

function createUpdateArtifactTool(manager: ArtifactManager) {
  return createTool({
    name: "update_artifact",
    title: "Update artifact",
    description: {
      short: "Replaces one place in an artifact, and makes a new version of it.",
      usageNotes: [
        "Quote the text as it stands, with enough around it to be unique: a quote that fits two places changes nothing.",
        "A quote with small mistakes is found where only one place is like it; the answer says how like, and what was replaced.",
      ],
      examples: [{ input: { id: "report", old_str: "To be written.", new_str: "Sales grew by 4%." } }],
    },
    parameters: z.object({
      id: artifactId,
      old_str: z
        .string()
        .min(1, "old_str is empty: quote the text that is to be replaced")
        .describe("The text to replace"),
      new_str: z.string().describe("What to put in its place; empty to delete"),
      expected_version: expectedVersion,
    }),
    parameterAliases: {
      ...ID_ALIASES,
      old_string: "old_str",
      new_string: "new_str",
      old_text: "old_str",
      new_text: "new_str",
    },
    kind: "write",
    category: ToolCategory.ARTIFACT,
    tags: ["artifact", "document", "edit", "replace"],
    origin: { type: "builtin" },
    locks: artifactLock,
    async run({ id, old_str: oldText, new_str: newText, expected_version: expected }, context) {
      const change = { oldText, newText, expectedVersion: expected, signal: context.signal };
      const { version, replaced } = await manager.update(keyOf(id, context), change, authorshipOf(context));
      const diff = await unifiedDiff(
        { before: replaced.before, after: version.content },
        { path: id, maxBytes: MAX_DIFF_BYTES },
      );
      const { step, similarity, line } = replaced;
      return {
        content: `Updated the artifact "${id}" at line ${line}: version ${version.version}${describeStep(replaced)}.\n${diff.text}`,
        display: `updated ${id}, +${diff.added} −${diff.removed}`,
        details: {
          id,
          version: version.version,
          type: version.type,
          step,
          similarity,
          line,
          replaced: replaced.oldText,
          diff: diff.text,
        },
      };
    },
  });
}

function describeStep({ step, similarity }: Replaced): string {
  if (step === "exact") return "";
  if (step === "normalised") return ", found although spelled otherwise (width, quotes, accents, blanks or line ends)";
  return `, found approximately: ${percent(similarity)} like old_str; see below whether that was meant`;
}

function createRewriteArtifactTool(manager: ArtifactManager) {
  return createTool({
    name: "rewrite_artifact",
    title: "Rewrite artifact",
    description: {
      short: "Replaces the whole text of an artifact by a new version; the older ones stay readable.",
      usageNotes: ["For a change of a part use update_artifact: it is shorter, and nothing else can get lost."],
      examples: [{ input: { id: "report", content: "# Report\n\nWritten anew.", expected_version: 3 } }],
    },
    parameters: z.object({
      id: artifactId,
      content: z.string().describe("The whole new text"),
      expected_version: expectedVersion,
    }),
    parameterAliases: { ...ID_ALIASES, new_content: "content" },
    kind: "write",
    category: ToolCategory.ARTIFACT,
    tags: ["artifact", "document", "write", "replace"],
    origin: { type: "builtin" },
    locks: artifactLock,
    async run({ id, content, expected_version: expected }, context) {
      const change = { content, expectedVersion: expected };
      const { version } = await manager.rewrite(keyOf(id, context), change, authorshipOf(context));
      return {
        content: `Rewrote the artifact "${id}": version ${version.version} (${version.characters} characters).`,
        display: `rewrote ${id}`,
        details: { id, version: version.version, type: version.type, characters: version.characters },
      };
    },
  });
}

const USUAL = 50;

function createListArtifactsTool(manager: ArtifactManager) {
  return createTool({
    name: "list_artifacts",
    title: "List artifacts",
    description: {
      short: "Lists the artifacts of this session, what was changed last first.",
      examples: [{ input: {} }],
    },
    parameters: z.object({
      limit: z.number().int().min(1).max(200).optional().describe("At most so many; 50 unless said"),
      offset: z.number().int().min(0).optional().describe("Leave out so many of the newest"),
    }),
    kind: "readonly",
    category: ToolCategory.ARTIFACT,
    tags: ["artifact", "document", "list"],
    origin: { type: "builtin" },
    async run({ limit = USUAL, offset = 0 }, { caller }) {
      const found = await manager.list({ session: sessionOf(caller), limit: limit + 1, offset });
      const artifacts = found.slice(0, limit).map(({ session: _, ...artifact }) => artifact);
      const lines = artifacts.map(
        ({ id, title, version, contentType }) =>
          `${id}: ${title === id ? "" : `${title}, `}version ${version}, ${contentType}`,
      );
      const more = found.length > limit ? [`[more: offset ${offset + limit}]`] : [];
      return {
        content: artifacts.length === 0 ? "This session has no artifacts." : [...lines, ...more].join("\n"),
        display: `${artifacts.length} artifact${artifacts.length === 1 ? "" : "s"}`,
        details: { artifacts, next: found.length > limit ? offset + limit : undefined },
      };
    },
  });
}

function createDiffArtifactTool(manager: ArtifactManager) {
  return createTool({
    name: "diff_artifact",
    title: "Compare artifact versions",
    description: {
      short: "Shows what changed between two versions of an artifact, as a unified diff.",
      usageNotes: ["Without versions: what the last change was."],
      examples: [{ input: { id: "report" } }, { input: { id: "report", from: 1, to: 4 } }],
    },
    parameters: z.object({
      id: artifactId,
      from: versionNumber.optional().describe("The older one; the one before `to` where absent"),
      to: versionNumber.optional().describe("The newer one; the newest where absent"),
    }),
    parameterAliases: { ...ID_ALIASES, from_version: "from", to_version: "to" },
    kind: "readonly",
    category: ToolCategory.ARTIFACT,
    tags: ["artifact", "document", "diff", "version"],
    origin: { type: "builtin" },
    async run({ id, from, to }, context) {
      const diff = await manager.diff(keyOf(id, context), { from, to });
      const between = `versions ${diff.from} and ${diff.to} of "${id}"`;
      const cut = diff.truncated ? "\n[The rest of the difference is left out.]" : "";
      return {
        content:
          diff.text === "" ? `There is no difference between ${between}.` : `Between ${between}:\n${diff.text}${cut}`,
        display: `${id}, ${diff.from} → ${diff.to}: +${diff.added} −${diff.removed}`,
        details: { id, from: diff.from, to: diff.to, added: diff.added, removed: diff.removed },
      };
    },
  });
}

const MAX_LINE_LENGTH = 400;

function createGrepArtifactTool(manager: ArtifactManager, clock: Clock = systemClock) {
  return createTool({
    name: "grep_artifact",
    title: "Search in an artifact",
    description: {
      short: "Finds the lines of an artifact that match a regular expression, or hold a text.",
      usageNotes: ["The line numbers are those that read_artifact takes as `line`."],
      examples: [{ input: { id: "report", pattern: "TODO|FIXME" } }],
    },
    parameters: z.object({
      id: artifactId,
      pattern: z.string().min(1).max(1_000).describe("A JavaScript regular expression"),
      fixed_strings: z.boolean().optional().describe("Take the pattern as plain text"),
      ignore_case: z.boolean().optional(),
      version: versionNumber.optional().describe("The newest where absent"),
      limit: z.number().int().min(1).max(500).optional().describe("At most so many lines; 50 unless said"),
    }),
    parameterAliases: { ...ID_ALIASES, fixedStrings: "fixed_strings", ignoreCase: "ignore_case" },
    kind: "readonly",
    category: ToolCategory.ARTIFACT,
    tags: ["artifact", "document", "search", "grep"],
    origin: { type: "builtin" },
    async run(
      { id, pattern, fixed_strings: isText, ignore_case: ignoreCase, version: wanted, limit = USUAL },
      context,
    ) {
      const { version } = await manager.read(keyOf(id, context), wanted);
      const search = { pattern, isText: isText ?? false, ignoreCase: ignoreCase ?? false, max: limit };
      const { matches, total } = await findLines(version.content, search, { clock, signal: context.signal });
      const lines = matches.map(({ line, text }) => `${line}: ${shorten(text)}`);
      const more = total > matches.length ? [`[${total - matches.length} more matching lines]`] : [];
      return {
        content:
          total === 0 ? `No line of "${id}" (version ${version.version}) matches.` : [...lines, ...more].join("\n"),
        display: `${total} line${total === 1 ? "" : "s"} of ${id}`,
        details: {
          id,
          version: version.version,
          total,
          matches: matches.map(({ line, text }) => ({ line, text: shorten(text) })),
        },
      };
    },
  });
}

function shorten(line: string): string {
  return line.length > MAX_LINE_LENGTH ? `${line.slice(0, MAX_LINE_LENGTH)}…` : line;
}
