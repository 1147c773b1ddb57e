import { toolError, type ToolError } from "../core/error.ts";

/** `name = 6 * (7 + x)`: numbers, names, the four operations and brackets. Nothing else is ever evaluated. */
export function runFormula(formula: string, variables: Map<string, number>): number {
  const assigned = /^\s*([a-z_]+)\s*=(.*)$/is.exec(formula);
  const value = evaluate(assigned?.[2] ?? formula, variables);
  if (assigned) variables.set(assigned[1]!, value);
  return value;
}

/** Reads from the left, an operation of each rank in a function of its own. The caller bounds the length, and so the depth. */
function evaluate(formula: string, variables: ReadonlyMap<string, number>): number {
  const tokens = formula.match(/\d+(?:\.\d+)?|[a-z_]+|\S/gi) ?? [];
  let at = 0;
  const value = sum();
  if (at < tokens.length) throw unexpected(tokens[at]);
  return value;

  function sum(): number {
    let total = product();
    while (tokens[at] === "+" || tokens[at] === "-") total += tokens[at++] === "+" ? product() : -product();
    return total;
  }

  function product(): number {
    let total = factor();
    while (tokens[at] === "*" || tokens[at] === "/") {
      if (tokens[at++] === "*") total *= factor();
      else total = divide(total, factor());
    }
    return total;
  }

  function factor(): number {
    const token = tokens[at++];
    if (token === "-") return -factor();
    if (token === "(") {
      const inner = sum();
      if (tokens[at++] !== ")") throw unexpected(tokens[at - 1]);
      return inner;
    }
    if (token !== undefined && /^\d/.test(token)) return Number(token);
    if (token !== undefined && /^[a-z_]/i.test(token)) return valueOf(token, variables);
    throw unexpected(token);
  }
}

function divide(dividend: number, divisor: number): number {
  if (divisor === 0) throw toolError("failed", "The formula divides by zero", { next: "Mend it and send it again." });
  return dividend / divisor;
}

function valueOf(name: string, variables: ReadonlyMap<string, number>): number {
  const value = variables.get(name);
  if (value !== undefined) return value;
  throw toolError("invalid_input", `Nothing is named "${name}" yet`, { next: `Send "${name} = …" first.` });
}

function unexpected(token: string | undefined): ToolError {
  const what = token === undefined ? "ends too early" : `has ${JSON.stringify(token)} where a number should stand`;
  return toolError("invalid_input", `The formula ${what}`, { next: "Use numbers, names, + - * / and brackets." });
}
