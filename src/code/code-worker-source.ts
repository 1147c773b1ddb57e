/**
 * Runs in a worker thread: a program may compute for seconds and must not block the process. It is a string, so the bundle
 * needs no second file.
 *
 * The machine contains only the language, `tools`, `api` and `console`. A program can change those only for itself: the
 * outside sees only requests to call tools, as text. The open requests are inside the machine, so a snapshot of the machine
 * is the complete program.
 */
export const CODE_WORKER_SOURCE = `
const { parentPort, receiveMessageOnPort, workerData } = require("node:worker_threads");
const { library, wasm, maxLineLength, maxTextLength, shared, port, textBytes } = workerData;

// The words of the shared memory and their states: see code-thread.ts.
const STOP = 0, REQUEST = 1, ANSWER = 2, REQUEST_LENGTH = 3, ANSWER_LENGTH = 4;
const NONE = 0, IN_MEMORY = 1, IN_PORT = 2, HOST_SLEEPS = 3;
const words = new Int32Array(shared, 0, workerData.words);
const requestBytes = Buffer.from(shared, 4 * workerData.words, textBytes);
const answerBytes = Buffer.from(shared, 4 * workerData.words + textBytes, textBytes);

const PRELUDE = ${JSON.stringify(prelude())};

let machine;
let deadline = 0;
let began = 0;
let requests = [];
let lines = [];
let printLeft = 0;
let maxRequests = 0;
let ended;

const texts = (handles) => handles.map((handle) => handle.toString());
const CALLBACKS = {
  request(...args) {
    // They would all be refused: a program that never waits must not fill the memory of the host.
    if (requests.length > maxRequests) throw new Error("A program may make at most " + maxRequests + " calls.");
    const [step, kind, name, input] = texts(args);
    requests.push({ step: Number(step), kind, name, input });
    return machine.undefined;
  },
  print(...args) {
    // The line that exceeds the limit is sent, so the host learns of it.
    if (printLeft < 0) return machine.undefined;
    const [line] = texts(args);
    lines.push(line.length > maxLineLength ? line.slice(0, maxLineLength) + "…" : line);
    printLeft -= lines.at(-1).length + 1;
    return machine.undefined;
  },
  end(...args) {
    const [ok, value] = texts(args);
    ended = { ok: ok === "true", value };
    return machine.undefined;
  },
};

const options = (memoryBytes) => ({
  wasm,
  memoryLimit: memoryBytes,
  maxStackSize: 256 * 1024,
  interruptHandler: () => Date.now() > deadline || Atomics.load(words, STOP) === 1,
});

/** Functions of the prelude, looked up once for each machine. */
let found = {};
const inside = (method, ...args) => {
  found.haft ??= machine.global.getProp("__haft");
  found[method] ??= found.haft.getProp(method);
  const handles = args.map((arg) => machine.newString(String(arg)));
  const returned = machine.callFunction(found[method], found.haft, ...handles);
  for (const handle of handles) handle.dispose();
  returned.dispose();
};

/** What it takes to make a machine is not the program's time. */
const beginNow = (cpuMs) => {
  began = performance.now();
  deadline = Date.now() + cpuMs;
};

const DO = {
  async start({ source, cpuMs, memoryBytes }) {
    const { QuickJS } = await import(library);
    machine = await QuickJS.create(options(memoryBytes));
    found = {};
    for (const [name, callback] of Object.entries(CALLBACKS)) {
      machine.setProp(machine.global, "__" + name, machine.newFunction(name, callback));
    }
    machine.evalCode(PRELUDE, "prelude.js");
    beginNow(cpuMs);
    machine.evalCode("__haft.run(async () => {\\n" + source + "\\n})", "program");
  },
  async restore({ snapshot, cpuMs, memoryBytes }) {
    const { QuickJS } = await import(library);
    machine = await QuickJS.restore(QuickJS.deserializeSnapshot(snapshot), options(memoryBytes));
    found = {};
    for (const [name, callback] of Object.entries(CALLBACKS)) machine.registerHostCallback(name, callback);
    beginNow(cpuMs);
    inside("repeat");
  },
  settle({ results }) {
    for (const { step, ok, value } of results) inside("settle", step, ok, value);
  },
  snapshot() {},
  async close() {
    machine?.dispose();
    machine = undefined;
    found = {};
  },
};

const handle = async (message) => {
  requests = [];
  lines = [];
  ended = undefined;
  printLeft = message.printBytes;
  maxRequests = message.maxRequests;
  // Other machines of the same program may have grown since.
  machine?.exports.qjs_set_memory_limit(message.memoryBytes ?? 0);
  beginNow(message.cpuMs);
  let problem;
  try {
    await DO[message.type](message);
    if (machine) for (let ran = 1; ran > 0 && !ended; ) ran = machine.executePendingJobs();
  } catch (error) {
    problem = { name: error?.name ?? "Error", message: String(error?.message ?? error), stack: String(error?.stack ?? "") };
  }
  const interrupted = Date.now() > deadline;
  const memoryBytes = machine?.exports.memory.buffer.byteLength ?? 0;
  const answer = { requests, lines, ended, problem, interrupted, cpuMs: performance.now() - began, memoryBytes };
  if (machine && message.wantsSnapshot && !ended && !problem) {
    const { QuickJS } = await import(library);
    machine.runGC();
    answer.snapshot = QuickJS.serializeSnapshot(machine.snapshot());
  }
  return answer;
};

/** Sleeps until the host has written a request. */
const nextRequest = () => {
  Atomics.wait(words, REQUEST, NONE);
  const state = Atomics.exchange(words, REQUEST, NONE);
  if (state === IN_PORT) return receiveMessageOnPort(port).message;
  return JSON.parse(requestBytes.toString("utf8", 0, words[REQUEST_LENGTH]));
};

const reply = (answer) => {
  const text = answer.snapshot ? undefined : JSON.stringify(answer);
  const isShort = text !== undefined && text.length <= maxTextLength;
  if (isShort) words[ANSWER_LENGTH] = answerBytes.write(text);
  else port.postMessage(answer);
  const before = Atomics.exchange(words, ANSWER, isShort ? IN_MEMORY : IN_PORT);
  if (before === HOST_SLEEPS) parentPort.postMessage(0);
  else Atomics.notify(words, ANSWER);
};

(async () => {
  for (;;) reply(await handle(nextRequest()));
})();
`;

/** What is defined in the machine before the program. */
function prelude(): string {
  return `(() => {
    const { __request: request, __print: print, __end: end } = globalThis;
    delete globalThis.__request; delete globalThis.__print; delete globalThis.__end;
    const { stringify, parse } = JSON;
    const waiting = new Map();
    let last = 0;

    const ask = (kind, name, input) => new Promise((resolve, reject) => {
      const text = stringify(input === undefined ? {} : input);
      if (text === undefined) throw new TypeError("The input of " + name + " is not JSON.");
      const step = ++last;
      waiting.set(step, { resolve, reject, kind, name, text });
      request(step, kind, name, text);
    });

    const show = (value) => {
      if (typeof value === "string") return value;
      if (value instanceof Error) return value.name + ": " + value.message;
      try { return stringify(value) ?? String(value); } catch { return String(value); }
    };
    const say = (prefix) => (...values) => { print(prefix + values.map(show).join(" ")); };

    const describeError = (error) => {
      const isError = error instanceof Error;
      const about = isError ? { name: String(error.name), message: String(error.message), stack: String(error.stack) } : { name: "Error", message: "The program threw " + show(error) };
      if (isError && error.code !== undefined) about.code = String(error.code);
      return stringify(about);
    };

    const haft = {
      run(main) {
        Promise.resolve().then(main).then(
          (value) => {
            let text;
            try { text = stringify(value === undefined ? null : value); } catch (error) { return end(false, describeError(error)); }
            end(true, text === undefined ? "null" : text);
          },
          (error) => end(false, describeError(error)),
        );
      },
      settle(step, ok, text) {
        const one = waiting.get(Number(step));
        if (!one) return;
        waiting.delete(Number(step));
        const value = parse(text);
        if (ok === "true") return one.resolve(value);
        const error = new Error(value.message);
        error.name = "ToolError";
        Object.assign(error, { code: value.code, tool: one.name, data: value.data, output: value.output });
        one.reject(error);
      },
      // After a restart the open requests are repeated with the same numbers.
      repeat() {
        for (const [step, { kind, name, text }] of waiting) request(step, kind, name, text);
      },
    };
    Object.defineProperty(globalThis, "__haft", { value: Object.freeze(haft) });

    globalThis.console = { log: say(""), info: say(""), debug: say(""), warn: say("warning: "), error: say("error: ") };
    globalThis.tools = new Proxy({}, {
      get: (_target, name) => typeof name === "symbol" || name === "then" ? undefined : (input) => ask("call", name, input),
    });
    globalThis.api = {
      search: (query) => ask("search", String(query), {}),
      describe: (...names) => ask("describe", "", names.flat()),
    };
  })();`;
}
