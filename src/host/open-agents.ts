import { join } from "node:path";
import type { Agent } from "../models/agent/agent.ts";
import { readProjectFile } from "../models/agent/system-prompt.ts";
import { createSkillLibrary, PROJECT_SKILL_FOLDERS, type SkillLibrary } from "../models/agent/skills.ts";
import { connectSubagents } from "../models/agent/subagents.ts";
import { createAgent, LiveToolkit } from "../capabilities/create-agent.ts";
import { addressesOf, loadModel } from "../models/agent/load-model.ts";
import type { LoadedConfig } from "../config/load-config.ts";
import { toolError } from "../core/error.ts";
import { allowOnlyTools } from "../core/call.ts";
import { didYouMean } from "../core/nearest-name.ts";
import { createFiles } from "../io/files/files.ts";
import { createPathPolicy } from "../io/files/path-policy.ts";
import { TEXT_FORMATS, type TextFormatName } from "../models/text/text-format.ts";
import { isToolAllowed } from "../gate/permit/tool-policy.ts";
import type { Haft } from "../runtime.ts";
import { createAgentTools, type MessageSink } from "../tools/agents/agent-tools.ts";
import type { Workspace } from "../workspace.ts";
import type { NamedNet } from "./open-named-net.ts";

export interface AgentsHost {
  haft: Haft;
  workspace: Workspace;
  env: Readonly<Record<string, string | undefined>>;
  /** How a model is reached, with those of its addresses that a person has named. */
  fetchTo: NamedNet["fetchTo"];
  /** The user's own folder of settings, which may hold skills. */
  userFolder: string;
}

/** The agents that the configuration names. */
export interface HostAgents {
  /** Whether a model is configured for the one without a name. */
  readonly isConfigured: boolean;
  names(): readonly string[];
  /** Made when first asked for. Rejects, with what to do, where it or its model is not there. */
  get(name?: string): Promise<Agent>;
  readonly skills: SkillLibrary;
  /** Hears what agents say with cli_response. */
  onAgentMessage(listener: (message: string) => void): () => void;
}

/** The name of the agent that has none. */
const MAIN = "agent";

export function openAgents({ value }: LoadedConfig, host: AgentsHost): HostAgents {
  const { haft, workspace, env, fetchTo, userFolder } = host;
  const { agent: main, agents: named } = value;
  const ownSkills = join(userFolder, "skills");
  const skills = createSkillLibrary([
    ...PROJECT_SKILL_FOLDERS.map((path) => ({ files: workspace.files, path })),
    {
      files: createFiles(createPathPolicy({ workspace: ownSkills, permitGlobs: [ownSkills, join(ownSkills, "**")] })),
      path: ".",
    },
  ]);
  const listeners = new Set<(message: string) => void>();
  const messageSink: MessageSink = {
    say(message) {
      for (const listener of listeners) listener(message);
      return listeners.size > 0;
    },
  };
  const names = (): string[] => Object.keys(named);
  const made = new Map<string, Promise<Agent>>();
  const get = (name: string = MAIN): Promise<Agent> => {
    let agent = made.get(name);
    if (!agent) {
      agent = make(name);
      made.set(name, agent);
      // What could not be made now may be there later: a package, a key.
      agent.catch(() => made.delete(name));
    }
    return agent;
  };
  if (main.model !== undefined || names().length > 0) {
    const agents = connectSubagents({ names, get });
    for (const tool of createAgentTools({ messageSink, skills, agents })) haft.register(tool);
  }
  return {
    isConfigured: main.model !== undefined,
    names,
    get,
    skills,
    onAgentMessage(listener) {
      listeners.add(listener);
      return () => void listeners.delete(listener);
    },
  };

  async function make(name: string): Promise<Agent> {
    const entry = Object.hasOwn(named, name) ? named[name] : undefined;
    if (!entry && name !== MAIN) throw unknownAgent(name);
    // A model of its own comes with its own address and key: those of another provider are not sent to it.
    const { model, baseUrl, apiKey } = entry?.model === undefined ? main : entry;
    if (model === undefined) throw noModel();
    const { instructions, maxOutputTokens, temperature, prices, limits, dialect, format } = { ...main, ...entry };
    const { toolkit } = entry ?? {};
    const fetch = fetchTo(addressesOf({ model, baseUrl, env }));
    const languageModel = await loadModel({ model, baseUrl, apiKey, env, fetch: fetch as typeof globalThis.fetch });
    const { registry, executor: gate } = haft;
    return createAgent({
      haft,
      model: languageModel,
      name,
      toolkit: new LiveToolkit(name, {
        registry,
        gate,
        holds: toolkit ? (tool) => isToolAllowed(tool, allowOnlyTools(toolkit)) : undefined,
      }),
      ...defined({ instructions, maxOutputTokens, temperature, prices, limits, dialect, format: readFormat(format) }),
      skills,
      ...(main.projectFile === false
        ? {}
        : { project: async () => [await readProjectFile(workspace.files)].filter((file) => file !== undefined) }),
      subagents: () => Object.entries(named).map(([id, { description = "" }]) => ({ name: id, description })),
    });
  }

  function unknownAgent(name: string): Error {
    const known = names();
    return toolError("invalid_input", `There is no agent "${name}"`, {
      next:
        known.length === 0
          ? "None are configured under `agents`."
          : `${didYouMean(name, known) ?? ""} There are: ${known.join(", ")}.`.trim(),
    });
  }
}

function noModel(): Error {
  return toolError("unavailable", "No model is configured", {
    next: "Set agent.model in the configuration to provider/name, for example ollama/qwen3.",
  });
}

function readFormat(format: string | undefined): TextFormatName | undefined {
  if (format === undefined) return undefined;
  const known = TEXT_FORMATS.find((name) => name === format);
  if (known) return known;
  throw toolError("invalid_input", `There is no text format "${format}"`, {
    next: didYouMean(format, TEXT_FORMATS) ?? `There are: ${TEXT_FORMATS.join(", ")}.`,
  });
}

function defined<T extends object>(fields: T): { [K in keyof T]?: Exclude<T[K], undefined> } {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined)) as never;
}
