import type { TagStyle } from "./read-tag.ts";
import type { TextFormatName } from "./text-format.ts";
import type { Trim } from "./text-value.ts";
import type { Untyped } from "./type-value.ts";

/** How a format writes a call with tags. All tag names are without their namespace. */
export interface TagShape {
  readonly format: TextFormatName;
  readonly style: TagStyle;
  /** Tags of one call; none where the name of the tool is the tag. */
  readonly callTags: readonly string[];
  /** The attribute of a call's tag that names the tool. */
  readonly nameAttribute: string;
  /** A tag inside of the call that names the tool. */
  readonly nameTags: readonly string[];
  /** Tags whose children are the parameters, each named by its tag. */
  readonly groupTags: readonly string[];
  /** Tags of one parameter, named by an attribute or by `=`. */
  readonly parameterTags: readonly string[];
  readonly keyAttribute: string;
  /** Tags that hold all arguments as JSON. */
  readonly jsonTags: readonly string[];
  /** Whether any other tag of a call is a parameter, named by its tag. */
  readonly childIsParameter: boolean;
  /** The attribute that says what a value is: `string="true"`, or `type="number"`. */
  readonly typeAttribute: string | undefined;
  readonly trim: Trim;
  /** Whether values are XML with entities and CDATA, may be CDATA, or are just what stands there. */
  readonly markup: "xml" | "cdata" | "raw";
  readonly untyped: Untyped;
  /** Values may be objects and lists, written with tags of their own. */
  readonly isNested: boolean;
  /** Markers that close what is around the call. */
  readonly ends: readonly string[];
}

export const XML_STYLE: TagStyle = { open: "<", close: "</", end: ">" };

export function tagShape(shape: Partial<TagShape> & Pick<TagShape, "format">): TagShape {
  return {
    style: XML_STYLE,
    callTags: [],
    nameAttribute: "name",
    nameTags: [],
    groupTags: [],
    parameterTags: [],
    keyAttribute: "name",
    jsonTags: [],
    childIsParameter: false,
    typeAttribute: undefined,
    trim: "none",
    markup: "raw",
    untyped: "table",
    isNested: false,
    ends: [],
    ...shape,
  };
}
