import { endpointUrl } from "../../api.ts";
import { CopyButton } from "../../parts/copy-button.tsx";

/** The same call as a shell command, a request and a line of code. */
export function CopyAs({ toolName, input }: { toolName: string; input: unknown }) {
  const json = JSON.stringify(input);
  const curl = [
    `curl -X POST ${quoted(endpointUrl("/api/calls").href)}`,
    `-H "authorization: Bearer $HAFT_TOKEN"`,
    `-H "content-type: application/json"`,
    `-d ${quoted(JSON.stringify({ tool: toolName, input }))}`,
  ].join(" \\\n  ");
  const cli = commandOf(toolName, input);
  const code = `await haft.execute(${JSON.stringify(toolName)}, ${json});`;
  return (
    <div className="row">
      <CopyButton text={curl} label="curl" />
      <CopyButton text={cli} label="CLI" />
      <CopyButton text={code} label="SDK" />
    </div>
  );
}

function commandOf(toolName: string, input: unknown): string {
  const fields = Object.entries(input ?? {});
  // Keys that the command line would read as something else: the whole input comes from stdin.
  if (fields.some(([key]) => key === "" || /^@|[=:]/.test(key)))
    return `printf %s ${quoted(JSON.stringify(input))} | haft tools call -- ${quoted(toolName)} -`;
  const words = [
    toolName,
    ...fields.map(([key, value]) =>
      typeof value === "string" && !value.startsWith("@") ? `${key}=${value}` : `${key}:=${JSON.stringify(value)}`,
    ),
  ];
  // After `--` nothing is an option.
  const end = words.some((word) => word.startsWith("-")) ? "-- " : "";
  return `haft tools call ${end}${words.map(quoted).join(" ")}`;
}

/** Quotes any text for a POSIX shell. */
function quoted(text: string): string {
  return /^[\w./:=@%+-]+$/.test(text) ? text : `'${text.replaceAll("'", `'\\''`)}'`;
}
