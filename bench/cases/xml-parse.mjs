// Calls in a model's text: a response of one megabyte with 200 of them, beside an XML parser, and while it comes.
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { DIST, interleave, median, medianRatio, timed } from "../harness.mjs";

export const name = "xml-parse";

const CALLS = 200;
const BYTES = 1024 * 1024;
const ROUNDS = 15;
/** What a read of the network brings at once, and what a model makes at a time. */
const CHUNK = 4096;
const TOKEN = 16;

export async function run({ report, notMeasured, withoutPeers }) {
  const { createToolCallParser, parseToolCalls } = await import(
    pathToFileURL(join(DIST, "models/text/tool-call-parser.js")).href
  );
  const options = { format: "xml", tools: [TOOL] };
  const check = (calls) => {
    if (calls.length !== CALLS || calls.some(({ failure }) => failure)) throw new Error("not every call was read");
  };
  for (const [kind, text] of Object.entries(TEXTS)) {
    const streamed = (size) => () =>
      timed(() => {
        const parser = createToolCallParser(options);
        for (let at = 0; at < text.length; at += size) parser.push(text.slice(at, at + size));
        parser.end();
        check(parser.result.calls);
      });
    const subjects = {
      whole: () => timed(() => check(parseToolCalls(text, options).calls)),
      once: streamed(text.length),
      chunks: streamed(CHUNK),
      tokens: streamed(TOKEN),
      ...(withoutPeers ? {} : { peer: await peer(text) }),
    };
    await interleave(subjects, 5);
    const taken = await interleave(subjects, ROUNDS);
    const goals = kind === MEASURED ? { faster: { atLeast: 10 }, streamed: { atMost: 2 } } : {};
    report({ case: `${kind}: whole`, value: median(taken.whole), unit: "ms" });
    if (withoutPeers) notMeasured(`${kind}: fast-xml-parser`, withoutPeers);
    else {
      const value = medianRatio(taken.peer, taken.whole);
      report({ case: `${kind}: fast-xml-parser, × of ours`, value, unit: "×", ...goals.faster });
    }
    const value = medianRatio(taken.chunks, taken.once);
    report({ case: `${kind}: chunks of ${CHUNK}, × of one chunk`, value, unit: "×", ...goals.streamed });
    report({ case: `${kind}: chunks of ${TOKEN}`, value: median(taken.tokens), unit: "ms" });
  }
}

const TOOL = {
  name: "write_file",
  parameters: {
    type: "object",
    properties: { path: { type: "string" }, content: { type: "string" }, mode: { type: "integer" } },
  },
};

/** Prose and calls in turns, of about one megabyte together; `share` of it is prose. */
function makeText(share, write) {
  const room = BYTES / CALLS;
  return Array.from({ length: CALLS }, (_, call) => {
    const prose = `Now I write file ${call}, as we said before: it has to count what is ready, line by line. `;
    const line = (n) => `  if (count[${n}] < ${call} && ready) total += line${n};`;
    const lines = Math.max(1, Math.floor((room * (1 - share)) / line(10).length));
    return [
      prose.repeat(Math.max(1, Math.floor((room * share) / prose.length))),
      "<tool_call>",
      "  <name>write_file</name>",
      "  <params>",
      `    <path>${write(`src/part-${call}.ts`)}</path>`,
      `    <content>${write(Array.from({ length: lines }, (__, n) => line(n)).join("\n"))}</content>`,
      `    <mode>${write("420")}</mode>`,
      "  </params>",
      "</tool_call>",
      "",
    ].join("\n");
  }).join("\n");
}

const inCdata = (text) => `<![CDATA[${text}]]>`;
const asEntities = (text) => text.replaceAll("&", "&amp;").replaceAll("<", "&lt;");

/** The goal is for what models write: text and calls. The others show where each parser is at its best and its worst. */
const MEASURED = "half prose";
const TEXTS = {
  [MEASURED]: makeText(0.5, inCdata),
  "nearly all prose": makeText(0.95, inCdata),
  "nearly all CDATA": makeText(0.02, inCdata),
  "nearly all entities": makeText(0.02, asEntities),
};

/** With what is needed to read values as they are; a root is what an XML document must have. */
async function peer(text) {
  const { XMLParser } = await import("fast-xml-parser");
  const parser = new XMLParser({ ignoreAttributes: true, parseTagValue: false, trimValues: false });
  const document = `<response>${text}</response>`;
  return () =>
    timed(() => {
      const { response } = parser.parse(document);
      if (response.tool_call.length !== CALLS) throw new Error("fast-xml-parser did not read every call");
    });
}
