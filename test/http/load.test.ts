// A server with more work than it can do, and with more connections than it may have.
import { Agent, request } from "node:http";
import { expect, onTestFinished, test } from "vitest";
import { openSocket, openTestServer, type TestServer } from "./open-server.ts";

interface Answer {
  status: number;
  retryAfter: string | undefined;
  text: string;
}

function send({ host }: TestServer, token: string | undefined, tool: string, agent: Agent): Promise<Answer> {
  const body = JSON.stringify({ tool, input: {} });
  const [hostname, port] = host.split(":");
  const options =
    token === undefined
      ? { method: "GET", path: "/api/health" }
      : {
          method: "POST",
          path: "/api/calls",
          headers: { authorization: `Bearer ${token}`, "content-type": "application/json" },
        };
  return new Promise((resolve, reject) => {
    const sent = request({ host: hostname, port, agent, ...options }, (response) => {
      const { statusCode = 0, headers } = response;
      let text = "";
      response.on("data", (chunk) => (text += chunk));
      response.on("end", () => resolve({ status: statusCode, retryAfter: headers["retry-after"], text }));
    });
    sent.on("error", reject);
    sent.end(token === undefined ? undefined : body);
  });
}

function openAgent(): Agent {
  const agent = new Agent({ keepAlive: true, maxSockets: Infinity });
  onTestFinished(() => agent.destroy());
  return agent;
}

/** A tool that keeps the event loop busy. */
const busy = {
  name: "busy",
  description: "Blocks for a moment",
  kind: "readonly" as const,
  parameters: [] as never,
  run() {
    const end = performance.now() + 6;
    while (performance.now() < end);
    return "done";
  },
};

test("every request of an overloaded server is answered: done, or refused with the time to wait; others get their turn", async () => {
  const api = await openTestServer({ haft: { tools: [busy] }, limits: { maxWaitingPerCaller: 20 } });
  const greedy = await api.tokenFor("call", "read");
  const modest = await api.tokenFor("call");
  const agent = openAgent();
  // Connected before: this process is the client of all.
  const others = [openAgent(), openAgent()] as const;
  for (const other of others) await send(api, undefined, "", other);
  await Promise.all(Array.from({ length: 80 }, () => send(api, undefined, "", agent)));
  let finished = 0;
  const flood = Array.from({ length: 80 }, async () => {
    const answer = await send(api, greedy, "busy", agent);
    if (answer.status === 200) finished++;
    return answer;
  });
  const asked = await Promise.all([send(api, undefined, "", others[0]), send(api, modest, "busy", others[1])]);
  const finishedBefore = finished;
  expect(asked).toMatchObject([{ status: 200 }, { status: 200 }]);
  const answers = await Promise.all(flood);
  const statuses = new Set(answers.map(({ status }) => status));
  expect(statuses).toEqual(new Set([200, 429]));
  for (const { retryAfter, text } of answers.filter(({ status }) => status === 429)) {
    expect([Number(retryAfter) >= 1, text.includes("Nothing was done")]).toEqual([true, true]);
  }
  const done = answers.filter(({ status }) => status === 200).length;
  expect(done).toBeGreaterThanOrEqual(20);
  expect(finishedBefore, "the other caller does not wait for all of them").toBeLessThan(done);
  const after = JSON.parse((await send(api, undefined, "", agent)).text) as { problems: string[] };
  expect(after.problems).toContain("overloaded");
});

test("requests on too many connections get 503, and health is answered on them too", async () => {
  const api = await openTestServer({ limits: { connections: 3 } });
  const token = await api.tokenFor("call");
  for (let count = 0; count < 3; count++) await openSocket(api);
  const refused = await send(api, token, "echo", openAgent());
  expect(refused).toMatchObject({ status: 503, retryAfter: "1" });
  expect(refused.text).toContain('"overloaded"');
  expect(await send(api, undefined, "", openAgent())).toMatchObject({ status: 200 });
});
