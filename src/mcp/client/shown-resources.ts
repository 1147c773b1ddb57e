import type { Prompt, Resource, ResourceTemplateType } from "@modelcontextprotocol/client";
import { shownText } from "./shown-text.ts";

const MOST_TEXT = 1000;
const MOST_URI = 4096;

/** Resources as they are shown. One whose address would not survive that cannot be asked for, and is left out. */
export function shownResources(resources: readonly Resource[]) {
  return resources.flatMap(({ uri, name, title, description, mimeType, size }) => {
    if (shownText(uri, MOST_URI) !== uri) return [];
    return [{ uri, ...shownFacts({ name, title, description, mimeType }), ...(size === undefined ? {} : { size }) }];
  });
}

export function shownTemplates(templates: readonly ResourceTemplateType[]) {
  return templates.flatMap(({ uriTemplate, name, title, description, mimeType }) =>
    shownText(uriTemplate, MOST_URI) === uriTemplate
      ? [{ uriTemplate, ...shownFacts({ name, title, description, mimeType }) }]
      : [],
  );
}

export function shownPrompts(prompts: readonly Prompt[]) {
  return prompts.map(({ name, title, description, arguments: given = [] }) => ({
    ...shownFacts({ name, title, description }),
    arguments: given.map(({ name: argument, description: about, required }) => ({
      name: shownText(argument, MOST_TEXT),
      ...(about === undefined ? {} : { description: shownText(about, MOST_TEXT) }),
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
    name: shownText(name, MOST_TEXT),
    ...(title === undefined ? {} : { title: shownText(title, MOST_TEXT) }),
    ...(description === undefined ? {} : { description: shownText(description, MOST_TEXT) }),
    ...(mimeType === undefined ? {} : { mimeType: shownText(mimeType, 200) }),
  };
}
