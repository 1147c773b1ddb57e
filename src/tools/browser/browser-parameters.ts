import { z } from "zod";
import type { Signature } from "../../core/signature.ts";

const ACTIONS = [
  "status",
  "start",
  "stop",
  "tabs",
  "open",
  "focus",
  "close",
  "navigate",
  "snapshot",
  "screenshot",
  "act",
  "console",
  "pdf",
  "upload",
  "dialog",
] as const;
const ACTS = ["click", "type", "press", "hover", "select", "drag", "wait", "evaluate"] as const;

const ref = z.string().regex(/^[\w-]{1,40}$/);

export const BROWSER_PARAMETERS = z.object({
  action: z.enum(ACTIONS).describe("What to do"),
  kind: z.enum(ACTS).optional().describe("For act: what to do in the page"),
  url: z.string().max(8192).optional().describe("For open and navigate: the whole address, with http:// or https://"),
  tab: z.string().max(20).optional().describe("Id of a tab, such as t1; the current one where absent"),
  ref: ref.optional().describe("Of an element, as the newest snapshot says, such as e12"),
  toRef: ref.optional().describe("For drag: where to"),
  text: z
    .string()
    .max(100_000)
    .optional()
    .describe("For type: what to fill in; for wait: text that must appear; for dialog: what to answer"),
  gone: z.boolean().optional().describe("For wait: the text must disappear"),
  ms: z.number().int().min(0).max(30_000).optional().describe("For wait: so many milliseconds"),
  submit: z.boolean().optional().describe("For type: press Enter afterwards"),
  key: z.string().max(60).optional().describe("For press: such as Enter, ArrowDown, Control+a"),
  values: z.array(z.string().max(1000)).max(100).optional().describe("For select: values or labels of options"),
  double: z.boolean().optional().describe("For click: twice"),
  button: z.enum(["left", "right", "middle"]).optional().describe("For click"),
  script: z.string().max(50_000).optional().describe("For evaluate: a JavaScript expression or function"),
  to: z.enum(["back", "forward", "reload"]).optional().describe("For navigate, in place of a url"),
  fullPage: z.boolean().optional().describe("For screenshot: all of the page, not only what is in view"),
  depth: z.number().int().min(1).max(100).optional().describe("For snapshot: how deep"),
  limit: z.number().int().min(1).max(200).optional().describe("For console: most lines; 50 where absent"),
  level: z.enum(["all", "errors"]).optional().describe("For console"),
  path: z.string().max(4096).optional().describe("For pdf: the file to write; in the downloads folder where absent"),
  paths: z.array(z.string().max(4096)).min(1).max(10).optional().describe("For upload: files of the workspace"),
  accept: z.boolean().optional().describe("For dialog: how the next one is answered; true where absent"),
  snapshot: z.boolean().optional().describe("For open, navigate and act: give the snapshot as well"),
});
export type BrowserInput = z.infer<typeof BROWSER_PARAMETERS>;

const NEEDS: Partial<Record<BrowserInput["action"], readonly (keyof BrowserInput)[]>> = {
  focus: ["tab"],
  act: ["kind"],
  upload: ["ref", "paths"],
};
const ACT_NEEDS: Record<(typeof ACTS)[number], readonly (keyof BrowserInput)[]> = {
  click: ["ref"],
  type: ["ref", "text"],
  press: ["key"],
  hover: ["ref"],
  select: ["ref", "values"],
  drag: ["ref", "toRef"],
  wait: [],
  evaluate: ["script"],
};

/** What is missing, before anybody is asked about a call that cannot run. */
export function missingIn(input: BrowserInput): string | null {
  const { action, kind } = input;
  const needs = [...(NEEDS[action] ?? []), ...(action === "act" && kind ? ACT_NEEDS[kind] : [])];
  const missing = needs.filter((name) => input[name] === undefined);
  if (missing.length > 0) return `To ${kind ?? action}, ${missing.map((name) => `"${name}"`).join(" and ")} is needed.`;
  if (action === "navigate" && (input.url === undefined) === (input.to === undefined)) {
    return 'To navigate, either "url" or "to" is needed.';
  }
  if (kind === "wait" && input.text === undefined && input.ms === undefined)
    return 'To wait, "text" or "ms" is needed.';
  return null;
}

/** Acts that only look; all others may send something in the name of whoever uses the browser. */
const LOOKING: ReadonlySet<string> = new Set(["hover", "wait"]);

export function mustConfirm({ action, kind, path }: BrowserInput): boolean {
  if (action === "act") return !LOOKING.has(kind ?? "");
  return action === "upload" || (action === "pdf" && path !== undefined);
}

/** For rules: `act click`, `open https://…`, `upload`. */
export function signatureOfInput({ action, kind, url, paths = [], path }: BrowserInput): Signature {
  const words = action === "act" ? `act ${kind ?? ""}`.trim() : action;
  if ((action === "open" || action === "navigate") && url !== undefined)
    return { text: `${words} ${url}`, urls: [url] };
  if (action === "upload") return { text: words, reads: paths };
  if (action === "pdf" && path !== undefined) return { text: words, changes: [path] };
  return { text: words };
}
