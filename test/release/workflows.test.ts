import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { createJiti } from "jiti";
import { beforeAll, describe, expect, test } from "vitest";
import { parse } from "yaml";
import { z } from "zod";
import { ROOT } from "../architecture/read-entries.ts";

type WorkflowParser = typeof import("@actions/workflow-parser");

interface Workflow {
  permissions: Record<string, string>;
  jobs: Record<string, Job>;
}

interface Job {
  if?: string;
  defaults?: { run: { shell: string } };
  permissions?: Record<string, string>;
  "timeout-minutes"?: number;
  steps: { uses?: string; run?: string }[];
}

const GITHUB = join(ROOT, ".github");
const WORKFLOWS = readdirSync(join(GITHUB, "workflows"));
const FORMS = readdirSync(join(GITHUB, "ISSUE_TEMPLATE")).filter((name) => name !== "config.yml");
const { scripts } = JSON.parse(readFileSync(join(ROOT, "package.json"), "utf8")) as { scripts: Record<string, string> };

const read = (...path: string[]): string => readFileSync(join(GITHUB, ...path), "utf8");
const readWorkflow = (name: string): Workflow => parse(read("workflows", name)) as Workflow;
const stepsOf = (name: string) => Object.values(readWorkflow(name).jobs).flatMap(({ steps }) => steps);

let parser: WorkflowParser;
beforeAll(async () => {
  // GitHub's own parser imports JSON without the attribute that Node requires.
  parser = await createJiti(import.meta.url).import<WorkflowParser>("@actions/workflow-parser");
});

function findErrors(name: string, content: string): string[] {
  const { context } = parser.parseWorkflow({ name, content }, new parser.NoOperationTraceWriter());
  return context.errors.getErrors().map(({ message }) => message);
}

test("the parser finds a wrong key and a wrong expression", () => {
  const content =
    "on: push\njobs:\n  a:\n    runs-on: x\n    steps:\n      - runs: ls\n      - run: ${{ githb.ref }}\n";
  expect(findErrors("wrong.yml", content).join("\n")).toMatch(/'runs'[^]*githb/);
});

describe.each(WORKFLOWS)("the workflow %s", (name) => {
  test("follows GitHub's schema", () => {
    expect(findErrors(name, read("workflows", name))).toEqual([]);
  });

  test("names npm scripts and files that exist", () => {
    const commands = stepsOf(name).flatMap(({ run }) => run ?? []);
    const words = commands.flatMap((command) => [...command.matchAll(/\bnpm run ([\w:]+)/g)].map(([, word]) => word!));
    expect(words.filter((word) => !(word in scripts))).toEqual([]);
    const files = commands.flatMap((command) => command.match(/(?:^|\s)(?:scripts|\.ci)\/[\w./-]+/gm) ?? []);
    expect(files.map((file) => file.trim()).filter((file) => !existsSync(join(ROOT, file)))).toEqual([]);
  });

  test("uses the default registry of npm", () => {
    expect(read("workflows", name)).not.toMatch(/registry/);
  });

  test("uses official actions of a fixed major version, few permissions and time limits", () => {
    const actions = stepsOf(name).flatMap(({ uses }) => uses ?? []);
    expect(actions.filter((action) => !/^actions\/[\w-]+@v\d+$/.test(action))).toEqual([]);
    const { permissions, jobs } = readWorkflow(name);
    expect(Object.entries(permissions).filter(([, level]) => level === "write")).toEqual([]);
    expect(Object.values(jobs).filter((job) => job["timeout-minutes"] === undefined)).toEqual([]);
  });
});

test("CI runs on Linux, macOS and Windows with Node 20, 22 and 24", () => {
  const text = read("workflows", "ci.yml");
  expect(text.match(/node: \[20, 22, 24\]/g)).toHaveLength(2);
  expect(text).toContain("system: [macos-latest, windows-latest]");
  expect(readWorkflow("ci.yml").jobs["other-systems"]?.defaults?.run.shell).toBe("bash");
});

test("the site is deployed only if the repository has GitHub Pages", () => {
  expect(readWorkflow("docs.yml").jobs["deploy"]?.if).toContain("vars.PAGES == 'true'");
});

test("only the job that publishes may sign, and it cannot write to the repository", () => {
  const { jobs } = readWorkflow("release.yml");
  expect(jobs["publish"]?.permissions).toEqual({ contents: "read", "id-token": "write" });
  const commands = jobs["publish"]?.steps.flatMap(({ run }) => run ?? []) ?? [];
  const check = commands.findIndex((command) => command.includes("release.mjs check"));
  const publish = commands.findIndex((command) => command.startsWith("npm publish --provenance"));
  expect(check).toBeGreaterThanOrEqual(0);
  expect(publish).toBeGreaterThan(check);
});

/** The documented fields of an issue form. No package has its schema in a reasonable size. */
const FORM = z.strictObject({
  name: z.string().min(1),
  description: z.string().min(1),
  labels: z.array(z.string()).optional(),
  body: z.array(
    z.discriminatedUnion("type", [
      z.strictObject({ type: z.literal("markdown"), attributes: z.strictObject({ value: z.string().min(1) }) }),
      z.strictObject({
        type: z.literal("textarea"),
        id: z.string().regex(/^[\w-]+$/),
        attributes: z.strictObject({
          label: z.string().min(1),
          description: z.string().optional(),
          render: z.string().optional(),
        }),
        validations: z.strictObject({ required: z.boolean() }).optional(),
      }),
      z.strictObject({
        type: z.literal("dropdown"),
        id: z.string().regex(/^[\w-]+$/),
        attributes: z.strictObject({ label: z.string().min(1), options: z.array(z.string()).min(1) }),
        validations: z.strictObject({ required: z.boolean() }).optional(),
      }),
    ]),
  ),
});

test.each(FORMS)("the issue form %s has the fields that GitHub documents", (name) => {
  const { body } = FORM.parse(parse(read("ISSUE_TEMPLATE", name)));
  const ids = body.flatMap((element) => (element.type === "markdown" ? [] : element.id));
  expect(new Set(ids).size).toBe(ids.length);
  expect(ids.length).toBeGreaterThan(0);
});
