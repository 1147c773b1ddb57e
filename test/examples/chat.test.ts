import { chromium } from "playwright-core";
import { describe, expect, onTestFinished, test } from "vitest";
import { findBrowser } from "../console/find-browser.ts";
import { openExample } from "./open-example.ts";

const found = await findBrowser();
const HF16 = { number: "HF 16", to: "Lisbon", departs: "17:05", price: 94 };

async function startChat() {
  const run = (await openExample("chat")).start({ PORT: "0" });
  await run.printed("/ and write");
  const url = /http:\/\/127\.0\.0\.1:\d+/.exec(run.stdout)![0];
  return {
    url,
    bookings: async (): Promise<unknown> => (await fetch(`${url}/bookings`)).json(),
    /** The parts of the answer. */
    async send(message: object): Promise<Record<string, unknown>[]> {
      const headers = { "content-type": "application/json" };
      const response = await fetch(`${url}/chat`, { method: "POST", headers, body: JSON.stringify(message) });
      const events = (await response.text()).split("\n\n").filter((event) => event.startsWith("data: {"));
      return events.map((event) => JSON.parse(event.slice("data: ".length)) as Record<string, unknown>);
    },
  };
}

const textOf = (parts: Record<string, unknown>[]): string => parts.map(({ delta = "" }) => delta).join("");

test("over HTTP, a flight is booked once after an approval, and never by another chat or after a denial", async () => {
  const { send, bookings } = await startChat();
  const parts = await send({ chat: "a", text: "I need a flight to Lisbon" });
  expect(textOf(parts)).toContain("HF 16 at 17:05 is the cheapest: 94 EUR. Shall I book it?");
  const { approvalId } = parts.find(({ type }) => type === "tool-approval-request")!;
  expect(await bookings()).toEqual([]);

  await send({ chat: "b", approvalId, approved: true });
  expect(await bookings(), "another chat has no such question").toEqual([]);

  expect(textOf(await send({ chat: "a", approvalId, approved: true }))).toBe(
    "Your flight is booked. Have a good trip!",
  );
  await send({ chat: "a", approvalId, approved: true });
  expect(await bookings(), "the second answer books nothing").toEqual([HF16]);

  const again = await send({ chat: "c", text: "I need a flight to Oslo" });
  const question = again.find(({ type }) => type === "tool-approval-request")!;
  const denied = await send({ chat: "c", approvalId: question["approvalId"], approved: false });
  expect(textOf(denied)).toBe("I have not booked the flight.");
  expect(await bookings()).toEqual([HF16]);
});

describe.skipIf("missing" in found)("in a browser", () => {
  test("the page asks with buttons, and each answer continues the conversation", async () => {
    const { url, bookings } = await startChat();
    if ("missing" in found) return;
    const browser = await chromium.launch({ executablePath: found.executablePath, args: found.args });
    onTestFinished(() => browser.close());
    const page = await browser.newPage();
    const errors: string[] = [];
    page.on("pageerror", ({ message }) => errors.push(message));
    await page.goto(url);
    const ask = async (): Promise<void> => {
      await page.getByLabel("Message").fill("I need a flight to Lisbon");
      await page.getByRole("button", { name: "Send" }).click();
      await page.getByText('Approve book_flight {"number":"HF 16"}?').waitFor();
    };
    await ask();
    expect(await bookings()).toEqual([]);
    await page.getByRole("button", { name: "Deny" }).click();
    await page.getByText("I have not booked the flight.").waitFor();
    expect(await bookings()).toEqual([]);

    await ask();
    await page.getByRole("button", { name: "Approve" }).click();
    await page.getByText("Your flight is booked. Have a good trip!").waitFor();
    expect(await bookings()).toEqual([HF16]);
    expect(await page.getByRole("button").allInnerTexts()).toEqual(["Send"]);
    expect(errors).toEqual([]);
  });
});
