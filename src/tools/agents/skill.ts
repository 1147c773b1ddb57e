import { z } from "zod";
import { ToolCategory } from "../../core/category.ts";
import { text } from "../../core/content.ts";
import { createTool } from "../../core/create-tool.ts";
import { describeOutput, field } from "../../schema/describe-output.ts";

/** The skills of an agent. */
export interface SkillSource {
  load(name: string): Promise<{
    name: string;
    instructions: string;
    folder: string;
    files: readonly string[];
    allowedTools?: readonly string[];
  }>;
  read(name: string, file: string): Promise<string>;
}

export function createSkillTool({ skills }: { skills: SkillSource }) {
  return createTool({
    name: "skill",
    title: "Load a skill",
    description: {
      short: "Loads the instructions of a skill, or a file that belongs to it.",
      usageNotes: [
        "Load a skill before you begin a task that it covers, then follow its instructions.",
        "A skill may restrict your tools until your turn ends; its instructions list them.",
      ],
      examples: [
        { input: { name: "release-notes" } },
        { input: { name: "release-notes", file: "templates/long.md" }, description: "a file of the skill" },
      ],
    },
    parameters: z.object({
      name: z.string().min(1).describe("The name in the list of skills"),
      file: z.string().min(1).optional().describe("A file of the skill, relative to its folder"),
    }),
    kind: "readonly",
    category: ToolCategory.AGENT,
    tags: ["agent", "instructions", "SKILL.md"],
    builtIn: {
      zh: { title: "加载技能", short: "加载一项技能的说明，或属于它的一个文件。" },
      isCore: true,
      sameAs: { opencode: ["skill"], gemini: ["activate_skill"] },
    },
    output: describeOutput({
      name: field.text(),
      "file?": field.text("The file that was read"),
      "content?": field.text("Of that file"),
      "files?": field.list(field.text(), "Files of the skill"),
      "allowedTools?": field.list(field.text(), "The only tools until the turn ends"),
    }),
    idempotent: true,
    async run({ name, file }) {
      if (file !== undefined) {
        const content = await skills.read(name, file);
        return { content: [text(content)], display: `${name}: ${file}`, details: { name, file, content } };
      }
      const { instructions, folder, files, allowedTools } = await skills.load(name);
      const lines = [
        `Skill "${name}" (${folder}):`,
        instructions,
        ...(files.length > 0 ? [`Its files, for this tool's parameter file: ${files.join(", ")}`] : []),
        ...(allowedTools ? [`Until your turn ends you have only these tools: ${allowedTools.join(", ")}`] : []),
      ];
      return {
        content: [text(lines.join("\n\n"))],
        display: `Loaded the skill ${name}`,
        details: { name, files, allowedTools },
        // The agent loop applies this to the rest of the turn, but only from built-in tools.
        metadata: allowedTools ? { allowedTools } : undefined,
      };
    },
  });
}
