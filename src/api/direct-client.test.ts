import { expect, test } from "vitest";
import { calls } from "../contracts/calls.ts";
import type { Handlers } from "../contracts/contract.ts";
import { ApiError } from "../contracts/errors.ts";
import type { ApiHandlers } from "../contracts/index.ts";
import { jobs, type JobDetail } from "../contracts/jobs.ts";
import { toolError } from "../core/error.ts";
import { createDirectClient } from "./direct-client.ts";

const job: JobDetail = {
  id: "1",
  callId: "call_1",
  toolName: "read",
  subject: { type: "text", text: "" },
  risk: "low",
  caller: { depth: 0 },
  state: "queued",
  priority: 0,
  createdAt: 1,
  runAt: 1,
  attempt: 0,
  attempts: 1,
  lost: 0,
  round: 1,
  input: {},
};
const counts = { delayed: 0, queued: 1, running: 0, completed: 0, failed: 0, denied: 0, cancelled: 0, unknown: 0 };

function open(own: Partial<Handlers<typeof jobs>> = {}, scopes: readonly ("read" | "call")[] = ["read", "call"]) {
  const opened: string[] = [];
  const handlers: Handlers<typeof jobs> = {
    list: () => ({ items: [job], counts }),
    get: () => job,
    log: () => ({ items: [] }),
    watch: async function* () {
      yield { type: "job", job };
    },
    cancel: () => job,
    retry: () => job,
    ...own,
  };
  const resources: ApiHandlers = { jobs: handlers };
  const client = createDirectClient(
    { jobs, calls },
    {
      identity: { id: "local", name: "ann", scopes, kind: "token" },
      async handlersOf(resource) {
        opened.push(resource);
        return resources[resource];
      },
    },
  );
  return { client, opened };
}

test("a handler gets the parameters, the checked input and the identity; its value comes back as it is", async () => {
  const seen: unknown[] = [];
  const { client } = open({
    list: ({ query, identity, remoteAddress }) => {
      seen.push(query, identity.name, remoteAddress);
      return { items: [job], counts };
    },
    cancel: ({ params, body, setHeader }) => {
      setHeader("x-test", "1");
      seen.push(params, body);
      return job;
    },
  });
  expect((await client.jobs.list({ state: ["queued"] })).items[0]).toBe(job);
  expect(await client.jobs.cancel("a/b")).toBe(job);
  expect(seen).toEqual([{ state: ["queued"] }, "ann", undefined, { id: "a/b" }, {}]);
});

test("nothing is opened before it is used, and an unavailable resource is not here", async () => {
  const { client, opened } = open();
  expect(opened).toEqual([]);
  await client.jobs.get("1");
  expect(opened).toEqual(["jobs"]);
  await expect(client.calls.get("1")).rejects.toMatchObject({ code: "not_here", status: 404 });
});

test("scope and input are checked before the resource is opened", async () => {
  const { client, opened } = open({}, ["read"]);
  await expect(client.jobs.cancel("1")).rejects.toMatchObject({ code: "forbidden" });
  await expect(client.jobs.list({ limit: 501 })).rejects.toMatchObject({ code: "bad_request" });
  await expect(client.jobs.list({ stat: "x" } as object)).rejects.toMatchObject({ code: "bad_request" });
  expect(opened).toEqual([]);
});

test("errors are those of the API; a fault keeps its own error", async () => {
  const fault = new RangeError("a fault");
  const { client } = open({
    get: () => {
      throw new ApiError("not_found", "There is no such job");
    },
    retry: () => Promise.reject(toolError("no_match", "Nothing matches", { data: { id: "1" } })),
    cancel: () => Promise.reject(fault),
    watch: async function* () {
      yield { type: "job", job };
      throw toolError("timeout", "Too late");
    },
  });
  await expect(client.jobs.get("1")).rejects.toMatchObject({ code: "not_found", status: 404 });
  await expect(client.jobs.retry("1")).rejects.toMatchObject({ code: "no_match", status: 404, data: { id: "1" } });
  await expect(client.jobs.cancel("1")).rejects.toBe(fault);
  const reading = (async () => {
    for await (const frame of client.jobs.watch("1")) expect(frame.type).toBe("job");
  })();
  await expect(reading).rejects.toMatchObject({ code: "timeout", status: 504 });
});

test("a stream starts when it is read, and ends in the handler when its reader stops", async () => {
  let isStarted = false;
  let seen: AbortSignal | undefined;
  const { client } = open({
    watch: async function* ({ signal }) {
      isStarted = true;
      seen = signal;
      for (;;) yield { type: "job", job };
    },
  });
  const frames = client.jobs.watch("1");
  expect(isStarted).toBe(false);
  for await (const frame of frames) {
    expect(frame).toEqual({ type: "job", job });
    break;
  }
  expect(seen?.aborted).toBe(true);
});

test("the signal of the caller reaches the handler", async () => {
  const controller = new AbortController();
  const { client } = open({
    get: ({ signal }) =>
      new Promise((_, reject) => signal.addEventListener("abort", () => reject(signal.reason as Error))),
  });
  const reason = new Error("the user left");
  const got = client.jobs.get("1", { signal: controller.signal });
  // One turn, in which the handler is called.
  await new Promise((resolve) => setImmediate(resolve));
  controller.abort(reason);
  await expect(got).rejects.toBe(reason);
  await expect(client.jobs.get("1", { signal: controller.signal })).rejects.toBe(reason);
});
