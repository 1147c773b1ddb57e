import { describe, expect, it } from "vitest";
import { stem } from "./words.ts";

describe("stem", () => {
  it.each([
    "file files",
    "query queries",
    "address addresses",
    "box boxes",
    "status statuses",
    "convert converts converted converting converter conversion",
    "calculate calculates calculated calculating calculation calculator",
    "translate translation translator translating",
    "delete deletes deleted deleting deletion",
    "create created creating creation creator",
    "schedule scheduled scheduling scheduler",
    "remove removes removing removal",
    "retrieve retrieved retrieving retrieval",
    "optimize optimized optimization",
    "notify notification notifications",
    "verify verification",
    "subscribe subscription",
    "analyze analyse analysis analyzer analytics",
    "history historical",
    "month monthly",
    "plan planned planning plans",
    "run running runs",
    "add adding added adds",
    "pay payment payments paid",
    "locate location locations",
    "recommend recommendation recommended",
  ])("brings together: %s", (forms) => {
    const keys = new Set(forms.split(" ").map(stem));
    expect([...keys]).toHaveLength(1);
  });

  it.each([
    "new news",
    "custom customer",
    "state station",
    "rate rating",
    "use user",
    "number numb",
    "cent center",
    "act action",
    "port portal",
    "form format",
    "sing single",
  ])("keeps apart: %s", (pair) => {
    const [one, other] = pair.split(" ").map(stem);
    expect(one).not.toBe(other);
  });

  it("does not change short words, words with digits and other scripts", () => {
    for (const word of ["sms", "dns", "aws", "mp3s", "base64", "погода", "天气"]) expect(stem(word)).toBe(word);
  });
});
