/** Returns the price of all items, in cents. */
export function total(items) {
  let sum = 0;
  for (const { price, count } of items) {
    sum += Math.floor(100 * price * count);
  }
  return sum;
}
