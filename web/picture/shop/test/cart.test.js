import assert from "node:assert/strict";
import test from "node:test";
import { total } from "../src/cart.js";

test("prices are multiplied by counts", () => {
  assert.equal(total([{ price: 2.5, count: 4 }]), 1000);
});

test("no cent is lost to rounding", () => {
  assert.equal(total([{ price: 0.29, count: 1 }]), 29);
});

test("items add up", () => {
  assert.equal(
    total([
      { price: 19.99, count: 2 },
      { price: 0.57, count: 3 },
    ]),
    4169,
  );
});
