// Recorded runs of models in the format of AgentDojo's logs: `FOLDER/**/*.json`, each with messages, calls and results.
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { parse } from "yaml";

/** Tasks that a model solved, and attacks that it carried out. */
export function loadRuns(folder) {
  const files = readdirSync(folder, { recursive: true }).filter((file) => file.endsWith(".json"));
  return files
    .sort((one, other) => (one < other ? -1 : 1))
    .flatMap((file) => {
      const run = JSON.parse(readFileSync(join(folder, file), "utf8"));
      const isAttack = run.injection_task_id !== null && run.injection_task_id !== undefined;
      const isTask = run.user_task_id?.startsWith("user_task");
      if (!Array.isArray(run.messages) || !isTask || !(isAttack ? run.security : run.utility)) return [];
      const said = (role) => run.messages.filter((each) => each.role === role).map((each) => textOf(each.content));
      return {
        name: file,
        system: said("system").join("\n"),
        prompt: said("user").join("\n"),
        injected: isAttack ? Object.values(run.injections).join("\n") : undefined,
        steps: run.messages
          .filter((each) => each.role === "tool")
          .map((each) => ({
            tool: each.tool_call.function,
            args: withoutNulls(each.tool_call.args),
            result: dataOf(textOf(each.content)),
            error: each.error ?? undefined,
          })),
      };
    });
}

/** The tools that runs call, with the types of the arguments that they were given. */
export function toolsOf(runs) {
  const tools = new Map();
  for (const { tool, args } of runs.flatMap(({ steps }) => steps)) {
    const properties = tools.get(tool) ?? {};
    tools.set(tool, properties);
    for (const [name, value] of Object.entries(args)) {
      const type = Array.isArray(value) ? "array" : typeof value;
      const types = new Set([...(properties[name]?.type ?? []), type]);
      properties[name] = { type: [...types] };
    }
  }
  return [...tools].map(([name, properties]) => ({ name, inputSchema: { type: "object", properties } }));
}

function textOf(content) {
  if (typeof content === "string") return content;
  return (content ?? []).map((block) => block.content ?? block.text ?? "").join("\n");
}

function withoutNulls(args) {
  return Object.fromEntries(Object.entries(args).filter(([, value]) => value !== null));
}

/** AgentDojo writes results as YAML, or as Python prints them. */
function dataOf(text) {
  const first = text.trimStart();
  try {
    if (/^[[{]/.test(first)) return JSON.parse(first.startsWith('{"') ? first : fromPython(first));
    if (/^(?:- )?\w+:/.test(first)) return parse(text);
  } catch {
    // A text that only begins so.
  }
  return text;
}

function fromPython(text) {
  return text.replace(
    /'((?:[^'\\]|\\.)*)'|"((?:[^"\\]|\\.)*)"|\b(True|False|None)\b/gs,
    (_all, single, double, word) => {
      if (word) return { True: "true", False: "false", None: "null" }[word];
      return JSON.stringify((single ?? double).replace(/\\(['"\\])/g, "$1").replaceAll("\\n", "\n"));
    },
  );
}
