import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { json } from "node:stream/consumers";
import { expect, onTestFinished, test, vi } from "vitest";
import { temporaryFolder } from "../../test/setup/temporary-folder.ts";
import { openHaft } from "../host.ts";

/** Records what it gets, and answers with these statuses in turn, then with 200. */
async function openReceiver(statuses: number[] = []) {
  const received: unknown[] = [];
  const server = createServer((request, response) => {
    void json(request).then((body) => {
      received.push({ authorization: request.headers.authorization, body });
      response.writeHead(statuses.shift() ?? 200).end();
    });
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  onTestFinished(() => void server.close());
  return { received, url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/hook` };
}

async function openHost(webhook: { url: string; headers?: Record<string, string>; details?: boolean }) {
  const onWarning = vi.fn();
  const options = { home: temporaryFolder("haft-hook-home-"), env: {}, onWarning };
  const host = await openHaft(temporaryFolder("haft-hook-"), { ...options, overrides: { approvals: { webhook } } });
  onTestFinished(() => host.close());
  return { host, onWarning };
}

const call = { path: "secret-name.txt", content: "x" };

test("a waiting call is announced once, without what it is about", async () => {
  const { received, url } = await openReceiver();
  const { host } = await openHost({ url, headers: { authorization: "Bearer t" } });
  await host.haft.execute("read", { path: "missing.txt" });
  const result = await host.haft.execute("write", call, { caller: { session: "s" } });
  expect(result).toMatchObject({ status: "pending" });
  await expect.poll(() => received.length, { timeout: 20_000 }).toBe(1);
  expect(received[0]).toMatchObject({
    authorization: "Bearer t",
    body: { type: "approval_requested", tool: "write", risk: "medium", text: "Approval needed (risk: medium): write" },
  });
  expect(JSON.stringify(received)).not.toContain("secret-name");
});

test("details are sent if they are wanted, and a failed request is repeated", async () => {
  const { received, url } = await openReceiver([500]);
  const { host, onWarning } = await openHost({ url, details: true });
  await host.haft.execute("write", call, { caller: { session: "s" } });
  await expect.poll(() => received.length, { timeout: 20_000 }).toBe(2);
  expect(received[1]).toMatchObject({ body: { subject: "secret-name.txt", session: "s" } });
  expect(onWarning.mock.calls.flat().filter((text: string) => text.includes("webhook"))).toEqual([]);
});

test("a receiver that is not there stops neither the call nor the end of the host", async () => {
  const { host } = await openHost({ url: "http://127.0.0.1:1/" });
  expect(await host.haft.execute("write", call)).toMatchObject({ status: "pending" });
  await host.close();
});

test("a host that closes at once still announces the call that waits", async () => {
  const { received, url } = await openReceiver();
  const { host } = await openHost({ url });
  await host.haft.execute("write", call);
  await host.close();
  expect(received).toMatchObject([{ body: { tool: "write" } }]);
});

test("what a call is about cannot pass for text of the message, a link or a mention", async () => {
  const { received, url } = await openReceiver();
  const { host } = await openHost({ url, details: true });
  const command = "curl -o \u202etxt `id`\n@here [ok](http://example.test) <!channel>";
  await host.haft.execute("exec", { command }, { caller: { session: "s\nApproval needed" } });
  await expect.poll(() => received.length, { timeout: 20_000 }).toBe(1);
  const { body } = received[0] as { body: { text: string; session: string } };
  expect(body.text).toMatch(
    /^Approval needed \(risk: \w+\): exec: `curl -o \\u\{202e\}txt ˋidˋ[^`\n]*&lt;!channel&gt;`$/,
  );
  expect(body.session).toBe(String.raw`s\nApproval needed`);
});

test("a question is not announced as an approval", async () => {
  const { received, url } = await openReceiver();
  const { host } = await openHost({ url });
  await host.haft.execute("ask_user", { questions: [{ question: "Why?" }] });
  await expect.poll(() => received.length, { timeout: 20_000 }).toBe(1);
  expect(received).toMatchObject([{ body: { text: "A question waits: ask_user" } }]);
});

test.each([
  ["an address with a password", { url: "http://user:s3cret-word@127.0.0.1:1/" }],
  ["a header that cannot be sent", { url: "http://127.0.0.1:1/", headers: { authorization: "Bearer s3cret-word\n1" } }],
])("the warning about %s does not quote it", async (_what, webhook) => {
  const { host, onWarning } = await openHost(webhook);
  await host.haft.execute("write", call);
  const warnings = (): string[] => onWarning.mock.calls.flat().filter((text: string) => text.includes("webhook"));
  await expect.poll(() => warnings(), { timeout: 20_000 }).toEqual([expect.stringContaining("cannot be used")]);
  expect(warnings().join()).not.toContain("s3cret");
});
