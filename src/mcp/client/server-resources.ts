import { fileURLToPath } from "node:url";
import type { Prompt, Resource, ResourceTemplateType } from "@modelcontextprotocol/client";
import { toolError } from "../../core/error.ts";
import { isPathAllowed } from "../../io/files/path-name.ts";
import { shownText } from "./tool-definition.ts";

const MAX_TEXT_LENGTH = 1000;
const MAX_URI_LENGTH = 4096;

/** Resources with their texts made visible. Omits those whose address would change, because they could not be read. */
export function shownResources(resources: readonly Resource[]) {
  return resources.flatMap(({ uri, name, title, description, mimeType, size }) => {
    if (shownText(uri, MAX_URI_LENGTH) !== uri) return [];
    return [{ uri, ...shownTexts({ name, title, description, mimeType }), size }];
  });
}

export function shownTemplates(templates: readonly ResourceTemplateType[]) {
  return templates.flatMap(({ uriTemplate, name, title, description, mimeType }) =>
    shownText(uriTemplate, MAX_URI_LENGTH) === uriTemplate
      ? [{ uriTemplate, ...shownTexts({ name, title, description, mimeType }) }]
      : [],
  );
}

export function shownPrompts(prompts: readonly Prompt[]) {
  return prompts.map(({ arguments: parameters = [], ...prompt }) => ({
    ...shownTexts({ name: prompt.name, title: prompt.title, description: prompt.description }),
    arguments: parameters.map(({ name, description, required }) => ({
      name: shownText(name, MAX_TEXT_LENGTH),
      description: description === undefined ? undefined : shownText(description, MAX_TEXT_LENGTH),
      isRequired: required === true,
    })),
  }));
}

interface ServerTexts {
  name: string;
  title?: string | undefined;
  description?: string | undefined;
  mimeType?: string | undefined;
}

function shownTexts({ name, title, description, mimeType }: ServerTexts) {
  return {
    name: shownText(name, MAX_TEXT_LENGTH),
    title: title === undefined ? undefined : shownText(title, MAX_TEXT_LENGTH),
    description: description === undefined ? undefined : shownText(description, MAX_TEXT_LENGTH),
    mimeType: mimeType === undefined ? undefined : shownText(mimeType, 200),
  };
}

/** A server must not give access to files outside the allowed paths of this runtime. */
export function checkResourceUri(uri: string, allowedPaths: readonly string[]): void {
  if (!/^file:/i.test(uri.trim())) return;
  let path: string;
  try {
    path = fileURLToPath(uri.trim());
  } catch (cause) {
    throw toolError("invalid_input", `The resource ${JSON.stringify(uri.slice(0, 200))} is not a local file`, {
      next: "Use an address from the server's list.",
      cause,
    });
  }
  if (isPathAllowed(path, allowedPaths)) return;
  const shownPath = JSON.stringify(path.slice(0, 200));
  throw toolError("path_denied", `Permission denied: Access denied to ${shownPath}, outside the allowed paths`, {
    next: "Use a resource inside the allowed paths.",
  });
}
