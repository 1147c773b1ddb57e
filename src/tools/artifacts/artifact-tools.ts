import { z } from "zod";
import { ToolCategory } from "../../core/category.ts";
import { type Clock, systemClock } from "../../core/clock.ts";
import { createTool } from "../../core/create-tool.ts";
import { continueBy } from "../../core/results/next-call.ts";
import type { AnyTool, ToolContext } from "../../core/tool.ts";
import { unifiedDiff } from "../../io/files/unified-diff.ts";
import type { ArtifactManager, Authorship } from "./artifact-manager.ts";
import { type Artifact, type ArtifactKey, type ArtifactVersionInfo, sessionOf } from "./artifact-store.ts";
import { findLines, takePage, type TextPage } from "./artifact-text.ts";
import { percent, type Replaced } from "./fuzzy-replace.ts";
import { describeOutput, field } from "../../schema/describe-output.ts";

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

/** Letters and digits of any script, so an id can be used in a URL and on a command line. */
const ID = /^[\p{L}\p{N}][\p{L}\p{M}\p{N}._-]{0,127}$/u;

const artifactId = z
  .string()
  .regex(ID, "an id is 1 to 128 letters, digits, dots, hyphens and underscores, and begins with a letter or digit")
  .describe("The artifact's id: letters, digits, . - _");

const versionNumber = z.number().int().min(1);
const expectedVersion = versionNumber.optional().describe("The version that you read: fails if there is a newer one");

const ID_ALIASES = { artifact_id: "id", artifactId: "id", expectedVersion: "expected_version" } as const;

const ARTIFACT_FIELDS = { id: field.text(), title: field.text(), contentType: field.text() };

const VERSION_FIELDS = {
  version: field.integer(),
  type: field.text("create, update, update_fuzzy or rewrite"),
  author: field.object({ "agent?": field.text(), "user?": field.text() }),
  "callId?": field.text("The call that made it"),
  at: field.number("Unix milliseconds"),
  characters: field.integer(),
  "similarity?": field.number("0 to 1, of an approximate update"),
};

function keyOf(id: string, { caller }: Pick<ToolContext, "caller">): ArtifactKey {
  return { session: sessionOf(caller), id };
}

export function authorshipOf({ caller: { agent, user }, callId }: ToolContext): Authorship {
  return { author: { agent, user }, callId };
}

/** Serialises changes of an artifact within a process; between processes its version does. */
function artifactLock({ id }: { id: string }): string[] {
  return [`artifact:${id}`];
}

function createCreateArtifactTool(manager: ArtifactManager) {
  return createTool({
    name: "create_artifact",
    title: "Create artifact",
    description: {
      short: "Creates an artifact: a document of this session with versions, such as a report, a plan or code.",
      usageNotes: ["Later changes: update_artifact for parts, rewrite_artifact for the whole."],
      examples: [{ input: { id: "report", title: "Report", content: "# Report\n\nTo be written." } }],
    },
    parameters: z.object({
      id: artifactId,
      title: z.string().min(1).max(500).optional().describe("Shown to people. Default: the id"),
      content_type: z.string().min(1).max(200).optional().describe("A media type. Default: text/markdown"),
      content: z.string().describe("The whole text"),
    }),
    parameterAliases: { ...ID_ALIASES, contentType: "content_type" },
    kind: "write",
    category: ToolCategory.ARTIFACT,
    tags: ["artifact", "document", "write", "report"],
    builtIn: {
      zh: { title: "创建文档", short: "创建本会话的一份带版本的文档，例如报告、计划或代码。" },
      sameAs: { opencode: [], gemini: [] },
    },
    output: describeOutput({ ...ARTIFACT_FIELDS, version: field.integer() }),
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

const DEFAULT_PAGE_LENGTH = 20_000;
const MAX_PAGE_LENGTH = 50_000;

function createReadArtifactTool(manager: ArtifactManager) {
  return createTool({
    name: "read_artifact",
    title: "Read artifact",
    description: {
      short: "Shows the text of an artifact, the newest version or an older one, page by page.",
      usageNotes: [
        "A page ends with the next offset. `line` takes the line numbers of grep_artifact and diff_artifact.",
      ],
      examples: [{ input: { id: "report" } }, { input: { id: "report", version: 1, line: 40 } }],
    },
    parameters: z.object({
      id: artifactId,
      version: versionNumber.optional().describe("Default: the newest"),
      line: z.number().int().min(1).optional().describe("Begin at this line, from 1"),
      offset: z.number().int().min(0).optional().describe("Begin at this character, as given by the previous page"),
      limit: z.number().int().min(1).max(MAX_PAGE_LENGTH).optional().describe("Max characters. Default: 20000"),
    }),
    parameterAliases: ID_ALIASES,
    kind: "readonly",
    category: ToolCategory.ARTIFACT,
    tags: ["artifact", "document", "read", "version"],
    builtIn: {
      zh: { title: "读取文档", short: "分页显示文档的文本，最新版本或旧版本。" },
      sameAs: { opencode: [], gemini: [] },
    },
    output: describeOutput<
      Pick<Artifact, "id" | "title" | "contentType"> & ArtifactVersionInfo & TextPage & { newest: number }
    >({
      ...ARTIFACT_FIELDS,
      ...VERSION_FIELDS,
      newest: field.integer("The newest version"),
      text: field.text("The page"),
      start: field.integer("Its first character"),
      "next?": field.integer("Where to continue"),
      firstLine: field.integer(),
      lastLine: field.integer(),
      lines: field.integer("Of the whole text"),
    }),
    // Pages are already limited; if the gate cut them, the rest would become another artifact.
    limits: { maxResultBytes: MAX_PAGE_LENGTH * 4 },
    async run({ id, version: requested, line, offset, limit = DEFAULT_PAGE_LENGTH }, context) {
      const { artifact, version } = await manager.read(keyOf(id, context), requested);
      const page = takePage(version.content, { line, offset, limit });
      const { content: whole, ...info } = version;
      const isOld = version.version < artifact.version ? ` (the newest is ${artifact.version})` : "";
      const isWhole = page.start === 0 && page.next === undefined;
      const part = isWhole ? "" : `, lines ${page.firstLine} to ${page.lastLine} of ${page.lines}`;
      const more =
        page.next === undefined
          ? ""
          : `\n[${whole.length - page.next} more characters. ${continueBy(context, { offset: page.next })}]`;
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
      short: "Replaces one passage of an artifact and creates a new version.",
      usageNotes: [
        "Quote the text exactly, with enough context to be unique: an ambiguous quote changes nothing.",
        "A quote with small mistakes is accepted if only one passage is similar; the result shows the similarity and what was replaced.",
      ],
      examples: [{ input: { id: "report", old_str: "To be written.", new_str: "Sales grew by 4%." } }],
    },
    parameters: z.object({
      id: artifactId,
      old_str: z.string().min(1, "old_str is empty: quote the text to replace").describe("The text to replace"),
      new_str: z.string().describe("The replacement; empty to delete"),
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
    builtIn: {
      zh: { title: "更新文档", short: "替换文档中的一段，并创建新版本。" },
      sameAs: { opencode: [], gemini: [] },
    },
    output: describeOutput({
      id: field.text(),
      version: field.integer(),
      type: VERSION_FIELDS.type,
      step: field.text("How the text was found"),
      similarity: field.number("0 to 1"),
      line: field.integer(),
      replaced: field.text("The replaced text"),
      diff: field.text("Unified diff"),
    }),
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
  if (step === "normalised")
    return ", matched despite a different spelling (width, quotes, accents, whitespace or line ends)";
  return `, matched approximately: ${percent(similarity)} similar to old_str; check below whether it is the right passage`;
}

function createRewriteArtifactTool(manager: ArtifactManager) {
  return createTool({
    name: "rewrite_artifact",
    title: "Rewrite artifact",
    description: {
      short: "Replaces the whole text of an artifact with a new version; older versions stay readable.",
      usageNotes: ["To change a part use update_artifact: it is shorter, and nothing else can get lost."],
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
    builtIn: {
      zh: { title: "重写文档", short: "用新版本替换文档的全部文本；旧版本仍可读取。" },
      sameAs: { opencode: [], gemini: [] },
    },
    output: describeOutput({
      id: field.text(),
      version: field.integer(),
      type: VERSION_FIELDS.type,
      characters: field.integer(),
    }),
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

const DEFAULT_RESULTS = 50;

function createListArtifactsTool(manager: ArtifactManager) {
  return createTool({
    name: "list_artifacts",
    title: "List artifacts",
    description: {
      short: "Lists the artifacts of this session, the most recently changed first.",
      examples: [{ input: {} }],
    },
    parameters: z.object({
      limit: z.number().int().min(1).max(200).optional().describe("Max results. Default: 50"),
      offset: z.number().int().min(0).optional().describe("Skip this many"),
    }),
    kind: "readonly",
    category: ToolCategory.ARTIFACT,
    tags: ["artifact", "document", "list"],
    builtIn: {
      zh: { title: "列出文档", short: "列出本会话的文档，最近修改的在前。" },
      sameAs: { opencode: [], gemini: [] },
    },
    output: describeOutput({
      artifacts: field.list(
        field.object<Omit<Artifact, "session">>({
          ...ARTIFACT_FIELDS,
          origin: field.text("made or output"),
          version: field.integer("The newest version"),
          createdAt: field.number("Unix milliseconds"),
          updatedAt: field.number("Unix milliseconds"),
        }),
      ),
      "next?": field.integer("Offset of the next page"),
    }),
    async run({ limit = DEFAULT_RESULTS, offset = 0 }, { caller }) {
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
      usageNotes: ["Without versions it shows the last change."],
      examples: [{ input: { id: "report" } }, { input: { id: "report", from: 1, to: 4 } }],
    },
    parameters: z.object({
      id: artifactId,
      from: versionNumber.optional().describe("The older version. Default: the one before `to`"),
      to: versionNumber.optional().describe("The newer version. Default: the newest"),
    }),
    parameterAliases: { ...ID_ALIASES, from_version: "from", to_version: "to" },
    kind: "readonly",
    category: ToolCategory.ARTIFACT,
    tags: ["artifact", "document", "diff", "version"],
    builtIn: {
      zh: { title: "比较文档版本", short: "以统一差异格式显示文档两个版本之间的变化。" },
      sameAs: { opencode: [], gemini: [] },
    },
    output: describeOutput({
      id: field.text(),
      from: field.integer(),
      to: field.integer(),
      added: field.integer("Lines"),
      removed: field.integer("Lines"),
    }),
    async run({ id, from, to }, context) {
      const diff = await manager.diff(keyOf(id, context), { from, to });
      const between = `versions ${diff.from} and ${diff.to} of "${id}"`;
      const cut = diff.truncated ? "\n[The rest of the difference is omitted.]" : "";
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
      short: "Finds the lines of an artifact that match a regular expression or contain a text.",
      usageNotes: ["read_artifact accepts the line numbers as `line`."],
      examples: [{ input: { id: "report", pattern: "TODO|FIXME" } }],
    },
    parameters: z.object({
      id: artifactId,
      pattern: z.string().min(1).max(1_000).describe("A JavaScript regular expression"),
      fixed_strings: z.boolean().optional().describe("Treat the pattern as plain text"),
      ignore_case: z.boolean().optional(),
      version: versionNumber.optional().describe("Default: the newest"),
      limit: z.number().int().min(1).max(500).optional().describe("Max lines. Default: 50"),
    }),
    parameterAliases: { ...ID_ALIASES, fixedStrings: "fixed_strings", ignoreCase: "ignore_case" },
    kind: "readonly",
    category: ToolCategory.ARTIFACT,
    tags: ["artifact", "document", "search", "grep"],
    builtIn: {
      zh: { title: "在文档中搜索", short: "查找文档中匹配正则表达式或包含某段文本的行。" },
      sameAs: { opencode: [], gemini: [] },
    },
    output: describeOutput({
      id: field.text(),
      version: field.integer(),
      total: field.integer("Matching lines"),
      matches: field.list(field.object({ line: field.integer(), text: field.text() })),
    }),
    async run(
      { id, pattern, fixed_strings: isText, ignore_case: ignoreCase, version: requested, limit = DEFAULT_RESULTS },
      context,
    ) {
      const { version } = await manager.read(keyOf(id, context), requested);
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
