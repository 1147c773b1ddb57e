import { endpointUrl } from "../../api.ts";
import { CopyButton } from "../../parts/copy-button.tsx";

/** The same call as a shell command, a request and a line of code. */
export function CopyAs({ toolName, input }: { toolName: string; input: unknown }) {
  const json = JSON.stringify(input);
  const curl = [
    `curl -X POST ${endpointUrl("/api/calls").href}`,
    `-H "authorization: Bearer $HAFT_TOKEN"`,
    `-H "content-type: application/json"`,
    `-d ${quoted(JSON.stringify({ tool: toolName, input }))}`,
  ].join(" \\\n  ");
  const cli = `haft tools call ${toolName} ${argumentsOf(input)}`.trimEnd();
  const code = `await haft.execute(${JSON.stringify(toolName)}, ${json});`;
  return (
    <div className="row">
      <CopyButton text={curl} label="curl" />
      <CopyButton text={cli} label="CLI" />
      <CopyButton text={code} label="SDK" />
    </div>
  );
}

function argumentsOf(input: unknown): string {
  if (typeof input !== "object" || input === null || Array.isArray(input))
    return `--args ${quoted(JSON.stringify(input))}`;
  return Object.entries(input)
    .map(([key, value]) =>
      typeof value === "string" && !value.startsWith("@") && value !== "-"
        ? quoted(`${key}=${value}`)
        : quoted(`${key}:=${JSON.stringify(value)}`),
    )
    .join(" ");
}

/** Quotes any text for a POSIX shell. */
function quoted(text: string): string {
  return /^[\w./:=@%+-]+$/.test(text) ? text : `'${text.replaceAll("'", `'\\''`)}'`;
}
