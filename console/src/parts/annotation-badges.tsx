import type { ToolAnnotations } from "../../../src/contracts/tools.ts";
import { defineWords, useWords } from "../language.tsx";

const words = defineWords({
  readOnly: [
    ["read-only", "changes things"],
    ["只读", "会更改"],
  ],
  destructive: [
    ["destructive", "not destructive"],
    ["有破坏性", "无破坏性"],
  ],
  idempotent: [
    ["idempotent", "not idempotent"],
    ["幂等", "非幂等"],
  ],
  openWorld: [
    ["open world", "closed world"],
    ["开放环境", "封闭环境"],
  ],
  claims: ["the server says:", "服务器声称："],
  believed: ["The server is trusted, so the policy relies on this.", "服务器受信任，策略会采信。"],
  notBelieved: ["The server is not trusted, so the policy ignores this.", "服务器未受信任，策略会忽略此说明。"],
});

const NAMES = ["readOnly", "destructive", "idempotent", "openWorld"] as const satisfies (keyof ToolAnnotations)[];

/** What an MCP server says about a tool. If it is not trusted, it is marked as its claim, in grey. */
export function AnnotationBadges({ annotations, isTrusted }: { annotations: ToolAnnotations; isTrusted: boolean }) {
  const w = useWords(words);
  const said = NAMES.filter((name) => annotations[name] !== undefined);
  if (said.length === 0) return null;
  const hint = isTrusted ? w.believed : w.notBelieved;
  return (
    <span className="row small annotations">
      {isTrusted ? null : <span className="muted">{w.claims}</span>}
      {said.map((name) => (
        <span key={name} className={`badge ${isTrusted ? toneOf(name, annotations[name] === true) : ""}`} title={hint}>
          {w[name][annotations[name] ? 0 : 1]}
        </span>
      ))}
    </span>
  );
}

function toneOf(name: (typeof NAMES)[number], isTrue: boolean): string {
  if (name === "readOnly") return isTrue ? "ok" : "warn";
  if (name === "destructive") return isTrue ? "bad" : "ok";
  return "accent";
}
