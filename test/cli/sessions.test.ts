// `haft sessions` before a real host, in this process, with an agent whose model is a script.
import { expect, test } from "vitest";
import type { HostOptions } from "haft/host";
import { createScriptedLanguageModel, type LanguageScript } from "haft/testing";
import { createAgent } from "../../src/agent.ts";
import { temporaryFolder } from "../setup/temporary-folder.ts";
import { openHostCli } from "./open-host-cli.ts";

async function open(script?: LanguageScript) {
  const folder = temporaryFolder("haft-sessions-");
  const model = createScriptedLanguageModel(script ?? []);
  const agentFor: HostOptions["agentFor"] = (_session, haft) => createAgent({ haft, model });
  return { ...(await openHostCli(folder, script ? { agentFor } : {})), model };
}

test("a session is begun, spoken to, listed and shown", async () => {
  const { haft, model } = await open([{ text: "Hello \u001b[31mAnn." }, { text: "You are Ann." }]);
  expect((await haft("sessions", "list")).stderr).toContain("haft sessions send --new");
  const begun = await haft("sessions", "send", "--new", "talk", "I", "am", "Ann.");
  expect(begun.code, begun.stderr).toBe(0);
  expect(begun.stdout).toContain("Hello");
  expect(begun.stdout).not.toContain("\u001b[31m");
  expect((await haft("sessions", "send", "talk", "Who am I?")).stdout).toBe("You are Ann.\n");
  expect(model.requests[1]!.prompt.map(({ role }) => role)).toEqual(["system", "user", "assistant", "user"]);
  expect((await haft("sessions", "list")).stdout).toMatch(/talk .*idle|idle .*talk/);
  expect((await haft("sessions", "list", "--state", "waiting", "--json")).stdout).toContain('"items": []');
  const shown = (await haft("sessions", "show", "talk")).stdout;
  expect(shown).toMatch(/I am Ann\.[\s\S]*Hello[\s\S]*Who am I\?[\s\S]*You are Ann\./);
  const entries = (await haft("sessions", "show", "talk", "--jsonl")).stdout.trim().split("\n");
  expect(entries.map((line) => (JSON.parse(line) as { turn: number }).turn)).toEqual([1, 1, 1, 2, 2, 2]);
});

test("one that waits for a person says so, goes on after the yes, and is stopped by name", async () => {
  const ask = { calls: [{ name: "exec", input: { command: "touch made.txt" } }] };
  const { haft, host } = await open([ask, { text: "It is made." }, ask]);
  const requested = await haft("sessions", "send", "--new", "work", "Make", "it");
  expect(requested).toMatchObject({ code: 0, stderr: expect.stringContaining("haft approvals list") });
  expect((await haft("sessions", "list", "--state", "waiting")).stdout).toContain("work");
  const [question] = await host.haft.approvals.list("pending");
  await host.haft.approvals.approve(question!.id);
  await host.sessions.settled();
  const shown = (await haft("sessions", "show", "work", "--json")).stdout;
  expect(JSON.parse(shown)).toMatchObject({ state: "idle", lastText: "It is made." });
  await haft("sessions", "send", "work", "Again");
  expect((await haft("sessions", "stop", "work")).stdout).toBe("Stopped: 1.\n");
  expect((await haft("sessions", "stop", "work")).stdout).toBe("It was not running.\n");
});

test("what is not there, and a model that is not there, is said with what to do", async () => {
  const { haft } = await open();
  expect((await haft("sessions", "list")).stderr).toContain("No model is configured");
  const sent = await haft("sessions", "send", "--new", "talk", "Hello");
  expect(sent.code).not.toBe(0);
  expect(sent.stderr).toContain("Set agent.model");
  expect((await haft("sessions", "list", "--json")).stdout).toContain('"items": []');
  expect(await haft("sessions", "show", "nobody")).toMatchObject({
    code: 1,
    stderr: expect.stringContaining("nobody"),
  });
});
