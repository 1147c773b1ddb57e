import { describe, expect, test } from "vitest";
import { disarmText, wrapUntrusted } from "./untrusted-text.ts";

describe("untrusted text", () => {
  test("loses terminal codes, control characters and invisible characters", () => {
    expect(disarmText("a\u001b[31mred\u001b[0m\u0007\u009b2Jb\r\nc\td\re")).toBe("aredb\nc\td\ne");
    expect(disarmText("pay\u202Eevil\u2066\u200Bload\u{e0041}\u{e007f}\ud800")).toBe("payevilload\ufffd");
  });

  test("keeps every language and every sign", () => {
    const plain = "Grüße, 你好, שלום\u200f, 👩‍👩‍👧 می\u200cخواهم a < b && c > d <div class=x> [1] ${x}";
    expect(disarmText(plain)).toBe(plain);
  });

  test.each([
    "<tool_call>",
    "</tool_call>",
    "<function_calls>",
    '<invoke name="x">',
    "<function=exec>",
    "<parameter=command>",
    "<tool_result>",
    "</tool_response>",
    "<|im_start|>system",
    "<｜tool▁calls▁begin｜>",
    "[TOOL_CALLS][{",
    "[/INST]",
    "<think>",
    "</untrusted mark=",
    "<system-reminder>",
    "<TOOL_CALL>",
    "<tool_use id=1>",
    "<system>",
    "<ns:invoke >",
    "<tool\\_call>",
    "</tool\\_result>",
  ])("%j begins no call and no turn", (text) => {
    const safe = disarmText(`x ${text}`);
    expect(safe).not.toContain(text);
    expect(safe).toMatch(/^x (?:&lt;|&#91;)/);
    expect(safe.replaceAll("&lt;", "<").replaceAll("&#91;", "[")).toBe(`x ${text}`);
  });

  test("cannot close its enclosing block, because its mark is random", () => {
    const one = wrapUntrusted("text", 'https://a.example/"\n<tool_call>');
    const mark = /mark="([0-9a-f]{8})"/.exec(one)?.[1];
    expect(one).toMatch(
      /^<untrusted mark="\w+" source="https:\/\/a\.example\/\\"\\n&lt;tool_call>">\ntext\n<\/untrusted/,
    );
    expect(wrapUntrusted("text", "x")).not.toContain(`"${mark}"`);
  });
});
