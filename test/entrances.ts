// Every way into the gate, as an adapter that makes one call. `entrances.test.ts` proves that the same things hold for all.
import {
  type AnyTool,
  type CallOptions,
  createChain,
  createTool,
  setDefaultHaft,
  type ToolConfig,
  type ToolResult,
} from "haft";
import type { AgentTool } from "haft/compat";
import { createScriptedModel, createTestHaft, playScript, type TestHaft } from "haft/testing";
import { z } from "zod";
import { callByAgent, callByTextAgent } from "./agents/call-through.ts";
import { callByCommandLine } from "./cli/call-through.ts";
import {
  callOverAISDK,
  callOverLangChain,
  callOverOpenAIAgents,
  callOverProvider,
  callOverTanStack,
  callOverText,
} from "./formats/call-through.ts";
import { callAtClient, callOverHttp, callOverSocket, callOverStream, installAtClient } from "./http/call-through.ts";
import { callOverMcpConnection, callOverMcpHttp } from "./mcp/call-through.ts";
import { callBySchedule } from "./schedules/call-through.ts";
import { callBySession } from "./sessions/call-through.ts";

const parameters = z.object({ text: z.string().describe("What to keep") });
type TargetConfig = ToolConfig<typeof parameters, never, Promise<string>> & { name: string };

/** A runtime with one tool that changes things, and what a test may turn: who is denied, and whether it asks. */
export interface World {
  readonly haft: TestHaft;
  readonly target: AnyTool;
  /** The name that is called: the target's, unless a test asks for one that nobody has. */
  name: string;
  input: unknown;
  /** Another input that the target accepts. */
  readonly otherInput: Readonly<Record<string, unknown>>;
  options: CallOptions;
  /** Live: the runtime's policy holds this very list. */
  readonly denied: string[];
  asks: boolean;
  /** What the target's code was run with. */
  readonly runs: unknown[];
  /** What the target's code does after its effect. */
  afterEffect?: () => Promise<void>;
}

interface Entrance {
  readonly name: string;
  /** Puts the target where this entrance finds it; by default it is registered. */
  readonly install?: (haft: TestHaft, config: TargetConfig) => AnyTool | Promise<AnyTool>;
  /** Calls the target, and gives what the caller is given. */
  readonly call: (world: World) => Promise<ToolResult>;
  /** A tool object is called, so that there is no unknown name. */
  readonly hasNoNames?: true;
  /** What it carries has no types: where a text is wanted, everything is one. */
  readonly writesAllAsText?: true;
  /** The program around the call is stopped by a shutdown, and says that it does not know. */
  readonly isStopped?: true;
  /** An id is also known without a session: for the same token, user or run of a schedule, or in a session of its own. */
  readonly isKnownByUser?: true;
  /** It stands behind the question of an asking tool, which has been asked and answered when the call comes. */
  readonly isAnswer?: true;
}

function abortable(call: Entrance["call"]): Entrance["call"] {
  return (world) =>
    world.options.signal?.aborted ? world.haft.execute(world.name, world.input, world.options) : call(world);
}

export const ENTRANCES: readonly Entrance[] = [
  { name: "haft.execute", call: ({ haft, name, input, options }) => haft.execute(name, input, options) },
  {
    name: "haft.execute by an alias",
    call: ({ haft, target, name, input, options }) =>
      haft.execute(name === target.name ? target.aliases[0]! : name, input, options),
  },
  {
    name: "haft.executeMany",
    call: async ({ haft, name, input, options }) => {
      const [result] = await haft.executeMany([{ id: options.id, name, input }], options);
      return result!;
    },
  },
  { name: "tool.execute", hasNoNames: true, call: ({ target, input, options }) => target.execute(input, options) },
  {
    name: "tool.build().execute, the input changed in between",
    hasNoNames: true,
    call: ({ target, input, otherInput, options }) => {
      const params: Record<string, unknown> = { ...otherInput };
      const invocation = target.build(params);
      for (const key of Object.keys(params)) delete params[key];
      Object.assign(params, input);
      return invocation.execute(options);
    },
  },
  {
    name: "toolkit.executeTool",
    call: ({ haft, target, name, input, options }) =>
      haft.tools.toolkit("agent", [target.name]).execute(name, input, options),
  },
  {
    name: "executeTool of a toolkit made by hand, with a tool that is not registered",
    install: (_haft, config) => createTool(config),
    call: ({ haft, target, name, input, options }) => {
      const toolkit = haft.tools.toolkit("agent");
      toolkit.add(target);
      return toolkit.execute(name, input, options);
    },
  },
  {
    name: "a step of a chain",
    call: ({ haft, name, input, options }) => {
      const steps = [{ tool: name, input: () => input }];
      if (!haft.tools.registry.has("chain")) {
        haft.register(createChain({ name: "chain", description: "One step", kind: "readonly", parameters: [], steps }));
      }
      return haft.execute("chain", {}, options);
    },
  },
  {
    name: "a program of run_code",
    isStopped: true,
    call: abortable(async ({ haft, name, input, options }) => {
      let inner: ToolResult | undefined;
      const stop = haft.on("*", (event) => {
        const isCall = "callId" in event && event.callId === `${options.id ?? ""}/1`;
        if (isCall && "result" in event) inner = event.result;
      });
      const code = `return await tools[${JSON.stringify(name)}](${JSON.stringify(input)})`;
      const outer = await haft.execute("run_code", { code }, { id: "program", ...options });
      stop();
      return inner ?? outer;
    }),
  },
  {
    name: "context.call in a running tool",
    call: async ({ haft, name, input, options }) => {
      let inner: ToolResult | undefined;
      haft.tools.registry.unregister("parent");
      haft.register({
        name: "parent",
        description: "Calls the target",
        kind: "readonly",
        parameters: [],
        run: async (_input, context) => void (inner = await context.call(name, input)),
      });
      const outer = await haft.execute("parent", {}, options);
      return inner ?? outer;
    },
  },
  {
    name: "a plugin's tool",
    install: async (haft, { run, ...config }) => {
      const execute = (_callId: string, params: { text: string }) => run!(params, undefined as never);
      const [tool] = await haft.tools.install({
        manifest: { id: "notes", tools: [config.name] },
        register: (api) => void api.registerTool({ ...config, execute } as unknown as AgentTool),
      });
      return tool!;
    },
    call: ({ haft, name, input, options }) => haft.execute(name, input, options),
  },
  {
    name: "an MCP server's tool",
    install: (haft, config) => haft.register({ ...config, origin: { type: "mcp", server: "notes" } } as never),
    call: ({ haft, name, input, options }) => haft.execute(name, input, options),
  },
  {
    name: "a scripted model's turn",
    isKnownByUser: true,
    // The kit's loop passes on no signal, so that the call is stopped as a host would do it.
    call: async ({ haft, name, input, options }) => {
      if (options.signal?.aborted) return haft.execute(name, input, options);
      const model = createScriptedModel([{ calls: [{ id: options.id, name, input }] }, { text: "done" }]);
      const { results } = await playScript(haft, model, { mode: options.mode, session: options.caller?.session });
      return results[0]!;
    },
  },
  {
    name: "haft.approve",
    isAnswer: true,
    call: async (world) => {
      const { haft, name, input, options, denied } = world;
      const deniedLater = denied.splice(0);
      world.asks = true;
      const requested = await haft.execute(name, input, options);
      denied.push(...deniedLater);
      return requested.status === "pending" ? haft.approvals.approve(requested.pending.id) : requested;
    },
  },
  // A client that gave up before sends nothing, so that there the call is stopped as a host would do it.
  { name: "POST /api/calls", isKnownByUser: true, call: abortable(callOverHttp) },
  { name: "POST /api/calls, streamed", isKnownByUser: true, call: abortable(callOverStream) },
  { name: "a call over the WebSocket", isKnownByUser: true, call: abortable(callOverSocket) },
  // Behind the question of an asking tool: what a client is asked was permitted before.
  {
    name: "a client that brought the tool",
    isAnswer: true,
    install: (haft, { run, ...config }) =>
      installAtClient(haft, { ...config, run: (input: never) => run!(input, undefined as never) } as never),
    call: callAtClient,
  },
  // An agent that was stopped before asks its model for nothing.
  { name: "an agent's turn", call: abortable(callByAgent) },
  { name: "an agent's turn, as text", call: abortable(callByTextAgent) },
  { name: "a turn of a session", call: abortable(callBySession) },
  { name: "haft tools call", isKnownByUser: true, call: abortable(callByCommandLine) },
  { name: "an MCP client, legacy, over one connection", call: abortable(callOverMcpConnection) },
  { name: "an MCP client, modern, over HTTP", call: abortable(callOverMcpHttp) },
  // A framework knows its tools by name and refuses others itself; one that was stopped before asks for nothing.
  { name: "the AI SDK's generateText", hasNoNames: true, call: abortable(callOverAISDK) },
  { name: "a tool of LangChain", hasNoNames: true, call: abortable(callOverLangChain) },
  { name: "a chat of TanStack AI", hasNoNames: true, call: abortable(callOverTanStack) },
  { name: "a run of OpenAI Agents", hasNoNames: true, call: abortable(callOverOpenAIAgents) },
  { name: "a call streamed by a provider", call: abortable(callOverProvider) },
  { name: "a schedule that is due", isKnownByUser: true, call: abortable(callBySchedule) },
  {
    // Behind the question: a call that asks is queued after the answer.
    name: "a worker",
    isAnswer: true,
    call: async ({ haft, name, input, options }) => {
      const made = await haft.execute(name, input, { ...options, background: true });
      return made.status === "pending" && made.pending.kind === "job" ? haft.jobs.wait(made.pending.id) : made;
    },
  },
  { name: "a call in a model's text, as XML", writesAllAsText: true, call: abortable(callOverText("xml")) },
  { name: "a call in a model's text, as Hermes writes it", call: abortable(callOverText("hermes")) },
  {
    name: "tool.execute of a tool that is not registered, in the default runtime",
    hasNoNames: true,
    install: (haft, config) => {
      setDefaultHaft(haft);
      return createTool(config);
    },
    call: ({ target, input, options }) => target.execute(input, options),
  },
];

const LONG_PREVIEW = Array.from({ length: 100 }, (_, at) => `+line ${at}`).join("\n");

export async function enter(
  entrance: Entrance,
  more: Parameters<typeof createTestHaft>[0] = {},
  isDeclared = true,
): Promise<World> {
  const denied: string[] = [];
  const haft = createTestHaft({ policy: { deny: denied }, code: {}, ...more });
  const runs: unknown[] = [];
  const config: TargetConfig = {
    name: "keep",
    description: "Keeps a text",
    kind: isDeclared ? "write" : undefined,
    aliases: ["keep_text"],
    parameters,
    permission: isDeclared ? () => (world.asks ? "confirm" : "auto") : undefined,
    preview: async () => ({ title: "Keep a text", content: [{ type: "text", text: LONG_PREVIEW }] }),
    run: async (input) => {
      runs.push(input);
      await world.afterEffect?.();
      return `kept ${input.text}`;
    },
  };
  const target = await (entrance.install ?? ((to, made) => to.register(made as never)))(haft, config);
  const world: World = {
    haft,
    target,
    name: target.name,
    input: { text: "hello" },
    otherInput: { text: "what was built" },
    options: {},
    denied,
    asks: false,
    runs,
  };
  return world;
}
