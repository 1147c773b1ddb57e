// Every function that can be reached from the objects a user holds, called with all that once ran a call: only the public
// ways may run one, and none of them may run a call that needs a person.
import { expect, test } from "vitest";
import { type AnyTool, createHaft, createTool, type Haft, type ToolContext } from "haft";

const verdict = { decision: "allow", by: "tool", reason: "made up" };
const secondPass = { kind: "job", id: "made-up", verdict };

/** What the former entrances took, and what the public ones take, for the tool `name`. */
function argumentsFor(name: string, tool: AnyTool): unknown[][] {
  const call = {
    name,
    toolName: name,
    toolVersion: "1.0.0",
    callId: "c",
    caller: { depth: 0 },
    input: {},
    options: {},
  };
  const kept = { ...call, verdict, idempotent: true };
  const scope = { get: () => tool, names: () => [name], refusal: () => "no" };
  const bindings = [secondPass, { secondPass }, { scope }, { parent: undefined, secondPass }];
  return [
    [],
    [{}],
    ...bindings.flatMap((binding) => [
      [name, {}, {}, binding],
      [tool, {}, {}, binding],
    ]),
    [scope, name, {}, {}],
    [scope, [{ name }], {}],
    [[{ name }], {}, { secondPass }],
    [kept, secondPass],
    [{ call: kept, priority: 0, delayMs: 0, attempts: 1 }, kept],
    [kept, "made-up"],
    [
      { id: "j", call: kept, attempt: 1, attempts: 1, lost: 0, round: 1 },
      { signal: undefined, update: () => {} },
    ],
    [tool],
    [name],
  ];
}

interface World {
  roots: Record<string, unknown>;
  ran: Set<string>;
  tools: Record<string, AnyTool>;
  close(): void;
}

/** A runtime in which a call is running, and what its user, its tool and its middleware hold. */
async function openWorld(): Promise<World> {
  const ran = new Set<string>();
  const make = (name: string, permission: "auto" | "confirm") =>
    createTool({
      name,
      description: "Does something",
      parameters: { type: "object", additionalProperties: true },
      permission,
      run: () => void ran.add(name),
    });
  const tools = { safe: make("safe", "auto"), danger: make("danger", "confirm") };
  let call: unknown;
  let begin: (context: ToolContext) => void = () => undefined;
  let end: () => void = () => undefined;
  const begun = new Promise<ToolContext>((resolve) => (begin = resolve));
  const holder = createTool({
    name: "holder",
    description: "Runs until it is told to end",
    parameters: [],
    needsApproval: false,
    run: (_input: unknown, given: ToolContext) => {
      begin(given);
      return new Promise<void>((resolve) => (end = resolve));
    },
  });
  const haft = createHaft({
    tools: [...Object.values(tools), holder],
    code: {},
    toolSearch: {},
    middleware: [{ name: "look", after: "record", enter: (seen) => void (call ??= seen) }],
    onWarning: () => undefined,
  });
  void haft.execute(holder);
  const context = await begun;
  const roots = {
    haft,
    registry: haft.tools.registry,
    tool: tools.safe,
    invocation: tools.safe.build({}),
    toolkit: haft.tools.toolkit("agent", ["safe", "danger"]),
    context,
    call,
  };
  const close = (): void => {
    end();
    // Not awaited: what was called may have broken it.
    void haft.shutdown().catch(() => undefined);
  };
  return { roots, ran, tools, close };
}

type Step = string | symbol;

/** The paths of all functions, through properties, symbols, getters, prototypes and constructors. */
function functionPaths(roots: Record<string, unknown>): Step[][] {
  const seen = new Set<unknown>();
  const found: Step[][] = [];
  const walk = (value: unknown, path: Step[]): void => {
    if ((typeof value !== "object" && typeof value !== "function") || value === null) return;
    if (seen.has(value) || path.length > 7 || isNative(value)) return;
    seen.add(value);
    if (typeof value === "function") found.push(path);
    for (let owner: object | null = value; owner && !isNative(owner); owner = Object.getPrototypeOf(owner) as object) {
      for (const key of Reflect.ownKeys(owner)) {
        // Schemas belong to their library.
        if (key === "parameters" || key === "output" || key === "arguments" || key === "caller") continue;
        walk(read(value, key), [...path, key]);
      }
    }
  };
  for (const [name, root] of Object.entries(roots)) walk(root, [name]);
  return found;
}

function read(value: object, key: Step): unknown {
  try {
    return Reflect.get(value, key, value);
  } catch {
    return undefined;
  }
}

function isNative(value: object): boolean {
  if (typeof value === "function") return Function.prototype.toString.call(value).includes("[native code]");
  const maker: unknown = Object.hasOwn(value, "constructor") ? read(value, "constructor") : undefined;
  return typeof maker === "function" && isNative(maker);
}

/** Calls the function at a path with everything, in a new world, and says whether the tool ran. */
async function ranThrough(path: Step[], name: "safe" | "danger"): Promise<boolean> {
  const world = await openWorld();
  let owner: unknown;
  let target: unknown = world.roots;
  for (const key of path) {
    owner = target;
    target = read(target as object, key);
  }
  if (typeof target === "function") {
    for (const given of argumentsFor(name, world.tools[name]!)) {
      try {
        void Promise.resolve(Reflect.apply(target as () => unknown, owner, given)).catch(() => undefined);
      } catch {
        // Most functions refuse most of it.
      }
    }
    for (let turn = 0; turn < 8; turn++) await new Promise((resolve) => setImmediate(resolve));
  }
  world.close();
  return world.ran.has(name);
}

const PUBLIC = [
  "context.call",
  "haft.execute",
  "haft.executeMany",
  "invocation.execute",
  "tool.execute",
  "toolkit.execute",
];

test("only the public ways run a call, and none runs one that needs a person", async () => {
  const world = await openWorld();
  const paths = functionPaths(world.roots);
  world.close();
  expect(paths.length).toBeGreaterThan(100);
  const running: string[] = [];
  for (const path of paths) {
    if (await ranThrough(path, "safe")) running.push(path.map(String).join("."));
    expect(await ranThrough(path, "danger"), path.map(String).join(".")).toBe(false);
  }
  expect(running.sort()).toEqual(PUBLIC);
});

test("a runtime's gate is no property of anything", () => {
  const haft: Haft = createHaft();
  expect(Reflect.ownKeys(haft).filter((key) => typeof key === "symbol")).toEqual([]);
  expect(haft).not.toHaveProperty("executor");
  expect(haft.jobs).not.toHaveProperty("queue");
  expect(haft.jobs).not.toHaveProperty("submit");
});
