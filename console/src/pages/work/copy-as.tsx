import { endpointUrl } from "../../api.ts";
import { CopyButton } from "../../parts/copy-button.tsx";
import { commandOf, quoted } from "./call-command.ts";

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
