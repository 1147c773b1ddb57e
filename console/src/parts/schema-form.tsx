import { Validator } from "@cfworker/json-schema";
import Form from "@rjsf/core";
import {
  descriptionId,
  type ErrorSchema,
  type FieldTemplateProps,
  type IconButtonProps,
  type ObjectFieldTemplateProps,
  type RJSFSchema,
  type RJSFValidationError,
  toErrorSchema,
  type ValidatorType,
} from "@rjsf/utils";
import { ArrowDown, ArrowUp, Plus, X } from "lucide-react";
import { useMemo } from "react";
import { defineWords, useWords } from "../language.tsx";
import { Button } from "./button.tsx";
import { countOf } from "./format.ts";
import { VisibleText } from "./visible-text.tsx";

const words = defineWords({
  required: ["required", "必填"],
  optional: (count: number) => [countOf(count, "optional field"), `${count} 个可选字段`],
  add: ["Add", "添加"],
  remove: ["Remove", "移除"],
  up: ["Move up", "上移"],
  down: ["Move down", "下移"],
});

/** The default validator of these forms generates code, which our content security policy forbids. */
const validator: ValidatorType = {
  validateFormData(formData, schema) {
    const errors = findErrors(schema, formData);
    return { errors, errorSchema: toErrorSchema(errors) as ErrorSchema };
  },
  isValid: (schema, formData, rootSchema) => {
    const whole = { ...(schema as object), $defs: rootSchema.$defs, definitions: rootSchema.definitions };
    return findErrors(whole, formData).length === 0;
  },
  rawValidation: (schema, formData) => ({ errors: findErrors(schema, formData) as never[] }),
};

function findErrors(schema: object, value: unknown): RJSFValidationError[] {
  try {
    const { errors } = new Validator(schema as never, "2020-12", false).validate(plain(value));
    // A parent error only repeats the error of its child.
    return errors
      .filter(({ keyword }) => keyword !== "properties" && keyword !== "items" && keyword !== "additionalProperties")
      .map(({ instanceLocation, error, keyword }) => {
        const required = keyword === "required" ? /"([^"]+)"\.?$/.exec(error)?.[1] : undefined;
        const path = instanceLocation.replace(/^#/, "").replaceAll("/", ".");
        return {
          name: keyword,
          property: required === undefined ? path : `${path}.${required}`,
          message: error,
          stack: error,
        };
      });
  } catch {
    // If this validator cannot read a schema, the server still validates the call.
    return [];
  }
}

function plain(value: unknown): unknown {
  return value === undefined ? {} : (JSON.parse(JSON.stringify(value)) as unknown);
}

export function isValidInput(schema: object, value: unknown): boolean {
  return findErrors(schema, value).length === 0;
}

function Field(props: FieldTemplateProps) {
  const { id, label, required, children, rawDescription, rawErrors, hidden, schema, displayLabel } = props;
  const w = useWords(words);
  if (hidden) return <div hidden>{children}</div>;
  const isRoot = id === "root";
  // A check box has its own label.
  const isCheck = schema.type === "boolean";
  return (
    <div className={isRoot ? "form-root" : "stack form-field"}>
      {isRoot || isCheck || !displayLabel ? null : (
        <label htmlFor={id}>
          <span className="mono">{label}</span>
          {required ? (
            <span className="required">
              {" *"}
              <span className="sr-only"> {w.required}</span>
            </span>
          ) : null}
        </label>
      )}
      {children}
      {!isRoot && rawDescription ? <Description id={descriptionId(id)} text={rawDescription} /> : null}
      {rawErrors?.map((error) => (
        <p key={error} className="field-error small" role="alert">
          {error}
        </p>
      ))}
    </div>
  );
}

/** Written by the author of the tool, for models: in English. */
function Description({ id, text }: { id: string; text: string }) {
  return <VisibleText as="p" id={id} className="muted small" lang="en" text={text} />;
}

/** Lists and check boxes would show their description above: each field shows its own below. */
function NoDescription() {
  return null;
}

function AddButton({ id, onClick, disabled }: IconButtonProps) {
  return <Button id={id} look="small" icon={Plus} text={useWords(words).add} disabled={disabled} onClick={onClick} />;
}

/** The form's own buttons have only an icon of a font that is not here. */
function itemButton(Icon: typeof X, name: "remove" | "up" | "down") {
  return function ItemButton({ id, onClick, disabled }: IconButtonProps) {
    const label = useWords(words)[name];
    return <Button id={id} look="small" icon={Icon} label={label} disabled={disabled} onClick={onClick} />;
  };
}

const TEMPLATES = {
  FieldTemplate: Field,
  ObjectFieldTemplate: Fields,
  DescriptionFieldTemplate: NoDescription,
  ButtonTemplates: {
    AddButton,
    RemoveButton: itemButton(X, "remove"),
    MoveUpButton: itemButton(ArrowUp, "up"),
    MoveDownButton: itemButton(ArrowDown, "down"),
  },
};

/** What a tool needs comes first; what it also takes can be opened. */
function Fields(props: ObjectFieldTemplateProps) {
  const { properties, title, schema, formData, fieldPathId, optionalDataControl } = props;
  const w = useWords(words);
  const isRoot = fieldPathId.$id === "root";
  const isNeeded = ({ name }: { name: string }): boolean => schema.required?.includes(name) ?? false;
  const needed = properties.filter(isNeeded);
  const optional = properties.filter((each) => !isNeeded(each));
  const isFilled = (name: string): boolean => (formData as Record<string, unknown> | undefined)?.[name] !== undefined;
  return (
    <div className={isRoot ? "stack form-fields" : "stack form-fields nested"}>
      {isRoot ? null : <h3>{title}</h3>}
      {optionalDataControl}
      {needed.map(({ content }) => content)}
      {optional.length > 0 && isRoot ? (
        // Open while it has something: a filled field is never out of sight.
        <details open={needed.length === 0 || optional.some(({ name }) => isFilled(name)) || undefined}>
          <summary className="muted">{w.optional(optional.length)}</summary>
          <div className="stack form-fields">{optional.map(({ content }) => content)}</div>
        </details>
      ) : (
        optional.map(({ content }) => content)
      )}
    </div>
  );
}

/** Parameters that usually have several lines. */
const LONG_TEXT = /content|text|patch|command|code|body|data|script|string|diff/i;

function widgetsOf({
  properties = {},
}: RJSFSchema): Record<string, { "ui:widget": string; "ui:options": { rows: number } }> {
  return Object.fromEntries(
    Object.entries(properties).flatMap(([name, property]) => {
      const isText = typeof property === "object" && property.type === "string" && !property.enum && !property.format;
      return isText && LONG_TEXT.test(name) ? [[name, { "ui:widget": "textarea", "ui:options": { rows: 2 } }]] : [];
    }),
  );
}

interface SchemaFormProps {
  id: string;
  schema: object;
  value: unknown;
  disabled?: boolean;
  onChange: (value: unknown) => void;
  onSubmit: () => void;
}

/** A form for the parameters of a tool. Empty fields are omitted. */
export function SchemaForm({ id, schema, value, disabled, onChange, onSubmit }: SchemaFormProps) {
  const { $schema: _dialect, ...portable } = schema as Record<string, unknown>;
  const shape = useMemo(() => portable as RJSFSchema, [JSON.stringify(portable)]);
  return (
    <Form
      id={id}
      schema={shape}
      formData={value}
      validator={validator}
      disabled={disabled ?? false}
      liveValidate={false}
      showErrorList={false}
      noHtml5Validate
      uiSchema={{ "ui:submitButtonOptions": { norender: true }, ...widgetsOf(shape) }}
      templates={TEMPLATES}
      experimental_defaultFormStateBehavior={{ emptyObjectFields: "skipEmptyDefaults" }}
      onChange={({ formData }) => onChange(formData)}
      onSubmit={onSubmit}
    />
  );
}
