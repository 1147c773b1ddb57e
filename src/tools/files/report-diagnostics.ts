import type { ToolContext } from "../../core/tool.ts";
import { oneLine } from "../../core/untrusted-text.ts";
import type { ChangedFile, Diagnostics } from "../../io/language/diagnostics.ts";
import type { FileProblem } from "../../io/language/language-server.ts";
import { field } from "../../schema/describe-output.ts";

/** An error that a language server found in a changed file. */
export interface ReportedProblem extends FileProblem {
  path: string;
  /** The file did not have it before the change. */
  isNew: boolean;
}

/** In the output of the tools that change files. */
export const DIAGNOSTIC_FIELDS = {
  "diagnostics?": field.list(
    field.object<ReportedProblem>({
      path: field.text(),
      line: field.integer(),
      column: field.integer(),
      code: field.text(),
      message: field.text(),
      isNew: field.flag("The file did not have it before the change"),
    }),
    "Errors in the changed files, if a language server has checked them in time",
  ),
};

const MAX_SHOWN = 20;
/** In the output, for programs. */
const MAX_LISTED = 100;
const MAX_MESSAGE_LENGTH = 300;

interface Report {
  /** To add to the content; empty if there is nothing to say. */
  text: string;
  problems: ReportedProblem[] | undefined;
}

/** What language servers say about changed files. The messages come from a program of the workspace, so they are disarmed. */
export async function reportDiagnostics(
  diagnostics: Pick<Diagnostics, "check"> | undefined,
  changes: readonly ChangedFile[],
  { context, show }: { context: ToolContext; show(real: string): string },
): Promise<Report> {
  // A server reads the whole workspace, and its messages may quote any part of it.
  if (!diagnostics || context.allowedPaths !== undefined) return { text: "", problems: undefined };
  const checked = await diagnostics.check(changes, context.signal);
  if (checked.length === 0) return { text: "", problems: undefined };
  const all = checked.flatMap(({ file, problems: found }) => found.map((problem) => ({ ...problem, file })));
  const listed = all.toSorted((one, other) => Number(other.isNew) - Number(one.isNew)).slice(0, MAX_LISTED);
  const problems = listed.map(({ file, line, column, code, message, isNew }): ReportedProblem => {
    const text = oneLine(message);
    const short = text.length > MAX_MESSAGE_LENGTH ? `${text.slice(0, MAX_MESSAGE_LENGTH)}…` : text;
    return { path: show(file), line, column, code: oneLine(code).slice(0, 40), message: short, isNew };
  });
  const counts = {
    all: all.length,
    fresh: all.filter(({ isNew }) => isNew).length,
    before: checked.reduce((sum, file) => sum + file.before, 0),
  };
  return { text: writeReport(problems, counts), problems };
}

function writeReport(
  problems: readonly ReportedProblem[],
  { all, fresh, before }: { all: number; fresh: number; before: number },
): string {
  if (all === 0) return before === 0 ? "" : `\nThe ${count(before)} from before ${before === 1 ? "is" : "are"} gone.`;
  const lines = problems.slice(0, MAX_SHOWN).map(({ path, line, column, code, message, isNew }) => {
    return `${path}:${line}:${column} ${code} ${message}${isNew ? " (new)" : ""}`;
  });
  const more = all - lines.length;
  const head = `The language server reports ${count(all)}${fresh > 0 ? `, ${fresh} new` : ", none new"}:`;
  return `\n${[head, ...lines, ...(more > 0 ? [`… and ${more} more`] : [])].join("\n")}`;
}

function count(errors: number): string {
  return `${errors} ${errors === 1 ? "error" : "errors"}`;
}
