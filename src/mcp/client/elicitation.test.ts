import { describe, expect, test } from "vitest";
import { createFakeClock } from "../../testing/fake-clock.ts";
import type { ElicitationRequest } from "./server-requests.ts";
import { ServerQuestions, type ServerQuestionsOptions } from "./elicitation.ts";

const FORM: ElicitationRequest = {
  mode: "form",
  server: "shop",
  message: "Which size?",
  schema: { type: "object", properties: { size: { type: "string", enum: ["S", "L"] } }, required: ["size"] },
};

function open(options: Partial<ServerQuestionsOptions> = {}) {
  const clock = createFakeClock();
  const questions = new ServerQuestions({ clock, ...options });
  const requested = new AbortController();
  return { clock, questions, requested };
}

describe("a question of a server", () => {
  test("is listed until it is answered, and its content goes to the server and is stored nowhere", async () => {
    const { questions, requested } = open();
    const answer = questions.ask(FORM, requested.signal);
    const [question] = await questions.list("open");
    expect(question).toMatchObject({ server: "shop", mode: "form", message: "Which size?", schema: FORM.schema });
    await questions.answer(question!.id, { action: "accept", content: { size: "L" }, by: "ada", via: "http" });
    expect(await answer).toEqual({ action: "accept", content: { size: "L" } });
    const [kept] = await questions.list();
    expect(kept).toMatchObject({ state: "accepted", answeredBy: "ada", answeredVia: "http" });
    expect(kept).not.toHaveProperty("content");
  });

  test("rejects an answer that does not match its fields, and stays open", async () => {
    const { questions, requested } = open();
    const answer = questions.ask(FORM, requested.signal);
    const [{ id } = { id: "" }] = await questions.list("open");
    await expect(questions.answer(id, { action: "accept", content: { size: "XXL" } })).rejects.toMatchObject({
      code: "invalid_input",
    });
    await questions.answer(id, { action: "decline" });
    expect(await answer).toEqual({ action: "decline" });
  });

  test("accepts the first answer and rejects the next", async () => {
    const { questions, requested } = open();
    void questions.ask(FORM, requested.signal);
    const [{ id } = { id: "" }] = await questions.list("open");
    await questions.answer(id, { action: "cancel" });
    await expect(questions.answer(id, { action: "decline" })).rejects.toMatchObject({ code: "conflict" });
    await expect(questions.answer("nobody", { action: "decline" })).rejects.toMatchObject({ code: "invalid_input" });
  });

  test("without an answer expires, and the server gets a cancellation", async () => {
    const { questions, requested, clock } = open({ lifetimeMs: 60_000 });
    const answer = questions.ask(FORM, requested.signal);
    const [{ id } = { id: "" }] = await questions.list("open");
    await clock.advance(60_000);
    expect(await answer).toEqual({ action: "cancel" });
    expect(await questions.get(id)).toMatchObject({ state: "expired" });
  });

  test("that its server withdraws is closed", async () => {
    const { questions, requested } = open();
    const answer = questions.ask(FORM, requested.signal);
    expect(await questions.list("open")).toHaveLength(1);
    requested.abort();
    expect(await answer).toEqual({ action: "cancel" });
    expect(await questions.list()).toMatchObject([{ state: "cancelled", note: expect.stringContaining("no longer") }]);
  });

  test("stays open if the answer cannot be recorded", async () => {
    const { questions, requested } = open({ onAnswer: () => Promise.reject(new Error("disk full")) });
    void questions.ask(FORM, requested.signal);
    const [{ id } = { id: "" }] = await questions.list("open");
    await expect(questions.answer(id, { action: "decline" })).rejects.toThrow("disk full");
    expect(await questions.get(id)).toMatchObject({ state: "open" });
  });

  test("is cancelled if too many are open", async () => {
    const { questions, requested } = open({ maxOpen: 2 });
    void questions.ask(FORM, requested.signal);
    void questions.ask(FORM, requested.signal);
    expect(await questions.ask(FORM, requested.signal)).toEqual({ action: "cancel" });
    expect(await questions.list("open")).toHaveLength(2);
  });
});
