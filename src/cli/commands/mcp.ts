import type { TrustItem } from "../../config/trust-items.ts";
import type { McpPromptInfo, McpResourceInfo, McpServerInfo } from "../../contracts/mcp.ts";
import { countOf } from "../../core/results/count-of.ts";
import { ToolError } from "../../core/error.ts";
import { clientConfig, isMcpClient, MCP_CLIENTS } from "../../mcp/server/client-config.ts";
import { UsageError } from "../arguments.ts";
import { readCallInput } from "../call-input.ts";
import { makeCall, showResult, textOfBlock } from "../calls.ts";
import { defineCommand, type Invocation } from "../command.ts";
import { EXIT } from "../exit-codes.ts";
import { fieldsOf, fieldValue, showQuestion, showQuestionList } from "../mcp-questions.ts";
import { selectServers, waitForServers } from "../mcp-servers.ts";
import { showColumns } from "../layout.ts";
import { type Output, safe, safeLine, type Style } from "../output.ts";
import { confirm, withYes } from "../prompts.ts";
import { showImported } from "../show-imported.ts";
import { hasDesktop, haftCommand, isInteractive, openInBrowser, userName } from "../terminal.ts";

import { AGENT_OPTIONS, importAgent, lock, remove, restore, verify } from "./mcp-lock.ts";

const GRACE_MS = 10_000;

export const mcp = defineCommand({
  examples: [
    ["claude mcp add haft -- haft mcp --folder .", "give Claude Code the tools of this folder"],
    ["haft mcp --profile full", "all tools; by default the coding tools and those of plugins and servers"],
    ["haft mcp --tools group:fs,grep --dialect claude", "only these, with the names that Claude models know"],
  ],
  options: {
    profile: { type: "text", value: "NAME", about: "The tools of this profile: minimal, coding, messaging, full" },
    tools: { type: "list", value: "NAMES", about: "These tools, groups and patterns, such as group:fs,group:web" },
    dialect: {
      type: "text",
      value: "NAME",
      about: "The tool names that models get",
      oneOf: ["snake", "claude", "codex", "gemini", "openclaw"],
    },
    defer: {
      type: "flag",
      about: "With many tools, list some of them and tool_search; for clients that follow list changes",
    },
    grace: { type: "duration", value: "TIME", about: "How long calls may take after Ctrl-C; default: 10s" },
    hold: {
      type: "duration",
      value: "TIME",
      about: "How long a call waits for an approval that the client cannot give; default: 45s",
    },
  },
  notes: [
    "Serves one MCP client over standard input and output, in the protocol version that it speaks. A call that needs approval",
    "asks the client. If the client cannot be asked, the call waits for `haft approvals watch` or the console of `haft serve`.",
  ],
  async run({ folder, terminal, output, interrupted, options: { profile, tools, dialect, defer, grace, hold } }) {
    const [{ openHaft }, { serveArtifacts }, endpoint, { serveMcpStdio }, permit, { readVersion }] = await Promise.all([
      import("../../host.ts"),
      import("../../capabilities/artifacts.ts"),
      import("../../server/mcp-endpoint.ts"),
      import("../../mcp/server/stdio-server.ts"),
      import("../../gate/permit/describe-approval.ts"),
      import("../../io/files/own-folders.ts"),
    ]);
    const host = await openHaft(folder, {
      ownsProcess: true,
      env: terminal.env,
      approvalWaitMs: false,
      // On stderr: stdout belongs to the protocol.
      onWarning: (warning) => output.warn(safe(warning)),
    });
    try {
      const isNamed = profile !== undefined || tools.length > 0;
      const serving = await serveMcpStdio(host.haft, {
        identity: { id: "local", name: userName(), rights: ["read", "call", "approve"] },
        describe: (question) => permit.describeApproval(question as never),
        stateKey: await host.store.keys(endpoint.MCP_STATE_KEY),
        serverInfo: { name: "haft", title: "Haft", version: await readVersion() },
        resources: [serveArtifacts(host.artifacts)],
        prompts: endpoint.skillPrompts(host.agents.skills),
        shows: (tool) => endpoint.shownToClients(isNamed ? { profile, tools } : host.config.value.mcp)(tool),
        ready: () => host.mcp.settled(),
        defers: defer || host.config.value.toolSearch.mcp === true,
        dialect,
        holdMs: hold,
        onError: (error) => output.warn(safe(error.message)),
      });
      // The client gets the results of its calls before the connection ends.
      const end = async (): Promise<void> => {
        await Promise.allSettled([host.close({ graceMs: grace ?? GRACE_MS })]);
        await serving.close();
      };
      interrupted.addEventListener("abort", () => void end(), { once: true });
      await serving.closed;
      return EXIT.done;
    } finally {
      await host.close();
    }
  },
});

const config = defineCommand({
  examples: [
    ["haft mcp config cursor", "what .cursor/mcp.json needs to start Haft for this folder"],
    ["haft mcp config codex --url http://127.0.0.1:4117/mcp", "to use a server that runs, with a token"],
  ],
  operands: [{ name: "CLIENT", oneOf: Object.keys(MCP_CLIENTS) }],
  options: { url: { type: "text", value: "URL", about: "The MCP address of a running server; default: start Haft" } },
  async run({ operands: [client = ""], folder, output, options: { url } }) {
    if (!isMcpClient(client)) {
      throw new UsageError(`"${client}" is not a client.`, `Clients: ${Object.keys(MCP_CLIENTS).join(", ")}.`);
    }
    const started = [...haftCommand(), "mcp", "--folder", folder];
    const found = clientConfig(client, url === undefined ? { command: started } : { url });
    if (!found) throw new UsageError(`The file of ${MCP_CLIENTS[client]} takes no address. Leave out --url.`);
    const { file, text, tokenVariable } = found;
    output.data({ client, file, text }, () => [text]);
    output.info(file === undefined ? "Run this command." : `Add this to ${file}.`);
    if (url === undefined) return;
    const place = tokenVariable === undefined ? "Replace TOKEN with a token" : `Set ${tokenVariable} to a token`;
    output.info(`${place}: haft token create NAME --scope read,call`);
  },
});

const add = defineCommand({
  examples: [
    ["haft mcp add files -- npx -y @modelcontextprotocol/server-filesystem .", "a server that is started as a program"],
    ["haft mcp add linear --url https://mcp.linear.app/mcp", "a server at an address"],
    ["haft mcp add files --env ROOT=. -- node server.js", "with an environment variable"],
  ],
  operands: [{ name: "NAME" }],
  takesRest: true,
  options: {
    url: { type: "text", value: "URL", about: "The address of a remote server" },
    header: { type: "list", value: "NAME=VALUE", about: "Sent with every request to it" },
    env: { type: "list", value: "NAME=VALUE", about: "For the program that is started" },
    replace: { type: "flag", about: "Replace a server of this name that has other settings" },
  },
  notes: ["Writes .mcp.json of the folder, which other MCP clients read too. Then `haft trust` allows it to run."],
  async run({ operands: [name = ""], rest, folder, output, options: { url, header, env, replace } }) {
    const [program, ...args] = rest;
    if ((url === undefined) === (program === undefined)) {
      throw new UsageError("Give either --url URL, or the command that starts the server after --.");
    }
    const { addMcpServer } = await import("../../config/mcp-json.ts");
    const server =
      url === undefined
        ? { command: program, args: args.length > 0 ? args : undefined, env: readPairs(env) }
        : { type: "http", url, headers: readPairs(header) };
    const added = await addMcpServer(folder, name, server, { replaces: replace }).catch((error: unknown) => {
      if (error instanceof ToolError && error.code === "conflict") throw new UsageError(error.summary, TAKEN_NAME);
      throw error;
    });
    const { file, replaced, unchanged } = added;
    output.data({ name, file, replaced, unchanged }, () => [file]);
    const what = unchanged ? "Already there:" : replaced ? "Replaced" : "Added";
    output.info(`${what} "${name}". It runs after you trust it: haft trust`);
  },
});

const TAKEN_NAME = "Use --replace to replace it, or another name.";

function readPairs(given: readonly string[]): Record<string, string> | undefined {
  if (given.length === 0) return undefined;
  const entries = given.map((pair) => {
    const at = pair.indexOf("=");
    if (at < 1) throw new UsageError(`"${pair}" is not NAME=VALUE.`);
    return [pair.slice(0, at), pair.slice(at + 1)] as const;
  });
  return Object.fromEntries(entries);
}

const list = defineCommand({
  examples: [["haft mcp list", "every configured server, whether it is connected, and where it is configured"]],
  uses: ["mcp"],
  async run({ connect, output, interrupted, ...place }) {
    const servers = await waitForServers(await connect(), interrupted);
    output.list({ items: servers }, (items) => showServers(items, output));
    const inFiles = await listInFiles(place);
    const untrusted = inFiles.filter(({ isTrusted }) => !isTrusted);
    for (const server of untrusted) output.info(describeUntrusted(server));
    for (const { name = "" } of inFiles.filter((item) => item.isTrusted && !isAmong(servers, item)))
      output.info(
        `${safeLine(name)} is trusted and not started yet. Right after \`haft trust\`, look again in a moment.`,
      );
    if (servers.length + inFiles.length === 0) output.info("No MCP servers. `haft mcp add NAME -- COMMAND` adds one.");
    if (untrusted.length > 0) output.info("Review and trust what they start: haft trust");
  },
});

const SERVER_STYLES = { ready: "green", connecting: "cyan", stopped: "dim" } as const;

function showServers(servers: readonly McpServerInfo[], { paint, columns }: Output): string[] {
  const styleOf = (cell: string, column: number): Style | undefined =>
    column === 1 ? (SERVER_STYLES[cell as keyof typeof SERVER_STYLES] ?? "yellow") : undefined;
  return showColumns(
    servers.map(({ name, state, transport, era, protocolVersion, tools, error, origin }) => [
      safeLine(name),
      state,
      transport,
      era === undefined ? "" : `${era} ${protocolVersion ?? ""}`,
      countOf(tools.length, "tool"),
      safeLine(error ?? origin ?? ""),
    ]),
    { paint, columns, styles: ["bold"], styleOf },
  );
}

const importServers = defineCommand({
  examples: [
    ["haft mcp import ~/.cursor/mcp.json", "the servers of Cursor"],
    ["haft mcp import .vscode/mcp.json", "the servers of VS Code"],
    ["haft mcp import ~/.codex/config.toml", "the servers of Codex"],
    ["haft mcp import opencode.json --rename docs=docs2", "with another name for one of them"],
    ["haft mcp import claude", "take all servers of Claude Code behind Haft, and write Haft in their place"],
  ],
  operands: [{ name: "FILE|AGENT", completes: "file" }],
  options: {
    ...AGENT_OPTIONS,
    replace: { type: "flag", about: "Replace servers of the same names that have other settings" },
    rename: { type: "list", value: "NAME=NEW", about: "Import a server under another name" },
  },
  notes: [
    "Reads the files of Claude Desktop and Code, Cursor, VS Code, Gemini, Codex and OpenCode, and writes their servers to .mcp.json",
    "of the folder. If a server of the same name has other settings, nothing is written: use --replace or --rename.",
    "The output lists what happens to each setting. Then `haft trust` allows the servers to run.",
    "With the name of an agent (claude, codex, gemini, cursor, copilot, opencode), its servers go to Haft's own configuration,",
    "and its files start Haft instead; the difference is shown first. `haft mcp restore AGENT` gives them back.",
  ],
  async run({ argv, operands: [file = ""], folder, terminal, output, interrupted, options }) {
    const { replace, rename } = options;
    const [{ resolve }, { existsSync }, { userPaths }, json, { AGENTS }] = await Promise.all([
      import("node:path"),
      import("node:fs"),
      import("../../config/user-paths.ts"),
      import("../../config/mcp-json.ts"),
      import("../../config/agent-servers.ts"),
    ]);
    const source = { file: resolve(terminal.cwd, file) };
    const agent = existsSync(source.file) ? undefined : AGENTS.find((name) => name === file);
    if (agent) {
      const given = { agent, options, names: new Map(Object.entries(readPairs(rename) ?? {})) };
      return importAgent(given, { argv, folder, terminal, output, interrupted });
    }
    const { home } = userPaths({ env: terminal.env });
    const read = await json.readMcpImport(source, { env: terminal.env, folder, home });
    const names = new Map(Object.entries(readPairs(rename) ?? {}));
    const unknown = [...names.keys()].find((name) => !read.servers.some(({ server }) => server.name === name));
    if (unknown !== undefined) throw new UsageError(`There is no server "${unknown}" in ${file}.`);
    const servers = read.servers.map(({ server, entry }) => ({ name: names.get(server.name) ?? server.name, entry }));
    const twice = servers.find(({ name }, at) => servers.findIndex((each) => each.name === name) !== at);
    if (twice) throw new UsageError(`Two servers would have the name "${twice.name}".`, "Choose another name.");
    const taken = replace ? [] : await json.takenNames(folder, servers);
    if (taken.length > 0) {
      const example = `--rename ${taken[0]}=NEW`;
      throw new UsageError(json.takenName(json.mcpJsonOf(folder), taken).message, `Use --replace, or ${example}.`);
    }
    const added: { name: string; replaced: boolean; unchanged: boolean }[] = [];
    for (const { name, entry } of servers) {
      const { replaced, unchanged } = await json.addMcpServer(folder, name, entry, { replaces: replace });
      added.push({ name, replaced, unchanged });
    }
    const { dialect, notes, imported } = read;
    const result = { dialect, servers: added.map(({ name }) => name), added, notes, imported };
    output.data(result, () => [...result.servers.map(safeLine), ...showImported(imported, output)]);
    for (const note of notes) output.warn(safeLine(note));
    const replaced = added.filter((each) => each.replaced).map(({ name }) => safeLine(name));
    if (replaced.length > 0) output.info(`Replaced: ${replaced.join(", ")}.`);
    const off = servers.filter(({ entry }) => entry.disabled).map(({ name }) => safeLine(name));
    if (off.length > 0) output.info(`Disabled, because they are disabled in that file: ${off.join(", ")}.`);
    output.info(
      `${countOf(added.length, "server", "servers")} imported (format: ${dialect}). To review and start: haft trust`,
    );
    return EXIT.done;
  },
});

const login = defineCommand({
  examples: [["haft mcp login linear", "sign in to a remote server in your browser; the store keeps its tokens"]],
  operands: [{ name: "NAME" }],
  options: { open: { type: "flag", about: "Open the browser even if this is not a desktop" } },
  async run({ operands: [name = ""], folder, terminal, output, interrupted, options: { open } }) {
    const [{ openHaft }, { UNCONFINED_WARNING }] = await Promise.all([
      import("../../host.ts"),
      import("../../capabilities/base.ts"),
    ]);
    const callback = await listenForCallback(interrupted);
    try {
      const host = await openHaft(folder, {
        env: terminal.env,
        onWarning: (warning) => warning.startsWith(UNCONFINED_WARNING) || output.warn(safe(warning)),
        mcpSignIn: {
          redirectUrl: callback.url,
          async onAuthorize({ url }) {
            output.notice(`Sign in here, then come back: ${safe(url.href)}`);
            if (open || (isInteractive(terminal) && hasDesktop(terminal))) await openInBrowser(url.href);
          },
        },
      });
      try {
        await host.mcp.settled();
        if (await host.mcp.signIn(name)) {
          output.info(`"${name}" needs no sign-in.`);
          return EXIT.done;
        }
        const status = await host.mcp.finishSignIn(name, await callback.returned);
        output.data(status, () => [`${safe(name)}: ${status.state}, ${countOf(status.tools.length, "tool")}`]);
        return status.state === "ready" ? EXIT.done : EXIT.unauthorized;
      } finally {
        await host.close();
      }
    } finally {
      callback.close();
    }
  },
});

interface Callback {
  url: string;
  /** The address that the browser returned to. The sign-in validates it. */
  returned: Promise<string>;
  close(): void;
}

/** One page on loopback while the sign-in lasts. */
async function listenForCallback(signal: AbortSignal): Promise<Callback> {
  const { createServer } = await import("node:http");
  const server = createServer();
  await new Promise<void>((resolve, reject) => {
    server.once("error", reject).listen(0, "127.0.0.1", resolve);
  });
  const address = server.address();
  const port = typeof address === "object" ? address?.port : undefined;
  const url = `http://127.0.0.1:${port}/callback`;
  const returned = new Promise<string>((resolve, reject) => {
    server.on("request", ({ url: path = "" }, response) => {
      const isCallback = path.startsWith("/callback?");
      response.writeHead(isCallback ? 200 : 404, { "content-type": "text/plain; charset=utf-8" });
      response.end(isCallback ? "The sign-in continues in your terminal. You can close this page.\n" : "Not found.\n");
      if (isCallback) resolve(new URL(path, url).href);
    });
    signal.addEventListener("abort", () => reject(new Error("The sign-in was interrupted.")), { once: true });
  });
  // Not awaited if no sign-in was needed.
  returned.catch(() => undefined);
  return { url, returned, close: () => server.close().closeAllConnections() };
}

const resources = defineCommand({
  examples: [
    ["haft mcp resources", "the documents and data of the servers"],
    ["haft mcp resources docs", "those of one server"],
  ],
  operands: [{ name: "SERVER", isOptional: true }],
  notes: ["`haft mcp read SERVER ADDRESS` reads one."],
  uses: ["mcp"],
  async run({ connect, output, interrupted, operands: [server] }) {
    const client = await connect();
    const items: (McpResourceInfo & { server: string; isTemplate: boolean })[] = [];
    for (const name of await selectServers(client, { server, output, signal: interrupted })) {
      const found = await client.mcp.resources(name);
      items.push(...found.resources.map((resource) => ({ server: name, ...resource, isTemplate: false })));
      items.push(
        ...found.templates.map(({ uriTemplate: uri, ...facts }) => ({ server: name, uri, ...facts, isTemplate: true })),
      );
    }
    output.list({ items }, (all) =>
      showColumns(
        all.map((item) => [
          safeLine(item.server),
          safeLine(item.uri),
          safeLine(item.mimeType ?? ""),
          safeLine(item.description ?? item.title ?? item.name),
        ]),
        { paint: output.paint, styles: ["cyan", "bold", "dim"], columns: output.columns },
      ),
    );
    if (items.length === 0) output.info("No resources.");
  },
});

const read = defineCommand({
  examples: [["haft mcp read docs docs://guide/start", "a resource of a server, through the gate"]],
  operands: [{ name: "SERVER", listedBy: "haft mcp list" }, { name: "ADDRESS" }],
  options: { raw: { type: "flag", about: "Print the text unchanged, for a pipe" } },
  notes: ["Reading from a server that is not trusted needs approval."],
  uses: ["mcp", "calls", "approvals", "questions"],
  async run({ connect, terminal, output, interrupted, operands: [server = "", uri = ""], options: { raw } }) {
    const client = await connect();
    await selectServers(client, { server, output, signal: interrupted });
    const call = { tool: "read_mcp_resource", input: { server, uri } };
    return showResult(await makeCall(client, call, { terminal, output, interrupted }), output, { raw });
  },
});

const prompts = defineCommand({
  examples: [
    ["haft mcp prompts", "the prompts of the servers"],
    ["haft mcp prompts docs", "those of one server"],
  ],
  operands: [{ name: "SERVER", isOptional: true }],
  notes: ["`haft mcp prompt SERVER NAME KEY=VALUE` shows one, filled in."],
  uses: ["mcp"],
  async run({ connect, output, interrupted, operands: [server] }) {
    const client = await connect();
    const items: ({ server: string } & McpPromptInfo)[] = [];
    for (const name of await selectServers(client, { server, output, signal: interrupted })) {
      for (const found of (await client.mcp.prompts(name)).items) items.push({ server: name, ...found });
    }
    output.list({ items }, (all) =>
      showColumns(
        all.map(({ server: of, name, arguments: parameters, description, title }) => [
          safeLine(of),
          safeLine(name),
          parameters.map(({ name: key, isRequired }) => `${safeLine(key)}${isRequired ? "*" : ""}`).join(" "),
          safeLine(description ?? title ?? ""),
        ]),
        { paint: output.paint, styles: ["cyan", "bold", "dim"], columns: output.columns },
      ),
    );
    if (items.length === 0) output.info("No prompts.");
  },
});

const prompt = defineCommand({
  examples: [["haft mcp prompt docs review file=README.md", "a prompt of a server, filled in"]],
  operands: [
    { name: "SERVER", listedBy: "haft mcp list" },
    { name: "NAME" },
    { name: "KEY=VALUE", isRest: true, isOptional: true },
  ],
  uses: ["mcp"],
  async run({ connect, terminal, output, interrupted, operands: [server = "", name = "", ...words] }) {
    const client = await connect();
    await selectServers(client, { server, output, signal: interrupted });
    const given = Object.entries(await readCallInput(words, terminal));
    const texts = Object.fromEntries(
      given.map(([key, value]) => [key, typeof value === "string" ? value : JSON.stringify(value)]),
    );
    output.data(await client.mcp.prompt(server, { name, arguments: texts }), ({ messages }) =>
      messages.flatMap(({ role, content }) => [output.paint("dim", `${role}:`), safe(textOfBlock(content))]),
    );
  },
});

const questions = defineCommand({
  examples: [
    ["haft mcp questions", "what MCP servers ask you while they work"],
    ["haft mcp questions ask_1", "one of them, with every field"],
  ],
  operands: [{ name: "ID", isOptional: true }],
  options: {
    state: {
      type: "text",
      value: "STATE",
      about: "Only in this state; default: open",
      oneOf: ["open", "accepted", "declined", "cancelled", "expired", "all"],
    },
  },
  uses: ["questions"],
  async run({ connect, output, operands: [id], options: { state = "open" } }) {
    const client = await connect({ only: ["mcp"], connectsMcp: false });
    if (id !== undefined) return output.data(await client.questions.get(id), showQuestion);
    const page = await client.questions.list(state === "all" ? {} : { state });
    output.list(page, (items) => showQuestionList(items, output));
    if (page.items.length === 0) output.info(state === "open" ? "No server asks anything." : "No questions.");
  },
});

const answer = defineCommand({
  examples: [
    ["haft mcp answer ask_1 size=L gift:=true", "fill in the form"],
    ["haft mcp answer ask_1 --visited", "you visited the page that the server named"],
    ["haft mcp answer ask_1 --decline", "no; the server gets that answer"],
  ],
  operands: [{ name: "ID" }, { name: "KEY=VALUE", isRest: true, isOptional: true }],
  options: {
    visited: { type: "flag", about: "You visited the page" },
    decline: { type: "flag", about: "Answer no" },
    cancel: { type: "flag", about: "Cancel without an answer" },
  },
  notes: ["The server gets what you enter in a form: do not give it a password or a key."],
  uses: ["questions"],
  async run({ connect, terminal, output, operands: [id = "", ...words], options: { visited, decline, cancel } }) {
    const client = await connect({ only: ["mcp"], connectsMcp: false });
    if (decline || cancel) {
      output.data(await client.questions.answer(id, { action: decline ? "decline" : "cancel" }), showAnswer);
      return;
    }
    const question = await client.questions.get(id);
    const fields = fieldsOf(question);
    if (question.mode === "url" ? !visited : words.length === 0 && fields.length > 0) {
      output.lines(showQuestion(question));
      throw new UsageError(
        question.mode === "url" ? "Did you visit the page? Then use --visited." : "Enter the fields: KEY=VALUE.",
        "Or use --decline or --cancel.",
      );
    }
    const given = await readCallInput(words, terminal);
    const content = Object.entries(given).map(([name, value]) => {
      const field = fields.find((each) => each.name === name);
      return [name, typeof value === "string" && field ? fieldValue(value, field) : value] as const;
    });
    // The schema of the question checks the values.
    const entered = question.mode === "url" ? undefined : (Object.fromEntries(content) as Record<string, string>);
    output.data(await client.questions.answer(id, { action: "accept", content: entered }), showAnswer);
  },
});

function showAnswer({ id, state }: { id: string; state: string }): string[] {
  return [`${safeLine(id)}: ${state}`];
}

const doctor = defineCommand({
  examples: [
    ["haft mcp doctor", "what is wrong with each server, what it printed, and what to do"],
    ["haft mcp doctor files", "the same for one server"],
  ],
  operands: [{ name: "NAME", isOptional: true }],
  uses: ["mcp"],
  async run({ connect, output, interrupted, operands: [name], ...place }) {
    const choose = (all: readonly McpServerInfo[]) =>
      all.filter((server) => name === undefined || server.name === name);
    const all = await waitForServers(await connect(), interrupted, { choose });
    const servers = name === undefined ? all : [await requireServer(all, { ...place, name })];
    output.list({ items: servers }, (items) => items.flatMap((server) => diagnose(server, output)));
    const inFiles = name === undefined ? await listInFiles(place) : [];
    const waiting = inFiles.filter((item) => !item.isTrusted && !isAmong(servers, item));
    for (const item of waiting) output.notice(`${describeUntrusted(item)} Review it: haft trust`);
    const isFine = servers.every(({ state }) => state === "ready" || state === "stopped");
    return isFine && waiting.length === 0 ? EXIT.done : EXIT.failed;
  },
});

const approve = defineCommand({
  examples: [["haft mcp approve files", "see what would be started, and let it start"]],
  operands: [{ name: "NAME" }],
  options: { yes: { type: "flag", about: "Approve what is there now, without the question" } },
  notes: [
    "A server whose command, address, variables or rights changed since they were approved does not start until you approve them.",
    "`haft trust` approves what the files of the folder start. Calls of its tools still need approval.",
  ],
  uses: ["mcp"],
  async run({ argv, connect, folder, url, terminal, output, interrupted, operands: [name = ""], options: { yes } }) {
    const client = await connect();
    const isNamed = (server: McpServerInfo): boolean => server.name === name;
    const servers = await waitForServers(client, interrupted, { choose: (all) => all.filter(isNamed) });
    const server = await requireServer(servers, { folder, url, terminal, name });
    const launch = (server.launch ?? "").split("\n").map((line) => safeLine(line));
    if (server.state !== "needs_approval") {
      output.data(server, () => launch);
      output.info(`Nothing to approve: "${safeLine(name)}" is ${server.state}.`);
      return EXIT.done;
    }
    for (const line of [...(server.error ?? "").split("\n").map((each) => safeLine(each)), "Would be started:"])
      output.info(line);
    for (const line of launch) output.info(`  ${line}`);
    if (!yes && !isInteractive(terminal)) {
      output.notice(`Not approved yet. Read it, then run \`${withYes(argv)}\`.`);
      return EXIT.pending;
    }
    if (!yes && !(await confirm("Start this server, now and later?", { terminal, signal: interrupted })))
      return EXIT.pending;
    // Only what was shown: the configuration may have changed since.
    const now = await client.mcp.act(name, { action: "approve_launch", hash: server.launchHash });
    output.data(now, () => diagnose(now, output));
    return now.state === "ready" ? EXIT.done : EXIT.failed;
  },
});

/** Fails if there is no such server, and says so if it only waits for trust. */
async function requireServer(
  servers: readonly McpServerInfo[],
  { name, ...place }: Place & { name: string },
): Promise<McpServerInfo> {
  const found = servers.find((server) => server.name === name);
  if (found) return found;
  const waiting = (await listInFiles(place)).find((server) => server.name === name && !server.isTrusted);
  if (waiting) throw new UsageError(describeUntrusted(waiting), "Review and trust what it starts: haft trust");
  const names = servers.map((server) => safeLine(server.name));
  const known = names.length === 0 ? "`haft mcp add NAME -- COMMAND` adds one." : `Servers: ${names.join(", ")}.`;
  throw new UsageError(`There is no MCP server "${name}".`, known);
}

type Place = Pick<Invocation, "folder" | "url" | "terminal">;

/** The servers of this folder's files. They do not start before a person trusts them as they are now. */
async function listInFiles({ folder, url, terminal: { env } }: Place): Promise<(TrustItem & { isTrusted: boolean })[]> {
  if (url !== undefined) return [];
  const { trustStatus } = await import("../../config/trust.ts");
  // A file that cannot be read is reported where it is used.
  const status = await trustStatus(folder, { env }).catch(() => undefined);
  return status?.items.filter(({ kind }) => kind === "mcp_server") ?? [];
}

function isAmong(servers: readonly McpServerInfo[], { name }: TrustItem): boolean {
  return servers.some((server) => server.name === name);
}

function describeUntrusted({ name = "", isChanged }: TrustItem): string {
  return `The MCP server "${safeLine(name)}" is not started: it ${isChanged ? "changed since you trusted it" : "is not trusted yet"}.`;
}

const ADVICE: Partial<Record<McpServerInfo["state"], (server: McpServerInfo) => string>> = {
  unavailable: () => "Start its command by hand in this folder and read what it prints. Haft keeps trying.",
  needs_sign_in: ({ name }) => `Sign in: haft mcp login ${name}`,
  needs_approval: ({ name }) => `What it starts changed since you approved it: haft mcp approve ${safeLine(name)}`,
  connecting: () => "It has not answered yet: it starts slowly, or waits for something.",
};

function diagnose(server: McpServerInfo, { paint }: Output): string[] {
  const isFine = server.state === "ready" || server.state === "stopped";
  const lines = [
    `${isFine ? paint("green", "ok ") : paint("red", "bad")}  ${paint("bold", safeLine(server.name))}  ${server.state}`,
  ];
  for (const line of server.launch?.split("\n") ?? []) lines.push(paint("dim", `     ${safeLine(line)}`));
  if (server.error !== undefined) lines.push(`     ${safeLine(server.error)}`);
  const advice = ADVICE[server.state]?.(server);
  if (advice !== undefined) lines.push(`     ${advice}`);
  for (const { name, refused, review } of server.tools) {
    if (refused !== undefined) lines.push(`     ${safeLine(name)} is not used: ${safeLine(refused)}`);
    if (review === "changed")
      lines.push(`     ${safeLine(name)} changed its definition: its next call asks, and shows the difference.`);
  }
  if (!isFine) for (const line of server.stderr.slice(-5)) lines.push(paint("dim", `     stderr: ${safeLine(line)}`));
  if (server.faultCount > 0)
    lines.push(`     ${server.faultCount} protocol errors, the last: ${safeLine(server.faults.at(-1) ?? "")}`);
  return lines;
}

export const commands = {
  config,
  add,
  list,
  lock,
  verify,
  import: importServers,
  restore,
  remove,
  login,
  resources,
  read,
  prompts,
  prompt,
  questions,
  answer,
  approve,
  doctor,
};
