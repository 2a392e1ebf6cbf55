// Writes float64s as ECMAScript does, which is how RFC 8785 writes them.
// stdin: lines of 16 hexadecimal digits, the bits; stdout: lines of text.
import { readFileSync } from "node:fs";

const view = new DataView(new ArrayBuffer(8));
const texts = readFileSync(0, "utf8").trim().split("\n").map((bits) => {
  view.setBigUint64(0, BigInt("0x" + bits));
  return JSON.stringify(view.getFloat64(0));
});
console.log(texts.join("\n"));
