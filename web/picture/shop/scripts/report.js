/** A reporter for `node --test`: one line per test, then how many passed. */
const paint = (code) => (text) => `\u001b[${code}m${text}\u001b[0m`;
const [red, green, gray, boldRed, boldGreen] = ["31", "32", "90", "1;31", "1;32"].map(paint);

const isTest = ({ name, file }) => name !== file;
const milliseconds = ({ details }) => gray(`${details.duration_ms.toFixed(1)} ms`);

function why({ details }) {
  const { actual, expected } = details.error.cause;
  return red(`${actual} instead of ${expected}`);
}

export default async function* report(source) {
  let passed = 0;
  let failed = 0;
  const summary = () => {
    const counts = [boldGreen(`${passed} passed`)];
    if (failed > 0) counts.push(boldRed(`${failed} failed`));
    passed = failed = 0;
    return `${counts.join(", ")}\n`;
  };
  for await (const { type, data } of source) {
    if (type === "test:pass" && isTest(data)) {
      passed += 1;
      yield `${green("✔")} ${data.name} ${milliseconds(data)}\n`;
    } else if (type === "test:fail" && isTest(data)) {
      failed += 1;
      yield `${red("✖")} ${data.name} ${why(data)}\n`;
    } else if (type === "test:watch:drained") yield summary();
  }
  if (passed + failed > 0) yield summary();
}
