import { fileURLToPath } from "node:url";
import type { Prompt, Resource, ResourceTemplateType } from "@modelcontextprotocol/client";
import { toolError } from "../../core/error.ts";
import { isPathAllowed } from "../../io/files/path-name.ts";
import { shownText } from "./tool-definition.ts";

const MAX_TEXT_LENGTH = 1000;
const MAX_URI_LENGTH = 4096;

/** Resources as they are shown. One whose address would not survive that cannot be asked for, and is left out. */
export function shownResources(resources: readonly Resource[]) {
  return resources.flatMap(({ uri, name, title, description, mimeType, size }) => {
    if (shownText(uri, MAX_URI_LENGTH) !== uri) return [];
    return [{ uri, ...shownFacts({ name, title, description, mimeType }), ...(size === undefined ? {} : { size }) }];
  });
}

export function shownTemplates(templates: readonly ResourceTemplateType[]) {
  return templates.flatMap(({ uriTemplate, name, title, description, mimeType }) =>
    shownText(uriTemplate, MAX_URI_LENGTH) === uriTemplate
      ? [{ uriTemplate, ...shownFacts({ name, title, description, mimeType }) }]
      : [],
  );
}

export function shownPrompts(prompts: readonly Prompt[]) {
  return prompts.map(({ name, title, description, arguments: given = [] }) => ({
    ...shownFacts({ name, title, description }),
    arguments: given.map(({ name: argument, description: about, required }) => ({
      name: shownText(argument, MAX_TEXT_LENGTH),
      description: about === undefined ? undefined : shownText(about, MAX_TEXT_LENGTH),
      isRequired: required === true,
    })),
  }));
}

interface Facts {
  name: string;
  title?: string | undefined;
  description?: string | undefined;
  mimeType?: string | undefined;
}

function shownFacts({ name, title, description, mimeType }: Facts) {
  return {
    name: shownText(name, MAX_TEXT_LENGTH),
    title: title === undefined ? undefined : shownText(title, MAX_TEXT_LENGTH),
    description: description === undefined ? undefined : shownText(description, MAX_TEXT_LENGTH),
    mimeType: mimeType === undefined ? undefined : shownText(mimeType, 200),
  };
}

/** A server must not become a way around the paths that this runtime is confined to. */
export function checkResourceUri(uri: string, allowedPaths: readonly string[]): void {
  if (!/^file:/i.test(uri.trim())) return;
  let path: string;
  try {
    path = fileURLToPath(uri.trim());
  } catch (cause) {
    throw toolError("invalid_input", `The resource ${JSON.stringify(uri.slice(0, 200))} names no local file`, {
      next: "Use an address from the server's list.",
      cause,
    });
  }
  if (isPathAllowed(path, allowedPaths)) return;
  throw toolError(
    "path_denied",
    `Permission denied: Access denied to ${JSON.stringify(path.slice(0, 200))}, outside of the allowed paths`,
    {
      next: "Use a resource inside of them.",
    },
  );
}
