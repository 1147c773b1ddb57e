// One secret of each kind is given to every place that keeps or sends what calls contain. None of them shows it.
import { SpanStatusCode, trace } from "@opentelemetry/api";
import { BasicTracerProvider, InMemorySpanExporter, SimpleSpanProcessor } from "@opentelemetry/sdk-trace-base";
import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { text as readText } from "node:stream/consumers";
import { expect, onTestFinished, test } from "vitest";
import { z } from "zod";
import { createTool } from "../../src/core/create-tool.ts";
import { openHaft } from "../../src/host.ts";
import { serveHttp } from "../../src/server/http-server.ts";
import { createClient } from "../../src/client.ts";
import { temporaryFolder } from "../setup/temporary-folder.ts";
import { until } from "./open-server.ts";

const random = "q7Zx2LmN9pR4tVb8KcYw3HsD6fGj5TaE1uXo";
/** The secret, and the text around it. */
const SECRETS = [
  ["", `dckr_pat_${random.slice(0, 27)}`],
  ["", `hvs.${random}${random}`],
  ["curl -u ann:", random.slice(0, 10)],
  ["AccountKey=", `${random}${random}==`],
  ["Set-Cookie: sid=", random.slice(3, 30)],
  ["DB_PASSWORD=", random.slice(5, 16)],
  ["postgres://ann:", `${random.slice(8, 20)}@db`],
] as const;
const TEXT = SECRETS.map(([before, secret]) => `${before}${secret}`).join("\n");
const shown = (value: unknown): string[] => {
  const all = typeof value === "string" ? value : JSON.stringify(value);
  return SECRETS.filter(([, secret]) => all.includes(secret.replace("@db", ""))).map(
    ([before, secret]) => before + secret,
  );
};

const ANSWER = "at the harbour in Lisbon";

test("no sink shows a secret that a call contained", async () => {
  const spans = new InMemorySpanExporter();
  trace.setGlobalTracerProvider(new BasicTracerProvider({ spanProcessors: [new SimpleSpanProcessor(spans)] }));
  onTestFinished(() => trace.disable());
  const posted: string[] = [];
  const receiver = createServer((request, response) => {
    void readText(request).then((body) => (posted.push(body), response.end()));
  }).listen(0, "127.0.0.1");
  await once(receiver, "listening");
  onTestFinished(() => void receiver.close());
  const url = `http://127.0.0.1:${(receiver.address() as AddressInfo).port}/`;
  const host = await openHaft(temporaryFolder("haft-sinks-"), {
    home: temporaryFolder("haft-sinks-home-"),
    env: {},
    overrides: { approvals: { webhook: { url, details: true } } },
  });
  onTestFinished(() => host.close());
  const { haft } = host;
  haft.tools.registry.register(
    createTool({
      name: "leak",
      description: "Prints and throws what it is given.",
      kind: "readonly",
      parameters: z.object({ text: z.string(), fail: z.boolean().optional() }),
      run: async ({ text, fail }, context) => {
        context.update({ content: [{ type: "text", text }] });
        if (fail) throw new Error(`failed with ${text}`);
        return text;
      },
    }),
  );
  const server = await serveHttp(host, { port: 0 });
  onTestFinished(() => server.close());
  const client = createClient({
    url: server.url,
    token: await server.issueToken({ name: "reader", scopes: ["read"] }),
  });
  const followed: unknown[] = [];
  const end = new AbortController();
  onTestFinished(() => end.abort());
  void (async () => {
    for await (const message of client.events.subscribe({}, { signal: end.signal })) followed.push(message);
  })().catch(() => undefined);
  await until(() => followed.length > 0);

  const completed = await haft.execute("leak", { text: TEXT });
  expect(shown(completed)).toHaveLength(SECRETS.length);
  await haft.execute("leak", { text: TEXT, fail: true });
  const asked = await haft.execute("exec", { command: `echo '${TEXT.replaceAll("\n", " ")}' > out` });
  if (asked.status !== "pending") throw new Error("it was not asked about");
  await until(() => posted.length > 0);
  await haft.approvals.save(asked.pending.id, { approved: false });
  const question = await haft.execute(
    "ask_user",
    { questions: [{ question: "Where?" }] },
    { id: "where", caller: { user: "ada" } },
  );
  if (question.status !== "pending") throw new Error("nobody was asked");
  expect(await haft.approvals.answer(question.pending.id, [{ text: ANSWER }], "ada")).toMatchObject({
    display: ANSWER,
  });

  expect(shown(posted), "webhook").toEqual([]);
  const audit = await client.audit.search({ limit: 200 });
  expect(JSON.stringify(audit)).toContain("[hidden");
  expect(shown(audit), "audit").toEqual([]);
  expect(shown(await haft.approvals.get(asked.pending.id)), "approval after its end").toEqual([]);
  expect(shown(await client.calls.list({})), "calls").toEqual([]);
  await until(() => JSON.stringify(followed).includes("tool_call_failed"));
  expect(shown(followed), "events").toEqual([]);
  await until(() => JSON.stringify(followed).includes("isPrivate"));
  const forReader = [followed, await client.audit.search({ limit: 200 }), await client.calls.get("where")];
  expect(JSON.stringify([...forReader, await client.calls.list({})]), "what a person answered").not.toContain(ANSWER);
  const failed = spans.getFinishedSpans().filter(({ status }) => status.code === SpanStatusCode.ERROR);
  expect(failed.length).toBeGreaterThan(0);
  expect(shown(failed.map(({ status, attributes, events }) => ({ status, attributes, events }))), "spans").toEqual([]);
}, 60_000);
