import { join } from "node:path";
import type { Agent } from "../models/agent/agent.ts";
import {
  createSkillLibrary,
  PROJECT_COMMAND_FOLDER,
  PROJECT_SKILL_FOLDERS,
  type SkillLibrary,
} from "../models/agent/skills.ts";
import { addressesOf, loadModel } from "../models/agent/load-model.ts";
import type { LoadedConfig } from "../config/load-config.ts";
import { readInstructions } from "../config/foreign/instructions.ts";
import { userPaths } from "../config/user-paths.ts";
import { toolError } from "../core/error.ts";
import { allowOnlyTools } from "../core/call.ts";
import { didYouMean } from "../core/nearest-name.ts";
import type { AnyTool } from "../core/tool.ts";
import { createFiles } from "../io/files/files.ts";
import { createPathPolicy } from "../io/files/path-policy.ts";
import { TEXT_FORMATS, type TextFormatName } from "../core/text-formats.ts";
import { runtimeGateOf } from "../core/gate.ts";
import { isToolAllowed } from "../gate/permit/tool-policy.ts";
import type { Haft } from "../runtime.ts";
import { createAgentTools, type MessageSink } from "../tools/agents/agent-tools.ts";
import type { Workspace } from "../workspace.ts";
import { defineCapability } from "./capability.ts";
import type { HostAgents } from "./capability-values.ts";
import { connectSubagents, createAgent, LiveToolkit } from "./create-agent.ts";
import { type NamedNet, openNamedNet } from "../io/net/streaming-fetch.ts";

/** The name of the agent that has none. */
const MAIN = "agent";

export const agents = defineCapability({
  name: "agents",
  config: ["agent", "agents", "network"],
  needs: ["runtime", "workspace"],
  open({ config, env, user, runtime, workspace }) {
    const net = openNamedNet(config.value.network, env);
    const { folder: userFolder, home } = userPaths(user);
    const value = new ConfiguredAgents(config, {
      haft: runtime,
      env,
      fetchTo: net.fetchTo,
      skills: openSkills(workspace, { userFolder, home, importsClaude: config.importsClaude }),
      readProject: async () => {
        const options = { folder: config.folder, home, files: workspace.files };
        const mayRead = (path: string): boolean => config.trustedInstructions.includes(path);
        return (await readInstructions({ ...options, mayRead })).files;
      },
    });
    // Agents of other programs have no model of their own, so without a model they cannot work.
    const hasAgents = (): boolean =>
      value.isConfigured ||
      config.sources.some(({ kind, value: { agents: own = {} } }) => kind === "haft" && Object.keys(own).length > 0);
    const tools = value.tools();
    return {
      value,
      tools: hasAgents() ? tools : [],
      reload: () => () => {
        value.forget();
        if (!hasAgents()) return;
        for (const tool of tools) if (!runtime.tools.registry.get(tool.name)) runtime.register(tool);
      },
      close: () => net.close(),
    };
  },
});

interface AgentDependencies {
  haft: Haft;
  env: Readonly<Record<string, string | undefined>>;
  /** Connects to a model, at the addresses that the configuration names. */
  fetchTo: NamedNet["fetchTo"];
  skills: SkillLibrary;
  /** AGENTS.md and the like, with their imports. */
  readProject(): Promise<{ file: string; text: string }[]>;
}

/** Those of the workspace, then those of the user. */
function openSkills(
  { files }: Workspace,
  {
    userFolder,
    home,
    importsClaude,
  }: { userFolder: string; home: string; importsClaude: LoadedConfig["importsClaude"] },
): SkillLibrary {
  const outside = (folder: string) => ({
    files: createFiles(createPathPolicy({ workspace: folder, permitGlobs: [folder, join(folder, "**")] })),
    path: ".",
  });
  const claude = join(home, ".claude");
  return createSkillLibrary([
    ...PROJECT_SKILL_FOLDERS.map((path) => ({ files, path })),
    outside(join(userFolder, "skills")),
    ...(importsClaude.home ? [outside(join(claude, "skills"))] : []),
    ...(importsClaude.folder ? [{ files, path: PROJECT_COMMAND_FOLDER, holds: "commands" as const }] : []),
    ...(importsClaude.home ? [{ ...outside(join(claude, "commands")), holds: "commands" as const }] : []),
  ]);
}

class ConfiguredAgents implements HostAgents {
  readonly skills: SkillLibrary;
  readonly #config: Pick<LoadedConfig, "value">;
  readonly #dependencies: AgentDependencies;
  readonly #listeners = new Set<(message: string) => void>();
  readonly #created = new Map<string, Promise<Agent>>();

  constructor(config: Pick<LoadedConfig, "value">, dependencies: AgentDependencies) {
    this.#config = config;
    this.#dependencies = dependencies;
    this.skills = dependencies.skills;
  }

  get #settings(): Pick<LoadedConfig["value"], "agent" | "agents"> {
    return this.#config.value;
  }

  /** The configuration has changed: the next request creates each agent again. */
  forget(): void {
    this.#created.clear();
  }

  get isConfigured(): boolean {
    return this.#settings.agent.model !== undefined;
  }

  names(): string[] {
    return Object.keys(this.#settings.agents);
  }

  get(name: string = MAIN): Promise<Agent> {
    let agent = this.#created.get(name);
    if (!agent) {
      agent = this.#create(name);
      this.#created.set(name, agent);
      // A later request tries again: a package or a key may be there by then.
      agent.catch(() => this.#created.delete(name));
    }
    return agent;
  }

  onAgentMessage(listener: (message: string) => void): () => void {
    this.#listeners.add(listener);
    return () => void this.#listeners.delete(listener);
  }

  tools(): AnyTool[] {
    const messageSink: MessageSink = {
      say: (message) => {
        for (const listener of this.#listeners) listener(message);
        return this.#listeners.size > 0;
      },
    };
    const directory = connectSubagents({ names: () => this.names(), get: (name) => this.get(name) });
    return createAgentTools({ messageSink, skills: this.skills, agents: directory });
  }

  async #create(name: string): Promise<Agent> {
    const { agent: main, agents: named } = this.#settings;
    const { haft, env, fetchTo, readProject } = this.#dependencies;
    const entry = Object.hasOwn(named, name) ? named[name] : undefined;
    if (!entry && name !== MAIN) throw unknownAgent(name, this.names());
    // A model of its own has its own address and key: those of another provider are not sent to it.
    const { model, baseUrl, apiKey } = entry?.model === undefined ? main : entry;
    if (model === undefined) throw noModel();
    const { instructions, maxOutputTokens, temperature, prices, limits, dialect, format } = { ...main, ...entry };
    const { toolkit } = entry ?? {};
    const fetch = fetchTo(addressesOf({ model, baseUrl, env }));
    const languageModel = await loadModel({ model, baseUrl, apiKey, env, fetch: fetch as typeof globalThis.fetch });
    return createAgent({
      haft,
      model: languageModel,
      name,
      toolkit: new LiveToolkit(name, {
        registry: haft.tools.registry,
        gate: runtimeGateOf(haft),
        holds: toolkit ? (tool) => isToolAllowed(tool, allowOnlyTools(toolkit)) : undefined,
      }),
      instructions,
      maxOutputTokens,
      temperature,
      prices,
      limits,
      dialect,
      format: readFormat(format),
      skills: this.skills,
      project: main.projectFile === false ? undefined : readProject,
      subagents: () => Object.entries(named).map(([id, { description = "" }]) => ({ name: id, description })),
    });
  }
}

function unknownAgent(name: string, known: readonly string[]): Error {
  return toolError("invalid_input", `There is no agent "${name}"`, {
    next:
      known.length === 0
        ? "None are configured under `agents`."
        : `${didYouMean(name, known) ?? ""} There are: ${known.join(", ")}.`.trim(),
  });
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
