import { onTestFinished } from "vitest";
import { OTHER_TOOLS } from "../../../../bench/other-personas.mjs";
import { TOOLS } from "../../../../bench/personas.mjs";
import { temporaryFolder } from "../../../../test/setup/temporary-folder.ts";
import { createTool } from "../../../core/create-tool.ts";
import type { AnyTool } from "../../../core/tool.ts";
import { createHaft } from "../../../runtime.ts";
import { openWorkspace } from "../../../workspace.ts";
import { RuleSet } from "../rules/rule-set.ts";
import { type CallDigest, digestOf, judgeDigest } from "./call-digest.ts";

/** The tools of the personas, with the judge of recorded calls. */
export function openTools(more: readonly AnyTool[] = []) {
  const folder = temporaryFolder("haft-suggest-");
  const workspace = openWorkspace(folder);
  const tools = [...TOOLS, ...OTHER_TOOLS].map((tool) =>
    createTool({ ...tool, parameters: [...tool.parameters], run: () => "done" }),
  );
  const haft = createHaft({ tools: [...tools, ...more], workspace });
  onTestFinished(async () => {
    await haft.shutdown();
    await workspace.close();
  });
  const toolOf = (name: string) => haft.tools.registry.get(name);
  const rules = new RuleSet();
  const digest = (toolName: string, input: object, isTainted = false): CallDigest | undefined => {
    const call = { tool: toolOf(toolName), input, options: {}, caller: { depth: 0 } };
    const made = digestOf(call as never, input);
    return made && { ...made, hasReadUntrusted: isTainted };
  };
  const decide = (set: RuleSet, toolName: string, input: object) => {
    const tool = toolOf(toolName);
    const of = tool && digest(toolName, input);
    return tool && of && !of.unjudged ? judgeDigest(set, { tool, digest: of, cwd: folder }).decision : "ask";
  };
  return { folder, toolOf, rules, digest, decide };
}
