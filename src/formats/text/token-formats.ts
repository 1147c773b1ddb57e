import { bareSection } from "./bare-section.ts";
import { gemmaSection } from "./gemma-section.ts";
import { HARMONY_FIRST_HEADER, HARMONY_SECTION } from "./harmony-section.ts";
import { pythonicSection } from "./pythonic-section.ts";
import type { TextFormat, TextFormatName } from "./text-format.ts";
import { tokenSection } from "./token-section.ts";
import { gemmaLiteral, pythonCall, writeEach } from "./write-calls.ts";

/** Distilled models write the tokens with ordinary characters. */
function deepseekTokens(name: string): string[] {
  const plain = name.replaceAll("▁", "_");
  return [`<｜${name}｜>`, `<｜${plain}｜>`, `<|${name}|>`, `<|${plain}|>`];
}

function deepseek(name: TextFormatName, write: TextFormat["write"]): TextFormat {
  return {
    name,
    sections: () => [
      tokenSection({
        format: name,
        begin: deepseekTokens("tool▁calls▁begin"),
        end: deepseekTokens("tool▁calls▁end"),
        callBegin: deepseekTokens("tool▁call▁begin"),
        callEnd: deepseekTokens("tool▁call▁end"),
        separator: deepseekTokens("tool▁sep"),
        nameFrom: (head) => head,
        nameFollows: "deepseek-v3",
      }),
    ],
    plumbing: ["<｜end▁of▁sentence｜>"],
    write,
  };
}

const DEEPSEEK_AROUND = { before: "<｜tool▁calls▁begin｜>", after: "<｜tool▁calls▁end｜>" };

const DEEPSEEK_V3 = deepseek(
  "deepseek-v3",
  writeEach(
    ({ name, input }) =>
      `<｜tool▁call▁begin｜>function<｜tool▁sep｜>${name}\n\`\`\`json\n${JSON.stringify(input)}\n\`\`\`<｜tool▁call▁end｜>`,
    DEEPSEEK_AROUND,
  ),
);

const DEEPSEEK_V31 = deepseek(
  "deepseek-v3.1",
  writeEach(
    ({ name, input }) => `<｜tool▁call▁begin｜>${name}<｜tool▁sep｜>${JSON.stringify(input)}<｜tool▁call▁end｜>`,
    { ...DEEPSEEK_AROUND, between: "" },
  ),
);

const KIMI_K2: TextFormat = {
  name: "kimi-k2",
  sections: () => [
    tokenSection({
      format: "kimi-k2",
      begin: ["<|tool_calls_section_begin|>", "<|tool_call_section_begin|>"],
      end: ["<|tool_calls_section_end|>", "<|tool_call_section_end|>"],
      callBegin: ["<|tool_call_begin|>"],
      callEnd: ["<|tool_call_end|>"],
      separator: ["<|tool_call_argument_begin|>"],
      nameFrom: (head) => head.replace(/^functions\./, "").replace(/:\d+$/, ""),
    }),
  ],
  callEndsReasoning: true,
  write: (calls) => {
    const each = calls.map(
      ({ name, input }, at) =>
        `<|tool_call_begin|>functions.${name}:${at}<|tool_call_argument_begin|>${JSON.stringify(input)}<|tool_call_end|>`,
    );
    return `<|tool_calls_section_begin|>${each.join("")}<|tool_calls_section_end|>`;
  },
};

const HARMONY: TextFormat = {
  name: "harmony",
  sections: () => [HARMONY_SECTION, HARMONY_FIRST_HEADER],
  plumbing: ["<|end|>", "<|return|>", "<|call|>"],
  write: writeEach(
    ({ name, input }) =>
      `<|channel|>commentary to=functions.${name} <|constrain|>json<|message|>${JSON.stringify(input)}<|call|>`,
    { between: "<|start|>assistant" },
  ),
};

function pythonic(name: TextFormatName, open: string, close: string, isList: boolean): TextFormat {
  return {
    name,
    sections: () => [pythonicSection({ format: name, open: [open], close: [close] })],
    plumbing: ["<|im_end|>"],
    write: isList
      ? writeEach(pythonCall, { before: `${open}[`, after: `]${close}`, between: ", " })
      : writeEach(pythonCall, { before: open, after: close }),
  };
}

const LLAMA4: TextFormat = {
  name: "llama4-pythonic",
  sections: () => [
    pythonicSection({ format: "llama4-pythonic", open: ["<|python_start|>"], close: ["<|python_end|>"] }),
    bareSection({ python: "llama4-pythonic", onLineStart: true }),
  ],
  plumbing: ["<|eom|>", "<|eot|>"],
  write: writeEach(pythonCall, { before: "[", after: "]", between: ", " }),
};

function gemma(name: TextFormatName, open: string, close: string, quote: string): TextFormat {
  return {
    name,
    sections: () => [gemmaSection({ format: name, open, close, quote })],
    reasoning: [["<|channel>thought\n", "<channel|>"]],
    plumbing: ["<turn|>"],
    write: writeEach(({ name: tool, input }) => `${open}call:${tool}${gemmaLiteral(input, quote)}${close}`, {
      between: "",
    }),
  };
}

export const TOKEN_FORMATS: readonly TextFormat[] = [
  DEEPSEEK_V3,
  DEEPSEEK_V31,
  KIMI_K2,
  HARMONY,
  LLAMA4,
  pythonic("lfm2-pythonic", "<|tool_call_start|>", "<|tool_call_end|>", true),
  pythonic("olmo3-pythonic", "<function_calls>", "</function_calls>", false),
  gemma("gemma4", "<|tool_call>", "<tool_call|>", '<|"|>'),
  gemma("functiongemma", "<start_function_call>", "<end_function_call>", "<escape>"),
];
