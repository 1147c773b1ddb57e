import assert from "node:assert/strict";
import { test } from "node:test";
import { total } from "./cart.mjs";

test("the total includes the quantity of each item", () => {
  assert.equal(
    total([
      { price: 250, quantity: 2 },
      { price: 100, quantity: 1 },
    ]),
    600,
  );
});
