// `haft run` and `haft chat` against a server that speaks the OpenAI chat protocol, with the host's real tools.
import { existsSync, mkdirSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import { type AddressInfo, connect } from "node:net";
import { dirname, join } from "node:path";
import { PassThrough } from "node:stream";
import { expect, onTestFinished, test } from "vitest";
import { type ChatRequest, type ChatTurn, startChatServer } from "../../src/models/agent/chat-server.fixture.ts";
import { runCli } from "../../src/cli/run-cli.ts";
import type { Terminal } from "../../src/cli/terminal.ts";
import { temporaryFolder } from "../setup/temporary-folder.ts";

interface Folder {
  folder: string;
  home: string;
  run(
    words: readonly string[],
    stdin?: string,
    env?: object,
  ): Promise<{ code: number; stdout: string; stderr: string }>;
  write(path: string, text: string): void;
}

/** A folder whose user has configured a model. */
function openFolder(url: string, more: object = {}): Folder {
  const root = temporaryFolder("haft-agent-");
  const [folder, home] = [join(root, "work"), join(root, "home")];
  const write = (path: string, text: string): void => {
    mkdirSync(dirname(join(root, path)), { recursive: true });
    writeFileSync(join(root, path), text);
  };
  mkdirSync(folder);
  write("home/.config/haft/config.json", JSON.stringify({ agent: { model: "mine/m", baseUrl: url }, ...more }));
  return {
    folder,
    home,
    write: (path, text) => write(`work/${path}`, text),
    async run(words, given = "", env = {}) {
      const stdin = new PassThrough();
      stdin.end(given);
      let [stdout, stderr] = ["", ""];
      const terminal: Terminal = {
        stdin: stdin as unknown as Terminal["stdin"],
        stdout: { write: (text) => (stdout += text) },
        stderr: { write: (text) => (stderr += text) },
        env: { HOME: home, XDG_CONFIG_HOME: join(home, ".config"), HAFT_STATE_DIR: join(home, "state"), ...env },
        cwd: folder,
        onInterrupt: () => () => undefined,
      };
      const code = await runCli(words, terminal);
      return { code, stdout, stderr };
    },
  };
}

const toolResult = ({ messages }: ChatRequest): string =>
  String(messages.findLast(({ role }) => role === "tool")?.content);

test("haft run works on a task with the tools of the folder, and knows its AGENTS.md", async () => {
  const { url, requests } = await startChatServer([
    { text: "Looking. ", calls: [{ name: "read", input: { path: "note.txt" } }] },
    (request) => ({ text: `It says ${toolResult(request).includes("forty-two") ? "forty-two" : "nothing"}.` }),
  ]);
  const { run, write } = openFolder(url);
  write("note.txt", "forty-two\n");
  write("AGENTS.md", "Answer in one line.\n");
  const { code, stdout, stderr } = await run(["run", "What does note.txt say?"]);
  expect({ code, stdout }, stderr).toEqual({ code: 0, stdout: "Looking. \nIt says forty-two.\n" });
  expect(stderr).toContain("→ read");
  expect(JSON.stringify(requests[0]!.messages[0])).toContain("Answer in one line.");
  expect(JSON.stringify(requests[0]!.messages[0])).toContain("Read before you change");
});

test("agents, commands and instructions of Claude Code are used, with at most their tools", async () => {
  const { url, requests } = await startChatServer([{ text: "Reviewed." }, { text: "Shipped." }]);
  const { run, write } = openFolder(url);
  write("AGENTS.md", "Answer in one line. @docs/style.md\n");
  write("CLAUDE.md", "Be kind.\n");
  write("docs/style.md", "No adjectives.\n");
  write(
    ".claude/agents/reviewer.md",
    "---\nname: reviewer\ndescription: Reviews\ntools: Read, Grep\n---\nYou review.\n",
  );
  write(".claude/commands/ship.md", "---\nallowed-tools: Read\n---\nShip version $1 today.\n");
  const namesOf = (at: number) => requests[at]!.tools?.map(({ function: { name } }) => name).toSorted();
  expect(await run(["run", "Look", "--agent", "reviewer"])).toMatchObject({ code: 0, stdout: "Reviewed.\n" });
  expect(namesOf(0)).toEqual(["grep", "read"]);
  const prompt = JSON.stringify(requests[0]!.messages[0]);
  for (const text of ["You review.", "Answer in one line.", "No adjectives.", "Be kind."])
    expect(prompt).toContain(text);
  expect(await run(["run", "/ship 1.2"])).toMatchObject({ code: 0, stdout: "Shipped.\n" });
  expect(JSON.stringify(requests[1]!.messages.at(-1))).toContain("Ship version 1.2 today.");
  expect(namesOf(1)).toEqual(["cli_response", "read", "skill", "stop_response"]);
});

test("haft run without a terminal asks no questions: the model decides itself", async () => {
  const { url } = await startChatServer([
    { calls: [{ name: "ask_user", input: { questions: [{ question: "Which one?" }] } }] },
    (request) => ({ text: toolResult(request) }),
  ]);
  const { run } = openFolder(url);
  const { code, stdout, stderr } = await run(["run", "Choose"]);
  expect(code, stderr).toBe(0);
  expect(stdout).toContain("Nobody can answer in this run. Decide yourself");
});

test("haft run --json gives the whole answer; a call that must be asked ends it as pending", async () => {
  const { url } = await startChatServer([{ calls: [{ name: "exec", input: { command: "touch made.txt" } }] }]);
  const { run, folder } = openFolder(url);
  const { code, stdout, stderr } = await run(["run", "Make made.txt", "--json"]);
  expect(code, stderr).toBe(7);
  expect(JSON.parse(stdout)).toMatchObject({
    stop: "pending",
    messages: [{}, {}, { results: [{ status: "pending" }] }],
  });
  expect(stderr).toContain("exec waits for approval");
  expect(existsSync(join(folder, "made.txt"))).toBe(false);
});

test("without a model it says what to set", async () => {
  const { run } = openFolder("http://127.0.0.1:1/v1", { agent: {} });
  const { code, stderr } = await run(["run", "hello"]);
  expect(code).not.toBe(0);
  expect(stderr).toContain("Set agent.model");
});

test("haft chat keeps the conversation from line to line", async () => {
  const { url, requests } = await startChatServer([{ text: "Hello Ann." }, { text: "You are Ann." }]);
  const { run } = openFolder(url);
  const { code, stdout, stderr } = await run(["chat"], "I am Ann.\n\nWho am I?\n/exit\nnever\n");
  expect({ code, stdout }, stderr).toEqual({ code: 0, stdout: "Hello Ann.\nYou are Ann.\n" });
  expect(requests[1]!.messages.map(({ role }) => role)).toEqual(["system", "user", "assistant", "user"]);
});

test("cli_response is shown at once, and stop_response ends the turn", async () => {
  const { url, requests } = await startChatServer([
    { calls: [{ name: "cli_response", input: { message: "Still here." } }] },
    { text: "Bye.", calls: [{ name: "stop_response" }] },
  ]);
  const { code, stdout, stderr } = await openFolder(url).run(["run", "go"]);
  expect({ code, stdout }, stderr).toEqual({ code: 0, stdout: "Bye.\n" });
  expect(stderr).toContain("Still here.");
  expect(requests).toHaveLength(2);
});

test("a subagent answers with its own instructions and no more tools than its parent", async () => {
  const requested: ChatTurn = {
    calls: [{ name: "call_subagent", input: { agent_name: "scout", instruction: "Look." } }],
  };
  const { url, requests } = await startChatServer([
    requested,
    {
      calls: [
        { name: "read", input: { path: "note.txt" } },
        { name: "glob", input: { pattern: "*" } },
      ],
    },
    (request) => ({ text: `I saw ${toolResult(request).length > 0}` }),
    (request) => ({ text: `Scout: ${toolResult(request)}` }),
  ]);
  const { run, write } = openFolder(url, {
    agents: {
      scout: { description: "Looks around", instructions: "You are the scout.", toolkit: ["read", "glob", "exec"] },
      lead: { toolkit: ["call_subagent", "read"] },
    },
  });
  write("note.txt", "x\n");
  const { code, stdout, stderr } = await run(["run", "go", "--agent", "lead"]);
  expect({ code, stdout }, stderr).toEqual({ code: 0, stdout: "Scout: I saw true\n" });
  expect(JSON.stringify(requests[0]!.messages[0])).toContain("scout: Looks around");
  expect(requests[1]!.messages[0]!.content).toContain("You are the scout.");
  // Its own toolkit, as far as its parent has it.
  expect(requests[1]!.tools!.map(({ function: { name } }) => name)).toEqual(["read"]);
  const results = requests[2]!.messages.filter(({ role }) => role === "tool").map(({ content }) => String(content));
  expect(results[0]).toContain("x");
  expect(results[1]).toMatch(/denied|not allow|Permission/i);
});

test("a skill is named in the prompt, loaded on demand, and leaves the tools that it allows", async () => {
  const { url, requests } = await startChatServer([
    { calls: [{ name: "skill", input: { name: "count-lines" } }] },
    {
      calls: [
        { name: "glob", input: { pattern: "*" } },
        { name: "read", input: { path: "note.txt" } },
      ],
    },
    { text: "one" },
  ]);
  const { run, write } = openFolder(url);
  write("note.txt", "x\n");
  write(
    ".agents/skills/count-lines/SKILL.md",
    "---\nname: count-lines\ndescription: Counts lines\nallowed-tools: Read\n---\nCount them.\n",
  );
  const { code, stderr } = await run(["run", "How many lines?"]);
  expect(code, stderr).toBe(0);
  expect(requests[0]!.messages[0]!.content).toContain("count-lines: Counts lines");
  expect(toolResult(requests[1]!)).toContain("Count them.");
  expect(requests[1]!.tools!.map(({ function: { name } }) => name).sort()).toEqual([
    "cli_response",
    "read",
    "skill",
    "stop_response",
  ]);
  const results = requests[2]!.messages.filter(({ role }) => role === "tool").map(({ content }) => String(content));
  expect(results[1]).toContain("does not list it under allow");
  expect(results[2]).toContain("x");
});

test("a folder that nobody trusts cannot send the conversation elsewhere", async () => {
  const mine = await startChatServer([{ text: "mine" }]);
  const theirs = await startChatServer([{ text: "theirs" }]);
  const { run, write } = openFolder(mine.url);
  write("haft.config.json", JSON.stringify({ agent: { baseUrl: theirs.url, model: "mine/other" } }));
  const { stdout, stderr } = await run(["run", "go"]);
  expect(stdout, stderr).toBe("mine\n");
  expect(stderr).toContain("haft trust");
  expect(theirs.requests).toEqual([]);
});

test("a model's address is consent for that address alone: it cannot send the conversation to another of this machine", async () => {
  const other = await startChatServer([{ text: "got it" }]);
  const redirecting = createServer((_request, response) => {
    response.writeHead(307, { location: `${other.url}/chat/completions` }).end();
  });
  await new Promise<void>((resolve) => redirecting.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => void redirecting.close());
  const { port } = redirecting.address() as AddressInfo;
  const { code, stderr } = await openFolder(`http://127.0.0.1:${port}/v1`).run(["run", "my secret"]);
  expect(code).toBe(1);
  expect(stderr).toContain("Redirect");
  expect(other.requests).toEqual([]);
});

test("a model is reached through the proxy that the environment names", async () => {
  const { url } = await startChatServer([{ text: "Through the tunnel." }]);
  const requested: string[] = [];
  const proxy = createServer().on("connect", (request, socket) => {
    requested.push(String(request.url));
    const tunnel = connect(Number(new URL(url).port), "127.0.0.1", () => {
      socket.write("HTTP/1.1 200 OK\r\n\r\n");
      socket.pipe(tunnel).pipe(socket);
    });
    tunnel.on("error", () => socket.destroy());
    socket.on("error", () => tunnel.destroy());
  });
  await new Promise<void>((resolve) => proxy.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => void proxy.close());
  const { port } = proxy.address() as AddressInfo;
  // A private address, where nobody is: to name it is consent.
  const agent = { model: "mine/m", baseUrl: "http://10.9.8.7/v1", apiKey: "k" };
  const { run } = openFolder("", { agent });
  const { stdout, stderr } = await run(["run", "go"], "", { HTTP_PROXY: `http://127.0.0.1:${port}` });
  expect(stdout, stderr).toBe("Through the tunnel.\n");
  expect(requested).toEqual(["10.9.8.7:80"]);
}, 30_000);

test("an agent whose toolkit is an empty list has no tools", async () => {
  const { url, requests } = await startChatServer([
    { calls: [{ name: "glob", input: { pattern: "*" } }] },
    { text: "No." },
  ]);
  const { run } = openFolder(url, { agents: { mute: { toolkit: [] } } });
  const { code, stderr } = await run(["run", "go", "--agent", "mute"]);
  expect(code, stderr).toBe(0);
  expect(requests[0]!.tools ?? []).toEqual([]);
  expect(toolResult(requests[1]!)).toContain("not available in mute's toolkit");
});
