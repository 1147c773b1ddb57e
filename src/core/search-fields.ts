import { propertiesOf } from "../schema/find-property.ts";
import { descriptionText } from "./description.ts";
import type { SearchFields } from "./search/tool-index.ts";
import type { AnyTool } from "./tool.ts";

/** What a search looks at in a tool. */
export function searchFieldsOf(tool: AnyTool): SearchFields {
  const schema = tool.parameters.jsonSchema;
  const properties = propertiesOf(schema, schema);
  return {
    name: tool.name,
    aliases: [...tool.aliases],
    // Most tools have no title of their own, and their name is not to be read twice.
    ...(tool.title === tool.name ? {} : { title: tool.title }),
    description: descriptionText(tool.description),
    tags: [...tool.tags],
    category: tool.category,
    parameters: [...properties.keys()],
    parameterText: Array.from(properties.values(), ({ description }) =>
      typeof description === "string" ? description : "",
    ).join(" "),
  };
}
