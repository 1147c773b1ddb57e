/** Instructions for a kind of task, in a folder with a SKILL.md: named in the prompt, read when they are needed. */
export interface Skill {
  name: string;
  description: string;
  /** While it is used, no other tools exist for the agent. All of them where absent. */
  allowedTools?: readonly string[];
  /** Where it lies, as a model should see it. */
  folder: string;
}

/** The skills that there are. */
export interface SkillLibrary {
  /** Sorted by name; what is wrong with others, in words for a person. */
  list(): Promise<{ skills: Skill[]; problems: string[] }>;
  /** The whole instructions. Fails where there is no such skill, naming those there are. */
  load(name: string): Promise<Skill & { instructions: string; files: string[] }>;
  /** A file of the skill's folder. */
  read(name: string, file: string): Promise<string>;
}
